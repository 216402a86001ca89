"""Acceptance checks of input to real full-screen programs. They compare the files that the programs write.

The programs here come from the distribution. tuis_heavy.py has those that take long to install.

Each item of `keys` is a separate keystroke, and so is `input` before `keys`: the program never gets two of them in one
read. Each check sends its keystrokes in each of the forms of `calls_of`.
"""

import os
import re
import shlex
import subprocess
import tempfile
from contextlib import contextmanager

from harness import Failure, check, expect, fields, many, times

RUNS = 20
WIDTH = 2  # Sessions at once. With more, the checks would depend on the scheduler of a small machine.
START_MS = 30_000
ANSWER_MS = 15_000
LIMIT_S = 300
STDIO = ("stdio",)  # Keystrokes do not depend on the transport.
FORMS = ("one", "input", "several")


# ------------------------------------------------------------------------------------ helpers
def typed(text):
    """Returns an item of `keys` with text."""
    return {"text": text}


def calls_of(items, form):
    """Distributes keystrokes and texts over calls of send_input. Returns their arguments.

    - `one`: one call; all items are in `keys`.
    - `input`: each text is the `input` of a call; the keys after the text are the `keys` of that call.
    - `several`: each item is a call.
    """
    if form == "one":
        return [{"keys": items}]
    calls = []
    for item in items:
        if isinstance(item, dict):
            calls.append({"input": item["text"]})
        elif form == "input" and calls:
            calls[-1].setdefault("keys", []).append(item)
        else:
            calls.append({"keys": [item]})
    return calls


@contextmanager
def place():
    """Creates an empty directory. Yields it and the path of the file that the program writes."""
    with tempfile.TemporaryDirectory(prefix="awaitty-tui-", ignore_cleanup_errors=True) as directory:
        directory = os.path.realpath(directory)
        yield directory, os.path.join(directory, "answer")


async def start(s, argv, first, **options):
    """Starts a program and waits until it is ready. The screen must have the text `first` then."""
    sid = await s.spawn(*argv, **{"rows": 24, "cols": 80, **options})
    result = await s.ok("wait_for_any", waits=[{"session_id": sid, "ready": True}], timeout_ms=START_MS)
    fields(result, outcome="met")
    text = await s.text(sid)
    expect(first in text, f"{first!r} on the screen of a program that is ready", text)
    return sid


async def start_in_stages(s, argv, first, **options):
    """Starts a program that reads input before it has drawn everything. Waits for its text, then until it is ready."""
    sid = await s.spawn(*argv, **{"rows": 24, "cols": 80, **options})
    fields(await s.wait(sid, re.escape(first), since="screen", timeout_ms=START_MS), found=True)
    result = await s.ok("wait_for_any", waits=[{"session_id": sid, "ready": True}], timeout_ms=START_MS)
    fields(result, outcome="met")
    return sid


async def drive(s, sid, items, form, **wait):
    """Sends the items in the form without waits between the calls. Returns the result of the last call, which waits."""
    *calls, last = calls_of(items, form)
    for call in calls:
        await s.ok("send_input", session_id=sid, **call)
    return await s.ok("send_input", session_id=sid, **last, wait={"timeout_ms": ANSWER_MS, **wait})


async def drive_to_exit(s, sid, items, form, exit_code=0):
    fields(await drive(s, sid, items, form, exit=True), exited=True, exit_code=exit_code)
    await s.close(sid)


async def repeat(one, forms=FORMS, least=1):
    """Runs `one(i, form)` at least `least` times in each form. A run passes if all of its forms pass."""

    async def run(i):
        for form in forms:
            try:
                await one(i, form)
            except Failure as failure:
                raise Failure(f"form {form}: {failure}") from None

    return await many(max(times(RUNS), least), WIDTH, run)


def wrote(path, wanted, read=str):
    """Expects that the program wrote a file that `read` converts to `wanted`."""
    expect(os.path.exists(path), f"a file with {wanted!r}", "no file")
    with open(path) as file:
        text = file.read()
    expect(read(text) == wanted, f"a file with {wanted!r}", text)


def program(name, argv, first, answers, read=str, exit_code=0, **options):
    """Adds the check `tuis_NAME`: starts the program, sends keystrokes until it exits, and compares the file.

    `argv` returns the command for the path of the file. `answers` are pairs of items to send and the expected value of
    `read` for the file. The runs take the answers in turn; each answer has a run at every scale.
    """

    @check(limit=LIMIT_S, name=f"tuis_{name}", transports=STDIO)
    async def run(s):
        async def one(i, form):
            with place() as (directory, path):
                items, wanted = answers[i % len(answers)]
                sid = await start(s, argv(path), first, cwd=directory, **options)
                await drive_to_exit(s, sid, items, form, exit_code)
                wrote(path, wanted, read)

        return await repeat(one, least=len(answers))


def shell(script):
    """Returns a function from a path to a command that runs the script with `FILE` replaced by the path."""
    return lambda path: ["sh", "-c", script.replace("FILE", shlex.quote(path))]


# ------------------------------------------------------------------------------------ dialog, whiptail
MENU = "--menu Which? 16 50 6 a1 apple b2 banana c3 cherry d4 damson e5 elderberry f6 fig"
CHECKLIST = "--separate-output --checklist Which? 16 50 4 a1 apple off b2 banana off c3 cherry off d4 damson off"


def selects(result, entry):
    """Expects that the result names the selected entry, in the structured content and in the text block."""
    spans = result.get("selection") or []
    expect(any(entry in span["text"] for span in spans), f"{entry!r} in `selection`", result)
    named = re.search(rf'^selected: .*row \d+ ".*{re.escape(entry)}', result.text, re.M)
    expect(named, f'a line `selected: row N "…{entry}…"`', result.text)


def boxes(name):
    menu = shell(f"exec {name} {MENU} 2>FILE")
    # A letter selects the entry that begins with it.
    answers = [(["down", "down", "enter"], "c3"), (["down", typed("e"), "up", "enter"], "d4"), ([typed("b"), "enter"], "b2")]
    answers += [(["down"] * 7 + ["up"] * n + ["enter"], tag) for n, tag in enumerate(("f6", "e5", "d4"))]
    program(f"{name}_menu", menu, "elderberry", answers)
    checklist = [(["space", "down", "down", "space", "enter"], "a1\nc3\n")]
    program(f"{name}_checklist", shell(f"exec {name} {CHECKLIST} 2>FILE"), "damson", checklist)
    # The keys edit the text in order, and Tab moves to the button.
    box = [([typed("two words"), "home", "x", "end", "backspace", "tab", "enter"], "xtwo word")]
    program(f"{name}_inputbox", shell(f"exec {name} --inputbox Name? 10 50 2>FILE"), "Name?", box)
    program(f"{name}_escape", menu, "elderberry", [(["down", "esc"], "")], exit_code=255)

    @check(limit=LIMIT_S, name=f"tuis_{name}_selection", transports=STDIO)
    async def selection(s):
        """A change of the selection is a change, and results name the selected entry."""

        async def one(_, form):
            with place() as (_, path):
                sid = await start(s, menu(path), "elderberry")
                for entry in ("banana", "cherry"):
                    result = await drive(s, sid, ["down"], form, change=200)
                    fields(result, outcome="met", changed=True, stable=True)
                    selects(result, entry)
                selects(await drive(s, sid, ["up"], form, settled=100), "banana")
                await drive_to_exit(s, sid, ["enter"], form)
                wrote(path, "b2")

        return await repeat(one, forms=["one"])


for _name in ("dialog", "whiptail"):
    boxes(_name)


# ------------------------------------------------------------------------------------ fzf
FRUIT = "apple apricot banana blackberry blueberry cherry cranberry damson"
program(
    "fzf",
    # Without sorting, the best entry is the first one that matches.
    shell(f"printf '%s\\n' {FRUIT} | fzf --multi --no-sort >FILE"),
    "damson",
    [
        ([typed("ban"), "enter"], "banana\n"),
        ([typed("cran"), "enter"], "cranberry\n"),
        ([typed("dms"), "enter"], "damson\n"),
        # fzf filters after each letter. The first entry is the lowest one.
        (["b", "e", "r", "r", "y", "up", "enter"], "blueberry\n"),
        # Tab marks an entry and moves down, which the lowest entry does not allow.
        (["tab", "up", "up", "tab", "enter"], "apple\nbanana\n"),
        (["x", "backspace", "up", "down", "up", "enter"], "apricot\n"),
    ],
)

# ------------------------------------------------------------------------------------ editors
program(
    "vim",
    lambda path: ["vim", "--clean", "-n", path],
    "~",
    [
        (["i", typed("hello"), "esc", typed(":wq"), "enter"], "hello\n"),
        ([typed("ihello"), "esc", typed("yyp"), "A", "!", "esc", "Z", "Z"], "hello\nhello!\n"),
    ],
)
program(
    # `esc` before `O` and `[` must not start an escape sequence, and the sequence of an arrow key must arrive whole.
    "vim_escape",
    shell(r"printf 'one\ntwo\nthree\n' >FILE; exec vim --clean -n FILE"),
    "three",
    [
        (
            ["down", "A", "!", "esc", "O", typed("above"), "esc", "G", "o", typed("last"), "up", "end", "?"]
            + ["esc", "[", "[", "x", "esc", "Z", "Z"],
            "ne\nabove\ntwo!\nthree?\nlast\n",
        )
    ],
)
program(
    "nano",
    lambda path: ["nano", "--ignorercfiles", path],
    "New File",
    [([typed("first"), "enter", typed("second"), "home", "x", "ctrl+o", "enter", "ctrl+x"], "first\nxsecond\n")],
)
program(
    "readline",
    lambda path: ["env", "PS1=inner$ ", "HISTFILE=", "bash", "--norc", "--noprofile"],
    "inner$",
    [
        (
            [typed("ho 12x4 >answer"), "home", "e", "c", "end", "ctrl+w", *["backspace"] * 3, typed("34 >answer")]
            + ["enter", typed("exit"), "enter"],
            "1234\n",
        )
    ],
)


# ------------------------------------------------------------------------------------ less, htop, git
def htop_options(text):
    """Returns three options of a file that htop wrote."""
    options = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    return tuple(options.get(name) for name in ("tree_view", "hide_userland_threads", "hide_kernel_threads"))


program(
    "less",
    shell("seq 300 | LESS= exec less"),
    "23\n:",
    [(["G", "s", typed("answer"), "enter", "q"], "".join(f"{n}\n" for n in range(1, 301)))],
)
program(
    # Each key toggles an option, and htop saves the options when it exits. Kernel threads are hidden by default.
    "htop",
    lambda path: ["env", f"HTOPRC={path}", "htop"],
    "PID",
    [(["t", "H", "K", "q"], ("1", "1", "0")), (["t", "H", "t", "K", "K", "q"], ("0", "1", "1"))],
    read=htop_options,
)
GIT = """
export GIT_CONFIG_GLOBAL=/dev/null GIT_PAGER=cat
git init -q && seq -f 'line %g' 60 >lines && git add lines
git -c user.name=a -c user.email=a@b.c commit -qm first
sed -i '1s/$/!/; 30s/$/!/; 60s/$/!/' lines
git add -p
git diff --cached | grep '^+line' >FILE
"""
program(
    "git_add",
    shell(GIT),
    "Stage this hunk",
    [
        ([typed("n"), "enter", typed("y"), "enter", typed("n"), "enter"], "+line 30!\n"),
        (["y", "enter", "n", "enter", "y", "enter"], "+line 1!\n+line 60!\n"),
    ],
    rows=40,
)


# ------------------------------------------------------------------------------------ tmux inside
INNER_SHELL = "exec env 'PS1=inner$ ' bash --norc --noprofile"


@check(limit=LIMIT_S, backends=("pty",), transports=STDIO)
async def tuis_tmux(s):
    """The prefix key works right after text. tmux takes keys that arrive within `assume-paste-time` for a paste."""

    async def one(i, form):
        with place() as (directory, path):
            env = {"TMUX_TMPDIR": directory, "HISTFILE": ""}
            inside = ["tmux", "-f", "/dev/null", "set-option", "-g", "default-command", INNER_SHELL, ";", "new-session"]
            split = ("%", '"')[i % 2]
            text = ("true typed", "true a line\n")[i // 2 % 2]
            try:
                sid = await start_in_stages(s, ["env", "-u", "TMUX", *inside], "inner$", env=env, cwd=directory)
                await drive(s, sid, [typed(text), "ctrl+b", split], form, change=200)
                listing = f"tmux list-panes -F '#{{pane_index}} #{{pane_at_right}}' >{path}; tmux kill-server"
                fields(await drive(s, sid, [typed(listing), "enter"], form, exit=True), exited=True)
                await s.close(sid)
                # The panes are side by side, or one above the other.
                wrote(path, ("0 0\n1 1\n", "0 1\n1 1\n")[i % 2])
            finally:
                end = {**os.environ, "TMUX_TMPDIR": directory}
                end.pop("TMUX", None)
                subprocess.run(["tmux", "kill-server"], env=end, capture_output=True, check=False)

    return await repeat(one)
