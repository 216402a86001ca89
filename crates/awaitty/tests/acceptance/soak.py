#!/usr/bin/env python3
"""Drives real programs at random for a given time and checks each result.

    soak.py --server target/release/awaitty [--minutes 30] [--seed N]

Each worker has one session at a time and does random actions of people and agents in it. It checks each result against
the expected effect of the action. The memory, descriptors and threads of the server are printed once a minute. At the end
they must not have grown, and no process may be left.
"""

import argparse
import asyncio
import copy
import os
import random
import statistics
import sys
import time

sys.dont_write_bytecode = True
import harness
from harness import Failure, connect, expect, fields, gone
from run import apply_changes

WORKERS = 8


class Soak:
    def __init__(self, server, seed):
        self.s, self.chance, self.done, self.wrong = server, random.Random(seed), {}, []
        self.figures = []

    def count(self, what):
        self.done[what] = self.done.get(what, 0) + 1

    # -------------------------------------------------------------------- actions in a shell
    async def prints(self, sid, n):
        a, b = self.chance.randrange(1000), self.chance.randrange(1000)
        result = await self.s.send(sid, f"echo n{n}-''{a + b}\n", wait={"text": f"n{n}-\\d+", "timeout_ms": 20_000})
        expect(result.get("found") and result["match"]["text"] == f"n{n}-{a + b}", f"n{n}-{a + b}", result)

    async def runs(self, sid, n):
        code, lines = self.chance.randrange(256), self.chance.choice([0, 1, 50, 3000])
        result = await self.s.ok("run_command", session_id=sid, command=f"seq {lines}; sh -c 'exit {code}'", timeout_ms=30_000, max_chars=100_000)
        wanted = "".join(f"{i}\n" for i in range(1, lines + 1)).rstrip("\n")
        expect(result.get("exit_code") == code and result["output"].rstrip("\n") == wanted, f"exit {code}, {lines} lines", str(result)[:300])

    async def prints_transient_text(self, sid, n):
        # The quotes keep the word out of the typed line.
        script = f"printf '\\r\\033[Kfla''sh{n}-x'; printf '\\r\\033[K'; echo over{n}-''2"
        result = await self.s.send(sid, script + "\n", wait={"text": f"flash{n}-x", "timeout_ms": 20_000})
        fields(result, found=True)
        fields(await self.s.wait(sid, f"over{n}-2", timeout_ms=20_000), found=True)

    async def times_out(self, sid, n):
        ms = self.chance.randrange(0, 300)
        result = fields(await self.s.wait(sid, f"NEVER{n}", timeout_ms=ms), found=False, outcome="timeout")
        expect(ms / 1000 - 0.01 <= result.took < ms / 1000 + 10, f"a timeout of {ms} ms", {"took": result.took})

    async def cancels(self, sid, n):
        task = harness.begin(self.s.wait(sid, f"NEVER{n}", timeout_ms=600_000))
        await asyncio.sleep(self.chance.random() * 0.05)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    async def resizes(self, sid, n):
        cols, rows = self.chance.randrange(40, 200), self.chance.randrange(10, 60)
        await self.s.ok("resize_session", session_id=sid, cols=cols, rows=rows)
        result = await self.s.ok("run_command", session_id=sid, command="stty size")
        expect(result["output"].strip() == f"{rows} {cols}", f"{rows} {cols}", result["output"])

    async def differs(self, sid, n):
        old = await self.s.ok("snapshot", session_id=sid)
        await self.s.send(sid, f"seq {self.chance.randrange(1, 80)}\n", wait={"settled": 100, "timeout_ms": 10_000})
        now = await self.s.ok("snapshot", session_id=sid)
        diff = await self.s.ok("snapshot", session_id=sid, since=old["seq"])
        expect(now["seq"] >= old["seq"], "a seq that grows", [old["seq"], now["seq"]])
        if diff.get("changes") is not None and diff["seq"] == now["seq"]:
            rows = now["size"]["rows"]
            made = apply_changes(old["text"], rows, diff)
            expect(made == now["text"].rstrip("\n"), "changes that make the screen", [made[-200:], now["text"][-200:]])

    async def agrees(self, sid, n):
        """A wait and a snapshot with the same seq show the same screen."""
        waited = await self.s.ok("wait_for_text", session_id=sid, pattern="NEVER", since="now", timeout_ms=0)
        snapshot = await self.s.ok("snapshot", session_id=sid)
        if waited["seq"] == snapshot["seq"]:
            expect(waited["screen_text"] == snapshot["text"], "one screen", [waited["screen_text"][-200:], snapshot["text"][-200:]])

    async def first_of_several(self, sid, n):
        channel = f"soak.any.{os.getpid()}.{n}"
        waits = [{"session_id": sid, "text": f"NEVER{n}"}, {"channel": channel}, {"session_id": sid, "exit": True}]
        task = harness.begin(self.s.ok("wait_for_any", waits=waits, timeout_ms=20_000))
        await self.s.ok("signal_channel", channel=channel, status=n % 256)
        result = await task
        expect(result.get("outcome") == "met" and result.get("won") == 1, "the channel", result)

    async def floods(self, sid, n):
        result = await self.s.send(sid, f"seq 100000; echo end{n}-''5\n", wait={"text": f"end{n}-5", "timeout_ms": 60_000})
        fields(result, found=True)

    async def signals(self, sid, n):
        channel = f"soak.{os.getpid()}.{n}"
        task = harness.begin(self.s.ok("wait_for_channel", channel=channel, timeout_ms=20_000))
        result = await self.s.ok("run_command", session_id=sid, command=f"awaitty signal {channel} --status {n % 256}")
        expect(result.get("exit_code") == 0, "a successful signal", result)
        fields(await task, signalled=True, status=n % 256)

    # -------------------------------------------------------------------- actions with other programs
    async def start(self, spawning):
        """Starts a session that `act` closes after the action."""
        sid = await spawning
        self.opened.append(sid)
        return sid

    async def act(self, act, n):
        """Runs an action that starts its own programs, and closes them."""
        scope = copy.copy(self)
        scope.opened = []
        try:
            await act.__func__(scope, n)
        finally:
            for sid in scope.opened:
                await self.s.call("close_session", session_id=sid, grace_ms=200)

    async def edits(self, n):
        sid = await self.start(self.s.spawn("vim", "-u", "NONE", "-N"))
        await self.s.ok("wait_for_screen_change", session_id=sid, stable_ms=100, since="screen", timeout_ms=20_000)
        await self.s.ok("send_input", session_id=sid, keys=["i", {"text": f"typed {n}"}, "escape"], wait={"settled": 100})
        fields(await self.s.wait(sid, f"typed {n}", since="screen", timeout_ms=20_000), found=True)
        result = await self.s.send(sid, ":q!\n", wait={"exit": True, "timeout_ms": 20_000})
        fields(result, exited=True, exit_code=0)

    async def pages(self, n):
        sid = await self.start(self.s.sh("seq 1000 | less"))
        fields(await self.s.wait(sid, "^1$", since="screen", flags="m", timeout_ms=20_000), found=True)
        fields(await self.s.ok("send_input", session_id=sid, keys=["G"], wait={"text": "1000", "timeout_ms": 20_000}), found=True)
        fields(await self.s.ok("send_input", session_id=sid, keys=["q"], wait={"exit": True, "timeout_ms": 20_000}), exited=True)

    async def computes(self, n):
        sid = await self.start(self.s.spawn(harness.PYTHON, "-q"))
        fields(await self.s.wait(sid, ">>>", since="screen", timeout_ms=30_000), found=True)
        result = await self.s.send(sid, f"print({n}*7)\n", wait={"text": f"\\b{n * 7}\\b", "timeout_ms": 20_000})
        fields(result, found=True)
        fields(await self.s.send(sid, "exit(3)\n", wait={"exit": True, "timeout_ms": 20_000}), exit_code=3)

    async def chooses(self, n):
        sid = await self.start(self.s.spawn("dialog", "--menu", f"menu {n}", "20", "60", "5", "1", "Paper", "2", "Copper", "3", "Lanterns"))
        fields(await self.s.wait(sid, f"menu {n}", since="screen", timeout_ms=20_000), found=True)
        result = await self.s.ok("send_input", session_id=sid, keys=["down"], wait={"settled": 100})
        snapshot = await self.s.ok("snapshot", session_id=sid)
        expect(any("Copper" in one.get("text", "") for one in snapshot.get("selection", [])), "Copper highlighted", [result, snapshot.get("selection")])
        fields(await self.s.ok("send_input", session_id=sid, keys=["enter"], wait={"exit": True, "timeout_ms": 20_000}), exit_code=0)

    async def watches(self, n):
        """Runs top, which never settles."""
        sid = await self.start(self.s.spawn("top", "-d", "0.2"))
        fields(await self.s.wait(sid, "PID", since="screen", timeout_ms=20_000), found=True)
        fields(await self.s.ok("wait_for_screen_change", session_id=sid, stable_ms=0, since="now", timeout_ms=20_000), changed=True)
        fields(await self.s.ok("send_input", session_id=sid, keys=["q"], wait={"exit": True, "timeout_ms": 20_000}), exited=True)

    async def draws(self, n):
        sid = await self.start(self.s.sh(f"printf '\\033[31mred {n}\\033[0m 漢字 🎉'; exec cat", record=self.chance.random() < 0.5))
        await self.s.up(sid, f"red {n}")
        result = await self.s.ok("screenshot", session_id=sid, format=self.chance.choice(["png", "svg"]))
        expect(result.content, "a picture", result.text)

    async def dies(self, n):
        code = self.chance.randrange(256)
        sid = await self.start(self.s.sh(f"echo last{n}; exit {code}"))
        result = fields(await self.s.ok("wait_for_exit", session_id=sid, timeout_ms=20_000), exited=True, exit_code=code)
        expect(f"last{n}" in result["screen_text"], f"last{n}", result)
        fields(await self.s.close(sid), exit_code=code)

    async def is_killed(self, n):
        sid = await self.start(self.s.sh("trap '' HUP TERM; echo UP; sleep 600 & wait"))
        await self.s.up(sid)
        fields(await self.s.close(sid, grace_ms=100), signal="SIGKILL")

    async def worker(self, until):
        on_shell = [self.prints, self.runs, self.prints_transient_text, self.times_out, self.cancels, self.resizes, self.differs, self.floods, self.signals,
                    self.agrees, self.first_of_several]
        others = [self.edits, self.pages, self.computes, self.chooses, self.watches, self.draws, self.dies, self.is_killed]
        while time.monotonic() < until:
            shell = self.chance.choice(["bash --norc", "zsh -f", "fish --no-config", "bash"])
            sid = None
            try:
                sid = await self.s.spawn(*shell.split(), wait={"ready": True, "timeout_ms": 30_000})
                for _ in range(self.chance.randrange(1, 30)):
                    if time.monotonic() >= until:
                        break
                    act = self.chance.choice(on_shell if self.chance.random() < 0.8 else others)
                    self.number = n = getattr(self, "number", 0) + 1
                    try:
                        await (act(sid, n) if act in on_shell else self.act(act, n))
                        self.count(act.__name__)
                    except Exception as error:
                        self.wrong.append(f"{act.__name__} #{n} in {shell}: {error if isinstance(error, Failure) else repr(error)}")
                        print("WRONG", self.wrong[-1], flush=True)
                        break
            finally:
                if sid:
                    await self.s.close(sid, grace_ms=200)

    async def watch(self, until, minutes):
        start = time.monotonic()
        while time.monotonic() < until:
            await asyncio.sleep(min(60, max(1, minutes * 60 / 20)))
            self.figures.append(self.s.figures())
            print(f"{(time.monotonic() - start) / 60:5.1f} min  {sum(self.done.values()):7} actions  {self.figures[-1]}  {len(self.wrong)} wrong", flush=True)


async def quiet(s):
    """Expects that idle sessions and waits cause no wake-ups."""
    sids = [await s.sh("exec cat") for _ in range(20)]
    waits = [harness.begin(s.wait(sid, "NEVER", timeout_ms=600_000)) for sid in sids]
    until = time.monotonic() + 20
    while sum(one["waits"] for one in (await s.sessions()).values()) < len(sids):
        expect(time.monotonic() < until, "running waits", await s.sessions())
    await asyncio.sleep(2)  # the work of the last calls ends
    before = switches(s.pid)
    await asyncio.sleep(3)  # without progress notifications, which this client does not request
    woken = switches(s.pid) - before
    for wait in waits:
        wait.cancel()
    await asyncio.gather(*waits, return_exceptions=True)
    for sid in sids:
        await s.close(sid)
    print(f"{len(sids)} idle sessions with a wait each: {woken} wake-ups in 3 s")
    expect(woken == 0, "no wake-up while nothing happens", woken)


def switches(pid):
    """Returns the voluntary context switches of all threads of a process."""
    count = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        status = open(f"/proc/{pid}/task/{task}/status").read()
        count += int(status.split("\nvoluntary_ctxt_switches:")[1].split()[0])
    return count


async def soak(minutes, seed):
    async with connect() as s:
        run = Soak(s, seed)
        until = time.monotonic() + minutes * 60
        await asyncio.gather(run.watch(until, minutes), *(run.worker(until) for _ in range(WORKERS)))
        await quiet(s)
        left = await gone(s.mark, 2)
        expect(not left and not await s.sessions() and s.zombies() == 0, "nothing left", {"left": left, "sessions": await s.sessions()})
        # Caches and pools fill in the first third. After that nothing may grow.
        third = len(run.figures) // 3
        for name, slack in (("kb", 8 * 1024), ("fds", 8), ("threads", 4)):
            first = statistics.median(one[name] for one in run.figures[third:2 * third] or run.figures)
            last = statistics.median(one[name] for one in run.figures[-third:] or run.figures)
            print(f"{name}: {first:.0f} in the second third, {last:.0f} in the last")
            expect(last <= first + slack + first * 0.1, f"{name} that stays flat", f"{first} -> {last}")
        print(f"{sum(run.done.values())} actions, {len(run.wrong)} wrong: {run.done}")
        return not run.wrong


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--server", required=True)
    options.add_argument("--minutes", type=float, default=30)
    options.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    given = options.parse_args()
    print(f"seed {given.seed}")
    harness.SERVER = os.path.abspath(given.server)
    return 0 if asyncio.run(soak(given.minutes, given.seed)) else 1


if __name__ == "__main__":
    sys.exit(main())
