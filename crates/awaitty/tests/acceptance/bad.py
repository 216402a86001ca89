"""Bad arguments: (name, codes of which one must come, tool, arguments, what the answer says as a regex)."""

ARG = ("bad_argument",)
PATTERN = ("bad_pattern",)
KEPT = "$SID"  # stands for the session that must not change
PLAIN = "$PLAIN"  # stands for the path of a file that is not executable
BAD = [
    ("timeout_minus_1", ARG, "wait_for_text", {"session_id": KEPT, "pattern": "UP", "timeout_ms": -1}, "timeout_ms"),
    ("timeout_2_pow_31", ARG, "wait_for_text", {"session_id": KEPT, "pattern": "UP", "timeout_ms": 2**31}, "timeout_ms"),
    ("timeout_over_24_h", ARG, "wait_for_text", {"session_id": KEPT, "pattern": "UP", "timeout_ms": 86_400_001}, "timeout_ms"),
    ("timeout_change", ARG, "wait_for_screen_change", {"session_id": KEPT, "timeout_ms": 86_400_001}, "timeout_ms"),
    ("timeout_exit", ARG, "wait_for_exit", {"session_id": KEPT, "timeout_ms": -1}, "timeout_ms"),
    ("timeout_in_wait", ARG, "send_input", {"session_id": KEPT, "input": "x", "wait": {"settled": 1, "timeout_ms": -1}}, "timeout_ms"),
    ("timeout_text", ARG, "wait_for_text", {"session_id": KEPT, "pattern": "UP", "timeout_ms": "soon"}, "timeout_ms"),
    ("cols_0", ARG, "spawn", {"command": "cat", "cols": 0}, "cols"),
    ("cols_1001", ARG, "spawn", {"command": "cat", "cols": 1001}, "cols"),
    ("rows_501", ARG, "spawn", {"command": "cat", "rows": 501}, "rows"),
    ("resize_cols_0", ARG, "resize_session", {"session_id": KEPT, "cols": 0, "rows": 20}, "cols"),
    ("resize_cols_1001", ARG, "resize_session", {"session_id": KEPT, "cols": 1001, "rows": 20}, "cols"),
    ("resize_rows_0", ARG, "resize_session", {"session_id": KEPT, "cols": 80, "rows": 0}, "rows"),
    ("unknown_key", ("bad_key",), "send_input", {"session_id": KEPT, "input": "zzz", "keys": ["a", "entre", "b"]}, "enter"),
    ("unknown_modifier", ("bad_key",), "send_input", {"session_id": KEPT, "keys": [{"text": "zzz"}, "hyper+x"]}, "hyper"),
    # Assumed: a pattern past 4 KiB is `bad_pattern`; the limit's own code is let pass.
    ("pattern_5_kib", ("bad_pattern", "limit_reached"), "wait_for_text", {"session_id": KEPT, "pattern": "a" * 5120}, "4096|4 ?KiB"),
    ("pattern_too_big_compiled", ("bad_pattern", "limit_reached"), "wait_for_text", {"session_id": KEPT, "pattern": r"\w{500}{500}"}, ""),
    ("pattern_unbalanced", PATTERN, "wait_for_text", {"session_id": KEPT, "pattern": "a(bc"}, ""),
    ("pattern_lookaround", PATTERN, "wait_for_text", {"session_id": KEPT, "pattern": "(?=UP)"}, "(?i)look"),
    ("pattern_backreference", PATTERN, "wait_for_text", {"session_id": KEPT, "pattern": r"(U)\1"}, "(?i)backref"),
    ("pattern_in_wait", PATTERN, "send_input", {"session_id": KEPT, "input": "zzz", "wait": {"text": "a(bc"}}, ""),
    ("pattern_in_ignore", PATTERN, "wait_for_screen_change", {"session_id": KEPT, "ignore": ["ok", "a(bc"]}, ""),
    ("pattern_search", PATTERN, "search_output", {"pattern": "a(bc"}, ""),
    ("flags", ("bad_flags",), "wait_for_text", {"session_id": KEPT, "pattern": "UP", "flags": "iq"}, "q"),
    ("missing_binary", ("spawn_failed",), "spawn", {"command": "/nonexistent/program", "args": []}, "ENOENT|No such file|not found"),
    ("missing_command", ("spawn_failed",), "spawn", {"command": "no-such-program-here", "args": []}, "ENOENT|No such file|not found"),
    ("not_executable", ("spawn_failed",), "spawn", {"command": PLAIN, "args": []}, "EACCES|[Pp]ermission"),
    ("missing_cwd", ("spawn_failed",), "spawn", {"command": "cat", "cwd": "/nonexistent/dir"}, "/nonexistent/dir"),
    ("unclosed_quote", ARG, "spawn", {"command": "echo 'abc"}, "quot"),
    # Assumed: a seq that is not there yet is `bad_argument` for a wait.
    ("seq_from_the_future", ARG, "wait_for_text", {"session_id": KEPT, "pattern": "UP", "since": 999_999}, "since|seq"),
    ("seq_from_the_future_change", ARG, "wait_for_screen_change", {"session_id": KEPT, "since": 999_999}, "since|seq"),
    ("since_word", ARG, "wait_for_text", {"session_id": KEPT, "pattern": "UP", "since": "yesterday"}, "since|yesterday"),
    ("unknown_session", ("unknown_session",), "wait_for_text", {"session_id": "nosuch", "pattern": "UP"}, KEPT),
    ("unknown_session_send", ("unknown_session",), "send_input", {"session_id": "nosuch", "input": "zzz"}, KEPT),
    ("unknown_argument", ARG, "wait_for_text", {"session_id": KEPT, "pattern": "UP", "timeout": 5}, r"\btimeout\b"),
    ("unknown_argument_send", ARG, "send_input", {"session_id": KEPT, "text": "zzz"}, r"\btext\b"),
    ("missing_argument", ARG, "wait_for_text", {"session_id": KEPT}, "pattern"),
    ("two_conditions", ARG, "send_input", {"session_id": KEPT, "input": "zzz", "wait": {"settled": 1, "styles": True}}, ""),
]
