#!/usr/bin/env python3
"""Acceptance checks of `awaitty mcp` through a real MCP client, with real programs and in real time.

    python -m venv venv && venv/bin/pip install -r requirements.txt
    venv/bin/python run.py --server target/release/awaitty [--only REGEX] [--scale 0.2] [--list]

Each check gets a new server, prints one line and has a time limit. It also fails if the server panicked or left a
process. docs/waits.md defines the waits.
"""

import argparse
import asyncio
import base64
import json
import os
import random
import re
import shutil
import signal
import stat
import statistics
import struct
import sys
import time

sys.dont_write_bytecode = True
import harness
import commands  # noqa: F401: its checks
import faults  # noqa: F401: its checks
import attacks  # noqa: F401: its checks
import rules  # noqa: F401: its checks
import late  # noqa: F401: its checks
import machine  # noqa: F401: its checks
import network  # noqa: F401: its checks
import panes  # noqa: F401: its checks
import steps  # noqa: F401: its checks
import tuis  # noqa: F401: its checks
import tuis_heavy  # noqa: F401: its checks
from bad import BAD, KEPT, PLAIN
from harness import HOME, PYTHON, begin, check, connect, expect, fields, gone, many, matched_row, output_lines, processes, times

GRACE_S = 2.0  # the default grace period of close_session and of the server's shutdown


# ------------------------------------------------------------------------------------ basics
@check()
async def tools_are_listed(s):
    tools = (await s.session.list_tools()).tools
    names = [tool.name for tool in tools]
    wanted = """close_session list_sessions read_output resize_session search_output send_input snapshot spawn
        wait_for_exit wait_for_screen_change wait_for_text""".split()
    expect(not set(wanted) - set(names), f"tools {wanted}", names)
    expect(names == sorted(names), "a sorted list", names)
    for tool in tools:
        schema = getattr(tool, "output_schema", getattr(tool, "outputSchema", None))
        # screenshot has no output schema, because clients would require structured content beside the image.
        has_schema = bool(schema) == (tool.name != "screenshot")
        expect(has_schema and tool.annotations and tool.description, "schema, annotations, description", tool.name)
    return f"{len(names)} tools"


@check()
async def screenshots_are_images(s):
    sid = await s.sh("printf '\\033[31mred\\033[0m <b> \\342\\224\\200\\342\\224\\220'; echo; echo UP; cat", cols=40, rows=5)
    await s.up(sid)

    async def image(**arguments):
        result = await s.call("screenshot", session_id=sid, **arguments)
        content = result.content
        expect(not result and len(content) == 2 and content[1].type == "image", "an image without structured content", result)
        return base64.b64decode(content[1].data)

    png, again = await image(), await image()
    expect(png[:8] == b"\x89PNG\r\n\x1a\n" and png == again, "the same PNG twice", png[:16])
    size = struct.unpack(">II", png[16:24])
    large = struct.unpack(">II", (await image(scale=2, theme="light", show_cursor=False))[16:24])
    expect(large[0] > 1.9 * size[0] and large[1] > 1.8 * size[1], "twice as large", [size, large])
    svg = (await image(format="svg")).decode()
    expect("&lt;b&gt;" in svg and "<b>" not in svg and ">red</text>" in svg, "escaped text", svg)
    directory = os.path.join(HOME, "pictures")
    os.makedirs(directory)
    os.symlink("/etc", os.path.join(directory, "link"))
    path = os.path.join(directory, "a.png")
    result = await s.ok("screenshot", session_id=sid, path=path)
    fields(result, path=path, width=size[0], height=size[1])
    expect(open(path, "rb").read() == png, "the same picture", path)
    for bad in (path, "/etc/a.png", f"{directory}/../../../etc/a.png", f"{directory}/link/a.png", "../a.png", f"{directory}/link"):
        await s.err(["denied"], "screenshot", session_id=sid, path=bad)
    expect(not os.path.exists("/etc/a.png"), "no file outside of the directory", bad)
    for bad in ({"scale": 0}, {"scale": 100}, {"format": "gif"}, {"theme": "blue"}, {"font": "/etc/passwd"}):
        await s.err(["bad_argument"], "screenshot", session_id=sid, **bad)
    return f"{len(png)} bytes"


@check()
async def recordings_are_saved(s):
    sid = await s.sh("printf 'one\\342\\202'; printf '\\254\\n<i>two</i>\\n'; echo UP; cat", record=True, cols=40, rows=5)
    await s.up(sid)
    await s.ok("resize_session", session_id=sid, cols=50, rows=6)
    await s.send(sid, "typed\n", wait={"text": "typed\ntyped", "timeout_ms": 5000})
    await s.ok("send_input", session_id=sid, keys=["ctrl+d"], wait={"exit": True, "timeout_ms": 5000})
    directory = os.path.join(HOME, "recordings-saved")
    os.makedirs(directory)
    os.symlink("/etc", os.path.join(directory, "link"))
    texts = {}
    for name in ("a.cast", "a.txt", "a.html"):
        path = os.path.join(directory, name)
        fields(await s.ok("save_recording", session_id=sid, path=path), path=path, complete=True)
        texts[name] = open(path).read()
    head, *events = map(json.loads, texts["a.cast"].splitlines())
    fields(head, version=3, term={"cols": 40, "rows": 5, "type": "xterm-256color"})
    kinds = [event[1] for event in events]
    expect(set(kinds) == {"o", "r", "x"} and kinds[-1] == "x" and events[-1][2] == "0", "output, a resize and the exit", events)
    shown = "".join(event[2] for event in events if event[1] == "o")
    expect("one\u20ac\r\n<i>two</i>\r\n" in shown, "the printed text", shown)
    expect(texts["a.txt"].startswith("one\u20ac\n<i>two</i>\n"), "a transcript", texts["a.txt"])
    expect("<i>" not in texts["a.html"] and "two" in texts["a.html"], "no markup from the program", "a.html")
    for bad in (path, "/etc/a.cast", f"{directory}/../../../etc/a.cast", f"{directory}/link/a.cast"):
        await s.err(["denied"], "save_recording", session_id=sid, path=bad)
    plain = await s.sh("cat")
    await s.err(["unsupported"], "save_recording", session_id=plain, path=os.path.join(directory, "b.cast"))


@check()
async def spawn_gives_a_terminal(s):
    result = await s.ok("spawn", command="""printf '%s|' 'a b' "c d" $HOME""", cols=50.0, rows=10.0)
    fields(result, cols=50, rows=10)  # integers given as 50.0 are accepted
    await s.screen(result["session_id"], lambda t: t == "a b|c d|$HOME|", "POSIX quoting without a shell")
    script = 'echo "T=$TERM C=$COLORTERM S=$AWAITTY_SESSION X=$X W=$(pwd) $(stty size)"; echo FDS $(ls /proc/self/fd); echo UP; cat'
    sid = await s.sh(script, cwd="/usr", env={"X": "yes"}, name="build")
    text = (await s.up(sid))["screen_text"]
    for part in ("T=xterm-256color C=truecolor S=", "X=yes W=/usr", "40 120", "FDS 0 1 2 3\n"):  # ls itself opens 3
        expect(part in text, part, text)
    expect((await s.ok("snapshot", session_id="build"))["text"] == text, "the same screen by name", text)
    listed = (await s.sessions())[sid]
    fields(listed, name="build", state="running")
    expect(listed.get("pid") and "seq" in listed and "idle_ms" in listed, "pid, seq, idle_ms", listed)


# ------------------------------------------------------------------------------------ wait_for_text
@check(limit=90)
async def single_prints_are_found(s):
    shapes = (
        "printf HELLO_{i}_; sleep 30", "echo HELLO_{i}_; sleep 30", "sleep 0.0{d}; printf HELLO_{i}_; sleep 30",
        "printf 'HEL\\033[31mLO_{i}'; sleep 0.01; printf '\\033[m_'; sleep 30", "seq 100; echo HELLO_{i}_; exec cat",
        "printf '\\033[?1049h\\033[5;5HHELLO_{i}_'; sleep 30",
    )

    async def one(i):
        sid = await s.sh(shapes[i % len(shapes)].format(i=i, d=i % 10))
        result = await s.wait(sid, f"HELLO_({i})_")
        fields(result, found=True, outcome="met", exited=False, fresh=True, visible=True)
        match = result["match"]
        expect(match["text"] == f"HELLO_{i}_" and str(i) in json.dumps(match["groups"]), "match with its text and group", result)
        expect(match["line"] >= match["row"] >= 1, "line and row", result)
        expect(f"HELLO_{i}_" in result["screen_text"] and result["seq"] >= 1, "screen_text and seq", result)
        expect((await s.text(sid)) == result["screen_text"], "screen_text equal to the snapshot", result)
        await s.close(sid)

    return await many(times(200), 8, one)


@check(limit=60)
async def text_before_exit_running(s):
    """A wait that starts before or after the text reports the exit that follows, too."""

    async def one(i):
        sid = await s.sh("echo DONE; exit 3" if i % 2 else "sleep 0.02; echo DONE; exit 3")
        fields(await s.wait(sid, "DONE"), found=True, exited=True, exit_code=3, signal=None)
        await s.close(sid)

    return await many(times(100), 8, one)


@check(limit=60)
async def text_before_exit_late(s):
    async def one(_):
        sid = await s.sh("seq 1 100; echo DONE; exit 3")
        fields(await s.ok("wait_for_exit", session_id=sid), exited=True, exit_code=3)
        for timeout in (0, 5000):
            result = await s.wait(sid, "DONE", timeout_ms=timeout)
            fields(result, found=True, exited=True, exit_code=3, outcome="met")
            expect(result.took < 1, "an immediate result", result)
        fields(await s.wait(sid, "NEVER", timeout_ms=5000), found=False, exited=True, outcome="exited")
        await s.close(sid)

    return await many(times(100), 8, one)


@check()
async def exit_ends_a_wait(s):
    sid = await s.sh("echo UP; read x; kill -KILL $$")
    await s.up(sid)
    waits = [s.wait(sid, "NEVER"), s.ok("wait_for_exit", session_id=sid)]
    waits.append(s.ok("wait_for_screen_change", session_id=sid, stable_ms=3000, timeout_ms=9000))
    tasks = [begin(one) for one in waits]
    await s.until_waits(sid, len(tasks))
    await s.send(sid, "\n")
    text, ended, _ = results = await asyncio.gather(*tasks)
    fields(text, found=False, outcome="exited")
    for result in results:
        fields(result, exited=True, signal="SIGKILL", exit_code=None)
        expect(result.took < 2, "a result at the exit", result)
    fields(ended, outcome="met")


TRANSIENT = """
import os, sys, time
os.system("stty -echo"); os.write(1, b"UP\\r\\n"); n = 0
while os.read(0, 100):
    n += 1; t = b"TRANSIENT_%d_" % n
    if sys.argv[1] == "write":
        os.write(1, [t + b"\\r\\033[K", t + b"\\033[2J\\033[H", b"\\033[?1049h" + t + b"\\033[?1049l",
                     t + b"\\r" + b"x" * 20, t + b"\\r\\n" * 60][n % 5])
    else:
        os.write(1, t); time.sleep(0.001); os.write(1, b"\\r\\033[K")
"""


async def transient(s, how, width, one):
    """Prints ten texts per session in several sessions at once; `one(sid, pattern, i)` waits for one of them."""
    count = times(100)

    async def session(number):
        sid = await s.py(TRANSIENT, how)
        await s.up(sid)
        for n in range(1, min(10, count - 10 * number) + 1):
            result = await one(sid, f"TRANSIENT_{n}_", n)
            fields(result, found=True, outcome="met")
            # The match is reported while the text is visible or after that. `visible` and `screen_text` must agree.
            shown = f"TRANSIENT_{n}_" in result.get("screen_text", "")
            if how == "write" or "screen_text" in result:
                expect(result["visible"] is shown and not (how == "write" and shown), f"visible={shown}", result)
        await s.close(sid)

    await many(-(-count // 10), width, session)
    return f"{count} of {count}"


async def running_wait(s, sid, pattern, n):
    """Starts a wait and then makes the program print."""
    since = ("input", "screen", "now", (await s.ok("snapshot", session_id=sid))["seq"])[n % 4]
    task = begin(s.wait(sid, pattern, since=since, timeout_ms=3000))
    await s.until_waits(sid, 1)
    await s.send(sid, "\n")
    return await task


@check(limit=60)
async def erased_in_one_write(s):
    return await transient(s, "write", 8, lambda sid, pattern, n: running_wait(s, sid, pattern, n))


@check(limit=60)
async def erased_in_one_write_send_and_wait(s):
    return await transient(
        s, "write", 8, lambda sid, pattern, n: s.send(sid, "\n", wait={"text": pattern, "timeout_ms": 3000}))


@check(limit=60)
async def visible_for_1_ms(s):
    return await transient(s, "1ms", 4, lambda sid, pattern, n: running_wait(s, sid, pattern, n))


@check(limit=60)
async def visible_for_1_ms_wait_called_later(s):
    async def late(sid, pattern, _):
        await s.send(sid, "\n")
        await asyncio.sleep(0.03)  # the text is gone by then
        return await s.wait(sid, pattern, timeout_ms=0)  # looks only at the frames since the input

    # One at a time: the server takes a frame only when it has drained the output, which needs a free core.
    return await transient(s, "1ms", 1, late)


@check(limit=120)
async def flood_with_a_running_wait(s):
    async def one(i):
        sid = await s.sh("stty -echo; echo UP; read x; seq 1 200000; exec cat")
        await s.up(sid)
        task = begin(s.wait(sid, "^123456$", timeout_ms=20_000, **({"flags": "m"} if i % 2 else {})))
        await s.until_waits(sid, 1)
        await s.send(sid, "\n")
        result = fields(await task, found=True)
        # Line 1 is UP and nothing is echoed, so the number N is on line N + 1.
        expect(result["match"]["text"] == "123456" and result["match"]["line"] == 123457, "line 123457", result["match"])
        fields(await s.wait(sid, "^200000$", timeout_ms=20_000), found=True, visible=True)
        await s.close(sid)

    return await many(times(6), 2, one)


@check(limit=90)
async def text_from_before_the_input_is_stale(s):
    async def one(i):
        sid = await s.sh("echo STALE_TEXT; exec cat" if i % 2 else "printf '\\033[?1049hSTALE_TEXT\\r\\n'; exec cat")
        before = await s.up(sid, "STALE_TEXT")
        await s.send(sid, "x\n" * (1 + i % 5))  # the text may scroll, but it is not drawn again
        result = await s.wait(sid, "STALE_TEXT", timeout_ms=(0, 120)[i // 2 % 2])
        fields(result, found=False, outcome="timeout", stale_match=True, match=None)
        expect("screen" in json.dumps({k: v for k, v in result.items() if k != "screen_text"} | {"": result.text}),
               "a hint that names since screen", result)
        fields(await s.wait(sid, "STALE_TEXT", timeout_ms=0, since="now"), found=False)
        fields(await s.wait(sid, "STALE_TEXT", timeout_ms=0, since=before["seq"]), found=False)
        fields(await s.wait(sid, "STALE_TEXT", timeout_ms=0, since="screen"), found=True, fresh=False, visible=True)
        fields(await s.wait(sid, "STALE_TEXT", timeout_ms=0, since=0), found=True, fresh=True)
        await s.close(sid)

    return await many(times(100), 8, one)


@check()
async def changed_cell_makes_a_match(s):
    sid = await s.sh("stty -echo; printf 'Status:  50%%'; read x; printf '\\rStatus: 100%%'; exec cat")
    await s.up(sid, "50%")
    await s.send(sid, "\n")
    fields(await s.wait(sid, "Status: 100%"), found=True, fresh=True)
    sid = await s.sh("echo BUSY; read x; printf '\\033[2J'; exec cat")
    await s.up(sid, "BUSY")
    fields(await s.wait(sid, "BUSY", gone=True, timeout_ms=100), found=False, outcome="timeout")
    await s.send(sid, "\n")
    fields(await s.wait(sid, "BUSY", gone=True), outcome="met")
    sid = await s.sh("printf 'wrapped_%s_text' 0123456789; exec cat", cols=10)
    fields(await s.wait(sid, "wrapped_0123456789_text"), found=True)


# ------------------------------------------------------------------------------------ the echo
FISH_PROMPT = "function fish_prompt; echo 'P> '; end; function fish_greeting; end"
SHELLS = {
    "bash": (["bash", "--norc", "--noprofile"], "echo READY\n", "^P>"),
    "zsh": (["zsh", "-f"], "echo READY\n", "^P>"),
    "fish": (["fish", "--no-config", "-C", FISH_PROMPT], "echo READY\n", "^P>"),
    "dash": (["dash"], "echo READY\n", "^P>"),
    "python": ([PYTHON, "-q", "-I"], 'x = "READY"; print(x)\n', "^>>>"),
    "python_split": ([PYTHON, "-q", "-I"], 'print("REA" + "DY")\n', "^>>>"),
}
# The tty echoes input that is typed before the shell has started. The output then follows the prompt on its row.
OUTPUT = re.compile(r"((P>|>>>) )?READY")
SHELL_ENV = {"PS1": "P> ", "HOME": HOME, "HISTFILE": "/dev/null", "ENV": "", "PYTHONSTARTUP": ""}


async def ready_once(s, sid, command, answered_first, last_line):
    """Sends the command and waits for its output. Returns the line number of the match."""
    answers = lambda text: sum(bool(OUTPUT.fullmatch(row)) for row in text.split("\n"))
    before = answers(await s.text(sid))
    await s.send(sid, command)
    if answered_first:
        await s.screen(sid, lambda text: answers(text) > before, "one more row READY", 10)
    timeout = 0 if answered_first else 10_000
    result = fields(await s.wait(sid, "READY", timeout_ms=timeout), found=True)
    row = await matched_row(s, sid, result)
    expect(OUTPUT.fullmatch(row), "the output line, not the echo", {"row": row, **result})
    expect(result["match"]["line"] > last_line, f"a line after {last_line}", result)
    return result["match"]["line"]


def echo_check(shell, mode):
    argv, command, prompt = SHELLS[shell]

    @check(limit=180, name=f"echo_{shell}_{mode}")
    async def run(s):
        expect(shutil.which(argv[0]), f"{argv[0]} to be installed", "not found")
        # Typing before the first prompt is possible once per session. At a prompt, two commands: during the second,
        # READY of the first is on the screen, and fish suggests it while typing.
        count, commands = (times(100), 1) if mode == "at_once" else (times(50), 2)

        async def one(_):
            sid, line = await s.spawn(*argv, env=SHELL_ENV), 0
            for _ in range(commands):
                if mode != "at_once":
                    fields(await s.wait(sid, prompt, timeout_ms=15_000), found=True)
                line = await ready_once(s, sid, command, mode == "answered_first", line)
            await s.close(sid)

        await many(count, 4, one)
        return f"{count * commands} of {count * commands}"


for _shell in SHELLS:
    for _mode in ("at_prompt", "at_once", "answered_first"):
        echo_check(_shell, _mode)


# ------------------------------------------------------------------------------------ change, settled
SLOW = """
import os, sys, time
os.system("stty -icanon " + sys.argv[1]); os.write(1, b"UP> "); n = 0
while os.read(0, 1):
    n += 1; time.sleep(0.6); os.write(1, b"\\r\\nANSWER_%d_\\r\\nUP> " % n)
"""


def slow_check(echo):
    @check(limit=60, name=f"answer_after_600_ms_{'with' if echo == 'echo' else 'without'}_echo")
    async def run(s):
        async def one(_):
            sid = await s.py(SLOW, echo)
            await s.up(sid)

            def answered(n, start, result):
                took = time.monotonic() - start
                fields(result, changed=True)
                expect(took >= 0.55 and f"ANSWER_{n}_" in json.dumps(result.get("screen_text") or result.get("changes")), f"ANSWER_{n}_ after 600 ms, not {took:.3f} s", result)

            start = time.monotonic()
            answered(1, start, await s.send(sid, "x", wait={"change": 100, "timeout_ms": 5000}))
            start = time.monotonic()
            result = await s.send(sid, "x", wait={"settled": 200, "timeout_ms": 5000})
            took = time.monotonic() - start
            fields(result, changed=True, settled=True, outcome="met")  # a program that sleeps on a timer has not settled
            expect(took >= 0.75, f"settled 200 ms after the answer, not {took:.3f} s", result)
            fields(await s.wait(sid, "ANSWER_2_"), found=True)
            for n, stable in ((3, 100), (4, 0)):
                # The echo alone is not a change for wait_for_screen_change either.
                start = time.monotonic()
                await s.send(sid, "x")
                answered(n, start, await s.ok("wait_for_screen_change", session_id=sid, stable_ms=stable))
                fields(await s.wait(sid, f"(?s)ANSWER_{n}_.*UP>", since="screen"), found=True)
            start = time.monotonic()
            answered(5, start, await s.send(sid, "x", wait={"settled": 700, "timeout_ms": 5000}))
            await s.close(sid)

        return await many(times(10), 5, one)


slow_check("echo")
slow_check("-echo")

SPINNER = r"""
i=0; printf 'Header\n\n\n\nfooter\033[3;1H'
while :; do printf "\r%d spinning" $i; i=$((i+1)); sleep 0.04; done
"""


def names_row(result, row):
    """Returns whether the fields about rows name this one only."""
    flat = lambda v: v if isinstance(v, list) else [v]
    rows = [one for key, value in result.items() if "row" in key for one in flat(value)]
    return [one.get("row") if isinstance(one, dict) else one for one in rows] == [row]


@check()
async def spinner_changes_but_is_not_stable(s):
    sid = await s.sh(SPINNER)
    await s.up(sid, "3 spinning")
    result = await s.ok("wait_for_screen_change", session_id=sid, timeout_ms=900)
    fields(result, changed=True, stable=False, outcome="timeout")
    expect(0.85 <= result.took < 1.5 and result["last_change_ms"] < 400, "last_change_ms, at the timeout", result)
    expect(names_row(result, 3), "row 3 named as the one that kept changing", result)
    result = await s.ok("wait_for_screen_change", session_id=sid, ignore=[r"^\d+ spinning"], timeout_ms=5000)
    fields(result, changed=True, stable=True, outcome="met")
    expect(result.took < 2, "settled within 300 ms or at once", result)


@check()
async def only_text_and_selection_count_as_changes(s):
    cases = "s) printf '\\033[1;1H\\033[31mword\\033[m';; r) printf '\\033[1;1H\\033[7mword\\033[m';; t) printf '\\033[1;1Htext';;"
    sid = await s.sh(f"stty -echo; printf 'word\\n'; while read x; do case $x in {cases} esac; done")
    await s.up(sid, "word")
    await s.send(sid, "s\n")  # changes a style
    result = await s.ok("wait_for_screen_change", session_id=sid, stable_ms=50, timeout_ms=400)
    fields(result, changed=False, style_changed=True, outcome="timeout")
    fields(await s.ok("wait_for_screen_change", session_id=sid, stable_ms=50, timeout_ms=2000, styles=True), changed=True)
    await s.send(sid, "s\n")  # changes nothing
    result = await s.ok("wait_for_screen_change", session_id=sid, stable_ms=50, timeout_ms=400, styles=True)
    fields(result, changed=False, style_changed=False, outcome="timeout")
    await s.send(sid, "r\n")  # moves the selection
    result = await s.ok("wait_for_screen_change", session_id=sid, stable_ms=50, timeout_ms=400, styles=False)
    fields(result, changed=False, style_changed=True, outcome="timeout")
    fields(await s.ok("wait_for_screen_change", session_id=sid, stable_ms=50, timeout_ms=2000), changed=True)
    await s.send(sid, "t\n")
    while (await s.sessions())[sid]["idle_ms"] < 400:  # longer than stable_ms
        await asyncio.sleep(0.02)
    for _ in range(2):  # level-triggered: a change that settled before the call resolves immediately
        result = fields(await s.ok("wait_for_screen_change", session_id=sid), changed=True, stable=True, outcome="met")
        expect(result.took < 0.2, "an immediate result", {"took": result.took})
    fields(await s.ok("wait_for_screen_change", session_id=sid, since=result["seq"], timeout_ms=0), changed=False)


@check()
async def stuck_synchronized_update_is_shown(s):
    async def one(i):
        sid = await s.sh("stty -echo; echo UP; read x; printf '\\033[?2026hSTUCK'; exec sleep 60")
        await s.up(sid)
        start = time.monotonic()
        if i % 2:
            await s.send(sid, "\n")
            await s.screen(sid, lambda t: "STUCK" in t, "STUCK on the screen")
        else:
            fields(await s.send(sid, "\n", wait={"change": 0, "timeout_ms": 3000}), changed=True)
        took = time.monotonic() - start
        expect(0.13 <= took <= 0.4, "shown after about 150 ms", f"{took * 1000:.0f} ms")
        fields(await s.wait(sid, "STUCK", timeout_ms=0), found=True, visible=True)
        await s.close(sid)

    return await many(times(10), 2, one)


@check(limit=60)
async def heavy_patterns_do_not_block_other_calls(s):
    rows = "import time\nwhile 1:\n  print('a' * 110 + 'b', flush=True); time.sleep(0.002)"
    sid = await s.py(rows)
    words = "|".join(f"word{i:05}" for i in range(1000))[:4096].rstrip("|")
    patterns = [r"(a+)+$", words, r"(a|aa)+$", r"(x+x+)+y"]
    waits = [begin(s.wait(sid, patterns[i % 4], timeout_ms=2000)) for i in range(20)]
    await s.until_waits(sid, len(waits))
    latencies = []
    while not all(task.done() for task in waits):
        latencies.append((await s.ok("list_sessions")).took * 1000)
        await asyncio.sleep(0.01)
    for result in await asyncio.gather(*waits):
        fields(result, found=False, outcome="timeout")
        expect(1.9 <= result.took < 2.5, "a result at the timeout", {"took": result.took})
    median = statistics.median(latencies)
    expect(median < 50, "other calls served (median) in under 50 ms", f"{median:.1f} ms")
    return f"list_sessions median {median:.1f} ms, max {max(latencies):.1f} ms, {len(latencies)} calls"


# ------------------------------------------------------------------------------------ bad arguments
def bad_check(name, codes, tool, arguments, message):
    @check(name=f"bad_{name}")
    async def run(s):
        sid = await s.sh("stty -echo; echo UP; exec cat -v")
        await s.up(sid)
        await s.ok("wait_for_any", waits=[{"session_id": sid, "ready": True}])  # or its state changes during the check
        plain = os.path.join(HOME, "plain")
        with open(plain, "w") as file:
            file.write("#!/bin/sh\n")
        os.chmod(plain, stat.S_IRUSR | stat.S_IWUSR)
        put = {KEPT: sid, PLAIN: plain}
        state = lambda found: {k: {f: v for f, v in one.items() if f != "idle_ms"} for k, one in found.items()}
        before = state(await s.sessions())
        given = {k: put.get(v, v) if isinstance(v, str) else v for k, v in arguments.items()}
        result = await s.err(codes, tool, **given)
        text = json.dumps(result) + result.text
        expect(re.search(put.get(message, message), text), f"a message with /{put.get(message, message)}/", text)
        expect(state(await s.sessions()) == before, f"nothing changed from {before}", await s.sessions())
        await s.send(sid, "ok\n")
        await s.screen(sid, lambda t: t == "UP\nok", "cat -v to have read only `ok`")


for _bad in BAD:
    bad_check(*_bad)


@check()
async def edge_arguments_are_accepted(s):
    sid = await s.sh("echo UP; exec cat")
    await s.up(sid)
    result = await s.wait(sid, "NEVER", timeout_ms=0)
    fields(result, found=False, outcome="timeout")
    expect(result.took < 0.3, "an immediate result", {"took": result.took})
    for more in ({"timeout_ms": 0}, {"timeout_ms": 50.0}, {"timeout_ms": 86_400_000}, {"flags": "imsxU"}, {"flags": "g"}, {"since": 0.0}):
        fields(await s.wait(sid, "UP", **{"since": "screen", **more}), found=True)
    fields(await s.ok("wait_for_exit", session_id=sid, timeout_ms=0), exited=False, outcome="timeout")
    fields(await s.ok("resize_session", session_id=sid, cols=1000, rows=500), cols=1000, rows=500)
    fields(await s.ok("resize_session", session_id=sid, cols=1, rows=1), cols=1, rows=1)
    await s.ok("snapshot")  # session_id is optional with a single session
    # F58: a snapshot since an unknown seq is an error or the full text, never a wrong diff.
    result = await s.call("snapshot", session_id=sid, since=999_999)
    expect(result.is_error or (result.get("history_truncated") and "text" in result), "error or full text", result)


@check()
async def exited_session_refuses_input(s):
    sid = await s.sh("echo LAST; exit 7")
    fields(await s.ok("wait_for_exit", session_id=sid), exited=True, exit_code=7)
    await s.err(("exited",), "send_input", session_id=sid, input="x")
    await s.err(("exited",), "send_input", session_id=sid, keys=["enter"])
    expect("LAST" in await s.text(sid), "the last screen to stay readable", await s.text(sid))
    fields((await s.sessions())[sid], state="exited", exit_code=7)
    fields(await s.close(sid), exit_code=7)
    expect(not await s.sessions(), "no session after close", await s.sessions())
    await s.err(("unknown_session",), "snapshot", session_id=sid)


# ------------------------------------------------------------------------------------ input
def raw_cat(modes=""):
    return f"stty raw -echo; printf '{modes}UP\\r\\n'; exec cat -v"


async def arrives(s, modes, wanted, **arguments):
    """Expects that a raw program with these modes reads `wanted`, in the notation of cat -v."""
    sid = await s.sh(raw_cat(modes), cols=400, rows=5)
    await s.up(sid)
    await s.ok("send_input", session_id=sid, **arguments)
    await s.screen(sid, lambda t: t == f"UP\n{wanted}", f"cat -v to show {wanted!r}")
    await s.close(sid)


COMMON_KEYS = """insert=^[[2~ delete=^[[3~ pageup=^[[5~ pagedown=^[[6~ f1=^[OP f5=^[[15~ f12=^[[24~ shift+tab=^[[Z
    enter=^M esc=^[ backspace=^? ctrl+a=^A ctrl+space=^@ alt+x=^[x ctrl+alt+x=^[^X alt+ctrl+x=^[^X q=q Q=Q
    ctrl+right=^[[1;5C shift+up=^[[1;2A alt+up=^[[1;3A"""
NORMAL_KEYS = "up=^[[A down=^[[B right=^[[C left=^[[D home=^[[H end=^[[F " + COMMON_KEYS
CURSOR_KEYS = "up=^[OA down=^[OB right=^[OC left=^[OD home=^[OH end=^[OF " + COMMON_KEYS
KITTY_KEYS = "ctrl+a=^[[97;5u esc=^[[27u alt+x=^[[120;3u a=a enter=^M up=^[[A"


def key_check(name, modes, table):
    @check(name=f"keys_{name}")
    async def run(s):
        pairs = [pair.split("=", 1) for pair in table.split()]
        keys = [item for key, _ in pairs for item in (key, {"text": "|"})]
        await arrives(s, modes, "".join(shown + "|" for _, shown in pairs), keys=keys)
        return f"{len(pairs)} keys"


key_check("normal", "", NORMAL_KEYS)
key_check("application_cursor", r"\033[?1h", CURSOR_KEYS)
key_check("kitty", r"\033[>1u", KITTY_KEYS)


@check()
async def input_and_paste(s):
    on = r"\033[?2004h"
    await arrives(s, "", "abc^M^C^[x", input="abc\n\x03\x1bx")
    await arrives(s, "", "abc^Mxy", input="abc", keys=["enter", {"text": "x"}, "y"])
    await arrives(s, on, "^[[200~hello^[[201~", input="hello", paste=True)
    await arrives(s, "", "hello", input="hello", paste=True)
    await arrives(s, on, "hello", input="hello")
    await arrives(s, on, "a^[[200~hello^[[201~^M", input="a", keys=[{"paste": "hello"}, "enter"])
    sid = await s.sh(raw_cat(on))  # F28: an end marker in the pasted text does not end the paste
    await s.up(sid)
    await s.send(sid, "a\x1b[201~b", paste=True)
    text = await s.screen(sid, lambda t: t.endswith("b^[[201~"), "the end of the paste")
    expect(text.count("^[[201~") == 1, "one end marker", text)


@check()
async def mouse(s):
    click = [{"mouse": {"row": 3, "col": 5, "action": "click", "button": "left"}}]
    sid = await s.sh(raw_cat(r"\033[?1000h\033[?1006h"))
    await s.up(sid)
    await s.ok("send_input", session_id=sid, keys=click)
    await s.screen(sid, lambda t: t == "UP\n^[[<0;5;3M^[[<0;5;3m", "a press and a release at 5;3")
    sid = await s.sh(raw_cat())
    await s.up(sid)
    refused = await s.call("send_input", session_id=sid, keys=click)
    await s.send(sid, "x")
    await s.screen(sid, lambda t: t == "UP\nx", "no mouse report without mouse mode")
    return f"without mouse mode: {refused.get('code', 'no error')}"


@check(limit=60)
async def ctrl_c_right_after_spawn(s):
    async def one(_):
        sid = await s.spawn("sleep", "60")
        result = await s.ok("send_input", session_id=sid, keys=["ctrl+c"], wait={"exit": True, "timeout_ms": 5000})
        fields(result, exited=True, signal="SIGINT", exit_code=None, sent_bytes=1)
        await s.close(sid)

    return await many(times(50), 8, one)


# ------------------------------------------------------------------------------------ reading
DRAWER = r"""
import os, random, sys
r = random.Random(int(sys.argv[1])); os.system("stty -echo -icanon"); os.write(1, b"#0;"); k = 0
while os.read(0, 1):
    k += 1; out = ""
    for _ in range(r.randint(1, 3)):
        row, col, word = r.randint(2, 24), r.randint(1, 60), r.choice(["alpha", "b", "gamma  ray", "\u4e16\u754c"])
        out += r.choice([
            f"\033[{row};{col}H{word}", f"\033[{row};{col}H{word}", f"\033[{row};1H\033[K{word}", "\033[2J",
            "\033[24;1H" + "".join(f"line {k}.{n}\r\n" for n in range(r.randint(1, 30))), f"\033[{row};1H\033[2L",
            f"\033[{row};1H\033[M", f"\033[{row};{col}H\033[7m{word}\033[m", "\033[1;1H\033M\033M", "\033[3S", "\033[2T",
            f"\033[5;15r\033[15;1H\r\n{word}\033[r"])
    os.write(1, (out + f"\033[1;1H\033[K#{k};").encode())
"""


def apply_changes(old, rows, result):
    """Applies a diff to a screen: shifts it by `scrolled` and then sets each row in `changes`."""
    if result.get("history_truncated"):
        return result["text"]
    screen = (old.split("\n") + [""] * rows)[:rows]
    up = result.get("scrolled") or 0
    blank = [""] * min(abs(up), rows)
    screen = screen[up:] + blank if up > 0 else (blank + screen)[:rows]
    for change in result["changes"]:
        expect(change["kind"] in ("changed", "added", "removed", "style"), "a known kind", change)
        screen[change["row"] - 1] = "" if change["kind"] == "removed" else change["text"]
    return "\n".join(row.rstrip() for row in screen).rstrip("\n")


@check(limit=90)
async def changes_applied_give_the_new_text(s):
    async def one(seed):
        sid = await s.py(DRAWER, str(seed), cols=80, rows=24)
        await s.up(sid, "#0;")
        shown = [await s.ok("snapshot", session_id=sid)]
        for k in range(1, 26):
            fields(await s.send(sid, "x", wait={"text": f"^#{k};", "timeout_ms": 5000}), found=True)
            new = await s.ok("snapshot", session_id=sid)
            for old in (shown[-1], shown[max(0, k - 6)], shown[0]):
                diff = await s.ok("snapshot", session_id=sid, since=old["seq"])
                expect(diff["seq"] == new["seq"] > old["seq"], "the seq of the new screen", diff)
                patched = apply_changes(old["text"], 24, diff)
                expect(patched == new["text"], "old text + changes = new text", {"seed": seed, "step": k, "old": old["text"], "diff": diff, "new": new["text"]})
            shown.append(new)
        same = await s.ok("snapshot", session_id=sid, since=new["seq"])
        expect(same["changes"] == [] and not same.get("scrolled"), "no changes since now", same)
        await s.ok("resize_session", session_id=sid, cols=60, rows=20)
        fields(await s.ok("snapshot", session_id=sid, since=shown[0]["seq"]), history_truncated=True)
        await s.close(sid)

    return await many(times(20), 4, one)


@check()
async def read_output_by_line(s):
    sid = await s.sh("seq 1 1000; echo END; exec cat")
    await s.up(sid, "END")
    result = await s.ok("read_output", session_id=sid, from_line=1, limit=100)
    expect(output_lines(result) == [(n, str(n)) for n in range(1, 101)], "lines 1 to 100", result)
    fields(result, next_line=101, first_line=1)
    expect(not result.get("lines_missed"), "lines_missed 0", result)
    lines, start = [], 1
    while more := output_lines(result := await s.ok("read_output", session_id=sid, from_line=start)):
        expect(len(more) <= 500 and more[0][0] == start, f"at most 500 lines from {start}", result)
        lines, start = lines + more, result["next_line"]
    # A blank line under the cursor may follow the last printed line.
    expect([text for _, text in lines if text] == [*map(str, range(1, 1001)), "END"], "every line once", lines[-5:])
    result = await s.ok("read_output", session_id=sid, from_line=1, pattern=r"^99\d$")
    expect(output_lines(result) == [(n, str(n)) for n in range(990, 1000)], "lines 990 to 999", result)
    sid = await s.sh("seq 1 1000; echo END; exec cat", scrollback=100)
    await s.up(sid, "END")
    result = await s.ok("read_output", session_id=sid, from_line=1, limit=10)
    first = result["first_line"]
    expect(800 < first < 1000 and result["lines_missed"] == first - 1, "first_line and lines_missed", result)
    expect(output_lines(result)[0] == (first, str(first)), "lines from the oldest one that is kept", result)


@check()
async def search_output_over_sessions(s):
    a = await s.sh("seq 1 100; echo needle_a; seq 1 100; echo END; exec cat")
    b = await s.sh("echo needle_b; echo END; exec cat")
    await asyncio.gather(s.up(a, "END"), s.up(b, "END"))
    result = await s.ok("search_output", pattern=r"needle_\w")
    found = {(m["session_id"], m["line"], bool(m.get("row"))) for m in result["matches"]}
    expect(found == {(a, 101, False), (b, 1, True)}, "both needles, one of them visible", result)
    result = await s.ok("search_output", pattern="NEEDLE_A", flags="i", session_id=a)
    expect(len(result["matches"]) == 1 and "needle_a" in result["matches"][0]["text"], "one match", result)
    result = await s.ok("search_output", pattern="needle_a", session_id=a, scrollback=False)
    expect(result["matches"] == [], "no match on the screen itself", result)


@check()
async def resize_reaches_the_program(s):
    sid = await s.sh("trap 'stty size' WINCH; echo UP; while :; do sleep 0.02; done")
    await s.up(sid)
    for cols, rows in ((100, 30), (40, 10), (200, 50)):
        fields(await s.ok("resize_session", session_id=sid, cols=cols, rows=rows), cols=cols, rows=rows)
        fields(await s.wait(sid, f"^{rows} {cols}$", since="screen"), found=True)


# ------------------------------------------------------------------------------------ processes
STUBBORN = "trap '' HUP TERM; echo UP; while :; do sleep 1; done"
DAEMON = """
import os, signal, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for s in (signal.SIGHUP, signal.SIGTERM): signal.signal(s, signal.SIG_IGN)
        os.write(1, b"UP\\n"); time.sleep(600)
    os._exit(0)
os.wait(); time.sleep(600)
"""


@check()
async def close_ends_everything(s):
    for script, program in ((s.sh, STUBBORN), (s.py, DAEMON), (s.sh, "sleep 99 & nohup sleep 98 >/dev/null 2>&1 & echo UP; kill -STOP $$")):
        sid = await script(program)
        await s.up(sid)
        result = await s.close(sid, grace_ms=300)
        expect(result.took < 1.5, "an end soon after the grace period", {"took": result.took})
        if program is STUBBORN:
            fields(result, signal="SIGKILL", exit_code=None)
            expect(result.took >= 0.28, "the whole grace period", {"took": result.took})
        left = await gone(s.mark, 0.2)
        expect(not left, "no process left", list(left.values()))
    expect(s.zombies() == 0, "no zombie", str(s.zombies()))


@check()
async def close_ends_waits(s):
    sid = await s.sh("echo UP; exec cat")
    await s.up(sid)
    calls = [s.wait(sid, "NEVER", timeout_ms=20_000) for _ in range(50)]
    calls += [s.ok("wait_for_screen_change", session_id=sid, since="now", timeout_ms=20_000) for _ in range(5)]
    calls += [s.ok("wait_for_exit", session_id=sid, timeout_ms=20_000) for _ in range(5)]
    tasks = [begin(one) for one in calls]
    await s.until_waits(sid, len(tasks))
    await s.close(sid)
    for result in await asyncio.gather(*tasks):
        fields(result, closed=True, exited=True, outcome="closed")
        expect(result.took < 4, "an immediate end", {"took": result.took})


@check()
async def grandchild_does_not_delay_the_exit(s):
    sid = await s.sh("sleep 300 & echo LAST; exit 4")
    result = await s.ok("wait_for_exit", session_id=sid)
    fields(result, exited=True, exit_code=4)
    expect(result.took < 2 and "LAST" in result["screen_text"], "the exit within 2 s and the output before it", result)
    sid = await s.sh("seq 1 20000; echo LAST_LINE; exit 5")  # F01
    result = fields(await s.ok("wait_for_exit", session_id=sid), exit_code=5)
    expect(result["screen_text"].endswith("20000\nLAST_LINE"), "every byte before the exit", result)


SIGNALS = ["SIGTERM", "SIGKILL", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGPIPE"]


async def back_to(s, start, slack):
    """Waits until the server's resources are as at the start. Idle threads take seconds to exit."""
    until = time.monotonic() + 15
    while any((end := s.figures())[key] > start[key] + slack[key] for key in slack):
        expect(time.monotonic() < until, f"figures as at the start {start}", end)
        await asyncio.sleep(0.2)
    return end


@check(limit=300)
async def programs_started_and_ended(s):
    chance = random.Random(3)
    ends = [chance.choice(SIGNALS) if chance.random() < 0.3 else chance.randrange(256) for _ in range(times(2000))]

    async def one(i):
        end = ends[i]
        script = f"echo {i}; exit {end}" if isinstance(end, int) else f"echo {i}; kill -{end[3:]} $$; sleep 5"
        sid = await s.sh(script)
        wanted = {"exit_code": end, "signal": None} if isinstance(end, int) else {"exit_code": None, "signal": end}
        result = fields(await s.ok("wait_for_exit", session_id=sid), exited=True, **wanted)
        expect(str(i) in result["screen_text"], f"{i} printed", result)
        fields(await s.close(sid), **wanted)

    await many(min(64, len(ends)), 8, one)  # warms up caches and pools
    start = s.figures()
    done = await many(len(ends), 8, one)
    expect(not await s.sessions(), "no session left", await s.sessions())
    left = await gone(s.mark, 0.5)
    expect(not left and s.zombies() == 0, "no process and no zombie left", {"left": left, "zombies": s.zombies()})
    end = await back_to(s, start, {"fds": 0, "threads": 0, "kb": 16 * 1024})
    return f"{done}; {start} -> {end}"


def shutdown_check(name, act, transports=harness.TRANSPORTS):
    # Programs in tmux continue after the server's end.
    @check(limit=60, name=f"end_by_{name}", server=False, backends=["pty"], transports=transports)
    async def run():
        async with connect() as s:
            programs = [(s.sh, STUBBORN), (s.py, DAEMON), (s.sh, "echo UP; exec sleep 600"),
                        (s.sh, "sleep 600 & nohup sleep 600 >/dev/null 2>&1 & echo UP; exec cat"), (s.sh, "(setsid sleep 600 &); echo UP; exec cat")]
            sids = [await script(program) for script, program in programs * 4]
            await asyncio.gather(*(s.up(sid) for sid in sids))
            waits = []
            for sid in sids:
                waits += [s.wait(sid, "NEVER", timeout_ms=600_000) for _ in range(3)]
                waits.append(s.ok("wait_for_exit", session_id=sid, timeout_ms=600_000))
                waits.append(s.ok("wait_for_screen_change", session_id=sid, since="now", timeout_ms=600_000))
            tasks = [begin(one) for one in waits]
            for sid in sids:
                await s.until_waits(sid, 5)
            early = [task for task in tasks if task.done()]
            expect(len(tasks) == 100 and not early, "100 blocked waits", str([task.exception() or task.result() for task in early]))
            alive = processes(s.mark)
            expect(len(alive) >= 28, "20 children and their descendants", list(alive.values()))
            start = time.monotonic()
            await act(s)
            while s.process.returncode is None:
                took = time.monotonic() - start
                expect(took < 0.5 + GRACE_S + 5, f"the server to exit within {0.5 + GRACE_S} s", "it still runs")
                await asyncio.sleep(0.005)
            took = time.monotonic() - start
            await asyncio.wait(tasks, timeout=5)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            left = await gone(s.mark, 0.2)
            expect(took <= 0.5 + GRACE_S, f"the server to exit within {0.5 + GRACE_S} s", f"{took:.2f} s; left: {list(left.values())}")
            expect(not left, "no process of the sessions left", list(left.values()))
            return f"{took * 1000:.0f} ms, {len(alive)} processes ended, exit status {s.process.returncode}"


async def _kill(s, number):
    os.kill(s.pid, number)


shutdown_check("stdin_eof", lambda s: s.process.stdin.aclose(), transports=["stdio"])
shutdown_check("sigterm", lambda s: _kill(s, signal.SIGTERM))
shutdown_check("sigint", lambda s: _kill(s, signal.SIGINT))


# ------------------------------------------------------------------------------------ the protocol
@check(limit=60)
async def cancelled_waits_leave_nothing(s):
    """Cancels more waits than a session may have (1 000): if each left one, the limit would be reached."""
    sid = await s.sh("echo UP; exec cat")
    await s.up(sid)

    async def one(i):
        task = begin(s.wait(sid, f"NEVER_{i}", timeout_ms=600_000))
        await asyncio.sleep(0.004)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        expect(task.cancelled(), "a wait that was still running", str(task))

    await many(50, 16, one)
    start = s.figures()
    await many(1100, 16, one)
    # A cancellation has no response, so the number of waits is polled.
    while (await s.sessions())[sid].get("waits"):
        pass
    await s.send(sid, "hello\n")
    fields(await s.wait(sid, "hello"), found=True)
    end = await back_to(s, start, {"fds": 0, "kb": 8192})
    return f"1150 cancelled; {start} -> {end}"


@check()
async def a_long_wait_reports_progress(s):
    sid, reported = await s.sh("echo UP; exec cat"), []

    async def progress(value, total=None, message=None):
        reported.append(value)

    result = await s.call("wait_for_text", session_id=sid, pattern="NEVER", timeout_ms=11_000, progress=progress)
    fields(result, found=False, outcome="timeout")
    expect(len(reported) >= 2 and reported == sorted(set(reported)), "growing progress at least every 5 s", reported)
    return f"{len(reported)} in 11 s"


@check(server=False)
async def a_silent_wait_is_pending_at_the_call_limit():
    async def progress(*_):
        pass

    async with connect("--call-limit-ms", "1000") as s:
        sid = await s.sh("echo UP; read x; echo LATER; exec cat")
        await s.up(sid)
        result = await s.wait(sid, "LATER", timeout_ms=3000)
        fields(result, found=False, pending=True, outcome="pending")
        expect(0.9 <= result.took < 1.5, "a result at the limit", {"took": result.took})
        fields(await s.call("wait_for_text", session_id=sid, pattern="LATER", timeout_ms=1500, progress=progress), outcome="timeout")
        await s.send(sid, "\n")
        await s.screen(sid, lambda t: "LATER" in t, "LATER on the screen")
        fields(await s.wait(sid, "LATER", timeout_ms=3000), found=True, outcome="met")


@check()
async def a_thousand_waits_all_end(s):
    sid = await s.sh("stty -echo; echo UP; read x; echo GO; exec cat")
    await s.up(sid)
    tasks = [begin(s.wait(sid, "GO", timeout_ms=20_000)) for _ in range(times(900))]
    await s.until_waits(sid, len(tasks))
    await s.send(sid, "\n")
    for result in await asyncio.gather(*tasks):
        fields(result, found=True, outcome="met")
    return f"{len(tasks)} waits"


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--server", help="path of the awaitty binary")
    options.add_argument("--only", default="", help="run only checks whose name matches")
    options.add_argument("--scale", type=float, default=1.0, help="multiplies the repeat counts")
    options.add_argument("--backend", choices=harness.BACKENDS, default="pty", help="where the programs run")
    options.add_argument("--transport", choices=harness.TRANSPORTS, default="stdio", help="how the client reaches the server")
    options.add_argument("--again", type=int, default=0, help="accept a failed check that then passes this many times")
    options.add_argument("--list", action="store_true", help="print the names of all checks and exit")
    given = options.parse_args()
    if given.list:
        print("\n".join(one[0] for one in harness.CHECKS))
        return 0
    if not given.server:
        options.error("--server is required")
    harness.SERVER, harness.SCALE = os.path.abspath(given.server), given.scale
    harness.BACKEND, harness.TRANSPORT = given.backend, given.transport
    return 0 if asyncio.run(harness.run_all(given.only, given.again)) else 1


if __name__ == "__main__":
    sys.exit(main())
