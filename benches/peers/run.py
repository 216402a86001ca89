#!/usr/bin/env python3
"""Compares awaitty with similar systems: whether they find the event, and after how many milliseconds.

    benches/peers/run [SERVER] [--count 20] [--deadline 5] [--only REGEX] [--systems NAME,NAME]

All systems run the same programs in terminals of the same size. Each round of a scenario visits all systems, in a
rotated order, so that other load affects all. A cell has the number of correct results, and the median time of the
correct ones in ms from the event to the result. The program records the event (see programs.py); in 2a and 10 the time
starts at the call. A system that cannot be installed or started is shown as such. Results also go to target/bench-peers.json.

How each system is used, and why:

awaitty      Its MCP server on stdio. Input and wait are one call (send_input with `wait`), as its README advises; 2b uses
             two calls. Exit codes come from wait_for_exit, statuses in a shell from run_command.
libtmux-mcp  Its MCP server on stdio, with a private tmux server. Its instructions demand run_command for each command
             of the agent, which is used in 2a, 4a, 6 and 10. Elsewhere wait_for_text after send_keys, because no call
             does both. For 2b it advises capture_since, which the agent repeats; that is no wait. patterns=null waits
             for any output (7c).
tuistory     Its library as in its README: type, press, waitForText, waitIdle. type and press include a wait for idle,
             which counts. waitIdle always waits for 200 ms of silence.
pexpect      spawn and expect. Against the echo it offers replwrap.bash() for commands in a shell (2a, 4a) and echo=False
             for programs. It has a stream and no screen: erased text stays in it, and matched text is removed. It runs
             in a separate process with a thread per call.
tmux         send-keys, and capture-pane | grep every 50 ms, as scripts and agents do. In 6 a shell prints the exit code.

In 7a `settled` of awaitty promises quiet, not a reaction: without one it returns `changed: false`. `change` (7b) waits
for one. waitIdle of tuistory waits for output followed by silence, and without output until its timeout (7d), which is
the deadline here. With its default timeout of 500 ms it would always end after 1 s.
"""

import argparse
import asyncio
import json
import os
import re
import shutil
import signal
import statistics
import sys
import tempfile
import time
import uuid
from contextlib import suppress
from dataclasses import dataclass, field

sys.dont_write_bytecode = True
from libraries import Pexpect, Tuistory
from systems import Awaitty, LibtmuxMcp, NotInstalled, NotThere, Tmux

SYSTEMS = [Awaitty, LibtmuxMcp, Tuistory, Pexpect, Tmux]
HERE = os.path.dirname(os.path.abspath(__file__))
GUARD_S = 8  # after the deadline plus this time a system has failed
HEAVY_S = 10  # the deadline of the call beside a heavy pattern
HEAVY_RIGHT_S = 1.0
HEAVY_ROUNDS = 3  # each may take the whole deadline and a restart
SCENARIOS = []  # (title, rounds at most, function)


@dataclass
class Place:
    """The settings that all systems share."""

    server: str
    npm: str
    deadline: float
    directory: str
    env: dict
    marks: int = 0

    def mark(self):
        self.marks += 1
        return f"m{self.marks}"

    def moment(self, mark):
        """Returns the time of the event, or None if it has not happened."""
        with suppress(OSError):
            with open(os.path.join(self.directory, mark)) as file:
                return int(file.read())


@dataclass
class Cell:
    right: int = 0
    count: int = 0
    ms: list = field(default_factory=list)
    notes: dict = field(default_factory=dict)  # the number of failures of each kind
    instead: str = ""  # shown if the system cannot be measured

    def add(self, right, ms=None, note=""):
        self.count += 1
        self.right += right
        if right and ms is not None:
            self.ms.append(ms)
        if note:
            self.notes[note] = self.notes.get(note, 0) + 1

    def __str__(self):
        if self.instead:
            return self.instead
        return f"{self.right}/{self.count}" + (f", {statistics.median(self.ms):.1f} ms" if self.ms else "")


def scenario(title, rounds=None):
    def add(function):
        SCENARIOS.append((title, rounds, function))
        return function

    return add


async def judged(system, mark, waiting):
    """Returns (right, ms, note) for a wait that must end after the mark is written, and not before."""
    held = await waiting
    ended, happened = time.monotonic_ns(), system.place.moment(mark)
    if not held:
        return False, None, "not found"
    if happened is None or happened > ended:
        return False, None, "ended too early"
    return True, (ended - happened) / 1e6, ""


async def with_program(system, program, first, act):
    """Starts a program, waits for its first screen if it has one, runs the action, and closes the program."""
    mark = system.place.mark()
    terminal = await system.open(program, mark)
    try:
        if first and not await system.ready(terminal, first):
            return False, None, "the first screen was not seen"
        return await judged(system, mark, act(terminal))
    finally:
        await system.close(terminal)


@scenario("1 one line after 300 ms")
async def one_line(system):
    return await with_program(system, "late", None, lambda t: system.wait(t, "ARRIVED"))


@scenario("2a a shell command, instant output")
async def instant(system):
    shell = await system.shell()
    try:
        start = time.monotonic()
        # The quotes keep the word out of the typed line.
        found = await system.command_and_wait(shell, "echo ARR''IVED", "ARRIVED")
        return found, (time.monotonic() - start) * 1000, "" if found else "not found"
    finally:
        await system.close(shell)


@scenario("2b a line answered before the wait is called")
async def answered_before(system):
    return await with_program(system, "repl", "UP", lambda t: system.line_then_wait(t, "ask", "ANSWER"))


@scenario("3 the word is there, and comes again")
async def stale(system):
    return await with_program(system, "stale", "READY", lambda t: system.key_and_wait(t, "x", "READY"))


@scenario("4a the word is in the shell command typed")
async def echo_in_shell(system):
    mark = system.place.mark()
    shell = await system.shell()
    try:
        command = f"sleep 0.4; ./program mark {mark}; echo READY"
        return await judged(system, mark, system.command_and_wait(shell, command, "READY"))
    finally:
        await system.close(shell)


@scenario("4b the word is in the line typed")
async def echo(system):
    return await with_program(system, "echo", "UP", lambda t: system.line_and_wait(t, "say READY", "READY"))


@scenario("5 visible for 20 ms")
async def flash(system):
    return await with_program(system, "flash", None, lambda t: system.wait(t, "FLASH"))


@scenario("6 last words, and exit code 3")
async def last_words(system):
    mark = system.place.mark()
    found, code = await system.words_and_exit(mark, "LAST WORDS")
    ms = (time.monotonic_ns() - (system.place.moment(mark) or 0)) / 1e6
    return found and code == 3, ms, "" if found and code == 3 else f"found={found} code={code}"


@scenario("7a settled after a key; reaction at 600 ms")
async def settled(system):
    return await with_program(system, "react", "UP", lambda t: system.settled_after(t, "x"))


@scenario("7b changed, then settled (250 ms in it)")
async def changed_and_settled(system):
    return await with_program(system, "react", "UP", lambda t: system.changed_and_settled_after(t, "x"))


@scenario("7c first change after a key")
async def changed(system):
    return await with_program(system, "react", "UP", lambda t: system.changed_after(t, "x"))


@scenario("7d settled after a key without effect")
async def settled_without_effect(system):
    right, ms, note = await with_program(system, "unmoved", "UP", lambda t: system.settled_after(t, "x"))
    if right and ms >= system.place.deadline * 950:
        return False, None, "only at the deadline"
    return right, ms, note


@scenario("8a stable, with a spinner; or names its row")
async def spinner(system):
    mark = system.place.mark()
    terminal = await system.open("spinner", mark)
    try:
        await system.ready(terminal, "working")
        held, changing = await system.stable(terminal)
        ended, happened = time.monotonic_ns(), system.place.moment(mark)
        if held:
            right = happened is not None and happened <= ended
            return right, (ended - (happened or 0)) / 1e6, "" if right else "ended too early"
        named = any("working" in row for row in changing)
        also = any("working" not in row for row in changing)
        rows = "the spinner" + " and a row that had stopped" * also if named else "nothing"
        return named, None, f"timed out, named {rows}"
    finally:
        await system.close(terminal)


@scenario("8b stable but for the spinner (250 ms in it)")
async def masked_spinner(system):
    return await with_program(system, "spinner", None, lambda t: system.stable_but_for(t, "^[⠋⠙⠹⠸⠼⠴]"))


@scenario("9 another session, beside (a+)+$", rounds=HEAVY_ROUNDS)
async def heavy(system):
    other = await system.open("idle", "none")
    await system.ready(other, "UP")
    busy = await system.open("heavy", "none")
    waiting = asyncio.create_task(system.wait(busy, "(a+)+$"))
    waiting.add_done_callback(lambda task: task.cancelled() or task.exception())
    await asyncio.sleep(1.0)
    start = time.monotonic()
    try:
        await asyncio.wait_for(system.look(other), HEAVY_S)
        took = time.monotonic() - start
        note = "" if took < HEAVY_RIGHT_S else f"{took:.0f} s"
    except TimeoutError:
        took, note = HEAVY_S, f"no result in {HEAVY_S} s"
    if took < HEAVY_RIGHT_S:
        await asyncio.wait({waiting}, timeout=system.place.deadline + GUARD_S / 2)
        await system.close(busy)
        await system.close(other)
    else:
        waiting.cancel()
        await system.stop()
        await system.start()
    return took < HEAVY_RIGHT_S, took * 1000, note


@scenario("10 status of false, (exit 7) in a shell")
async def status(system):
    shell = await system.shell()
    try:
        start = time.monotonic()
        found = await system.status(shell, "false"), await system.status(shell, "(exit 7)")
        ms = (time.monotonic() - start) * 1000 / 2
        return found == (1, 7), ms, "" if found == (1, 7) else f"statuses {found}"
    finally:
        await system.close(shell)


async def one(system, function, cell):
    if cell.instead:
        return
    limit = system.place.deadline + (HEAVY_S + 30 if function is heavy else 0) + GUARD_S
    try:
        async with asyncio.timeout(limit):
            cell.add(*await function(system))
    except NotThere as absent:
        cell.instead = str(absent)
    except TimeoutError:
        cell.add(False, None, "hung")
    except Exception as error:
        cell.add(False, None, f"{type(error).__name__}: {str(error)[:200]}")


async def started(place, wanted):
    """Starts the systems. Returns [(name, the system or None, the text to show instead)]."""
    found = []
    for kind in SYSTEMS:
        if wanted and kind.name not in wanted:
            continue
        system = kind(place)
        try:
            await system.start()
            found.append((kind.name, system, ""))
        except NotInstalled:
            found.append((kind.name, None, "not installed"))
        except Exception as error:
            print(f"{kind.name}: {error!r}", file=sys.stderr)
            found.append((kind.name, None, "failed to start"))
    return found


async def compare(place, options):
    systems = await started(place, options.systems and options.systems.split(","))
    table = {}
    try:
        for title, rounds, function in SCENARIOS:
            if not re.search(options.only, title):
                continue
            cells = table[title] = {name: Cell(instead=instead) for name, _, instead in systems}
            for turn in range(min(options.count, rounds or options.count)):
                shift = turn % len(systems)
                for name, system, _ in systems[shift:] + systems[:shift]:
                    await one(system, function, cells[name])
            print(f"{title}: " + "; ".join(f"{name} {cell}" for name, cell in cells.items()), file=sys.stderr)
    finally:
        for _, system, _ in systems:
            if system:
                with suppress(Exception):
                    await system.stop()
    return table


def show(table):
    names = list(next(iter(table.values())))
    rows = [["right n/N, p50", *names]] + [[title, *map(str, cells.values())] for title, cells in table.items()]
    widths = [max(len(row[column]) for row in rows) for column in range(len(names) + 1)]
    for row in rows:
        print(" | ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip())
        if row is rows[0]:
            print("-|-".join("-" * width for width in widths))
    for title, cells in table.items():
        for name, cell in cells.items():
            for note, count in cell.notes.items():
                print(f"  {title.split()[0]} {name}: {note} ({count})")


def left(mark):
    """Returns the processes of this run that still exist, found by the mark in their environment."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):
            with open(f"/proc/{pid}/environ", "rb") as file:
                if mark.encode() in file.read() and int(pid) != os.getpid():
                    found.append(int(pid))
    return found


def environment(directory, mark):
    """Returns the environment of all systems, which keeps them away from the user's tmux, history and configuration."""
    env = {key: value for key, value in os.environ.items() if key not in ("TMUX", "TMUX_PANE")}
    for name in (".bashrc", ".bash_profile"):  # tmux starts a login shell
        with open(os.path.join(directory, name), "w") as file:
            file.write("PS1='$ '\n")
    return {
        **env,
        "HOME": directory,
        "LANG": "C.UTF-8",
        "LIBTMUX_SOCKET": "lib",
        "PEERS_RUN": mark,
        "PS1": "$ ",
        "SHELL": shutil.which("bash"),
        "TERM": "xterm-256color",
        "TMUX_TMPDIR": directory,
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", required=True)
    parser.add_argument("--npm", help="directory with tuistory's node_modules and its worker")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--deadline", type=float, default=5.0, help="of each wait, in seconds")
    parser.add_argument("--only", default="", help="run the scenarios whose title matches this regex")
    parser.add_argument("--systems", default="", help="comma-separated names of systems")
    parser.add_argument("--output")
    options = parser.parse_args()
    mark = f"peers-{uuid.uuid4().hex}"
    with tempfile.TemporaryDirectory(prefix="peers-", ignore_cleanup_errors=True) as directory:
        # A short name, because it is typed into shells.
        with open(os.path.join(directory, "program"), "w") as file:
            file.write(f"#!/bin/sh\nexec '{sys.executable}' -I -S '{HERE}/programs.py' \"$@\"\n")
        os.chmod(os.path.join(directory, "program"), 0o755)
        place = Place(options.server, options.npm, options.deadline, directory, environment(directory, mark))
        try:
            table = asyncio.run(compare(place, options))
        finally:
            time.sleep(0.5)  # for processes that are about to exit
            for pid in (remaining := left(mark)):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
    if not table:
        sys.exit(f"no scenario matches {options.only!r}")
    show(table)
    if remaining:
        print(f"killed processes that a system left: {len(remaining)}")
    if options.output:
        results = {
            title: {
                name: {"shown": str(cell), "right": cell.right, "count": cell.count, "ms": cell.ms, "notes": cell.notes}
                for name, cell in cells.items()
            }
            for title, cells in table.items()
        }
        with open(options.output, "w") as file:
            json.dump({"deadline_s": options.deadline, "scenarios": results}, file, indent=1)


if __name__ == "__main__":
    main()
