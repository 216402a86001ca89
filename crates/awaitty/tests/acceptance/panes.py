"""Checks of panes in a person's tmux server, which must not change otherwise."""

import asyncio
import os
import random
import subprocess
import time
from contextlib import contextmanager, suppress

import harness
from harness import PYTHON, begin, check, connect, expect, fields, many, times

ONLY = ["tmux"]


class Person:
    """A person's tmux server, separate from awaitty's own."""

    def __init__(self, s):
        self.env = {**s.tmux_env}
        for name in ("TMUX", "TMUX_PANE"):
            self.env.pop(name, None)
        self.tmux("-f", "/dev/null", "new-session", "-d", "-s", "work", "-x", "100", "-y", "30", "exec cat")

    def run(self, *args):
        return subprocess.run(["tmux", *args], env=self.env, capture_output=True, text=True, check=False)

    def tmux(self, *args):
        result = self.run(*args)
        expect(result.returncode == 0, f"tmux {args}", result.stderr)
        return result.stdout.strip()

    def window(self, *argv):
        """Opens a window with a program. Returns its pane id and its session id."""
        pane = self.tmux("new-window", "-d", "-P", "-F", "#{pane_id}", "-t", "work:", *argv)
        return pane, f"tmux:{pane}"

    def state(self):
        """Returns the state that attaching must not change."""
        options = self.tmux("show-options", "-A", "-t", "work") + self.tmux("show-options", "-A", "-w", "-t", "work")
        sizes = self.tmux("list-windows", "-a", "-F", "#{window_id} #{window_width}x#{window_height}")
        return options, self.tmux("show-environment", "-t", "work"), self.tmux("show-hooks", "-g"), sizes


@contextmanager
def person(s):
    one = Person(s)
    try:
        yield one
    finally:
        one.run("kill-server")


READER = "import os; os.system('stty -echo'); print('UP', flush=True)\nwhile True: "


@check(limit=300, backends=ONLY)
async def panes_send_then_wait(s):
    with person(s) as p:
        _, sid = p.window(PYTHON, "-I", "-S", "-c", READER + "print('got', input(), flush=True)")
        await s.up(sid)

        async def one(i):
            await s.send(sid, f"n{i}_\n")
            fields(await s.wait(sid, f"^got n{i}_$", timeout_ms=5000), found=True)

        return await many(times(100), 1, one)


@check(limit=300, backends=ONLY)
async def panes_visible_for_5_ms(s):
    shows = "n = input(); print('FLASH' + n, end='', flush=True); time.sleep(0.005); print('\\r\\033[K', end='', flush=True)"
    with person(s) as p:
        _, sid = p.window(PYTHON, "-I", "-S", "-c", "import time; " + READER + shows)
        await s.up(sid)

        async def one(i):
            result = await s.send(sid, f"{i}_\n", wait={"text": f"FLASH{i}_", "timeout_ms": 5000})
            fields(result, outcome="met")

        return await many(times(100), 1, one)


@check(limit=300, backends=ONLY)
async def panes_output_before_exit(s):
    """In a person's pane, which closes when its program exits."""
    with person(s) as p:

        async def one(i):
            _, sid = p.window(f"echo UP; read x; seq 200; echo LAST_{i}_; exit 3")
            await s.up(sid)
            waits = [begin(s.wait(sid, f"LAST_{i}_", timeout_ms=8000)), begin(s.ok("wait_for_exit", session_id=sid, timeout_ms=8000))]
            await s.send(sid, "\n")
            text, exit = await asyncio.gather(*waits)
            fields(text, found=True)
            fields(exit, outcome="met", exited=True)
            expect(exit["last_lines"][-1] == f"LAST_{i}_", "the last line", exit)

        return await many(times(100), 4, one)


async def waits_for_one(s, sid):
    """Waits until the started wait runs, so that its anchor precedes what follows."""
    await s.until_waits(sid, 1)


@check(limit=120, backends=ONLY)
async def panes_waits_across_clear_resize_and_respawn(s):
    with person(s) as p:
        p.tmux("set-option", "-g", "history-limit", "100")
        pane, sid = p.window("PS1='$ ' exec dash -i")
        await s.wait(sid, r"^\$ ?$", since="screen")
        # An identical prompt that comes back.
        fields(await s.send(sid, "true\n", wait={"text": r"^\$ ?$", "timeout_ms": 5000}), outcome="met")
        # Clear while waiting.
        wait = begin(s.wait(sid, "AFTER_CLEAR", since="now", timeout_ms=5000))
        await waits_for_one(s, sid)
        await s.send(sid, "clear; echo AFTER_'CLEAR'\n")
        fields(await wait, found=True)
        # A burst that exceeds tmux's history limit; the server has all lines.
        fields(await s.send(sid, "seq 3000; echo BU'RST'\n", wait={"text": "^BURST", "timeout_ms": 8000}), outcome="met")
        found = await s.ok("search_output", session_id=sid, pattern="^1234$")
        expect(len(found["matches"]) == 1, "line 1234", found)
        # Rows rewritten above the cursor.
        rewrite = r"printf 'one\ntwo\n\033[2A\033[2Knew'; printf ' ROW\033[2B\r'"
        fields(await s.send(sid, f"{rewrite}\n", wait={"text": "^new ROW", "timeout_ms": 5000}), outcome="met")
        # Alternate screen.
        result = await s.send(sid, "less /etc/passwd\n", wait={"ready": True, "timeout_ms": 8000})
        fields(result, outcome="met")
        fields(await s.ok("snapshot", session_id=sid), alt_screen=True)
        fields(await s.send(sid, "q", wait={"text": r"^\$ ?$", "timeout_ms": 5000}), outcome="met")
        # Resize while waiting.
        wait = begin(s.wait(sid, "^31 77$", since="now", timeout_ms=8000))
        await waits_for_one(s, sid)
        p.tmux("resize-window", "-t", pane, "-x", "77", "-y", "31")
        await s.send(sid, "stty size\n")
        fields(await wait, found=True)
        fields(await s.ok("snapshot", session_id=sid), size={"cols": 77, "rows": 31})
        # Respawn.
        wait = begin(s.wait(sid, "^REBORN$", since="now", timeout_ms=8000))
        await waits_for_one(s, sid)
        p.tmux("respawn-pane", "-k", "-t", pane, "echo REBORN; exec cat")
        fields(await wait, found=True)
        fields(await s.send(sid, "again\n", wait={"text": "^again\nagain", "timeout_ms": 5000}), outcome="met")
        # The server's screen equals tmux's.
        text = await s.text(sid)
        expect(text.rstrip() == p.tmux("capture-pane", "-p", "-t", pane).rstrip(), "the same text", text)
        # The tmux server exits, and all waits end.
        sids = [sid] + [p.window("cat")[1] for _ in range(4)]
        # A snapshot attaches the pane.
        for one in sids:
            await s.text(one)
        waits = [begin(s.ok("wait_for_exit", session_id=one, timeout_ms=8000)) for one in sids]
        p.run("kill-server")
        for ended in await asyncio.gather(*waits):
            fields(ended, outcome="met", exited=True)
            expect(ended.get("exit_code") is None, "no exit code", ended)


@check(limit=120, backends=ONLY)
async def panes_of_a_person_are_unchanged(s):
    with person(s) as p:
        pane, sid = p.window("PS1='$ ' exec dash -i")
        log = os.path.join(harness.HOME, "piped")
        p.tmux("pipe-pane", "-t", pane, f"cat >{log}")
        before = p.state()
        fields(await s.send(sid, "seq 50; echo DO'NE'\n", wait={"text": "^DONE", "timeout_ms": 8000}), outcome="met")
        listed = {one["session_id"]: one for one in (await s.ok("list_sessions"))["sessions"]}
        fields(listed[sid], backend="tmux (capture)")
        expect(p.state() == before, "an unchanged server", p.state())
        expect("DONE" in open(log).read(), "the person's pipe to work", open(log).read())
        # The person replaces our pipe.
        other, second = p.window("PS1='$ ' exec dash -i")
        fields(await s.send(second, "echo O'NE'\n", wait={"text": "^ONE", "timeout_ms": 8000}), outcome="met")
        p.tmux("pipe-pane", "-t", other, f"cat >{log}")
        fields(await s.send(second, "echo TW'O'\n", wait={"text": "^TWO", "timeout_ms": 8000}), outcome="met")
        listed = {one["session_id"]: one for one in (await s.ok("list_sessions"))["sessions"]}
        fields(listed[second], backend="tmux (capture)")
        # Input is refused in copy mode.
        p.tmux("copy-mode", "-t", pane)
        await s.err(["denied"], "send_input", session_id=sid, input="q")
        fields(await s.send(sid, "echo LE'FT'\n", leave_copy_mode=True, wait={"text": "^LEFT", "timeout_ms": 8000}), outcome="met")


@check(limit=600, backends=ONLY)
async def panes_churn(s):
    """Sessions and windows open and close while awaitty attaches and detaches. The person's server must not change."""
    with person(s) as p:
        before, pid = p.state(), p.tmux("display-message", "-p", "#{pid}")
        ended = asyncio.Event()

        async def attach():
            """Attaches to panes that may close at any time."""
            count = 0
            while not ended.is_set():
                panes = p.run("list-panes", "-a", "-F", "#{pane_id}").stdout.split()
                sid = f"tmux:{random.choice(panes)}"
                for tool, arguments in (("snapshot", {}), ("send_input", {"input": "x"}), ("close_session", {})):
                    await s.call(tool, session_id=sid, **arguments)
                count += 1
            return count

        attaching = [begin(attach()) for _ in range(2)]
        for i in range(times(500)):
            pane = await asyncio.to_thread(p.tmux, "new-window", "-d", "-P", "-F", "#{pane_id}", "-t", "work:", "exec cat")
            kills = [("kill-pane", "-t", pane), ("kill-window", "-t", pane)]
            if i % 5 == 0:
                await asyncio.to_thread(p.tmux, "new-session", "-d", "-s", f"s{i}", "exec cat")
                kills.append(("kill-session", "-t", f"s{i}"))
            for kill in kills:
                await asyncio.sleep(0.003)
                await asyncio.to_thread(p.run, *kill)
        ended.set()
        counts = await asyncio.gather(*attaching)
        expect(p.tmux("display-message", "-p", "#{pid}") == pid, "the same tmux server", pid)
        expect(p.state() == before, "an unchanged server", p.state())
        while "1" in p.tmux("list-panes", "-a", "-F", "#{pane_pipe}").split():
            for sid in (await s.sessions()):
                await s.call("close_session", session_id=sid)
        return f"{times(500)} opened and closed, {sum(counts)} attached"


@check(limit=120, backends=ONLY)
async def panes_idle(s):
    """A hundred quiet panes cause no wake-ups and no processes."""
    with person(s) as p:
        sids = [p.window("exec cat")[1] for _ in range(times(100))]
        for sid in sids:
            await s.ok("snapshot", session_id=sid)
        waits = [begin(s.wait(sid, "NEVER", timeout_ms=60_000)) for sid in sids]

        def wakes():
            total = 0
            for thread in os.listdir(f"/proc/{s.pid}/task"):
                with suppress(OSError):
                    status = open(f"/proc/{s.pid}/task/{thread}/status").read()
                    total += sum(int(line.split()[1]) for line in status.splitlines() if "ctxt_switches" in line)
            return total

        await asyncio.sleep(2)  # the server compares each pane with tmux once after attaching
        start = wakes()
        await asyncio.sleep(10)
        woken = wakes() - start
        for wait in waits:
            wait.cancel()
        await asyncio.gather(*waits, return_exceptions=True)
        children = [pid for pid in os.listdir("/proc") if pid.isdigit() and parent(pid) == s.pid]
        expect(not children, "no child process of the server", children)
        expect(woken == 0, "no wake-ups", {"woken": woken})
        return f"{len(sids)} panes, {woken} wake-ups in 10 s"


def parent(pid):
    with suppress(OSError):
        return int(open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[1])
    return None


@check(limit=120, backends=ONLY)
async def panes_channels(s):
    with person(s) as p:
        _, sid = p.window("PS1='$ ' exec dash -i")
        # A signal from the pane during a wait.
        wait = begin(s.ok("wait_for_channel", channel="built", tmux=True, timeout_ms=8000))
        await s.send(sid, "tmux wait-for -S built\n")
        fields(await wait, outcome="met", signalled=True, count=1)
        # Signals before a wait, one at a time: two at once may cancel each other in tmux.
        for count in (2, 3):
            p.tmux("wait-for", "-S", "built")
            fields(await s.ok("wait_for_channel", channel="tmux:built", since=count - 1, timeout_ms=8000), outcome="met", count=count)
        # A timed-out wait does not consume the next signal.
        fields(await s.ok("wait_for_channel", channel="tmux:late", timeout_ms=50), outcome="timeout", signalled=False)
        p.tmux("wait-for", "-S", "late")
        fields(await s.ok("wait_for_channel", channel="tmux:late", timeout_ms=8000), outcome="met", count=1)
        # One signal ends all waits.
        waits = [begin(s.ok("wait_for_channel", channel="tmux:all", since=0, timeout_ms=8000)) for _ in range(5)]
        while not (await s.ok("wait_for_channel", channel="tmux:all", since=0, timeout_ms=0)).get("outcome"):
            pass
        p.tmux("wait-for", "-S", "all")
        for one in await asyncio.gather(*waits):
            fields(one, outcome="met")
        # Signals to the pane: before it waits and while it waits.
        await s.ok("signal_channel", channel="tmux:go")
        fields(await s.send(sid, "tmux wait-for go; echo WENT_'ON'\n", wait={"text": "^WENT_ON", "timeout_ms": 8000}), outcome="met")
        await s.send(sid, "echo WAI'TS'; tmux wait-for go; echo WENT_'AGAIN'\n", wait={"text": "^WAITS", "timeout_ms": 8000})
        await s.ok("signal_channel", channel="go", tmux=True)
        fields(await s.wait(sid, "^WENT_AGAIN", timeout_ms=8000), found=True)
        # tmux channels carry no status and no message.
        await s.err(["bad_argument"], "signal_channel", channel="tmux:go", status=1)
        # The program exits first.
        wait = begin(s.ok("wait_for_channel", channel="tmux:never", session_id=sid, timeout_ms=8000))
        await s.send(sid, "exit\n")
        fields(await wait, signalled=False, exited=True)
        # The tmux server exits: the wait ends without success.
        wait = begin(s.ok("wait_for_channel", channel="tmux:never", timeout_ms=8000))
        await s.ok("wait_for_channel", channel="tmux:never", timeout_ms=100)
        p.run("kill-server")
        fields(await wait, signalled=False, outcome="closed")


@check(limit=60, server=False, backends=ONLY)
async def panes_tmux_waiters_are_removed():
    """After the server's exit or death, tmux keeps a signal for the next waiter."""
    for kill in (False, True):
        async with connect() as outer:
            with person(outer) as p:
                async with connect(env={"TMUX_TMPDIR": outer.tmux_env["TMUX_TMPDIR"]}) as s:
                    await s.ok("wait_for_channel", channel="tmux:mine", timeout_ms=50)
                    if kill:
                        os.kill(s.pid, 9)
                deadline = time.monotonic() + 10
                while b"tmux\0wait-for\0mine" in b"".join(lines()) and time.monotonic() < deadline:
                    await asyncio.sleep(0.01)
                p.tmux("wait-for", "-S", "mine")
                result = await asyncio.to_thread(subprocess.run, ["timeout", "5", "tmux", "wait-for", "mine"], env=p.env, check=False)
                expect(result.returncode == 0, "tmux to keep the signal", {"killed": kill, "status": result.returncode})


def lines():
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):
            yield open(f"/proc/{pid}/cmdline", "rb").read()
