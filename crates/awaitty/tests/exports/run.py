"""Records sessions of real programs, exports them as tests, and runs these tests against the same programs.

Each session is recorded as an agent makes it, with MCP calls that wait, and as a person makes it, who types at
`awaitty attach` and pauses.
"""

import argparse
import asyncio
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[3]
PLACE = ROOT / "target" / "exports"
sys.path.insert(0, str(HERE.parent / "acceptance"))

import harness  # noqa: E402
from harness import Failure, connect, expect, fields  # noqa: E402

WAIT_MS = 30_000
PAUSE_S = 0.5  # the time for which a person reads the screen
TEST_S = 120
TARGETS = {"tape": "tape", "rust": "rs", "pytest": "py"}
NODE = str(PLACE / "node_modules" / ".bin" / "node")
MANIFEST = """[package]
name = "exported"
version = "0.0.0"
edition = "2024"

[workspace]

[lints.rust]
warnings = "deny"

[dev-dependencies]
"""
LINES = "".join(f"line {word} of the text\n" for word in ["first", *["middle"] * 90, "needle", *["later"] * 90])


def typed(text):
    """Returns an item of `keys` with text."""
    return {"text": text}


class Program:
    """A program, its files, and what is done in it: pairs of keys and the wait after them. The first has no keys."""

    def __init__(self, argv, steps, files=None, wanted=None):
        self.argv, self.steps, self.files, self.wanted = argv, steps, files or {}, wanted or {}

    def directory(self, path):
        """Creates a fresh directory with the files of the program."""
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        for name, text in self.files.items():
            (path / name).write_text(text)
        return path

    def check(self, path):
        """Expects the files that the program wrote. A text of None stands for any."""
        for name, text in self.wanted.items():
            found = (path / name).read_text() if (path / name).exists() else "no file"
            expect(found == text or (text is None and found != "no file"), f"{name} with {text!r}", found)


MENU = "exec dialog --menu 'Which fruit?' 16 50 6 a apple b banana c cherry 2>picked"
PROGRAMS = {
    "vim": Program(
        ["vim", "-u", "NONE", "-N", "notes.txt"],
        [
            ([], {"text": "old text"}),
            (["i"], {"text": "INSERT"}),
            ([typed("new "), "esc"], {"gone": "INSERT"}),
            ([typed(":wq"), "enter"], {"exit": True}),
        ],
        {"notes.txt": "old text\n"},
        {"notes.txt": "new old text\n"},
    ),
    "dialog": Program(
        ["sh", "-c", MENU],
        [
            ([], {"text": "cherry"}),
            (["down"], {"change": 100}),
            (["down"], {"change": 100}),
            (["enter"], {"exit": True}),
        ],
        wanted={"picked": "c"},
    ),
    "fzf": Program(
        ["sh", "-c", "printf '%s\\n' apple banana cherry | fzf >picked"],
        [([], {"text": "banana"}), ([typed("ban")], {"text": "1/3"}), (["enter"], {"exit": True})],
        wanted={"picked": "banana\n"},
    ),
    "shell": Program(
        ["bash", "--norc"],
        [
            ([], {"ready": True}),
            ([typed("seq 100 104 | tr 0 x"), "enter"], {"text": "1x4"}),
            ([typed("echo some text >written"), "enter"], {"ready": True}),
            ([typed("exit 3"), "enter"], {"exit": True}),
        ],
        wanted={"written": "some text\n"},
    ),
    "python": Program(
        ["/usr/bin/python3", "-q", "-i", "-c", "greeting = 'hello'"],
        [
            ([], {"text": ">>> "}),
            ([typed("greeting.upper()"), "enter"], {"text": "HELLO"}),
            ([typed("import os; os._exit(4)"), "enter"], {"exit": True}),
        ],
    ),
    "htop": Program(
        ["htop"],
        [
            ([], {"text": "Load average"}),
            (["h"], {"text": "Released under"}),
            (["esc"], {"gone": "Released under"}),
            (["q"], {"exit": True}),
        ],
    ),
    "nano": Program(
        ["nano", "-I", "draft.txt"],
        [
            ([], {"text": "New File"}),
            ([typed("Dear reader")], {"settled": 100}),
            (["ctrl+o"], {"text": "File Name to Write"}),
            (["enter"], {"text": "Wrote 1 line"}),
            (["ctrl+x"], {"exit": True}),
        ],
        wanted={"draft.txt": "Dear reader\n"},
    ),
    "less": Program(
        ["less", "lines.txt"],
        [
            ([], {"text": "line first"}),
            (["space"], {"settled": 100}),
            ([typed("/needle"), "enter"], {"text": "line needle"}),
            (["q"], {"exit": True}),
        ],
        {"lines.txt": LINES},
    ),
    "ink": Program(
        [NODE, str(PLACE / "ink.mjs"), "list", "picked"],
        [
            ([], {"text": "elderberry"}),
            (["down"], {"change": 100}),
            (["down"], {"change": 100}),
            (["enter"], {"exit": True}),
        ],
        wanted={"picked": "cherry"},
    ),
    "create_vite": Program(
        [NODE, str(PLACE / "node_modules" / ".bin" / "create-vite")],
        [
            ([], {"text": "Project name"}),
            ([typed("my-app"), "enter"], {"text": "Select a framework"}),
            (["down", "down"], {"change": 100}),
            (["enter"], {"text": "Select a variant"}),
            (["enter"], {"text": "Which linter"}),
            (["enter"], {"text": "Install with npm"}),
            (["right"], {"change": 100}),
            (["enter"], {"exit": True}),
        ],
        wanted={"my-app/.gitignore": None},
    ),
}


async def as_agent(s, name, program, directory):
    """Makes the session with calls that wait."""
    start, *steps = program.steps
    wait = lambda step: {"timeout_ms": WAIT_MS, **step[1]}
    argv = {"command": program.argv[0], "args": program.argv[1:]}
    size = {"cols": 80, "rows": 24, "cwd": str(directory)}
    fields(await s.ok("spawn", name=name, **argv, **size, wait=wait(start)), outcome="met")
    for step in steps:
        result = await s.ok("send_input", session_id=name, keys=step[0], wait=wait(step))
        fields(result, outcome="met")


async def as_person(s, name, program, directory):
    """Makes the session at `awaitty attach`: types, and reads the screen before the next keys."""
    argv = {"command": program.argv[0], "args": program.argv[1:]}
    await s.ok("spawn", name=name, **argv, cols=80, rows=24, cwd=str(directory))
    async with connect() as person:
        attach = {"command": harness.SERVER, "args": ["attach", name], "env": {"XDG_RUNTIME_DIR": harness.RUNTIME}}
        sid = (await person.ok("spawn", **attach, cols=100, rows=30))["session_id"]
        for keys, wait in program.steps:
            if keys:
                await person.ok("send_input", session_id=sid, keys=keys)
            if "text" in wait:
                shown = await person.wait(sid, wait["text"].rstrip(), since="screen", timeout_ms=WAIT_MS)
                fields(shown, outcome="met")
            elif wait.get("exit"):
                fields(await person.ok("wait_for_exit", session_id=sid, timeout_ms=WAIT_MS), outcome="met")
                continue
            await asyncio.sleep(PAUSE_S)


async def record(s, name, mode, program, place):
    """Records a session and exports it to all targets. Returns the directory with the tests."""
    session = f"{name}_{mode}"
    directory = program.directory(place / session / "recorded")
    await {"agent": as_agent, "person": as_person}[mode](s, session, program, directory)
    program.check(directory)
    for target, ending in TARGETS.items():
        test = (await s.ok("export_session", session_id=session, **{"as": target}))["test"]
        expect(mode != "person" or "leep" not in test.split("class Terminal")[0], "no sleep", test)
        path = place / session / ("test_" * (target == "pytest") + f"{session}.{ending}")
        path.write_text(test)
    await s.close(session)


def run(command, directory, **env):
    """Runs a test in a directory. Fails if it does."""
    env = {**os.environ, "AWAITTY": harness.SERVER, "HOME": harness.HOME, **env}
    env.pop("AWAITTY_SOCKET", None)
    command = [str(word) for word in command]
    done = subprocess.run(command, cwd=directory, env=env, capture_output=True, text=True, timeout=TEST_S)
    expect(done.returncode == 0, f"{' '.join(command)} to pass", "\n" + done.stdout[-3000:] + done.stderr[-2000:])


def build_rust(place, sessions):
    """Builds the Rust tests of all sessions. Returns their programs by session."""
    package = place / "package"
    shutil.rmtree(package, ignore_errors=True)
    (package / "tests").mkdir(parents=True)
    (package / "src").mkdir()
    (package / "src" / "lib.rs").write_text("//! Exported tests.\n")
    dependency = f'awaitty-test = {{ path = "{ROOT}/crates/test" }}'
    (package / "Cargo.toml").write_text(MANIFEST + dependency + "\n")
    shutil.copy(ROOT / "Cargo.lock", package)
    for session in sessions:
        shutil.copy(place / session / f"{session}.rs", package / "tests")
    command = ["cargo", "test", "--no-run", "--quiet", "--message-format=json"]
    env = {**os.environ, "CARGO_TARGET_DIR": str(ROOT / "target")}
    done = subprocess.run(command, cwd=package, env=env, capture_output=True, text=True)
    expect(done.returncode == 0, "the Rust tests to compile", "\n" + done.stderr[-5000:] + done.stdout[-5000:])
    messages = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    built = [message for message in messages if message.get("executable")]
    return {message["target"]["name"]: message["executable"] for message in built}


def has_runner():
    return subprocess.run([harness.SERVER, "test", "--help"], capture_output=True).returncode == 0


def runner_of(target, place, sessions):
    """Returns the command that runs the test of a session, as a function; `None` if the target has no runner yet."""
    if target == "pytest":
        pytest = PLACE / "venv" / "bin" / "pytest"
        return lambda session: [pytest, "-q", "-p", "no:cacheprovider", place / session / f"test_{session}.py"]
    if target == "rust":
        programs = build_rust(place, sessions)
        return lambda session: [programs[session]]
    # A tape runs in its own directory.
    return (lambda session: [harness.SERVER, "test", f"{session}.tape"]) if has_runner() else None


def run_all(target, place, sessions, repeat):
    """Runs the tests of a target. Returns the number of failures."""
    runner, failures = runner_of(target, place, sessions), 0
    for session in sessions if runner else []:
        program = PROGRAMS[session.rpartition("_")[0]]
        for _ in range(repeat):
            try:
                directory = program.directory(place / session / target)
                if target == "tape":
                    shutil.copy(place / session / f"{session}.tape", directory)
                run(runner(session), directory)
                program.check(directory)
                print(f"ok    {target:<7} {session}", flush=True)
            except (Failure, subprocess.TimeoutExpired) as failure:
                failures += 1
                print(f"FAIL  {target:<7} {session}: {failure}".replace("\\n", "\n"), flush=True)
    return failures


def parse_tapes(place):
    command = ["cargo", "run", "--quiet", "-p", "awaitty-test", "--example", "parse_tapes", str(place)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    print(done.stdout.strip(), flush=True)
    expect(", 0 wrong" in done.stdout, "tapes that parse", done.stdout + done.stderr)


def found(place):
    """Returns the sessions of the last recording, and no failures."""
    return sorted(path.parent.name for path in place.glob("*/*.tape") if path.stem == path.parent.name), 0


async def record_all(names, place):
    """Records sessions of programs. Returns their names and the number of failures."""
    shutil.rmtree(place, ignore_errors=True)
    recorded, failures = [], 0
    async with connect("--daemon") as s:
        for name in names:
            for mode in ("agent", "person"):
                try:
                    await record(s, name, mode, PROGRAMS[name], place)
                    recorded.append(f"{name}_{mode}")
                    print(f"ok    export  {name}_{mode}", flush=True)
                except Failure as failure:
                    failures += 1
                    print(f"FAIL  export  {name}_{mode}: {failure}", flush=True)
    return recorded, failures


async def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", required=True)
    parser.add_argument("--only", nargs="*", default=list(PROGRAMS), choices=list(PROGRAMS))
    parser.add_argument("--targets", nargs="*", default=list(TARGETS), choices=list(TARGETS))
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--recorded", action="store_true", help="run the tests of the last recording")
    options = parser.parse_args()
    harness.SERVER = options.server
    place = PLACE / "tests"
    try:
        recorded, failures = found(place) if options.recorded else await record_all(options.only, place)
        if "tape" in options.targets:
            parse_tapes(place)
        for target in options.targets:
            failures += run_all(target, place, recorded, options.repeat)
    finally:
        subprocess.run([harness.SERVER, "daemon", "stop"], capture_output=True)
    print(f"{len(recorded)} sessions, {failures} failures")
    return min(failures, 1)


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
