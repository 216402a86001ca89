"""Faults of programs and clients: floods, unread input, stopped programs and fork bombs; malformed messages, clients
that do not read, and killed processes. Other sessions must continue, and nothing may be left."""

import asyncio
import json
import os
import random
import resource
import select
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import asynccontextmanager, suppress

import harness
from harness import HOME, begin, check, expect, fields, gone, many, times
from machine import under

PTY = ["pty"]
STDIO = ["stdio"]


async def answers_soon(s, seconds=2.0):
    """Expects that a new session responds in time. Returns the seconds."""
    sid = await s.sh("echo UP; exec cat")
    await s.up(sid)
    result = await s.send(sid, "hello\n", wait={"text": "hello"})
    fields(result, found=True)
    expect(result.took < seconds, f"a result within {seconds} s", {"took": result.took})
    await s.close(sid)
    return result.took


def private_directories():
    """Creates directories for sockets and recordings. Returns their variables and a list of the files."""
    env = {"XDG_RUNTIME_DIR": tempfile.mkdtemp(prefix="awaitty-run-"), "AWAITTY_RECORDINGS": tempfile.mkdtemp(dir=HOME)}
    return env, lambda: sorted(os.listdir(os.path.join(env["XDG_RUNTIME_DIR"], "awaitty")))


# ------------------------------------------------------------------------------------ programs
@check(limit=120, backends=PTY)
async def endless_floods_do_not_block_other_sessions(s):
    sids = [await s.sh("exec yes 'flooding without end'") for _ in range(4)]
    await asyncio.gather(*(s.up(sid, "flooding") for sid in sids))
    waits = [begin(s.wait(sid, "NEVER", timeout_ms=1500)) for sid in sids]
    took = [await answers_soon(s, 5.0) for _ in range(5)]
    before = s.figures()["kb"]
    for wait in waits:
        result = fields(await wait, found=False, outcome="timeout")
        expect(1.4 < result.took < 4, "the timeout on time", {"took": result.took})
    await asyncio.sleep(3)  # the floods would fill the memory meanwhile
    grown = s.figures()["kb"] - before
    expect(grown < 32 * 1024, "constant memory", f"{grown} KB more")
    for sid in sids:
        result = await s.close(sid)
        expect(result.took < 3, "an immediate close", {"took": result.took})
    return f"other sessions responded within {max(took) * 1000:.0f} ms, {grown} KB more"


@check(limit=60, backends=PTY, transports=STDIO)  # HTTP refuses so large a request itself
async def ten_megabytes_of_unread_input_are_refused(s):
    sid = await s.sh("stty raw -echo; echo UP; exec sleep 600")
    await s.up(sid)
    before = s.figures()["kb"]
    result = await s.err(["limit_reached"], "send_input", session_id=sid, input="x" * 10_000_000)
    expect(result.took < 5, "a result within 5 s", {"took": result.took})
    fields(await s.send(sid, "x" * 1_000_000), sent_bytes=1_000_000)
    await answers_soon(s)
    expect(s.figures()["kb"] - before < 128 * 1024, "bounded memory", [before, s.figures()["kb"]])
    expect((await s.close(sid)).took < 3, "an immediate close", "it took longer")


@check(limit=60, backends=PTY)
async def a_big_paste_into_an_echoing_program_arrives(s):
    """Fills both directions at once; neither may wait for the other (F21)."""
    count = 400_000
    script = "import os,sys,tty\ntty.setraw(0)\nos.write(1,b'UP')\nn=0\nwhile n<int(sys.argv[1]):\n d=os.read(0,65536)\n n+=len(d)\n os.write(1,d)\nos.write(1,b'\\r\\nALL %d'%n)\nos.read(0,1)"
    sid = await s.py(script, str(count))
    await s.up(sid)
    result = await s.send(sid, "y" * count, wait={"text": "ALL \\d+", "timeout_ms": 20_000})
    expect(result.get("found") and result["match"]["text"] == f"ALL {count}", f"all {count} bytes", result)


HOLDER = """
import os, signal, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for s in (signal.SIGHUP, signal.SIGTERM): signal.signal(s, signal.SIG_IGN)
        for _ in range(100):
            try: os.write(1, b'still here ' * 50)
            except OSError: pass
            time.sleep(0.05)
        time.sleep(600)
    os._exit(0)
os.wait(); os.write(1, b'LAST'); os._exit(7)
"""


@check(limit=60, backends=PTY)
async def a_process_that_holds_the_terminal_delays_no_exit(s):
    sid = await s.py(HOLDER)
    result = fields(await s.ok("wait_for_exit", session_id=sid, timeout_ms=10_000), exited=True, exit_code=7)
    expect(result.took < 3, "the exit within 2 s, plus 1 s for a slow machine", {"took": result.took})
    await s.err(["exited"], "send_input", session_id=sid, input="x")
    await s.close(sid, grace_ms=200)
    left = await gone(s.mark, 1)
    expect(not left, "no process left", list(left.values()))


@check(limit=60, backends=PTY)
async def a_stopped_program_can_be_waited_for_and_closed(s):
    sid = await s.sh("trap '' HUP; echo UP; kill -STOP $$; echo GOES ON; exec sleep 600")
    await s.up(sid)
    pid = (await s.sessions())[sid]["pid"]
    for tool, options in (("wait_for_text", {"pattern": "GOES ON"}), ("wait_for_exit", {}), ("wait_for_screen_change", {"since": "now"})):
        result = await s.ok(tool, session_id=sid, timeout_ms=300, **options)
        fields(result, outcome="timeout")
        expect("stopped" in result.get("why", ""), "`why` to say that the program is stopped", result)
    os.kill(pid, signal.SIGCONT)
    fields(await s.wait(sid, "GOES ON", since="screen"), found=True)
    os.kill(pid, signal.SIGSTOP)
    expect((await s.close(sid, grace_ms=300)).took < 2, "an end soon after the grace period", "it took longer")
    expect(not await gone(s.mark, 0.5), "no process left", "some are")


@check(limit=60, backends=PTY)
async def the_last_of_many_resizes_wins(s):
    sid = await s.sh("trap 'echo now $(stty size)' WINCH; echo UP; while :; do sleep 0.02; done")
    await s.up(sid)
    chance = random.Random(1)
    sizes = [(chance.randint(2, 300), chance.randint(2, 100)) for _ in range(times(1000))] + [(90, 33)]
    for start in range(0, len(sizes), 100):
        await asyncio.gather(*(s.ok("resize_session", session_id=sid, cols=c, rows=r) for c, r in sizes[start:start + 100]))
    fields(await s.ok("resize_session", session_id=sid, cols=91, rows=34), cols=91, rows=34)
    fields(await s.wait(sid, "now 34 91", since="screen", timeout_ms=20_000), found=True)
    one = (await s.sessions())[sid]
    expect((one["cols"], one["rows"]) == (91, 34), "91x34", one)
    for cols, rows in ((0, 0), (0, 10), (65535, 65535)):
        await s.err(["bad_argument"], "resize_session", session_id=sid, cols=cols, rows=rows)


@check(limit=60, backends=PTY)
async def failed_spawns_leak_nothing(s):
    """F11: the errors name their errno."""
    directory = tempfile.mkdtemp(dir=HOME)
    shebang, noexec, plain = (os.path.join(directory, name) for name in ("shebang", "noexec", "plain"))
    for path, text, mode in ((shebang, "#!/no/such/thing\n", 0o755), (noexec, "\0\1\2 not a program", 0o755), (plain, "x", 0o644)):
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, mode)
    await s.close(await s.sh("exec cat"))  # the first spawn opens descriptors that the server keeps
    start = s.figures()
    cases = [("ENOENT", {"command": shebang}), ("ENOEXEC", {"command": noexec}), ("ENOTDIR", {"command": "cat", "cwd": plain}),
             ("ENOENT", {"command": "cat", "cwd": f"{directory}/nowhere"}), ("EACCES", {"command": plain}), ("EACCES", {"command": directory}),
             ("E2BIG", {"command": "echo", "args": ["x" * 200_000]}), ("ENOENT", {"command": "nowhere-to-be-found", "record": True})]
    for _ in range(times(100)):
        for name, arguments in cases:
            result = await s.err(["spawn_failed"], "spawn", **arguments)
            expect(name in result["message"] and len(result["message"]) > 20, f"a message that explains {name}", result)
    expect(not await s.sessions() and s.zombies() == 0, "no session and no zombie", await s.sessions())
    expect(s.figures()["fds"] <= start["fds"], "no more descriptors", [start, s.figures()])


@check(limit=120, backends=PTY, server=False)
async def a_fork_bomb_is_closed_with_its_session():
    """A finite bomb, because the kernel's limit of processes per user does not apply to root."""
    async with harness.connect() as s:
        other = await s.sh("echo UP; exec cat")
        await s.up(other)
        bomb = "trap '' HUP TERM; b() { n=$1; while [ $n -gt 0 ]; do n=$((n-1)); (b $n) & done; echo UP; sleep 600; }; b 8"
        sid = await s.sh(bomb)
        await s.up(sid)
        while len(await asyncio.to_thread(harness.processes, s.mark)) < 200:
            await asyncio.sleep(0.05)
        result = await s.send(other, "alive\n", wait={"text": "alive"})
        fields(result, found=True)
        closed = await s.close(sid, grace_ms=200)
        await s.close(other)
        left = await gone(s.mark, 2)
        expect(not left, "no process left", f"{len(left)} of them")
        return f"other sessions responded within {result.took * 1000:.0f} ms, closed in {closed.took * 1000:.0f} ms"


# ------------------------------------------------------------------------------------ limits of the machine
@check(limit=120, server=False, backends=PTY, transports=STDIO)
async def running_sessions_survive_descriptor_exhaustion():
    # The hard limit too, because the server raises its soft limit up to that.
    directories, sockets = private_directories()
    async with under("ulimit -n 64", env=directories) as s:
        sids, stubborn = [], "trap '' HUP; echo UP; exec sleep 600"
        while True:
            result = await s.call("spawn", command="sh", args=["-c", stubborn if sids else "echo UP; exec cat"], env={"ACCEPTANCE_MARK": s.mark.decode()})
            if result.is_error:
                break
            sids.append(result["session_id"])
            expect(len(sids) < 64, "an error without descriptors", f"{len(sids)} sessions")
        expect(result["code"] == "spawn_failed" and "EMFILE" in result["message"], "spawn_failed that names EMFILE", result)
        fields(await s.send(sids[0], "still\n", wait={"text": "still"}), found=True)
        # A failed spawn closes the descriptors that it opened, so connections take the last ones.
        connections = []
        until = time.monotonic() + 10
        while (count := s.figures()["fds"]) < 64:
            expect(time.monotonic() < until, "no descriptor left", count)
            connections.append(socket.socket(socket.AF_UNIX))
            connections[-1].connect(os.path.join(directories["XDG_RUNTIME_DIR"], "awaitty", sockets()[0]))
            await asyncio.sleep(0.05)
        fields(await s.send(sids[0], "and still\n", wait={"text": "and still"}), found=True)
        # Closing needs descriptors to find the processes of a session. It must not report success while they run.
        for sid in sids[len(sids) // 2:]:
            fields(await s.close(sid, grace_ms=50), signal="SIGKILL")
        for connection in connections:
            connection.close()
        until = time.monotonic() + 5
        while (count := s.figures()["fds"]) > 48:
            expect(time.monotonic() < until, "the descriptors of closed connections to be closed", count)
            await asyncio.sleep(0.02)
        sid = await s.sh("echo UP; exec cat")
        await s.up(sid)
        for sid in [*sids[:len(sids) // 2], sid]:
            await s.close(sid, grace_ms=50)
        left = await gone(s.mark, 1)
        expect(not left, "no process left", list(left.values()))
        return f"{len(sids)} sessions with 64 descriptors"


@check(limit=240, server=False, backends=PTY, transports=STDIO)
async def a_thousand_sessions():
    count = times(1000)
    async with harness.connect("--max-sessions", str(count)) as s:
        sids = []

        async def one(i):
            sids.append(await s.sh(f"echo UP {i}; exec cat"))

        start = time.monotonic()
        await many(count, 8, one)
        took = time.monotonic() - start
        await s.err(["limit_reached"], "spawn", command="cat")
        expect(len(await s.sessions()) == count, f"{count} listed", str(len(await s.sessions())))
        await asyncio.gather(*(s.up(sid) for sid in sids[::50]))
        figures = s.figures()

        async def end(i):
            await s.close(sids[i])

        await many(count, 8, end)
        left = await gone(s.mark, 2)
        expect(not left and not await s.sessions() and s.zombies() == 0, "nothing left", list(left.values()))
        return f"started in {took:.1f} s, {figures}"


# ------------------------------------------------------------------------------------ clients
class Raw:
    """A client that can send invalid messages."""

    def __init__(self, process):
        self.process = process

    def send(self, line):
        self.process.stdin.write(line if isinstance(line, bytes) else (json.dumps(line) + "\n").encode())

    async def next(self, seconds=20):
        """Returns the next message of the server."""
        line = await asyncio.wait_for(self.process.stdout.readline(), seconds)
        expect(line, "a running server", "EOF")
        return json.loads(line)

    async def receive(self, id, others=None):
        """Returns the response with that id. Other messages are dropped, or appended to `others`."""
        while (message := await self.next()).get("id") != id:
            if others is not None:
                others.append(message)
        return message

    async def rest(self, id):
        """Sends a ping. Returns the messages that arrive before its response."""
        others = []
        self.send({"jsonrpc": "2.0", "id": id, "method": "ping"})
        await self.receive(id, others)
        return others

    async def call(self, id, tool, others=None, **arguments):
        self.send({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
        return (await self.receive(id, others))["result"]["structuredContent"]

    def kb(self):
        status = open(f"/proc/{self.process.pid}/status").read()
        return int(status.split("VmRSS:")[1].split()[0])


@asynccontextmanager
async def raw(*flags, env=None):
    words = [harness.SERVER, "mcp", *flags]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    process = await asyncio.create_subprocess_exec(*words, limit=64 << 20, env={**os.environ, "HOME": HOME, **(env or {})}, **pipes)
    try:
        client = Raw(process)
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
        client.send({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": hello})
        await client.receive("hello")
        client.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        yield client
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


IGNORED, INVALID = None, (None, -32600)  # the expected response: none, or an error with that id and code
MALFORMED = [
    (b"\n", IGNORED),
    # Invalid JSON has no id to respond to.
    (b"{\n", IGNORED), (b"\xff\xfe\x00\n", IGNORED), (b"[" * 20_000 + b"\n", IGNORED), (b'{"a":' * 20_000 + b"\n", IGNORED),
    (b"null\n", INVALID), (b"[]\n", INVALID), (b"[1,2]\n", INVALID), (b"42\n", INVALID), (b'"text"\n', INVALID),
    (b'{"jsonrpc":"1.0","id":1,"method":"x"}\n', INVALID), (b'{"jsonrpc":"2.0","id":1}\n', INVALID),
    (b'{"jsonrpc":"2.0","id":{},"method":"tools/list"}\n', INVALID),
    (b'{"jsonrpc":"2.0","id":3,"method":"tools/call","params":[]}\n', INVALID),
    (b'{"jsonrpc":"2.0","id":2,"method":"tools/call"}\n', (2, -32602)),
    (b'{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":7}}\n', (4, -32602)),
    (b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"close_session","arguments":7}}\n', (5, -32602)),
    (b'{"jsonrpc":"2.0","id":6,"method":"' + b"m" * 100_000 + b'"}\n', (6, -32601)),
    (b'{"jsonrpc":"2.0","id":"","method":"nothing"}\n', ("", -32601)),
    # Responses without a request, and notifications.
    (b'{"jsonrpc":"2.0","result":{},"id":77}\n', IGNORED), (b'{"jsonrpc":"2.0","id":78,"error":{"code":1,"message":"x"}}\n', IGNORED),
    (b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{}}\n', IGNORED),
    (b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":12345}}\n', IGNORED),
    (b'{"jsonrpc":"2.0","method":"tools/call","params":{"name":"close_session","arguments":{}}}\n', IGNORED),
]
LINE_MAX = 16 << 20  # bytes of a line, with its end


@check(limit=120, server=False, backends=PTY, transports=STDIO)
async def malformed_messages_get_errors_or_are_ignored():
    async with raw() as client:
        sid = (await client.call(0, "spawn", command="cat"))["session_id"]

        async def untouched(what, others=None):
            sessions = (await client.call(what, "list_sessions", others=others))["sessions"]
            expect([(one["session_id"], one["state"]) for one in sessions] == [(sid, "running")], f"an unchanged session {what}", sessions)

        for i, (line, wanted) in enumerate(MALFORMED):
            client.send(line)
            received = []
            # Errors may follow later responses. Those without an id are optional.
            if wanted and wanted != INVALID:
                received.append(await client.next())
            await untouched(f"after {i}", received)
            received += await client.rest(f"end of {i}")
            errors = [(one.get("id"), one.get("error", {}).get("code")) for one in received]
            expect(errors == ([wanted] if wanted else []) or wanted == INVALID and not errors, f"{wanted} for {line[:70]}", received)
        for length, is_read in ((8 << 20, True), (LINE_MAX - 1, True), (LINE_MAX, True), (LINE_MAX + 1, False), (LINE_MAX + 2, False), (40 << 20, False)):
            begin, end = b'{"jsonrpc":"2.0","id":"long","method":"ping","params":{"x":"', b'"}}\n'
            client.send(begin + b"y" * (length - len(begin) - len(end)) + end)
            await client.process.stdin.drain()
            await untouched(f"after {length} bytes") if not is_read else None
            received = [await client.next()] if is_read else []
            received += await client.rest(f"end of {length}")
            wanted = [{"jsonrpc": "2.0", "id": "long", "result": {}}] if is_read else []
            expect(received == wanted, f"{len(wanted)} responses to a line of {length} bytes", received)
            await untouched(f"after the response to {length} bytes")
        expect(client.kb() < 256 * 1024, "bounded memory", f"{client.kb()} KB")
        return f"{len(MALFORMED)} kinds, lines up to 40 MiB, {client.kb()} KB"


@check(limit=60, server=False, backends=PTY, transports=STDIO)
async def duplicate_request_ids_get_one_response():
    """Concurrent requests with the same id get one response."""
    async with raw() as client:
        sid = (await client.call(1, "spawn", command="cat"))["session_id"]
        never = {"session_id": sid, "pattern": "NEVER", "timeout_ms": 1500}
        for _ in range(500):
            client.send({"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": "wait_for_text", "arguments": never}})
        received, until = [await client.receive(9)], time.monotonic() + 20
        while waits := (await client.call("list", "list_sessions", others=received))["sessions"][0]["waits"]:
            expect(time.monotonic() < until, "no wait left", f"{waits} waits")
            await asyncio.sleep(0.1)
        received += await client.rest("end")
        outcomes = [(one["id"], one["result"]["structuredContent"]["outcome"]) for one in received]
        expect(outcomes == [(9, "timeout")], "one response", outcomes)
        for i in range(3):
            result = await client.call(10 + i, "send_input", session_id=sid, input=f"again {i}\n", wait={"text": f"again {i}"})
            fields(result, outcome="met")
        expect(not await client.rest("end again"), "no other response", "some")


@check(limit=60, server=False, backends=PTY, transports=STDIO)
async def a_killed_client_leaves_nothing():
    async with raw() as client:
        sid = (await client.call(1, "spawn", command="cat", env={"ACCEPTANCE_MARK": "killed-client"}))["session_id"]
        for i in range(20):
            client.send({"jsonrpc": "2.0", "id": 100 + i, "method": "tools/call",
                         "params": {"name": "wait_for_text", "arguments": {"session_id": sid, "pattern": "NEVER", "timeout_ms": 600_000}}})
        await client.call(2, "list_sessions")
        start = time.monotonic()
        # Both pipes are closed, as by the exit of a client.
        client.process.stdin.close()
        client.process._transport.get_pipe_transport(1).close()
        await asyncio.wait_for(client.process.wait(), 10)
        took = time.monotonic() - start
        expect(took < 2, "an exit before the end of the calls", f"{took:.1f} s")
        expect(not await gone(b"killed-client", 1), "no process left", "some are")
        return f"ended after {took * 1000:.0f} ms"


# ------------------------------------------------------------------------------------ killed servers
def printed(directory):
    """Returns the recorded output of all sessions. The last line of a file may be cut."""
    found = []
    for name in sorted(os.listdir(directory)):
        head, *lines = open(os.path.join(directory, name)).read().split("\n")
        expect(not head or json.loads(head)["version"] == 3, "the head of an asciicast", head)
        found.append("".join(data for _, kind, data in map(json.loads, lines[:-1]) if kind == "o"))
    return found


async def command(env, *words):
    """Runs awaitty. Returns the exit status, the output as JSON and stderr."""
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = await asyncio.create_subprocess_exec(harness.SERVER, *words, env={**os.environ, "HOME": HOME, **env}, **pipes)
    out, errors = await asyncio.wait_for(process.communicate(), 20)
    return process.returncode, json.loads(out or "null"), errors.decode()


@check(limit=60, server=False, backends=PTY, transports=STDIO)
async def a_killed_server_hangs_up_its_programs():
    """F15: SIGHUP ends the programs that do not ignore it, recordings are readable, and a new server starts."""
    env, sockets = private_directories()
    mark = f"killed-server-{os.getpid()}"
    async with raw(env=env) as client:
        started = lambda id, script: client.call(id, "spawn", command="sh", args=["-c", script], env={"ACCEPTANCE_MARK": mark}, record=True, wait={"text": "UP"})
        await started(1, "echo UP; exec cat")
        await started(2, "echo UP; sleep 600 & yes flooding")
        stubborn = (await started(3, "trap '' HUP; echo UP; while :; do sleep 1; done"))["pid"]
        await client.call(4, "send_input", session_id="s1", input="typed\n", wait={"text": "typed"})
        # A thread writes the recordings with a delay.
        until = time.monotonic() + 2
        while not printed(env["AWAITTY_RECORDINGS"])[0].endswith("typed\r\ntyped\r\n"):
            expect(time.monotonic() < until, "a recording that grows while the program runs", printed(env["AWAITTY_RECORDINGS"])[0])
            await asyncio.sleep(0.01)
        own = sockets()
        expect(own == [f"mcp-{client.process.pid}.sock"], "one socket", own)
        os.kill(client.process.pid, signal.SIGKILL)
        await client.process.wait()
    try:
        until = time.monotonic() + 3
        while any(argv.startswith(("cat", "yes")) for argv in harness.processes(mark.encode()).values()):
            expect(time.monotonic() < until, "SIGHUP to end cat and yes", harness.processes(mark.encode()))
            await asyncio.sleep(0.02)
        expect(stubborn in harness.processes(mark.encode()), "the program that ignores SIGHUP to run", harness.processes(mark.encode()))
    finally:
        for pid in harness.processes(mark.encode()):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    texts = printed(env["AWAITTY_RECORDINGS"])
    expect(len(texts) == 3 and texts[0] == "UP\r\ntyped\r\ntyped\r\n", "the output until the kill", [text[:80] for text in texts])
    expect(texts[1].startswith("UP\r\nflooding\r\n"), "the flood until the kill", texts[1][:80])
    async with raw(env=env) as client:
        sid = (await client.call(1, "spawn", command="cat"))["session_id"]
        fields(await client.call(2, "send_input", session_id=sid, input="new\n", wait={"text": "new"}), found=True)
        expect(sockets() == [f"mcp-{client.process.pid}.sock"], "only its own socket", sockets())
    return f"{len(texts[1]) // 1024} KB of the flood recorded"


@check(limit=60, server=False, backends=PTY, transports=STDIO)
async def a_killed_daemon_is_reported_and_replaced():
    """F15: all programs end, clients see the end, and the next call starts another daemon."""
    env, sockets = private_directories()
    mark = f"killed-daemon-{os.getpid()}"
    try:
        async with raw("--daemon", env=env) as client:
            script = "trap '' HUP TERM; (env -i setsid sleep 601 &); echo UP; while :; do sleep 1; done"
            await client.call(1, "spawn", command="sh", args=["-c", script], name="stubborn", env={"ACCEPTANCE_MARK": mark}, record=True, wait={"text": "UP"})
            pid = (await command(env, "daemon", "status", "--json"))[1]["pid"]
            client.send({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
                         "params": {"name": "wait_for_text", "arguments": {"session_id": "stubborn", "pattern": "NEVER", "timeout_ms": 600_000}}})
            await client.call(3, "list_sessions")
            os.kill(pid, signal.SIGKILL)
            expect(await asyncio.wait_for(client.process.wait(), 5) != 0, "a nonzero exit status", "0")
        status, output, errors = await command(env, "search", "UP", "--json")
        expect((status, output["matches"]) == (0, []) and "the previous daemon was killed" in errors, "a new daemon that reports the death", [status, output, errors])
        left = await gone(mark.encode(), 2)
        strays = [words for words in all_words() if words == "sleep 601"]
        expect(not left and not strays, "no process left", [list(left.values()), strays])
        names = [name for name in sockets() if name.endswith(".sock")]
        expect(names == ["daemon-programs.sock", "daemon.sock"], "the sockets of one daemon", names)
        texts = printed(env["AWAITTY_RECORDINGS"])
        expect(texts == ["UP\r\n"], "the recorded output", texts)
        expect((await command(env, "search", "UP", "--json"))[2] == "", "one report", "another")
    finally:
        await command(env, "daemon", "stop", "--json")


def all_words():
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):
            yield open(f"/proc/{pid}/cmdline").read().replace("\0", " ").strip()


@check(limit=60, server=False, backends=PTY, transports=STDIO)
async def a_killed_daemon_client_leaves_sessions_but_no_waits():
    """F57."""
    env, _ = private_directories()
    try:
        async with raw("--daemon", env=env) as client:
            await client.call(1, "spawn", command="cat", name="kept")
            for i in range(20):
                client.send({"jsonrpc": "2.0", "id": 100 + i, "method": "tools/call",
                             "params": {"name": "wait_for_text", "arguments": {"session_id": "kept", "pattern": "NEVER", "timeout_ms": 600_000}}})
            waits = lambda listed: listed[1]["sessions"][0]["waits"]
            until = time.monotonic() + 5
            while (count := waits(await command(env, "ls", "--json"))) < 20:
                expect(time.monotonic() < until, "20 waits", count)
            client.process.kill()
            await client.process.wait()
        until = time.monotonic() + 5
        while count := waits(await command(env, "ls", "--json")):
            expect(time.monotonic() < until, "no wait left", count)
        status, output, _ = await command(env, "send", "kept", "hello\n", "--wait-text", "hello", "--json")
        expect(status == 0 and output["found"], "a session that continues", output)
    finally:
        await command(env, "daemon", "stop", "--json")


class NonReader:
    """A client that requests large screens without reading the responses until `read_all`."""

    def __init__(self, to_server, from_server):
        self.to_server, self.from_server, self.rest, self.requested = to_server, from_server, b"", []
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "non-reader", "version": "1"}}
        self.request(0, "initialize", hello)
        os.write(to_server, b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')

    def request(self, id, method, params):
        os.write(self.to_server, (json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}) + "\n").encode())
        return json.loads(self.from_server.readline())

    def flood(self, count):
        """Sends up to `count` requests. Stops when the server has read nothing for a second."""
        until = time.monotonic() + 1
        while time.monotonic() < until and (self.rest or count):
            if not self.rest:
                count -= 1
                self.requested.append(1000 + len(self.requested))
                self.rest = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"snapshot","arguments":{}}}\n' % self.requested[-1]
            if self.write(0.1):
                until = time.monotonic() + 1
        return len(self.requested)

    def write(self, seconds):
        """Writes a part of the pending request if the pipe has room."""
        has_room = self.rest and select.select([], [self.to_server], [], seconds)[1]
        if has_room:
            self.rest = self.rest[os.write(self.to_server, self.rest):]
        return has_room

    def read_all(self):
        """Reads all responses and writes the rest of the pending request meanwhile."""
        responses = []
        while len(responses) < len(self.requested):
            self.write(0)
            responses.append(json.loads(self.from_server.readline()))
        expect(all("LARGE" in json.dumps(one) for one in responses), "screens", responses[-1])
        expect(sorted(one["id"] for one in responses) == self.requested, "one response to each", f"{len(responses)} of {len(self.requested)}")
        self.requested = []


def non_reader_check(name, by_socket):
    @check(limit=120, server=False, name=f"{name}_that_never_reads_uses_bounded_memory", backends=PTY, transports=STDIO)
    async def run():
        """Requests 20 000 large screens without reading, and then reads all responses. Then disconnects while the
        server does not read its requests, which the server must notice (F67)."""
        return await asyncio.to_thread(stop_reading, by_socket)


def stop_reading(by_socket):
    directory = tempfile.mkdtemp(dir=HOME)
    env = {**os.environ, "HOME": HOME, "XDG_RUNTIME_DIR": directory}
    words = [harness.SERVER, "mcp", "--socket-access", "full"]  # the socket client reads the screen of a session
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env)
    kb = lambda: int(open(f"/proc/{process.pid}/status").read().split("VmRSS:")[1].split()[0])
    try:
        client = first = NonReader(process.stdin.fileno(), process.stdout)
        script = "for i in $(seq 100); do printf 'LARGE %0180d\\r\\n' $i; done; exec cat"
        spawn = {"command": "sh", "args": ["-c", script], "cols": 200, "rows": 100, "wait": {"settled": 200}}
        first.request(1, "tools/call", {"name": "spawn", "arguments": spawn})
        fds = lambda: len(os.listdir(f"/proc/{process.pid}/fd"))
        before = fds()
        if by_socket:
            end = socket.socket(socket.AF_UNIX)
            end.connect(os.path.join(directory, "awaitty", f"mcp-{process.pid}.sock"))
            client = NonReader(end.fileno(), end.makefile("rb"))
        taken = client.flood(20_000)
        most = kb()
        expect(256 <= taken < 20_000, "the server to stop reading requests after a while", f"{taken} calls were taken")
        expect(most < 100 * 1024, "bounded memory", f"{most} KB after {taken} calls")
        client.read_all()
        again = client.flood(20_000)
        start = time.monotonic()
        if by_socket:
            expect(first.request(2, "ping", {})["id"] == 2, "a response to another client", "none")
            # Only the sending half is closed, while the server does not read from it.
            end.shutdown(socket.SHUT_WR)
            while fds() > before:
                expect(time.monotonic() < start + 2, "the connection to be closed", f"{fds()} descriptors, {before} before")
                time.sleep(0.01)
            expect(first.request(3, "ping", {})["id"] == 3, "a response to another client", "none")
        else:
            process.stdin.close()
            process.wait(10)
        took = time.monotonic() - start
        expect(took < 1.5, "the end noticed within 500 ms, plus 1 s for a slow machine", f"{took:.2f} s")
        return f"{most} KB after {taken} and {again} calls, disconnected after {took * 1000:.0f} ms"
    finally:
        process.kill()
        process.wait()


non_reader_check("a_client", False)
non_reader_check("a_socket_client", True)


# ------------------------------------------------------------------------------------ waits
TICKS = "(while :; do echo tick; sleep 0.02; done) & echo UP; exec cat"


def waits_of_all_kinds(sid, sleeper, i):
    """Returns a call that never ends on its own; `i` selects its kind."""
    never = {"timeout_ms": 600_000}
    return [
        ("wait_for_text", {"session_id": sid, "pattern": f"NEVER_{i}", **never}),
        ("wait_for_text", {"session_id": sid, "pattern": "tick", "gone": True, **never}),
        ("wait_for_screen_change", {"session_id": sid, "stable_ms": 600_000, **never}),
        ("wait_for_exit", {"session_id": sid, **never}),
        ("wait_for_channel", {"session_id": sid, "channel": f"never-{i % 50}", **never}),
        ("wait_for_any", {"waits": [{"session_id": sid, "text": "NEVER"}, {"session_id": sleeper, "exit": True}, {"channel": "never"}], **never}),
        ("wait_for_any", {"waits": [{"session_id": sleeper, "ready": True}, {"session_id": sid, "settled": 500_000}], "mode": "all", **never}),
        ("send_input", {"session_id": sid, "input": "typed\n", "wait": {"text": f"NEVER_{i}", **never}}),
        ("send_input", {"session_id": sid, "input": "typed\n", "wait": {"settled": 500_000, **never}}),
        ("send_input", {"session_id": sleeper, "input": "x", "wait": {"ready": True, **never}}),
    ][i % 10]


@check(limit=240, backends=PTY)
async def waits_cancelled_in_every_order_leave_nothing(s):
    """F56, F57: of all kinds, on several sessions, while output goes on."""
    sids = [await s.sh(TICKS) for _ in range(4)]
    sleeper = await s.sh("stty raw -echo; echo UP; exec sleep 600")
    await asyncio.gather(*(s.up(sid) for sid in [*sids, sleeper]))
    chance, count = random.Random(7), times(1000)
    running = lambda found: sum(one["waits"] for one in found.values())

    async def round(order):
        tasks = [begin(s.call(tool, **arguments)) for tool, arguments in (waits_of_all_kinds(sids[i % 4], sleeper, i) for i in range(count))]
        # Of ten calls, two have two waits on sessions, and the one on a channel has none that the list counts.
        until = time.monotonic() + 30
        while running(await s.sessions()) < count:
            done = [task for task in tasks if task.done()]
            expect(not done, "waits that run", done and (done[0].exception() or done[0].result()))
            expect(time.monotonic() < until, f"{count} waits", str(running(await s.sessions())))
        order(tasks)
        for i, task in enumerate(tasks):
            task.cancel()
            if i % 50 == 0:
                await asyncio.sleep(0)
        await asyncio.gather(*tasks, return_exceptions=True)
        expect(all(task.cancelled() for task in tasks), "waits that were still running", str([task for task in tasks if not task.cancelled()][:1]))
        while running(found := await s.sessions()):
            expect(time.monotonic() < until + 30, "no wait left", {sid: one["waits"] for sid, one in found.items()})
        for sid in sids:
            word = f"hello{chance.randrange(10**9)}"
            fields(await s.send(sid, f"{word}\n", wait={"text": word}), found=True)

    orders = {"in order": lambda tasks: None, "in reverse": list.reverse, "at random": chance.shuffle}
    await round(chance.shuffle)
    start = s.figures()
    for order in orders.values():
        await round(order)
    until = time.monotonic() + 15
    while (end := s.figures())["fds"] > start["fds"] or end["kb"] > start["kb"] + 8192:
        expect(time.monotonic() < until, f"figures as after the first round {start}", end)
        await asyncio.sleep(0.2)
    return f"4 times {count} cancelled; {start} -> {end}"
