
import json
import os
import shlex
import subprocess

AWAITTY = os.environ.get("AWAITTY", "awaitty")  # the program awaitty


def call(*words):
    """Calls awaitty and returns its result. Fails if the call failed, or if its wait was not met."""
    done = subprocess.run([AWAITTY, words[0], "--json", *words[1:]], capture_output=True, text=True, encoding="utf-8")
    try:
        result = json.loads(done.stdout)
    except ValueError:
        raise AssertionError(f"awaitty {shlex.join(words)}: {done.stdout}{done.stderr}") from None
    outcome = result.get("outcome", "met" if done.returncode == 0 else "failed")
    if outcome != "met" and words[0] != "run-command":
        why = result.get("why") or result.get("hint") or result.get("message") or ""
        raise AssertionError(f"awaitty {shlex.join(words)}: {outcome}: {why}\n{result.get('screen_text', '')}")
    return result


class Terminal:
    """A program in a terminal of awaitty's daemon. It ends with the test."""

    def __init__(self, argv, cols, rows, env=None, clear_env=False):
        options = [word for name, value in (env or {}).items() for word in ("--env", f"{name}={value}")]
        options += ["--clear-env"] if clear_env else []
        # A single word would be split as a command line.
        program = argv if len(argv) > 1 or os.path.exists(argv[0]) else [shlex.quote(argv[0])]
        spawned = call("spawn", "--cols", str(cols), "--rows", str(rows), *options, "--", *program)
        self.id = spawned["session_id"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        call("close-session", self.id)

    def send(self, *keys):
        items = [key if isinstance(key, str) else json.dumps(key) for key in keys]
        call("send-input", self.id, "--keys", *items)

    def type(self, text):
        self.send({"text": text})

    def press(self, *keys):
        self.send(*[{"text": key} if len(key) == 1 else key for key in keys])

    def expect(self, pattern, since="input", timeout_ms=10_000):
        call("wait-for-text", self.id, "--since", since, "--timeout-ms", str(timeout_ms), "--", pattern)

    def expect_gone(self, pattern, timeout_ms=10_000):
        call("wait-for-text", self.id, "--gone", "--timeout-ms", str(timeout_ms), "--", pattern)

    def settle(self, quiet_ms, timeout_ms=10_000):
        wait = {"session_id": self.id, "settled": quiet_ms}
        call("wait-for-any", "--timeout-ms", str(timeout_ms), json.dumps(wait))

    def expect_exit(self, status=None, timeout_ms=30_000):
        result = call("wait-for-exit", self.id, "--timeout-ms", str(timeout_ms))
        assert status is None or result.get("exit_code") == status, result

    def run(self, command, status=None):
        result = call("run-command", self.id, command)
        assert result.get("finished") and status in (None, result.get("exit_code")), result

    def resize(self, cols, rows):
        call("resize-session", self.id, str(cols), str(rows))
