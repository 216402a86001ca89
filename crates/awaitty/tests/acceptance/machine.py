"""Faults of the machine: limits of memory, processes, descriptors, terminals and disks; clock jumps; blocked signals;
and programs that outlive, flood or stop their terminal. F numbers are rows of docs/faults.md. A check that cannot run
on this machine reports "not run: …"."""

import asyncio
import json
import os
import random
import re
import shlex
import shutil
import signal
import statistics
import subprocess
import tempfile
import time
from contextlib import asynccontextmanager, contextmanager, suppress

import harness
from harness import HOME, PYTHON, begin, check, expect, fields, gone, many, processes, times

PTY = ["pty"]
STDIO = ["stdio"]
OWN_SERVER = {"server": False, "backends": PTY, "transports": STDIO}  # for checks that start a server themselves
CAT = "echo UP; exec cat"


@asynccontextmanager
async def under(words, *flags, outer="", env=None):
    """Starts a server from a shell that runs `words` first. `set -- COMMAND "$@"` in them makes COMMAND start it."""
    directory = tempfile.mkdtemp(prefix="awaitty-under-")
    os.chmod(directory, 0o755)
    script, real = os.path.join(directory, "awaitty"), harness.SERVER
    with open(script, "w") as file:
        whole = shlex.quote(f'set -- {shlex.quote(real)} "$@"\n{words}\nexec "$@"')
        file.write(f'#!/bin/sh\nexec {outer} bash -ec {whole} bash "$@"\n')
    os.chmod(script, 0o755)
    try:
        harness.SERVER = script
        async with harness.connect(*flags, env=env) as s:
            yield s
    finally:
        harness.SERVER = real
        shutil.rmtree(directory, ignore_errors=True)


def cannot_mount():
    """Returns why this machine forbids mounts, or None."""
    tried = subprocess.run(["unshare", "-m", "true"], capture_output=True, text=True, check=False)
    return f"not run: {tried.stderr.strip()}" if tried.returncode else None


async def answers(s, sid, seconds=5.0):
    """Expects that a session responds in time. Returns the seconds."""
    word = f"hello{random.randrange(10**9)}"
    result = await s.send(sid, f"{word}\n", wait={"text": word})
    fields(result, found=True)
    expect(result.took < seconds, f"a result within {seconds} s", {"took": result.took})
    return result.took


async def none_left(s, seconds=2):
    left = await gone(s.mark, seconds)
    expect(not left, "no process left", list(left.values()))


# ------------------------------------------------------------------------------------ exits
@check(limit=60, backends=PTY)
async def an_exit_after_eof_is_reported(s):
    """F02: also if the program opens the terminal again in between."""
    for back in ("", "exec >/dev/tty; echo BACK; "):
        sid = await s.sh(f"echo UP; exec <&- >&- 2>&-; sleep 0.8; {back}exit 3")
        calls = [s.ok("wait_for_exit", session_id=sid), s.ok("wait_for_exit", session_id=sid), s.wait(sid, "NEVER")]
        for result in await asyncio.gather(*calls):
            fields(result, exited=True, exit_code=3, signal=None)
            expect(0.2 < result.took < 3, "a result at the exit, not at EOF", {"took": result.took})
        fields((await s.sessions())[sid], state="exited", exit_code=3)
        fields(await s.close(sid), exit_code=3)


@check(limit=60, backends=PTY)
async def output_before_eof_is_shown(s):
    """F02: the program continues after all descriptors of the terminal are closed."""
    script = "import os,time; os.write(1, b'UP'); os.closerange(0, 3); time.sleep(600)"
    for _ in range(5):
        spawn = {"command": PYTHON, "args": ["-I", "-S", "-c", script], "wait": {"text": "UP", "timeout_ms": 8000}}
        result = fields(await s.ok("spawn", **spawn), outcome="met", screen_text="UP")
        expect(result.took < 5, "a result at the output, not at the timeout", {"took": result.took})
        await s.close(result["session_id"])


HOLDER = """
import os, signal, sys, time
tty = os.ttyname(0)
if os.fork() == 0:
    os.setsid()
    for s in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT): signal.signal(s, signal.SIG_IGN)
    if os.fork() == 0:
        out = 1
        while sys.argv[1] == 'that_outpaces': os.system('yes flooding 2>/dev/null >' + tty)
        while sys.argv[1] != 'that_is_quiet':
            try: os.write(out, b'still here ' * 300 + b'\\n')
            except OSError:
                try: out = os.open(tty, os.O_RDWR | os.O_NOCTTY) if sys.argv[1] == 'that_reopens' else 1
                except OSError: time.sleep(0.01)
        time.sleep(600)
    os._exit(0)
os.wait(); time.sleep(0.2); os._exit(7)
"""


def holder_check(how):
    @check(limit=60, name=f"a_surviving_process_{how}_delays_no_exit", backends=PTY)
    async def run(s):
        """F05: the process is reparented, has its own session and ignores SIGHUP."""
        # A pattern that spans rows makes each read of a large screen so slow that there is always more output.
        size = {"cols": 1000, "rows": 500} if how == "that_outpaces" else {}
        other, sid = await s.sh(CAT), await s.py(HOLDER, how, **size)
        if how == "that_outpaces":
            [begin(s.wait(sid, f"flooding\\nb{i}")) for i in range(20)]
        result = fields(await s.ok("wait_for_exit", session_id=sid, timeout_ms=10_000), exited=True, exit_code=7)
        expect(result.took < 3.2, "the exit within 2 s, plus 1.2 s for a slow machine", {"took": result.took})
        alive = [argv for argv in processes(s.mark).values() if "import os" in argv]
        expect(alive, "the process to survive", processes(s.mark))
        await s.err(["exited"], "send_input", session_id=sid, input="x")
        await answers(s, other)
        closed = await s.close(sid, grace_ms=200)
        fields(closed, exit_code=7)
        expect(closed.took < 3, "an end soon after the grace period", {"took": closed.took})
        await s.close(other)
        await none_left(s)


for _how in ("that_is_quiet", "that_floods", "that_reopens", "that_outpaces"):
    holder_check(_how)


def stray_check(name, redirects, others):
    @check(limit=60, name=f"a_stray_that_{name}", backends=PTY)
    async def run(s):
        """F07: a process without its parent, its environment and its session."""
        mark = s.mark.decode()
        other = await s.sh(CAT) if others else None
        sid = await s.sh(f"(env -i setsid {PYTHON} -I -S -c 'import time; time.sleep(1000)' {mark} {redirects} &); {CAT}")
        await s.up(sid)
        is_there = lambda pid: os.getsid(pid) == pid and mark.encode() not in open(f"/proc/{pid}/environ", "rb").read()
        until, strays = time.monotonic() + 5, []
        while not strays:
            expect(time.monotonic() < until, "the stray", processes(s.mark))
            with suppress(OSError):
                strays = [pid for pid in processes(s.mark) if is_there(pid)]
        result = await s.close(sid, grace_ms=200)
        survivors = result.get("survivors") or []
        if others and redirects:
            expect([one.get("pid") for one in survivors] == strays, f"survivors: {strays}", result)
            expect("time.sleep(1000)" in survivors[0].get("command", ""), "its command", result)
            expect(str(strays[0]) in result.text, "the survivor in the text", result.text)
            os.kill(strays[0], signal.SIGKILL)
        else:
            expect(not survivors, "no survivors", result)
            left = [pid for pid in strays if pid in await gone(mark.encode(), 0 if others else 1)]
            expect(not left, "the stray to be killed", processes(s.mark))
        if others:
            await answers(s, other)
            expect(not (await s.close(other)).get("survivors"), "no survivors of the other session", "some")
        await none_left(s)


stray_check("holds_the_terminal_is_killed", "", True)
stray_check("holds_nothing_is_reported", "</dev/null >/dev/null 2>&1", True)
stray_check("holds_nothing_beside_no_other_session_is_killed", "</dev/null >/dev/null 2>&1", False)


def processes_of(uid):
    """Returns the processes of a user: {pid: (name, threads)}. Includes zombies, which count against the limit."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):
            status = open(f"/proc/{pid}/status").read()
            if f"\nUid:\t{uid}\t" in status:
                found[int(pid)] = (status.split(None, 2)[1], int(re.search(r"Threads:\s+(\d+)", status)[1]))
    return found


def end_all_of(uid):
    """Kills all processes of a user. Stops them first, so that they cannot fork."""
    for number in (signal.SIGSTOP, signal.SIGSTOP, signal.SIGKILL):
        until = time.monotonic() + 5
        done = set()
        while (new := processes_of(uid).keys() - done) and time.monotonic() < until:
            for pid in new:
                with suppress(ProcessLookupError):
                    os.kill(pid, number)
            done |= new if number == signal.SIGSTOP else set()


# The processes continue when fork fails. A shell would exit.
BOMB = """
import os, signal, time
for s in (signal.SIGHUP, signal.SIGTERM): signal.signal(s, signal.SIG_IGN)
while True:
    try: os.fork()
    except OSError: time.sleep(0.05)
"""


async def bombed(s, sid, other, is_full):
    """Expects that other sessions respond while the bomb is at its limit, and that closing its session ends it."""
    until = time.monotonic() + 30
    while not is_full():
        expect(time.monotonic() < until, "a bomb that reaches its limit", f"{len(processes(s.mark))} processes")
        await asyncio.sleep(0.01)
    took, failed = [], 0
    for _ in range(5):
        took.append(await answers(s, other))
        took.append((await s.ok("list_sessions")).took)
        result = await s.call("spawn", command="sh", args=["-c", "exit 0"])
        if result.is_error:
            failed += 1
            expect(result.get("code") == "spawn_failed" and "EAGAIN" in result["message"], "spawn_failed that names EAGAIN", result)
    expect(failed, "a spawn that fails", "5 that succeeded")
    # The server's idle threads exit after 10 s. It must then close the session without a new thread.
    await asyncio.sleep(11)
    closed = await s.close(sid, grace_ms=200)
    expect(not closed.get("survivors") and closed.took < 10, "an end of all of it", {"took": closed.took, **closed})
    return f"{failed} of 5 spawns failed, other calls within {max(took) * 1000:.0f} ms, closed in {closed.took:.1f} s"


@check(limit=120, **OWN_SERVER)
async def a_fork_bomb_under_a_process_limit():
    """F09: as another user with a limit of 300 processes, which counts threads and zombies."""
    if os.geteuid() != 0:
        return "not run: this check needs root to become another user"
    uid, most = 61_000 + os.getpid() % 4000, 300
    expect(not processes_of(uid), f"no process of the user {uid} before", processes_of(uid))
    home = tempfile.mkdtemp(prefix="awaitty-bomb-")
    os.chown(home, uid, uid)
    words = f'ulimit -u {most}\nset -- setpriv --reuid={uid} --regid={uid} --clear-groups "$@"'
    try:
        async with under(words, env={"HOME": home, "XDG_RUNTIME_DIR": home, "TMPDIR": home}) as s:
            other = await s.sh(CAT)
            await s.up(other)
            usual = set(processes_of(uid))
            sid = await s.spawn("/usr/bin/python3", "-I", "-S", "-c", BOMB)
            report = await bombed(s, sid, other, lambda: sum(threads for _, threads in processes_of(uid).values()) >= most - 5)
            left = {pid: name for pid, name in processes_of(uid).items() if pid not in usual and pid != s.pid}
            expect(not left, "no process of the bomb", f"{len(left)} processes: {list(left.values())[:5]}")
            await s.up(await s.sh(CAT))
            await answers(s, other)
            return report
    finally:
        end_all_of(uid)
        shutil.rmtree(home, ignore_errors=True)


# ------------------------------------------------------------------------------------ inherited state
@check(limit=60, **OWN_SERVER)
async def blocked_signals_are_reset_for_programs():
    """F13."""
    names = "INT,TERM,HUP,QUIT,TSTP,CHLD,WINCH,XFSZ"
    status = os.path.join(tempfile.mkdtemp(dir=HOME), "status")
    # `env` and no shell: some shells unblock signals when they start.
    by = f"env --block-signal={names} --ignore-signal={names}"
    words = f'{by} grep Sig /proc/self/status >{status}\nset -- {by} "$@"'
    async with under(words) as s:
        masks = dict(re.findall(r"(\w+):\s+([0-9a-f]{16})", open(status).read()))
        bits = lambda words: sum(1 << (getattr(signal, f"SIG{name}") - 1) for name in words.split(","))
        expect(int(masks["SigBlk"], 16) & bits("INT,TERM,HUP,QUIT") == bits("INT,TERM,HUP,QUIT"), "a server with signals blocked", masks)
        expect(int(masks["SigIgn"], 16) & bits("INT,TERM,HUP,QUIT") == bits("INT,TERM,HUP,QUIT"), "a server with signals ignored", masks)
        sid = await s.spawn("grep", "Sig", "/proc/self/status")
        await s.ok("wait_for_exit", session_id=sid)
        text = await s.text(sid)
        masks = dict(re.findall(r"(\w+):\s+([0-9a-f]{16})", text))
        expect(masks.get("SigBlk") == masks.get("SigIgn") == "0" * 16, "no blocked and no ignored signals", text)
        sid = await s.spawn("sleep", "60")
        result = await s.ok("send_input", session_id=sid, keys=["ctrl+c"], wait={"exit": True, "timeout_ms": 5000})
        fields(result, exited=True, signal="SIGINT")
        sid = await s.spawn("sleep", "60")
        result = fields(await s.close(sid), signal="SIGHUP")
        expect(result.took < 1.5, "an end by the first signal", {"took": result.took})


@check(limit=120, **OWN_SERVER)
async def a_low_soft_limit_of_descriptors_is_raised():
    """F61: for the server; programs keep the original limit."""
    soft, count = max(64, times(256)), max(50, times(500))
    async with under(f"ulimit -Sn {soft}", "--max-sessions", str(count)) as s:
        sid = await s.sh("echo LIMIT $(ulimit -Sn) $(ulimit -Hn); exec cat")
        limits = (await s.up(sid, "LIMIT \\d+ \\w+"))["match"]["text"].split()
        expect(limits[1] == str(soft), f"{soft} for programs", limits)
        sids = [sid]

        async def one(_):
            sids.append(await s.sh(CAT))

        await many(count - 1, 8, one)
        expect(len(await s.sessions()) == count, f"{count} sessions", str(len(await s.sessions())))
        figures = s.figures()
        expect(figures["fds"] > soft, f"more than {soft} descriptors", figures)
        await asyncio.gather(*(answers(s, sid) for sid in sids[::20]))
        await many(count, 8, lambda i: s.close(sids[i]))
        await none_left(s)
        return f"{count} sessions, {figures}"


@check(limit=120, **OWN_SERVER)
async def the_server_survives_a_memory_limit():
    """F17: with 1 GiB of address space, under floods of long coloured lines."""
    async with under("ulimit -v 1048576") as s:
        other = await s.sh(CAT)
        await s.up(other)
        line = "".join(f"\033[38;5;{n}mc{n}" for n in range(100))
        sids, refused, most = [], 0, 0
        for _ in range(max(12, times(40))):
            result = await s.call("spawn", command="yes", args=[line], env={"ACCEPTANCE_MARK": s.mark.decode()}, cols=1000, rows=100)
            if result.is_error:
                expect(result.get("code") in ("spawn_failed", "limit_reached"), "spawn_failed or limit_reached", result)
                refused += 1
            else:
                sids.append(result["session_id"])
        expect(sids, "at least one session", "none")
        until = time.monotonic() + max(3, times(30))
        while time.monotonic() < until:
            most = max(most, s.figures()["kb"])
            await s.ok("list_sessions")
            await asyncio.sleep(0.1)
        expect(s.process.returncode is None, "a running server", str(s.process.returncode))
        expect(most < 900 * 1024, "bounded memory", f"{most} KB")
        await answers(s, other, 10)
        for sid in sids:
            await s.close(sid)
        await answers(s, await s.sh(CAT))
        return f"{len(sids)} sessions, {refused} refused, {most} KB"


# ------------------------------------------------------------------------------------ control groups
@contextmanager
def control_group(controller, limits):
    """Creates a control group below our own with these limits {file: value}. Yields its directory, or "not run: why"."""
    own = dict(line.split(":", 2)[1:] for line in open("/proc/self/cgroup").read().splitlines())
    if controller in own:
        parent = f"/sys/fs/cgroup/{controller}{own[controller]}"
    else:
        parent = f"/sys/fs/cgroup{own.get('', '/')}"
    group = os.path.join(parent, f"awaitty-acceptance-{os.getpid()}")
    try:
        os.mkdir(group)
    except OSError as error:
        yield f"not run: no control group: {error}"
        return
    try:
        for name, value in limits.items():
            with open(os.path.join(group, name), "w") as file:
                file.write(str(value))
        yield group
    except (FileNotFoundError, PermissionError) as error:
        if error.filename is None or not error.filename.startswith(group):
            raise
        yield f"not run: no limit of {controller}: {error}"
    finally:
        until = time.monotonic() + 5
        while os.path.exists(group) and time.monotonic() < until:
            for pid in open(f"{group}/cgroup.procs").read().split():
                with suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
            with suppress(OSError):
                os.rmdir(group)
            time.sleep(0.02)


@check(limit=120, **OWN_SERVER)
async def a_fork_bomb_in_a_control_group_is_closed():
    """F09: the server and its programs may have 100 tasks, a limit that applies to root too."""
    with control_group("pids", {"pids.max": 100}) as group:
        if group.startswith("not run"):
            return group
        async with under(f"echo $$ >{group}/cgroup.procs") as s:
            other = await s.sh(CAT)
            await s.up(other)
            sid = await s.py(BOMB)
            current = lambda: int(open(f"{group}/pids.current").read())
            report = await bombed(s, sid, other, lambda: current() >= 99)
            # The kernel still counts a process shortly after it was reaped.
            until = time.monotonic() + 2
            while (left := current()) > 15:
                expect(time.monotonic() < until, "a group of the server and a program", f"{left} tasks")
                await asyncio.sleep(0.02)
            await s.up(await s.sh(CAT))
            await answers(s, other)
            return report


EATER = "import sys\nprint('UP', flush=True)\nkept = []\nwhile True: kept.append(b'x' * (1 << 20))"


@check(limit=120, **OWN_SERVER)
async def an_out_of_memory_kill_ends_only_the_program():
    """F17: in a group with 256 MiB, the kernel kills the largest process."""
    for limits in ({"memory.limit_in_bytes": 256 << 20}, {"memory.max": 256 << 20, "memory.swap.max": 0}):
        with control_group("memory", limits) as group:
            if group.startswith("not run"):
                continue
            async with under(f"echo $$ >{group}/cgroup.procs") as s:
                other, flood = await s.sh(CAT), await s.spawn("yes", FLOODS["coloured"])
                await asyncio.gather(s.up(other), s.up(flood, "flooding"))
                sid = await s.py(EATER)
                result = await s.ok("wait_for_exit", session_id=sid, timeout_ms=60_000)
                fields(result, exited=True, signal="SIGKILL")
                await answers(s, other, 10)
                await s.up(await s.sh(CAT))
                expect(s.process.returncode is None, "a running server", str(s.process.returncode))
                return f"killed after {result.took:.1f} s, the server has {s.figures()['kb']} KB"
    return group


# ------------------------------------------------------------------------------------ floods
FLOODS = {"plain": "flooding without end", "coloured": "\033[31mred\033[42;1mgreen\033[0m flooding\033[38;2;1;2;3m", "CJK": "漢字かな交じり文 🎉 flooding"}


@check(limit=120, backends=PTY)
async def floods_of_all_kinds_do_not_block_other_sessions(s):
    """F30."""
    other, report = await s.sh(CAT), []
    await s.up(other)
    for count, kinds in ((1, ["plain"]), (1, ["coloured"]), (1, ["CJK"]), (2, ["CJK", "coloured"]), (4, ["plain", "CJK", "coloured", "plain"])):
        sids = [await s.spawn("yes", FLOODS[kind]) for kind in kinds]
        await asyncio.gather(*(s.up(sid, "flooding") for sid in sids))
        waits = [begin(s.wait(sid, "NEVER", timeout_ms=800)) for sid in sids]
        waits += [begin(s.ok("wait_for_exit", session_id=sid, timeout_ms=800)) for sid in sids]
        took = []
        while not all(wait.done() for wait in waits):
            took += [await answers(s, other), (await s.ok("list_sessions")).took]
        middle = statistics.median(took)
        expect(middle < 1, "other calls (median) within 1 s", took)
        for wait in waits:
            result = fields(await wait, outcome="timeout")
            expect(0.75 < result.took < 3, "the timeout on time", {"took": result.took})
        for sid in sids[1:]:
            expect((await s.close(sid)).took < 3, "an immediate close", count)
        result = await s.ok("send_input", session_id=sids[0], keys=["ctrl+c"], wait={"exit": True, "timeout_ms": 5000})
        fields(result, exited=True, signal="SIGINT")
        await s.close(sids[0])
        report.append(f"{count}: {middle * 1000:.0f}/{max(took) * 1000:.0f}")
    return f"median/max ms of other calls: {', '.join(report)}"


@check(limit=60, backends=PTY)
async def resizes_during_a_flood_end_in_the_last_size(s):
    """F42."""
    sid = await s.sh("yes flooding & echo UP; read x; kill $!; wait; echo SIZE $(stty size); exec cat")
    await s.up(sid, "flooding")
    chance = random.Random(2)
    sizes = [(chance.randint(2, 300), chance.randint(2, 100)) for _ in range(times(1000))]
    for start in range(0, len(sizes), 50):
        await asyncio.gather(*(s.ok("resize_session", session_id=sid, cols=c, rows=r) for c, r in sizes[start:start + 50]))
    fields(await s.ok("resize_session", session_id=sid, cols=93, rows=35), cols=93, rows=35)
    fields(await s.send(sid, "\n", wait={"text": "SIZE 35 93$", "timeout_ms": 20_000}), found=True)
    one, size = (await s.sessions())[sid], (await s.ok("snapshot", session_id=sid))["size"]
    expect((one["cols"], one["rows"]) == (size["cols"], size["rows"]) == (93, 35), "93x35", [one, size])


@check(limit=120, backends=PTY)
async def unread_query_replies_are_bounded(s):
    """F45: in canonical mode, where the kernel drops excess replies, and in raw mode, where it blocks them."""
    other = await s.sh(CAT)
    await s.up(other)
    script = "import os,sys,time,tty\nif sys.argv[1]=='raw': tty.setraw(0)\nos.system('stty -echo')\nd=b'\\x1b[6n'*400_000+b'ALL PRINTED'\nwhile d: d=d[os.write(1,d):]\ntime.sleep(600)"
    report = []
    for how in ("lines", "raw"):
        before = s.figures()["kb"]
        sid = await s.py(script, how)
        start = time.monotonic()
        wait = begin(s.wait(sid, "ALL PRINTED", timeout_ms=40_000))
        while not wait.done():
            await answers(s, other)
        fields(await wait, found=True)
        took, grown = time.monotonic() - start, s.figures()["kb"] - before
        expect(grown < 32 * 1024, "constant memory", f"{grown} KB more")
        exits = {"wait": {"exit": True, "timeout_ms": 5000}} if how == "lines" else {}
        result = await s.ok("send_input", session_id=sid, keys=["ctrl+c"], **exits)
        fields(result, **({"exited": True, "signal": "SIGINT"} if exits else {"sent_bytes": 1}))
        await s.ok("send_input", session_id=other, keys=["ctrl+u"])
        expect((await s.close(sid)).took < 3, "an immediate close", how)
        report.append(f"{how} {took:.1f} s, {grown} KB")
    return "; ".join(report)


@check(limit=120, backends=PTY)
async def patterns_that_match_nothing_do_not_block_other_calls(s):
    """F53: on the largest screen, under a flood."""
    other, sid = await s.sh(CAT), await s.spawn("yes", "a" * 990 + " flooding", cols=1000, rows=500)
    await asyncio.gather(s.up(other), s.up(sid, "flooding"))
    words = "|".join(f"word{i:05}" for i in range(1000))[:4096].rstrip("|")
    durations = []
    for pattern in ("", "x*", "(|a)", "^", "$", "(?m)^", "b?", words):
        calls = [s.call("wait_for_text", session_id=sid, pattern=pattern, timeout_ms=500, since=since) for since in ("now", "screen")]
        calls += [s.call("search_output", session_id=sid, pattern=pattern), s.call("read_output", session_id=sid, pattern=pattern)]
        tasks = [begin(one) for one in calls]
        while not all(task.done() for task in tasks):
            await answers(s, other)
        for result in await asyncio.gather(*tasks):
            if result.is_error:
                expect(result.get("code") in ("bad_pattern", "bad_argument") and len(result["message"]) > 20, "a clear error", result)
            expect(result.took < 5, "a result within 5 s", {"pattern": pattern[:20], "took": result.took})
            durations.append(result.took)
        if pattern == words:
            fields(tasks[0].result(), found=False, outcome="timeout")
    return f"at most {max(durations):.2f} s"


SHIM = r"""
#define _GNU_SOURCE
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static atomic_int calls;
static long jump(void) { return atomic_fetch_add(&calls, 1) % 2 ? 86400 : -86400; }
static int is_wall(clockid_t clock) { return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE; }
int clock_gettime(clockid_t clock, struct timespec *at) {
    int result = syscall(SYS_clock_gettime, clock, at);
    if (!result && is_wall(clock)) at->tv_sec += jump();
    return result;
}
int gettimeofday(struct timeval *at, void *zone) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    at->tv_sec = now.tv_sec, at->tv_usec = now.tv_nsec / 1000;
    return 0;
}
time_t time(time_t *at) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at) *at = now.tv_sec;
    return now.tv_sec;
}
"""


@check(limit=60, **OWN_SERVER)
async def wall_clock_jumps_move_no_wait():
    """F39: each read of the clock jumps a day forward or back."""
    if not shutil.which("cc"):
        return "not run: no C compiler"
    directory = tempfile.mkdtemp(dir=HOME)
    library = os.path.join(directory, "jumps.so")
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-x", "c", "-", "-o", library], input=SHIM.encode(), check=True)
    # Only the server; its programs run without the library.
    async with under(f'set -- env LD_PRELOAD={library} "$@"') as s:
        sid = await s.sh("for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.1; done; echo UP; exec cat", record=True, env={"LD_PRELOAD": ""})
        start = time.monotonic()
        await s.up(sid)
        for _ in range(3):
            result = fields(await s.wait(sid, "NEVER", timeout_ms=500), outcome="timeout")
            expect(0.45 < result.took < 2, "a timeout of 500 ms", {"took": result.took})
            result = await s.ok("wait_for_screen_change", session_id=sid, since="now", timeout_ms=500)
            expect(0.45 < result.took < 2, "a timeout of 500 ms", {"took": result.took})
        result = await s.send(sid, "x\n", wait={"settled": 300, "timeout_ms": 5000})
        fields(result, outcome="met")
        expect(0.28 < result.took < 3, "settled after 300 ms", {"took": result.took})
        one = (await s.sessions())[sid]
        off = abs(one["created"] / 1000 - time.time())
        expect(off > 80_000, "a server whose clock jumps", f"created is off by {off:.0f} s")
        expect(one["idle_ms"] < 60_000, "idle for some seconds", one)
        ending = await s.sh("echo UP; exec sleep 600", ttl_ms=500, env={"LD_PRELOAD": ""})
        result = fields(await s.ok("wait_for_exit", session_id=ending, timeout_ms=5000), exited=True)
        expect(0.3 < result.took < 2, "an end after 500 ms", {"took": result.took})
        path = os.path.join(directory, "a.cast")
        fields(await s.ok("save_recording", session_id=sid, path=path), complete=True)
        head, *events = map(json.loads, open(path).read().splitlines())
        fields(head, version=3)  # the times are intervals since the previous event
        times_of = [event[0] for event in events]
        expect(len(events) >= 8 and min(times_of) >= 0, "no negative interval", times_of)
        expect(0.6 < sum(times_of) < time.monotonic() - start + 1, "intervals that add up to the duration", times_of)
        return f"off by {off:.0f} s, {len(events)} events over {sum(times_of):.1f} s"


# ------------------------------------------------------------------------------------ terminals and disks
@check(limit=60, **OWN_SERVER)
async def pty_exhaustion_is_reported():
    """F63: with a limit of four terminals."""
    if why := cannot_mount():
        return why
    words = "mount -t devpts -o newinstance,ptmxmode=0666,mode=620,max=4 devpts /dev/pts\n[ -L /dev/ptmx ] || mount --bind /dev/pts/ptmx /dev/ptmx"
    async with under(words, outer="unshare -m") as s:
        sids = []
        while not (result := await s.call("spawn", command="cat", env={"ACCEPTANCE_MARK": s.mark.decode()})).is_error:
            sids.append(result["session_id"])
            expect(len(sids) < 10, "an error without terminals", f"{len(sids)} sessions")
        expect(result["code"] == "spawn_failed" and "ENOSPC" in result["message"], "spawn_failed that names ENOSPC", result)
        expect(re.search("terminal|pty|pseudo", result["message"], re.I), "a message about terminals", result)
        await answers(s, sids[0])
        for _ in range(3):
            await s.close(sids.pop())
            sids.append(await s.sh(CAT))
            await answers(s, sids[-1])
            await s.err(["spawn_failed"], "spawn", command="cat")
        expect(len(await s.sessions()) == len(sids) and s.zombies() == 0, "no other session and no zombie", await s.sessions())
        return f"{len(sids)} sessions; {result['message'][:90]}"


async def recorded_until_cut(s):
    """Floods a recording that has no room for the output. Expects that only the recording ends."""
    other = await s.sh(CAT)
    await s.up(other)
    sid = await s.sh("seq 1 60000; echo UP; exec cat", record=True)
    await s.up(sid)
    await answers(s, sid)
    until = time.monotonic() + 5
    while not (note := (await s.sessions())[sid].get("recording_note")):
        expect(time.monotonic() < until, "a note that the recording ended", (await s.sessions())[sid])
        await asyncio.sleep(0.05)
    path = os.path.join(tempfile.mkdtemp(dir=HOME), "a.txt")
    result = fields(await s.ok("save_recording", session_id=sid, path=path), complete=False)
    expect(open(path).read().startswith("1\n2\n3\n"), "the start of the output", open(path).read()[:100])
    await answers(s, other)
    await answers(s, sid)
    again = await s.call("spawn", command="cat", record=True, env={"ACCEPTANCE_MARK": s.mark.decode()})
    expect(not again.is_error or again.get("code") == "spawn_failed", "another session or a clear error", again)
    await s.close(sid)
    return f"{note} / {result.get('note')}"


@check(limit=60, **OWN_SERVER)
async def a_full_disk_ends_only_the_recording():
    """F64."""
    if why := cannot_mount():
        return why
    directory = tempfile.mkdtemp(dir=HOME)
    async with under(f"mount -t tmpfs -o size=64k tmpfs {directory}", outer="unshare -m", env={"AWAITTY_RECORDINGS": directory}) as s:
        return await recorded_until_cut(s)


@check(limit=60, **OWN_SERVER)
async def a_file_size_limit_ends_only_the_recording():
    """F64: the kernel sends SIGXFSZ, which the server handles but which must still end programs."""
    async with under("ulimit -f 64", env={"AWAITTY_RECORDINGS": tempfile.mkdtemp(dir=HOME)}) as s:
        sid = await s.sh(f"yes > {tempfile.mkdtemp(dir=HOME)}/big; kill -l $?; exec cat")
        fields(await s.wait(sid, "XFSZ", since="screen"), found=True)
        return await recorded_until_cut(s)


# ------------------------------------------------------------------------------------ memory
@check(limit=60, backends=PTY, transports=STDIO)
async def the_sum_of_scrollback_is_limited(s):
    """F17: at 10 000 000 lines."""
    sids = [await s.sh(CAT, scrollback=1_000_000) for _ in range(10)]
    for options in ({"scrollback": 1_000_000}, {}):
        result = await s.err(["limit_reached"], "spawn", command="cat", **options)
        expect(re.search("10.?000.?000", result["message"]), "a message with the limit", result)
    await s.close(sids.pop())
    sids += [await s.sh(CAT, scrollback=900_000), await s.sh(CAT)]
    await s.err(["limit_reached"], "spawn", command="cat", scrollback=100_000)
    await answers(s, sids[-1])
    for sid in sids:
        await s.close(sid)
    await s.sh(CAT, scrollback=1_000_000)


# ------------------------------------------------------------------------------------ waits
# Echoes the first key and reads no other, so that a submitted line is typed but not read.
SHOWS_ONE = """
import os, time, tty
tty.setraw(0); os.write(1, b'UP\\r\\n')
os.write(1, os.read(0, 1)); time.sleep(600)
"""


@check(limit=60, backends=PTY)
async def closing_a_session_ends_any_wait(s):
    """F55."""
    never = {"text": "NEVER", "timeout_ms": 20_000}
    raw = "stty raw -echo; echo UP; exec sleep 600"
    busy = {"timeout_ms": 20_000}
    kinds = {
        "text": (CAT, "wait_for_text", {"pattern": "NEVER", **busy}),
        "gone": (CAT, "wait_for_text", {"pattern": "UP", "gone": True, **busy}),
        "change": (CAT, "wait_for_screen_change", {"since": "now", **busy}),
        "exit": (CAT, "wait_for_exit", busy),
        "channel": (CAT, "wait_for_channel", {"channel": "never", **busy}),
        "any": (CAT, "wait_for_any", {"waits": [{"text": "NEVER"}], **busy}),
        "all": (CAT, "wait_for_any", {"waits": [{"text": "NEVER"}, {"exit": True}, {"settled": 19_000}], "mode": "all", **busy}),
        "ready": (raw, "wait_for_any", {"waits": [{"ready": True}], **busy}),
        "send": (CAT, "send_input", {"input": "x", "wait": never}),
        "settled": (CAT, "send_input", {"input": "x", "wait": {"settled": 15_000, **busy}}),
        "changed": (CAT, "send_input", {"input": "x", "wait": {"change": 15_000, **busy}}),
        "sent exit": (CAT, "send_input", {"input": "x", "wait": {"exit": True, **busy}}),
        "sent channel": (CAT, "send_input", {"input": "x", "wait": {"channel": "never", **busy}}),
        "sent ready": (raw, "send_input", {"input": "x", "wait": {"ready": True, **busy}}),
        "submit": (CAT, "send_input", {"input": "x", "submit": True, "wait": never}),
        "not yet typed": (raw, "send_input", {"input": "x", "submit": True}),
        "not yet submitted": (SHOWS_ONE, "send_input", {"input": "x", "submit": True}),
        "run": (None, "run_command", {"command": "sleep 600", **busy}),
        "command": (None, "wait_for_command", busy),
    }

    async def one(i):
        kind, (script, tool, arguments) = list(kinds.items())[i]
        sid = await (s.py(script) if script == SHOWS_ONE else s.sh(script) if script else s.spawn("bash", "--norc"))
        if script:
            await s.up(sid)
        if tool == "wait_for_command":
            fields(await s.ok("run_command", session_id=sid, command="sleep 600", timeout_ms=300), finished=False)
        if tool == "wait_for_any":
            arguments = {**arguments, "waits": [{"session_id": sid, **wait} for wait in arguments["waits"]]}
        else:
            arguments = {"session_id": sid, **arguments}
        task = begin(s.call(tool, **arguments))
        await asyncio.sleep(1.5 if script is None else 0.5)
        expect(not task.done(), f"{kind}: a running wait", task.done() and (task.exception() or task.result()))
        start = time.monotonic()
        closed = await s.close(sid)
        result = await task
        took = time.monotonic() - start
        expect(took < 1 + closed.took, f"{kind}: an end within 1 s", f"{took:.2f} s")
        expect(not result.is_error and result.get("outcome") == "closed", f"{kind}: outcome closed", result or result.text)
        expect(result.get("closed") or tool in ("wait_for_any", "run_command", "wait_for_command"), f"{kind}: closed", result)
        expect("enter" not in (result.get("hint") or "").lower(), f"{kind}: no hint for a closed session", result)

    await many(len(kinds), 6, one)
    expect(not await s.sessions(), "no session left", await s.sessions())
    return f"{len(kinds)} kinds of wait"


@check(backends=PTY)
async def a_long_line_in_parts_is_refused(s):
    """F22: the kernel keeps 4 095 bytes of a line, also if several calls send it."""
    sid = await s.sh("stty -echo; echo UP; exec awk '{print \"got \" length($0); fflush()}'")
    await s.up(sid)

    async def refused(text, **more):
        result = await s.err(["bad_argument"], "send_input", session_id=sid, input=text, **more)
        expect("4095" in result["message"].replace(" ", ""), "a message with the limit", result)

    await refused("x" * 6000 + "\n")
    await refused("x" * 3000, keys=[{"text": "x" * 3000}, "enter"])
    for end, got in ((["ctrl+u", {"text": "short\n"}], 5), (["enter"], 3000), ([{"text": "x" * 1095}, "enter"], 4095), (["ctrl+c"], None)):
        await s.send(sid, "x" * 3000)
        await refused("x" * 3000 + "\n")
        wait = {"text": f"^got {got}$"} if got else {"exit": True}
        result = await s.ok("send_input", session_id=sid, keys=end, wait={**wait, "timeout_ms": 3000})
        fields(result, outcome="met")


@check(backends=PTY)
async def stopped_output_is_reported(s):
    """F27."""
    sid = await s.sh("i=0; while :; do i=$((i+1)); echo tick $i; sleep 0.02; done")
    await s.up(sid, "tick 5")
    await s.ok("send_input", session_id=sid, keys=["ctrl+s"])
    await asyncio.sleep(0.3)  # the output that was printed before ctrl+s arrives
    stopped = await s.text(sid)
    for tool, options in (("wait_for_text", {"pattern": "NEVER"}), ("wait_for_screen_change", {"since": "now"})):
        result = await s.ok(tool, session_id=sid, timeout_ms=400, **options)
        fields(result, outcome="timeout")
        why = result.get("why", "").lower()
        expect("stopped" in why and "ctrl+q" in why, "`why` to name the stopped output and ctrl+q", result)
    expect(await s.text(sid) == stopped, "no output", await s.text(sid))
    result = await s.ok("send_input", session_id=sid, keys=["ctrl+q"], wait={"text": "tick \\d+", "timeout_ms": 3000})
    fields(result, found=True)
    result = await s.wait(sid, "NEVER", timeout_ms=300)
    expect("ctrl+q" not in result.get("why", "").lower(), "`why` without ctrl+q", result)


# ------------------------------------------------------------------------------------ keys
BURSTS = """
import os, select, tty
tty.setraw(0); os.write(1, b'UP\\r\\n')
while True:
    seen = os.read(0, 1)
    while select.select([0], [], [], 0.02)[0]: seen += os.read(0, 100)
    os.write(1, b'<' + seen.hex().encode() + b'>')
"""


@check(backends=PTY)
async def escape_and_the_next_key_arrive_separately(s):
    """F24: a program waits 20 ms for the rest of an escape sequence."""
    sid = await s.py(BURSTS)
    await s.up(sid)
    shown = "UP\n"
    for keys, bursts in ((["esc", "x"], "<1b><78>"), (["alt+x"], "<1b78>"), (["esc", "esc", ":", "q"], "<1b><1b><3a71>"),
                         (["a", "esc"], "<611b>"), (["esc", {"text": "dd"}], "<1b><6464>"), (["up"], "<1b5b41>")):
        for _ in range(max(1, times(10))):
            shown += bursts
            await s.ok("send_input", session_id=sid, keys=keys)
            await s.screen(sid, lambda t: len(t.replace("\n", "")) >= len(shown) - 1, f"{keys} to arrive")
            text = await s.text(sid)
            expect(text.replace("\n", "") == shown.replace("\n", ""), f"{keys} as {bursts}", text)
    # Text is sent without pauses, and later calls queue behind keys that are paced.
    await s.send(sid, "\x1bx")
    await s.screen(sid, lambda t: t.endswith("<1b78>"), "text to arrive as it is")
    for call in ({"keys": ["esc"]}, {"keys": ["y", "esc", "z"]}, {"input": "w"}):
        await s.ok("send_input", session_id=sid, **call)
    shown += "<1b78><1b><791b><7a77>"
    await s.screen(sid, lambda t: len(t.replace("\n", "")) >= len(shown) - 1, "calls to arrive")
    text = await s.text(sid)
    expect(text.replace("\n", "") == shown.replace("\n", ""), "several calls in order", text)
    # `settled` waits until all keys are read.
    result = await s.ok("send_input", session_id=sid, keys=["esc", "v"], wait={"settled": 50}, diff=False)
    expect(result["screen_text"].replace("\n", "").endswith("<1b><76>"), "a screen with both", result)
