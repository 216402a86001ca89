"""The framework of the acceptance checks: servers with a real MCP client, processes, expectations and the runner."""

import asyncio
import atexit
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import uuid
from contextlib import asynccontextmanager, suppress

import anyio
import httpx2
import mcp.client.stdio
from mcp import ClientSession, StdioServerParameters, stdio_client
from mcp.client.stdio import get_default_environment
from mcp.client.streamable_http import streamable_http_client

SERVER = ""  # run.py sets this and SCALE, BACKEND, TRANSPORT
SCALE = 1.0
BACKEND = "pty"
TRANSPORT = "stdio"
TRANSPORTS = ("stdio", "http")
BACKENDS = {"pty": {}, "tmux": {"backend": "tmux"}}  # arguments of spawn
PYTHON = sys.executable
HOME = tempfile.mkdtemp(prefix="awaitty-home-")  # shells write their history here only
# Channel signals reach all servers of a user. Without a private directory, other servers would wake up ours.
RUNTIME = os.environ["XDG_RUNTIME_DIR"] = tempfile.mkdtemp(prefix="awaitty-run-")
for _directory in (HOME, RUNTIME):
    atexit.register(shutil.rmtree, _directory, ignore_errors=True)
CHECKS = []  # (name, time limit in seconds, function, whether it takes a server, backends, transports)


class Failure(Exception):
    """A failed expectation: what was expected and what was found."""


def check(limit=30.0, name=None, server=True, backends=("pty", "tmux"), transports=TRANSPORTS):
    def add(function):
        CHECKS.append((name or function.__name__, limit, function, server, backends, transports))
        return function

    return add


def times(count):
    """Scales a repeat count."""
    return max(1, round(count * SCALE))


def expect(condition, expected, came):
    if not condition:
        shown = came if isinstance(came, str) else json.dumps(came, default=str)
        raise Failure(f"expected {expected}; got {shown[:700]}".replace("\n", "\\n"))  # one line per check


def fields(result, **wanted):
    """Expects these fields; None means absent or null, and False may be absent too."""
    for key, value in wanted.items():
        came = result.get(key)
        expect(came == value or (value is False and came is None), f"{key}={value!r}", result)
    return result


async def many(count, width, function):
    """Runs `function(i)` for i < count, `width` at once. Stops after ten failures."""
    failures, done, numbers = [], 0, iter(range(count))

    async def worker():
        nonlocal done
        for i in numbers:
            try:
                await function(i)
            except Exception as error:
                failures.append(f"#{i}: {error if isinstance(error, Failure) else repr(error)}")
            done += 1
            if len(failures) >= 10:
                return

    await asyncio.gather(*(worker() for _ in range(min(width, count))))
    if failures:
        raise Failure(f"{done - len(failures)} of {done} passed ({count} planned); " + " || ".join(failures[:3]))
    return f"{count} of {count}"


def processes(mark):
    """Returns the running processes with the mark in their environment or arguments: {pid: argv}."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):
            argv = open(f"/proc/{pid}/cmdline", "rb").read()
            if mark in argv or mark in open(f"/proc/{pid}/environ", "rb").read():
                state = open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[0]
                if state not in "ZX" and int(pid) != os.getpid():
                    found[int(pid)] = argv.replace(b"\0", b" ").decode(errors="replace")[:80]
    return found


async def gone(mark, seconds):
    """Waits until no process with the mark runs. Returns those that still run."""
    until = time.monotonic() + seconds
    while (left := processes(mark)) and time.monotonic() < until:
        await asyncio.sleep(0.02)
    return left


def begin(call):
    """Starts a call. The check awaits it later, or never if it fails before."""
    task = asyncio.create_task(call)
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    return task


class Result(dict):
    """The structured content of a tool result, with the rest of the result in attributes."""

    def __init__(self, answer, took):
        # mcp 2 spells these in snake case, mcp 1 in camel case.
        content = getattr(answer, "structured_content", getattr(answer, "structuredContent", None))
        super().__init__(content if isinstance(content, dict) else {})
        self.content = answer.content
        self.is_error = bool(getattr(answer, "is_error", getattr(answer, "isError", False)))
        self.text = "\n".join(getattr(block, "text", "") for block in answer.content)
        self.took = took


class Server:
    def __init__(self, session, process, mark):
        self.session, self.process, self.pid, self.mark = session, process, process.pid, mark

    async def call(self, tool, /, progress=None, **arguments):
        start = time.monotonic()
        answer = await self.session.call_tool(tool, arguments, progress_callback=progress)
        return Result(answer, time.monotonic() - start)

    async def ok(self, tool, /, **arguments):
        result = await self.call(tool, **arguments)
        expect(not result.is_error, f"{tool} to succeed", result or result.text)
        return result

    async def err(self, codes, tool, /, **arguments):
        """Expects a tool result with isError and one of the codes, not a protocol error."""
        try:
            result = await self.call(tool, **arguments)
        except Exception as error:
            raise Failure(f"expected isError with code {codes}; got an exception: {error!r}") from error
        expect(result.is_error, f"isError with code {codes}", result or result.text)
        expect(result.get("code") in codes, f"code in {codes}", result or result.text)
        expect(result.get("message") and result.text, "a message, also in the text block", result)
        return result

    async def spawn(self, *argv, env=None, **options):
        options = {**BACKENDS[BACKEND], **options}
        env = {"ACCEPTANCE_MARK": self.mark.decode(), **(env or {})}
        result = await self.ok("spawn", command=argv[0], args=list(argv[1:]), env=env, **options)
        expect(result.get("session_id") and result.get("pid"), "session_id and pid", result)
        return result["session_id"]

    async def sh(self, script, **options):
        return await self.spawn("sh", "-c", script, **options)

    async def py(self, script, *args, **options):
        return await self.spawn(PYTHON, "-I", "-S", "-c", script, *args, **options)

    async def wait(self, sid, pattern, **options):
        return await self.ok("wait_for_text", session_id=sid, pattern=pattern, **options)

    async def up(self, sid, pattern="UP"):
        """Waits until the program has printed that it is ready."""
        return fields(await self.wait(sid, pattern, since="screen", timeout_ms=15_000), found=True)

    async def send(self, sid, text, **options):
        return await self.ok("send_input", session_id=sid, input=text, **options)

    async def close(self, sid, **options):
        # Without `kill`, closing a pane only detaches from it.
        kill = {"kill": True} if BACKEND == "tmux" else {}
        return await self.ok("close_session", session_id=sid, **kill, **options)

    async def text(self, sid):
        return (await self.ok("snapshot", session_id=sid))["text"]

    async def screen(self, sid, holds, what, seconds=3.0):
        """Polls the screen until `holds(text)`, without the waits that are under test."""
        until = time.monotonic() + seconds
        while not holds(text := await self.text(sid)):
            expect(time.monotonic() < until, what, text)
            await asyncio.sleep(0.02)
        return text

    async def sessions(self):
        """Returns the attached sessions by id."""
        found = (await self.ok("list_sessions"))["sessions"]
        return {one["session_id"]: one for one in found if one.get("seq") is not None}

    async def until_waits(self, sid, count, seconds=10.0):
        """Polls the session until it has `count` waits, so that what the check does next happens during them."""
        until = time.monotonic() + seconds
        while (waits := (await self.sessions())[sid].get("waits", 0)) < count:
            expect(time.monotonic() < until, f"{count} waits on {sid}", f"{waits} waits")
            await asyncio.sleep(0.002)

    def figures(self):
        status = open(f"/proc/{self.pid}/status").read()
        number = lambda key: int(re.search(rf"^{key}:\s+(\d+)", status, re.M)[1])
        return {"fds": self.descriptors(), "threads": number("Threads"), "kb": number("VmRSS")}

    def descriptors(self):
        """Without TCP connections: their number depends on the connection pool of the HTTP client."""
        directory, links = f"/proc/{self.pid}/fd", []
        for name in os.listdir(directory):
            with suppress(OSError):
                links.append(os.readlink(f"{directory}/{name}"))
        with open("/proc/net/tcp") as table:
            tcp = {f"socket:[{line.split()[9]}]" for line in table.readlines()[1:]}
        return sum(link not in tcp for link in links)

    def zombies(self):
        count = 0
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with suppress(OSError):
                state, parent = open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[:2]
                count += state == "Z" and int(parent) == self.pid
        return count


@asynccontextmanager
async def over_stdio(flags, env, log):
    """Starts `awaitty mcp`. Yields the streams of the client and the process."""
    started, real = [], anyio.open_process

    async def spy(*args, **kwargs):  # stdio_client does not expose the process; the checks need its PID and stdin
        started.append(await real(*args, **kwargs))
        return started[-1]

    mcp.client.stdio.PROCESS_TERMINATION_TIMEOUT = 5.0  # longer than the grace period of the server
    parameters = StdioServerParameters(command=SERVER, args=["mcp", *flags], env=env)
    try:
        anyio.open_process = spy
        async with stdio_client(parameters, errlog=log) as streams:
            anyio.open_process = real
            yield *streams, started[0]
    finally:
        anyio.open_process = real


@asynccontextmanager
async def serving(flags, env, log):
    """Starts `awaitty serve`. Yields its process, its URL and the header with its token."""
    with tempfile.TemporaryDirectory(prefix="awaitty-serve-") as directory:
        token = os.path.join(directory, "token")
        words = ["serve", "--json", "--token-file", token, *flags]
        env = {**get_default_environment(), **env}
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": log}
        process = await asyncio.create_subprocess_exec(SERVER, *words, env=env, **pipes)
        try:
            info = json.loads(await process.stdout.readline())
            yield process, info["mcp"], {"Authorization": f"Bearer {open(token).read().strip()}"}
        finally:
            with suppress(ProcessLookupError):
                process.terminate()
            with anyio.CancelScope(shield=True):
                await process.wait()


@asynccontextmanager
async def over_http(flags, env, log):
    """Does the same as `over_stdio` with `awaitty serve`."""
    async with serving(flags, env, log) as (process, url, headers):
        timeout = httpx2.Timeout(30, read=300)  # the defaults of the SDK, whose own client takes no headers
        limits = httpx2.Limits(max_connections=2000)
        async with httpx2.AsyncClient(headers=headers, timeout=timeout, limits=limits) as client:
            async with streamable_http_client(url, http_client=client) as (reader, writer):
                yield reader, writer, process


@asynccontextmanager
async def connect(*flags, env=None):
    """Starts a server with these flags and connects a client. Fails if the server panicked or left a process."""
    mark = f"acceptance-{uuid.uuid4().hex}".encode()
    failure = None
    # Keeps away from the tmux servers of the user.
    tmux = tempfile.TemporaryDirectory(prefix="awaitty-tmux-", ignore_cleanup_errors=True)
    env = {"HOME": HOME, "XDG_RUNTIME_DIR": RUNTIME, "TMUX_TMPDIR": tmux.name, **(env or {})}
    opened = {"stdio": over_stdio, "http": over_http}[TRANSPORT]
    with tempfile.TemporaryFile("w+") as log, tmux:
        try:
            async with opened(flags, env, log) as (reader, writer, process):
                async with ClientSession(reader, writer) as session:
                    # Exceptions are raised outside of the SDK's task groups, which would wrap them.
                    try:
                        await session.initialize()
                        await session.list_tools()  # makes the client check output schemas
                        server = Server(session, process, mark)
                        server.tmux_env = {**os.environ, **env}
                        yield server
                    except Exception as error:
                        failure = error
        finally:
            if BACKEND == "tmux":
                kill = ["tmux", "-L", "awaitty", "kill-server"]
                subprocess.run(kill, env={**os.environ, **env}, capture_output=True, check=False)
            with anyio.CancelScope(shield=True):
                left = await gone(mark, 0.3)
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        log.seek(0)
        errors = log.read()
    if failure:
        raise failure
    expect(not left, "no process left after the server's end", list(left.values()))
    expect("panicked at" not in errors, "no panic", errors[-600:])


def output_lines(result):
    """Returns the lines of read_output as [(number, text)]."""
    return [(one["line"], one["text"]) for one in result["lines"]]


async def matched_row(s, sid, result):
    """Returns the whole text of the row that a wait matched."""
    row, rows = result["match"].get("row"), result["screen_text"].split("\n")
    if row and row <= len(rows):
        return rows[row - 1]
    return output_lines(await s.ok("read_output", session_id=sid, from_line=result["match"]["line"], limit=1))[0][1]


async def run_one(name, limit, function, wants_server, *_):
    limit *= max(1.0, SCALE)
    start = time.monotonic()
    try:
        with anyio.fail_after(limit):
            if wants_server:
                async with connect() as s:
                    detail = await function(s)
            else:
                detail = await function()
    except Failure as error:
        print(f"FAIL {name}: {error}", flush=True)
        return False
    except TimeoutError:
        print(f"FAIL {name}: not finished within {limit:.0f} s", flush=True)
        return False
    except Exception as error:  # errors of the check itself are failures too
        where = traceback.extract_tb(error.__traceback__)[-1]
        print(f"FAIL {name}: {error!r} at {where.filename}:{where.lineno}", flush=True)
        return False
    took = f"{time.monotonic() - start:.1f} s"
    print(f"ok {name} ({detail}; {took})" if detail else f"ok {name} ({took})", flush=True)
    return True


async def run_all(only, again=0):
    """Runs the chosen checks. Returns whether all passed.

    With `again`, a check that failed runs again that many times and must pass each time: a busy machine can make one
    miss a deadline. Such checks are reported on lines that start with RETRIED, which scripts/test repeats in its
    summary.
    """
    chosen = [one for one in CHECKS if re.search(only, one[0]) and BACKEND in one[4] and TRANSPORT in one[5]]
    passed, retried, failed = [], [], []
    for one in chosen:
        if await run_one(*one):
            passed.append(one[0])
        elif again and all([await run_one(*one) for _ in range(again)]):
            retried.append(one[0])
        else:
            failed.append(one[0])
    print(f"{len(passed) + len(retried)} passed, {len(failed)} failed" + "".join(f"; failed {name}" for name in failed))
    print(f"retried: {len(retried)} tests")
    for name in retried:
        print(f"RETRIED {name} (failed once, then passed {again} times)")
    return bool(chosen) and not failed
