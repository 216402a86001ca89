"""Acceptance checks of waits for programs that react late, stay busy, ask, or redraw only a part of the screen.

docs/waits.md defines the waits. No check sleeps.
"""

import json
import os
import subprocess
import tempfile
from contextlib import contextmanager

import harness
from harness import PYTHON, check, expect, fields, many, times

STDIO = ("stdio",)  # Waits do not depend on the transport.
LIMIT_S = 300
START_MS = 15_000
ANSWER_MS = 15_000
SETTLED_MS = 200
BUSY_MAX_MS = 3_000  # After this much quiet, `settled` reports a program that stays busy.
BUSY_SLACK_MS = 1_500  # For the start of the program, and for other load on the machine.
ASKS_S = 6  # A command that asks is answered within seconds: 300 ms of quiet after a read, 2 s after a poll.
CPU_WIDTH = 2  # Programs that compute share two cores.
WIDTH = 4


# ------------------------------------------------------------------------------------ helpers
def shown(result):
    """Returns all parts of a result that show the screen."""
    return json.dumps([result.get("screen_text"), result.get("changes"), result.get("text")], ensure_ascii=False) + result.text


def explanation(result):
    """Returns the text block without the rows of the screen."""
    rows = [row for row in result.text.split("\n") if not row.split("\t")[0].isdigit()]
    return "\n".join([*rows, str(result.get("why")), str(result.get("hint")), str(result.get("running"))])


async def key(s, sid, name, timeout_ms=ANSWER_MS, **wait):
    return await s.ok("send_input", session_id=sid, keys=[name], wait={"timeout_ms": timeout_ms, **wait})


async def spawn_and_wait(s, argv, env=None, **wait):
    """Starts a program with a wait. Returns the result of the call."""
    env = {"ACCEPTANCE_MARK": s.mark.decode(), **(env or {})}
    wait = {"timeout_ms": START_MS, **wait}
    return await s.ok("spawn", command=argv[0], args=argv[1:], env=env, wait=wait, **harness.BACKENDS[harness.BACKEND])


async def bash(s, **options):
    """Starts a bash and waits for its prompt."""
    env = {"PS1": "$ ", "HISTFILE": "", **options.pop("env", {})}
    sid = await s.spawn("bash", "--norc", "--noprofile", env=env, **options)
    result = await s.ok("wait_for_any", waits=[{"session_id": sid, "ready": True}], timeout_ms=START_MS)
    fields(result, outcome="met")
    return sid


# ------------------------------------------------------------------------------------ late reactions
LATE = r"""
import os, subprocess, sys, time, tty
BURN = "import sys, time; end = time.monotonic() + float(sys.argv[1])\nwhile time.monotonic() < end: pass"
def burn(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end: pass
react = {
    "sleep": time.sleep,
    "cpu": burn,
    "child": lambda seconds: subprocess.run(["sleep", str(seconds)]),
    "cpu_child": lambda seconds: subprocess.run([sys.executable, "-I", "-S", "-c", BURN, str(seconds)]),
}[sys.argv[1]]
tty.setraw(0)
os.write(1, b"UP\r\n")
while True:
    key = os.read(0, 1).decode()
    react(float(sys.argv["abcd".index(key) + 2]) / 1000)
    os.write(1, b"REACTION_%s_\r\n" % key.encode())
"""
DELAYS = {"a": 50, "b": 150, "c": 400, "d": 600}  # ms after the key


def late(kind, width):
    @check(limit=LIMIT_S, name=f"late_{kind}", transports=STDIO)
    async def run(s):
        """A wait for `settled` ends after the reaction, also if that comes late."""

        async def one(_):
            sid = await s.py(LATE, kind, *map(str, DELAYS.values()))
            await s.up(sid)
            for name in DELAYS:
                result = await key(s, sid, name, settled=SETTLED_MS)
                what = f"the reaction {DELAYS[name]} ms after the key"
                expect(f"REACTION_{name}_" in shown(result), what, result)
                fields(result, outcome="met", settled=True, changed=True, busy=False)
            await s.close(sid)

        return f"{await many(times(100), width, one)} of each delay"


late("sleep", WIDTH)
late("cpu", CPU_WIDTH)
late("child", WIDTH)
late("cpu_child", CPU_WIDTH)


# ------------------------------------------------------------------------------------ programs that stay busy
def busy(result, name):
    """Expects that the wait ended because the program stays busy, and that the result names it."""
    fields(result, outcome="met", settled=True, busy=True)
    bound = BUSY_MAX_MS + BUSY_SLACK_MS
    expect(result["elapsed_ms"] < bound, f"a result within {bound} ms", result)
    expect(name in explanation(result), f"{name!r} named as running", result | {"block": result.text})


@check(limit=LIMIT_S, transports=STDIO)
async def late_watch(s):
    """`watch` draws every two seconds and sleeps in between. It settles as busy."""

    async def one(_):
        result = await spawn_and_wait(s, ["watch", "date"], settled=SETTLED_MS)
        busy(result, "watch")
        await s.close(result["session_id"])

    return await many(times(20), WIDTH, one)


COMPILES = {"sleeping": "sh -c 'sleep 20'", "computing": f"{PYTHON} -I -S -c 'while True: pass'"}


def silent(kind, command, width):
    @check(limit=LIMIT_S, name=f"late_silent_{kind}", transports=STDIO)
    async def run(s):
        """A command that prints nothing for a long time settles as busy."""

        async def one(_):
            sid = await bash(s)
            result = await s.send(sid, f"{command}\n", wait={"settled": SETTLED_MS, "timeout_ms": ANSWER_MS})
            busy(result, command)
            await s.close(sid)

        return await many(times(20), width, one)


silent("sleeping", COMPILES["sleeping"], WIDTH)
silent("computing", COMPILES["computing"], CPU_WIDTH)


# ------------------------------------------------------------------------------------ prompts
# name: argv, patterns that match the prompt, patterns that do not
PROMPTS = {
    "python": ([PYTHON, "-q", "-I"], [">>> ", ">>> $", "^>>> $", ">>>$"], [">>>  "]),
    "password": (["sh", "-c", 'printf "Password: "; read x'], ["Password: ", "Password: $", "Password:$"], ["Password:  "]),
    "name": (["sh", "-c", 'stty -echo; printf "Name: "; read x'], ["Name: ", "Name: $", "^Name: $"], ["Name:  ", "Name: x"]),
    "bash": (["bash", "--norc", "--noprofile"], [r"\$ $", r"^\$ $", r"\$ "], [r"\$  $"]),
    # The program moves the cursor over cells that it does not write.
    "cursor": (["sh", "-c", r'printf "Age:\033[3C"; read x'], ["Age:   $", "Age:$"], ["Age:    "]),
    # The program pads its rows.
    "padded": (["sh", "-c", r'printf "%-40s\nUP" "Choose one"; read x'], ["one$", "one +$"], ["one.+x"]),
}


def prompt(name, argv, found, missing):
    @check(limit=60, name=f"late_prompt_{name}", transports=STDIO)
    async def run(s):
        """A pattern can match the blanks at the end of a prompt."""
        for pattern in found:
            env = {"PS1": "$ ", "PYTHONSTARTUP": "", "HISTFILE": ""}
            sid = await s.spawn(*argv, env=env)
            fields(await s.wait(sid, pattern, timeout_ms=START_MS), found=True, outcome="met")
            for one in missing:
                fields(await s.wait(sid, one, timeout_ms=0, since="screen"), found=False)
            await s.close(sid)
            result = await spawn_and_wait(s, argv, env, text=pattern)
            fields(result, found=True, outcome="met")
            await s.close(result["session_id"])
        return f"{len(found)} patterns"


for _name, (_argv, _found, _missing) in PROMPTS.items():
    prompt(_name, _argv, _found, _missing)


# ------------------------------------------------------------------------------------ ready
@check(limit=LIMIT_S, transports=STDIO)
async def late_ready_vim(s):
    """vim is ready when it has drawn the typed text."""

    async def one(i):
        with tempfile.TemporaryDirectory(prefix="awaitty-late-", ignore_cleanup_errors=True) as directory:
            sid = await s.spawn("vim", "--clean", "-n", os.path.join(directory, "file"))
            fields(await s.ok("wait_for_any", waits=[{"session_id": sid, "ready": True}], timeout_ms=START_MS), outcome="met")
            result = await s.send(sid, f"ihello {i}", wait={"ready": True, "timeout_ms": ANSWER_MS})
            fields(result, outcome="met")
            expect(f"hello {i}" in shown(result), f"'hello {i}' shown", result)
            await s.close(sid)

    return await many(times(100), WIDTH, one)


THREAD = r"""
import os, sys, threading, tty
tty.setraw(0)
keys, came, patience = [], threading.Event(), float(sys.argv[1]) or None
def read():
    while True:
        keys.append(os.read(0, 1)); came.set()
threading.Thread(target=read, daemon=True).start()
os.write(1, b"UP\r\n")
while True:
    if came.wait(patience):
        came.clear()
        while keys: os.write(1, b"GOT_%s_\r\n" % keys.pop(0))
"""


def in_a_thread(name, patience):
    @check(limit=LIMIT_S, name=f"late_ready_{name}", transports=STDIO)
    async def run(s):
        """A program whose second thread reads the terminal is ready after it has reacted."""

        async def one(_):
            sid = await s.py(THREAD, str(patience))
            await s.up(sid)
            for letter in "xyz":
                result = await key(s, sid, letter, ready=True)
                fields(result, outcome="met")
                # The evidence is "quiet" if the server may not inspect the program in /proc.
                expect(result.get("evidence") in ("kernel", "quiet"), "evidence kernel or quiet", result)
                expect(f"GOT_{letter}_" in shown(result), f"GOT_{letter}_ shown", result)
            await s.close(sid)

        return await many(times(40), WIDTH, one)


in_a_thread("thread", 0)
in_a_thread("thread_beside_a_timer", 0.05)


@check(limit=LIMIT_S, transports=STDIO)
async def late_ready_behind_another_terminal(s):
    """The program runs in an inner terminal, as behind ssh. /proc shows only the process in between."""

    async def one(i):
        sid = await s.spawn("script", "-qec", f"{PYTHON} -q -I", "/dev/null", env={"SHELL": "/bin/sh"})
        await s.up(sid, ">>>")
        result = await s.send(sid, f"print({i} + 1000)\n", wait={"ready": True, "timeout_ms": ANSWER_MS})
        fields(result, outcome="met")
        expect(result.get("evidence") in ("kernel", "quiet"), "evidence kernel or quiet", result)
        await s.send(sid, "exit()\n", wait={"exit": True, "timeout_ms": ANSWER_MS})
        await s.close(sid)

    return await many(times(20), WIDTH, one)


# ------------------------------------------------------------------------------------ since: "frame"
PARTIAL = r"""
import os, tty
tty.setraw(0)
LIST = {1: "List of things", 3: "> first", 4: "  second", 10: "? keys"}
DETAILS = {1: "Details of first", 3: "size 12", 4: "", 10: "? keys"}
shown = {}
def draw(rows):
    for row, text in rows.items():
        if shown.get(row) != text: os.write(1, b"\033[%d;1H%s\033[K" % (row, text.encode()))
    shown.update(rows)
os.write(1, b"\033[?1049h\033[2J")
draw(LIST)
while True:
    key = os.read(0, 1)
    if key == b"d": draw(DETAILS)
    if key == b"l": draw(LIST)
"""


@check(limit=LIMIT_S, transports=STDIO)
async def late_since_frame(s):
    """Two screens share a footer. The program does not redraw it, but it is part of the new frame."""
    footer = r"^\? keys$"

    async def one(_):
        sid = await s.py(PARTIAL)
        await s.up(sid, footer)
        for letter, title in (("d", "Details of first"), ("l", "List of things")):
            fields(await key(s, sid, letter, text=title), outcome="met", found=True)
            result = await s.wait(sid, footer, timeout_ms=0)
            fields(result, found=False, outcome="timeout", stale_match=True, match=None)
            expect('"frame"' in explanation(result).replace("`", '"').replace("'", '"'), 'a hint that names since "frame"', result)
            fields(await s.wait(sid, footer, timeout_ms=0, since="frame"), found=True, outcome="met", visible=True)
        # One call sends the key and waits for the new frame.
        result = await key(s, sid, "d", text=footer, since="frame")
        fields(result, found=True, outcome="met")
        expect("Details of first" in shown(result), "the new screen", result)
        # A key without effect makes no frame.
        fields(await key(s, sid, "n", ready=True), outcome="met")
        result = await s.wait(sid, footer, timeout_ms=0, since="frame")
        fields(result, found=False, outcome="timeout", stale_match=True)
        expect("screen" in explanation(result), 'a hint that names since "screen"', result)
        await s.close(sid)

    return await many(times(20), WIDTH, one)


@check(limit=LIMIT_S, transports=STDIO)
async def late_since_frame_echo(s):
    """The echo of the input alone is not a new screen."""
    sid = await s.sh("echo FOOTER; exec cat >/dev/null")
    await s.up(sid, "FOOTER")
    await s.send(sid, "abc")
    fields(await s.wait(sid, "^abc", since="screen"), found=True)
    fields(await s.wait(sid, "FOOTER", timeout_ms=0, since="frame"), found=False, stale_match=True)


# ------------------------------------------------------------------------------------ several conditions
CONDITIONS = r"""
import os, sys, tty
tty.setraw(0)
os.write(1, b"UP\r\nesc to interrupt")
while True:
    key = os.read(0, 1)
    if key == b"g": os.write(1, b"\r\033[K")
    if key == b"p": os.write(1, b"\r\n3 passed\r\n")
    if key == b"f": os.write(1, b"\r\n1 failed\r\n"); os._exit(1)
    if key == b"e": sys.exit(3)
"""


async def several(s, letter, wait, wanted):
    sid = await s.py(CONDITIONS)
    await s.up(sid, "esc to interrupt")
    result = await key(s, sid, letter, **wait)
    fields(result, **wanted)
    await s.close(sid)
    return result


GONE = {"gone": "esc to interrupt", "exit": True}
TEXT = {"text": "passed|failed", "exit": True}
SEVERAL = [
    # name, key, wait, expected fields of the result
    ("gone", "g", GONE, {"outcome": "met", "met_by": "gone", "exited": False}),
    ("gone_or_exit", "e", GONE, {"met_by": "exit", "exited": True, "exit_code": 3}),
    ("text", "p", TEXT, {"outcome": "met", "met_by": "text", "exited": False}),
    ("text_or_exit", "e", TEXT, {"met_by": "exit", "exited": True, "exit_code": 3}),
    # The match comes first; the result reports the exit, too.
    ("text_and_exit", "f", TEXT, {"outcome": "met", "met_by": "text", "exited": True, "exit_code": 1}),
    ("settled", "n", {"settled": 100, "text": "passed", "gone": "esc to"}, {"outcome": "met", "met_by": "settled"}),
    ("ready", "n", {"ready": True, "exit": True}, {"outcome": "met", "met_by": "ready"}),
    ("change", "p", {"change": 50, "settled": 5000}, {"outcome": "met", "met_by": "change"}),
    ("neither", "n", {"timeout_ms": 300, **GONE}, {"outcome": "timeout", "met_by": None}),
]


def conditions(name, letter, wait, wanted):
    @check(limit=60, name=f"late_several_{name}", transports=STDIO)
    async def run(s):
        """The first condition that holds ends the wait, and `met_by` names it."""
        return await many(times(20), WIDTH, lambda _: several(s, letter, wait, wanted))


for _one in SEVERAL:
    conditions(*_one)


@check(limit=60, transports=STDIO)
async def late_several_of_spawn(s):
    """`wait` of spawn accepts several conditions, too."""
    for script, wanted in (("echo 3 passed; exec cat", {"met_by": "text"}), ("exit 3", {"met_by": "exit", "exit_code": 3})):
        fields(await spawn_and_wait(s, ["sh", "-c", script], **TEXT), **wanted)


# ------------------------------------------------------------------------------------ commands that ask
POLLS = 'import select, sys; print("Sure?", end=" ", flush=True); select.select([0], [], []); sys.exit(input() != "yes")'
# name: command, question, answer, exit code
QUESTIONS = {
    "read": ("read -p 'Name? ' x; test $x = joe", "Name?", "joe\n", 0),
    "read_hidden": ("read -s x; test \"$x\" = joe", "", "jim\n", 1),
    "sh": ("sh -c 'printf \"Password: \"; read x; exit $x'", "Password:", "7\n", 7),
    "poll": (f"{PYTHON} -I -S -c '{POLLS}'", "Sure?", "yes\n", 0),
}


def asks(result, question):
    """Expects that the command is not finished and that the result shows its question. Returns its id."""
    fields(result, outcome="asks", finished=False, exit_code=None)
    expect(result.took < ASKS_S, f"a result within {ASKS_S} s", {"took": result.took})
    expect(isinstance(result.get("command_id"), int), "command_id", result)
    expect(question in shown(result) + str(result.get("output")), f"{question!r} shown", result)
    expect("send_input" in explanation(result), "a hint that names send_input", result)
    return result["command_id"]


def question(name, command, text, answer, exit_code):
    @check(limit=LIMIT_S, name=f"late_asks_{name}", transports=STDIO)
    async def run(s):
        """A command that asks ends the wait before its timeout, and continues after the answer."""

        async def one(_):
            sid = await bash(s)
            id = asks(await s.ok("run_command", session_id=sid, command=command, timeout_ms=ANSWER_MS), text)
            # A second wait returns the same.
            asks(await s.ok("wait_for_command", session_id=sid, command_id=id, timeout_ms=ANSWER_MS), text)
            await s.send(sid, answer)
            result = await s.ok("wait_for_command", session_id=sid, command_id=id, timeout_ms=ANSWER_MS)
            fields(result, outcome="met", finished=True, exit_code=exit_code, command_id=id)
            await s.close(sid)

        return await many(times(20), WIDTH, one)


for _name, _question in QUESTIONS.items():
    question(_name, *_question)


@contextmanager
def repository():
    """Creates a repository with a file that has three changed hunks. Yields its directory and the variables for git."""
    with tempfile.TemporaryDirectory(prefix="awaitty-late-", ignore_cleanup_errors=True) as directory:
        directory = os.path.realpath(directory)
        env = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_PAGER": "cat", "LC_ALL": "C.UTF-8"}
        lines = [f"line {n}\n" for n in range(1, 61)]
        git = lambda *words: subprocess.run(["git", *words], cwd=directory, env={**os.environ, **env}, check=True, capture_output=True)
        write = lambda: open(os.path.join(directory, "lines"), "w").writelines(lines)
        git("init", "-q")
        write()
        git("add", "lines")
        git("-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "first")
        for n in (0, 29, 59):
            lines[n] = lines[n].replace("\n", "!\n")
        write()
        yield directory, env


@check(limit=LIMIT_S, transports=STDIO)
async def late_asks_git_add(s):
    """Each answer leads to the next question. The last one ends the command."""

    async def one(_):
        with repository() as (directory, env):
            sid = await bash(s, cwd=directory, env=env)
            result = await s.ok("run_command", session_id=sid, command="git add -p", timeout_ms=ANSWER_MS)
            id = asks(result, "Stage this hunk")
            for answer, number in (("n", 2), ("y", 3)):
                fields(await s.send(sid, f"{answer}\n", wait={"text": rf"\({number}/3\)", "timeout_ms": ANSWER_MS}), outcome="met")
                result = await s.ok("wait_for_command", session_id=sid, command_id=id, timeout_ms=ANSWER_MS)
                asks(result, "Stage this hunk")
            await s.send(sid, "n\n")
            result = await s.ok("wait_for_command", session_id=sid, command_id=id, timeout_ms=ANSWER_MS)
            fields(result, outcome="met", finished=True, exit_code=0)
            staged = await s.ok("run_command", session_id=sid, command="git diff --cached | grep '^+line'")
            fields(staged, exit_code=0, output="+line 30!")
            await s.close(sid)

    return await many(times(20), WIDTH, one)


@check(limit=LIMIT_S, transports=STDIO)
async def late_asks_does_not_report_working_commands(s):
    """A command that works silently, or reads from another file, does not ask."""
    compute = f"{PYTHON} -I -S -c 'sum(range(40_000_000))'"
    commands = ("sleep 3; echo done", "sleep 3 | cat; echo done", f"{compute}; echo done")

    async def one(i):
        sid = await bash(s)
        result = await s.ok("run_command", session_id=sid, command=commands[i], timeout_ms=60_000)
        fields(result, outcome="met", finished=True, exit_code=0, output="done")
        await s.close(sid)

    return await many(len(commands), WIDTH, one)


# ------------------------------------------------------------------------------------ wait: {"command": true}
@check(limit=LIMIT_S, transports=STDIO)
async def late_command_of_send_input(s):
    """A wait for a typed command returns the same fields as run_command."""
    commands = (("make -v", 0, "GNU Make"), ("echo out; (exit 7)", 7, "out"), ("cd /usr; false", 1, ""))

    async def one(i):
        sid = await bash(s, cwd="/")
        ids = []
        for command, exit_code, output in commands:
            result = await s.send(sid, f"{command}\n", wait={"command": True, "timeout_ms": ANSWER_MS})
            fields(result, outcome="met", finished=True, exit_code=exit_code, cwd="/usr" if "cd" in command else "/")
            expect(output in result.get("output", "no output"), f"{output!r} in `output`", result)
            expect(isinstance(result.get("command_id"), int), "command_id", result)
            ids.append(result["command_id"])
            again = await s.ok("wait_for_command", session_id=sid, command_id=ids[-1], timeout_ms=ANSWER_MS)
            fields(again, **{name: result[name] for name in ("exit_code", "command_id", "output", "cwd")})
        expect(ids == sorted(set(ids)), "unique, growing command_ids", ids)
        await s.close(sid)

    return await many(times(20), WIDTH, one)
