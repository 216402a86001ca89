#!/usr/bin/env python3
"""Compares awaitty with its peers in what they find, and then in milliseconds.

    benches/peers/run [SERVER] [--count 20] [--deadline 5] [--only REGEX] [--systems NAME,NAME]

The same programs, in terminals of the same size; each scenario goes round by round over all systems, in another order
each round, so that the machine's load is the same for all. A cell says how often the answer was right, and the median
of the milliseconds from the event (which the program notes itself, see programs.py; in 2a and 10 from the call) to the
answer, of the right ones only.
A peer that cannot be installed or started is shown as such. Results also go to target/bench-peers.json.

How each is used, and why:

awaitty      its MCP server on stdio. Input and wait in one call (send_input with `wait`), as its README advises; 2b
             makes two calls of it. Exit codes by wait_for_exit, a shell's statuses by run_command.
libtmux-mcp  its MCP server on stdio, on a tmux server of its own. Its instructions want run_command for every command
             that the agent wrote: so in 2a, 4a, 6 and 10. wait_for_text elsewhere, called after send_keys; there is no
             call that does both. For 2b it advises capture_since, which is a look that the agent repeats, not a wait.
             patterns=null is its wait for any output (7c).
tuistory     its library, as in its README: type, press, waitForText, waitIdle. type and press wait for idle themselves,
             which is part of its time. waitIdle is fixed at 200 ms of silence.
pexpect      spawn and expect; replwrap.bash() for commands in a shell (2a, 4a), and echo=False for programs, which are
             what it offers against the echo. It has a stream and no screen: what is erased stays in it, what was
             matched is gone. In a process of its own, a thread a call.
tmux         send-keys, and capture-pane | grep every 50 ms, as scripts and agents do; the exit code in 6 by a shell
             that is made to print it.

In 7a `settled` of awaitty promises quiet, not a reaction: it says `changed: false` then, and `change` (7b) waits for
one. waitIdle of tuistory waits for output that is followed by silence, and for its whole timeout if none comes (7d);
the timeout is the deadline here. With its default of 500 ms it would end after 1 s in all, whatever happens.
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
GUARD_S = 8  # over the deadline: a system that does not keep it has failed
HEAVY_S = 10  # the deadline of the call beside a heavy pattern
HEAVY_RIGHT_S = 1.0
HEAVY_ROUNDS = 3  # each may cost the deadline and a new start
SCENARIOS = []  # (title, rounds at most, function)


@dataclass
class Place:
    """What all systems share."""

    server: str
    npm: str
    deadline: float
    folder: str
    env: dict
    marks: int = 0

    def mark(self):
        self.marks += 1
        return f"m{self.marks}"

    def moment(self, mark):
        """When it happened, or None if it has not."""
        with suppress(OSError):
            with open(os.path.join(self.folder, mark)) as file:
                return int(file.read())


@dataclass
class Cell:
    right: int = 0
    count: int = 0
    ms: list = field(default_factory=list)
    notes: dict = field(default_factory=dict)  # how often what went wrong
    instead: str = ""  # shown if nothing could be measured

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
    """(right, ms, note) of a wait that should answer once the mark is made, and not before."""
    held = await waiting
    answered, happened = time.monotonic_ns(), system.place.moment(mark)
    if not held:
        return False, None, "not found"
    if happened is None or happened > answered:
        return False, None, "answered too early"
    return True, (answered - happened) / 1e6, ""


async def with_program(system, program, first, act):
    """Starts a program, waits for its first screen if there is one, acts, and closes it whatever comes."""
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
        # The word is not in the line that is typed.
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


@scenario("8a stable, with a spinner; or says what moves")
async def spinner(system):
    mark = system.place.mark()
    terminal = await system.open("spinner", mark)
    try:
        await system.ready(terminal, "working")
        held, changing = await system.stable(terminal)
        answered, happened = time.monotonic_ns(), system.place.moment(mark)
        if held:
            right = happened is not None and happened <= answered
            return right, (answered - (happened or 0)) / 1e6, "" if right else "answered too early"
        named = any("working" in row for row in changing)
        also = any("working" not in row for row in changing)
        says = "the spinner" + " and a row that had stopped" * also if named else "nothing"
        return named, None, f"timed out, named {says}"
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
        took, note = HEAVY_S, f"no answer in {HEAVY_S} s"
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
        came = await system.status(shell, "false"), await system.status(shell, "(exit 7)")
        ms = (time.monotonic() - start) * 1000 / 2
        return came == (1, 7), ms, "" if came == (1, 7) else f"statuses {came}"
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
    """[(name, the system or None, what to show in its place)]."""
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
    """The processes of this run that are still there, by the mark in their environment."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):
            with open(f"/proc/{pid}/environ", "rb") as file:
                if mark.encode() in file.read() and int(pid) != os.getpid():
                    found.append(int(pid))
    return found


def environment(folder, mark):
    """The same for all; and nobody's tmux, history or configuration is touched."""
    env = {key: value for key, value in os.environ.items() if key not in ("TMUX", "TMUX_PANE")}
    for name in (".bashrc", ".bash_profile"):  # tmux starts a login shell
        with open(os.path.join(folder, name), "w") as file:
            file.write("PS1='$ '\n")
    return {
        **env,
        "HOME": folder,
        "LANG": "C.UTF-8",
        "LIBTMUX_SOCKET": "lib",
        "PEERS_RUN": mark,
        "PS1": "$ ",
        "SHELL": shutil.which("bash"),
        "TERM": "xterm-256color",
        "TMUX_TMPDIR": folder,
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", required=True)
    parser.add_argument("--npm", help="where tuistory is installed, with its worker beside node_modules")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--deadline", type=float, default=5.0, help="of each wait, in seconds")
    parser.add_argument("--only", default="", help="scenarios whose title matches")
    parser.add_argument("--systems", default="", help="names, with commas")
    parser.add_argument("--output")
    options = parser.parse_args()
    mark = f"peers-{uuid.uuid4().hex}"
    with tempfile.TemporaryDirectory(prefix="peers-", ignore_cleanup_errors=True) as folder:
        # A short name: it is typed into shells.
        with open(os.path.join(folder, "program"), "w") as file:
            file.write(f"#!/bin/sh\nexec '{sys.executable}' -I -S '{HERE}/programs.py' \"$@\"\n")
        os.chmod(os.path.join(folder, "program"), 0o755)
        place = Place(options.server, options.npm, options.deadline, folder, environment(folder, mark))
        try:
            table = asyncio.run(compare(place, options))
        finally:
            time.sleep(0.5)  # what was told to end is given a moment
            for pid in (remaining := left(mark)):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
    if not table:
        sys.exit(f"no scenario matches {options.only!r}")
    show(table)
    if remaining:
        print(f"processes that a system left behind, now ended: {len(remaining)}")
    if options.output:
        told = {
            title: {
                name: {"shown": str(cell), "right": cell.right, "count": cell.count, "ms": cell.ms, "notes": cell.notes}
                for name, cell in cells.items()
            }
            for title, cells in table.items()
        }
        with open(options.output, "w") as file:
            json.dump({"deadline_s": options.deadline, "scenarios": told}, file, indent=1)


if __name__ == "__main__":
    main()
