"""Acceptance checks of `run_steps`: several inputs in one call, each after the wait of the previous one.

`steps_ten_tasks` does typical work of an agent with few calls and few characters, and checks the files that the programs
write. No check sleeps.
"""

import json
import os
import re
import subprocess
import tempfile

import harness
from harness import check, expect, fields

STDIO = ("stdio",)  # Steps do not depend on the transport.
CALLS_MAX = 30
CHARACTERS_MAX = 12_000  # Of the arguments and the text blocks of all calls.
ANSWER_MS = 15_000
COMMAND = {"command": True}
GIT_ENV = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "true",
    "GIT_SEQUENCE_EDITOR": "vim --clean -n",
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@b.c",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@b.c",
}


# ------------------------------------------------------------------------------------ helpers
class Desk:
    """A directory to work in, and a client that counts its calls and their characters."""

    def __init__(self, s, directory):
        self.s, self.directory, self.calls, self.characters = s, directory, 0, 0
        self.env = {**GIT_ENV, "PS1": "$ ", "HISTFILE": "", "HTOPRC": self.path("htoprc"), "TERM_PROGRAM": ""}

    async def call(self, tool, **arguments):
        result = await self.s.ok(tool, **arguments)
        self.calls += 1
        self.characters += len(json.dumps(arguments, ensure_ascii=False)) + len(result.text)
        return result

    async def bash(self, name):
        """Starts a shell and waits for its prompt."""
        env = {**self.env, "ACCEPTANCE_MARK": self.s.mark.decode()}
        arguments = {"command": "bash --norc --noprofile", "name": name, "cwd": self.directory, "rows": 24, "cols": 80}
        await self.call("spawn", **arguments, env=env, wait={"ready": True}, **harness.BACKENDS[harness.BACKEND])

    async def steps(self, *steps, session="a", **options):
        """Runs the steps. Expects that each of them was met."""
        result = await self.call("run_steps", session_id=session, steps=list(steps), **options)
        fields(result, outcome="met", steps_done=len(steps), step=None)
        expect([one["outcome"] for one in result["steps"]] == ["met"] * len(steps), "each step met", result)
        return result

    def path(self, name):
        return os.path.join(self.directory, name)

    def write(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text)

    def read(self, name):
        expect(os.path.exists(self.path(name)), f"a file {name!r}", "no file")
        with open(self.path(name)) as file:
            return file.read()

    def wrote(self, name, wanted):
        expect(self.read(name) == wanted, f"{wanted!r} in {name!r}", self.read(name))

    def git(self, *words):
        """Runs git outside of the sessions, to prepare or check a repository. Returns its output."""
        env = {**os.environ, **self.env}
        result = subprocess.run(["git", *words], cwd=self.path("repo"), env=env, capture_output=True, text=True, check=True)
        return result.stdout


def typed(line, /, **wait):
    """Returns a step that types a line."""
    return {"input": f"{line}\n", **({"wait": wait} if wait else {})}


def pressed(*keys, **wait):
    """Returns a step that presses keys."""
    return {"keys": list(keys), **({"wait": wait} if wait else {})}


# ------------------------------------------------------------------------------------ the tasks
TEST = "import unittest, add\nclass Test(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(add.add(2, 3), 5)\n"


async def unittest(desk):
    """Finds a bug with a test, fixes it, and runs the test again."""
    desk.write("add.py", "def add(a, b):\n    return a - b\n")
    desk.write("test_add.py", TEST)
    result = await desk.call("run_command", session_id="a", command="python3 -B -m unittest -f")
    fields(result, exit_code=1)
    expect("-1 != 5" in result.text, "the failed assertion", result.text)
    again = {"run": "python3 -B -m unittest && touch passed"}
    result = await desk.steps({"run": "sed -i s/-/+/ add.py"}, again)
    expect([step.get("exit_code") for step in result["steps"]] == [0, 0], "the exit code of each command", result)
    desk.wrote("passed", "")


async def editors(desk):
    """Edits a file in vim and another one in nano."""
    desk.write("vim.txt", "one\ntwo\n")
    desk.write("nano.txt", "two\n")
    await desk.steps(
        typed("vim --clean -n vim.txt"),
        pressed("G", "o", {"text": "three"}, "esc"),
        typed(":wq", **COMMAND),
        typed("nano -I nano.txt"),
        pressed({"text": "one"}, "enter", "ctrl+o", "enter", "ctrl+x", **COMMAND),
    )
    desk.wrote("vim.txt", "one\ntwo\nthree\n")
    desk.wrote("nano.txt", "one\ntwo\n")


async def git_add(desk):
    """Stages one of three hunks."""
    os.mkdir(desk.path("repo"))
    lines = [f"line {n}" for n in range(1, 61)]
    desk.git("init", "-q", "-b", "main")
    for message in ("first", "second"):
        desk.write("repo/lines", "\n".join([*lines, message, ""]))
        desk.git("add", "lines")
        desk.git("commit", "-qm", message)
    for n in (0, 29, 58):
        lines[n] += "!"
    desk.write("repo/lines", "\n".join([*lines, "second", ""]))
    await desk.steps(
        {"run": "cd repo"},
        typed("git add -p", text=r"\(1/3\) Stage"),
        typed("n", text=r"\(2/3\) Stage"),
        typed("y", text=r"\(3/3\) Stage"),
        typed("n", **COMMAND),
    )
    added = re.findall(r"^\+line.*", desk.git("diff", "--cached"), re.M)
    expect(added == ["+line 30!"], "one hunk staged", added)


async def git_rebase(desk):
    """Squashes the commit of the hunk into the one before."""
    await desk.steps(
        {"run": "git commit -qm hunk"},
        typed("git rebase -i --autostash HEAD~2"),
        typed(":2s/pick/squash"),
        typed(":wq", **COMMAND),
        {"run": "cd ..; clear"},
    )
    subjects = desk.git("log", "--format=%s").split()
    expect(subjects == ["second", "first"], "two commits", subjects)
    body = desk.git("log", "-1", "--format=%b")
    expect("hunk" in body and "line 30!" in desk.git("show", "HEAD:lines"), "the hunk in the last commit", body)


async def debugger(desk):
    """Stops a program at a line and looks at a variable."""
    desk.write("sum.py", "total = 0\nfor n in range(97):\n    total += n\nprint('done')\n")
    result = await desk.steps(
        typed("python3 -m pdb sum.py", text=r"\(Pdb\) $"),
        typed("b 4"),
        typed("c", text=r"-> print"),
        typed("p total", text=r"^\d+$"),
        typed("q", **COMMAND),
    )
    expect(re.search(rf"^\d+\t{sum(range(97))}$", result.text, re.M), "the value of the variable", result.text)


async def viewers(desk):
    """Sorts the processes in htop, and searches a text in less."""
    desk.write("words", "".join(f"word {n}\n" for n in range(500)) + "the needle\n" + "end\n" * 100)
    await desk.steps(
        typed("htop"),
        pressed("M", "q", **COMMAND),
        typed("less words"),
        typed("/needle"),
        typed("|.head -n 1 >found", text="RETURN"),  # The found line is at the top of the screen.
        pressed("enter"),
        pressed("q", **COMMAND),
    )
    desk.wrote("found", "the needle\n")
    # 47 is the sort key of htop for the share of memory.
    expect(re.search(r"^sort_key=47$", desk.read("htoprc"), re.M), "htop sorted by memory", desk.read("htoprc"))


async def menus(desk):
    """Chooses an entry in a menu of dialog and in one of whiptail."""
    menu = "--menu Which? 12 40 3 a apple b banana c cherry"
    await desk.steps(
        typed(f"dialog {menu} 2>dialog", text="cherry"),
        pressed("down", "enter", **COMMAND),
        typed(f"whiptail {menu} 2>whiptail", text="cherry"),
        pressed("down", "down", "enter", **COMMAND),
        {"run": "clear"},
    )
    desk.wrote("dialog", "b")
    desk.wrote("whiptail", "c")


async def web_server(desk):
    """Starts a server in one session, asks it from another one, and stops it."""
    desk.write("hello", "from the server\n")
    await desk.bash("b")
    server = typed("python3 -m http.server 0 --bind 127.0.0.1", text=r"port (\d+)")
    result = await desk.steps(server, session="b")
    port = re.search(r"port (\d+)", result.text)
    expect(port, "the port", result.text)
    ask = {"run": f"curl -s http://127.0.0.1:{port[1]}/hello >got", "session_id": "a"}
    result = await desk.steps(ask, {**pressed("ctrl+c", **COMMAND), "session_id": "b"}, session="a")
    expect(result["steps"][0].get("exit_code") == 0, "curl to succeed", result)
    desk.wrote("got", "from the server\n")
    listening = subprocess.run(["curl", "-s", f"http://127.0.0.1:{port[1]}/"], capture_output=True, check=False)
    expect(listening.returncode == 7, "a free port", str(listening))


BUILD = "date +%s.%N >$1.began; echo building; sleep 1; date +%s.%N >$1.ended\n"


async def builds(desk):
    """Runs two builds at once and waits for both."""
    desk.write("build", BUILD)
    await desk.steps(
        typed("sh build one", text="^building"),
        {**typed("sh build two", **COMMAND), "session_id": "b"},
        {"wait": COMMAND, "session_id": "a"},
    )
    times = {name: [float(desk.read(f"{name}.{end}")) for end in ("began", "ended")] for name in ("one", "two")}
    began, ended = max(one[0] for one in times.values()), min(one[1] for one in times.values())
    expect(began < ended, "both commands at once", times)


async def many_lines(desk):
    """Reads the last of 200 000 lines. The number of a line is its position in the output."""
    env = {"ACCEPTANCE_MARK": desk.s.mark.decode()}
    place = harness.BACKENDS[harness.BACKEND]
    wait = {"exit": True, "timeout_ms": 60_000}
    result = await desk.call("spawn", command="seq 7 7 1400000", name="c", rows=5, cols=20, env=env, wait=wait, **place)
    fields(result, exited=True, exit_code=0)
    result = await desk.call("read_output", session_id="c", from_line=200_000)
    lines = [one for one in harness.output_lines(result) if one[1]]
    expect(lines == [(200_000, "1400000")], "the last line and its number", result)
    expect("1400000" in result.text, "the last line in the text block", result.text)


TASKS = [unittest, editors, git_add, git_rebase, debugger, viewers, menus, web_server, builds, many_lines]


@check(limit=120, transports=STDIO)
async def steps_ten_tasks(s):
    """Ten tasks of an agent take few calls and few characters, and no sleep."""
    with tempfile.TemporaryDirectory(prefix="awaitty-steps-", ignore_cleanup_errors=True) as directory:
        desk = Desk(s, os.path.realpath(directory))
        table = []
        await desk.bash("a")
        for task in TASKS:
            calls, characters = desk.calls, desk.characters
            try:
                await task(desk)
            except harness.Failure as failure:
                raise harness.Failure(f"{task.__name__}: {failure}; so far: {', '.join(table)}") from None
            table.append(f"{task.__name__} {desk.calls - calls}/{desk.characters - characters}")
        for name in "abc":
            await desk.call("close_session", session_id=name, **({"kill": True} if harness.BACKEND == "tmux" else {}))
        done = f"{desk.calls} calls, {desk.characters} characters: {', '.join(table)}"
        expect(desk.calls <= CALLS_MAX, f"at most {CALLS_MAX} calls", done)
        expect(desk.characters <= CHARACTERS_MAX, f"at most {CHARACTERS_MAX} characters", done)
        return done


# ------------------------------------------------------------------------------------ ends
async def cat(s):
    """Starts a program that prints only the lines that it reads."""
    sid = await s.sh("stty -echo; echo UP; exec cat")
    await s.up(sid)
    return sid


def outcomes(result):
    return [one["outcome"] for one in result["steps"]]


@check(limit=60, transports=STDIO)
async def steps_stop_at_the_first_that_is_not_met(s):
    """The steps after a step that was not met are not sent."""
    sid = await cat(s)
    never = {"input": "two\n", "wait": {"text": "NEVER", "timeout_ms": 300}}
    result = await s.ok("run_steps", session_id=sid, steps=[typed("one", text="one"), never, typed("three")])
    fields(result, outcome="timeout", step=2)
    expect(result["steps_done"] == 1 and outcomes(result) == ["met", "timeout"], "the second one not met", result)
    expect(re.search(r"^\d+\ttwo$", result.text, re.M) and result.get("why"), "the changes and `why`", result)
    # cat prints in order: the lines before `four` are all lines that it has read.
    fields(await s.send(sid, "four\n", wait={"text": "four", "timeout_ms": ANSWER_MS}), found=True)
    text = await s.text(sid)
    expect(text.split() == ["UP", "one", "two", "four"], "nothing of the third step", text)
    # The timeout of the call ends a step whose own timeout is longer.
    wait = {"text": "NEVER", "timeout_ms": 60_000}
    steps = [typed("five", text="five"), {"input": "six\n", "wait": wait}, typed("seven")]
    result = await s.ok("run_steps", session_id=sid, steps=steps, timeout_ms=500)
    fields(result, outcome="timeout", step=2)
    expect(result.took < 10, "an end at the timeout of the call", {"took": result.took})
    # A failed command is met; the result has its exit code.
    result = await s.ok("spawn", command="bash --norc", env={"ACCEPTANCE_MARK": s.mark.decode()}, wait={"ready": True},
                        **harness.BACKENDS[harness.BACKEND])
    result = await s.ok("run_steps", session_id=result["session_id"], steps=[{"run": "(exit 7)"}, {"run": "true"}])
    expect([one.get("exit_code") for one in result["steps"]] == [7, 0], "the exit code of each command", result)


@check(limit=60, transports=STDIO)
async def steps_are_all_checked_before_anything_is_sent(s):
    """A mistake in any step is an error, and no step is sent."""
    sid = await cat(s)
    first = typed("one", text="one")
    bad = [
        # the steps after the first one, the error code, a part of the message
        ([{"keys": ["nosuchkey"]}], "bad_key", "nosuchkey"),
        ([typed("two", text="(")], "bad_pattern", "("),
        ([typed("two", text="x", flags="?")], "bad_flags", "?"),
        ([{**typed("two"), "session_id": "nosuchsession"}], "unknown_session", "nosuchsession"),
        ([{"input": "two", "run": "true"}], "bad_argument", "run"),
        ([{"inputs": "two"}], "bad_argument", "inputs"),
        ([typed("two", nosuchwait=True)], "bad_argument", "nosuchwait"),
        ([typed("two", text="x", timeout_ms=-1)], "bad_argument", "timeout_ms"),
        ([first] * 50, "bad_argument", "50"),
        ([{}], "bad_argument", "step"),
    ]
    for more, code, named in bad:
        result = await s.err([code], "run_steps", session_id=sid, steps=[first, *more])
        expect(named in result["message"], f"a message that names {named!r}", result)
    await s.err(["bad_argument"], "run_steps", session_id=sid, steps=[])
    await s.err(["bad_argument"], "run_steps", session_id=sid, steps=[first], show="nosuchshow")
    fields(await s.send(sid, "last\n", wait={"text": "last", "timeout_ms": ANSWER_MS}), found=True)
    text = await s.text(sid)
    expect(text.split() == ["UP", "last"], "no input from the refused calls", text)
    fields(await s.ok("run_steps", session_id=sid, steps=[first] * 50), outcome="met", steps_done=50)


@check(limit=60, transports=STDIO)
async def steps_report_exit(s):
    """An exit of the program ends the steps, whether a step waits for it or not."""
    script = "stty -echo; echo UP; while read x; do echo got $x; [ $x != end ] || exit 3; done"

    async def run(*steps):
        sid = await s.sh(script)
        await s.up(sid)
        return await s.ok("run_steps", session_id=sid, steps=list(steps))

    result = await run(typed("one", text="one"), typed("end", text="NEVER"), typed("three"))
    fields(result, outcome="exited", step=2, exited=True, exit_code=3)
    expect(outcomes(result) == ["met", "exited"], "the second one not met", result)
    expect("exited" in result.text and "got end" in result.text, "the exit and the last output", result.text)
    result = await run(typed("one", text="one"), typed("end", exit=True))
    fields(result, outcome="met", step=None, steps_done=2, exited=True, exit_code=3)
    # A step after the expected exit has no program to send to.
    result = await run(typed("end", exit=True), typed("two"))
    fields(result, outcome="exited", step=2, exited=True, exit_code=3)
    # By default a step waits until the program is at rest, which an exit is not.
    result = await run(typed("end"), typed("two"))
    fields(result, outcome="exited", exited=True, exit_code=3)
