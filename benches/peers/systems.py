"""The compared systems behind a common interface, each used as its documentation advises. The servers and tmux are
here, the libraries in libraries.py."""

import asyncio
import contextlib
import importlib.util
import itertools
import os
import shutil
import sys
import time

from mcp import ClientSession, StdioServerParameters, stdio_client

COLS, ROWS = 120, 30  # the default width of some systems; the workers use the same
POLL_S = 0.05  # the interval of the polling scripts around tmux
QUIET_MS = 250
SHELL = ["bash", "--norc", "--noprofile"]
START_S = 20


class NotThere(Exception):
    """The system has no such call. The table shows the message."""


class NotInstalled(Exception):
    pass


class System:
    """`open` starts a program; a wait returns whether its condition was met. The defaults report missing calls."""

    name = ""

    def __init__(self, place):
        self.place = place  # the shared directory, environment and deadline
        self.numbers = itertools.count(1)

    async def settled_after(self, terminal, key):
        """Presses a key and waits until the screen is quiet."""
        raise NotThere("no such wait")

    async def changed_and_settled_after(self, terminal, key):
        raise NotThere("no such wait")

    async def changed_after(self, terminal, key):
        """Presses a key and waits for the first change."""
        raise NotThere("no such wait")

    async def stable(self, terminal):
        """Returns whether the screen became stable, and the rows that are reported as changing."""
        raise NotThere("no such wait")

    async def stable_but_for(self, terminal, rows):
        raise NotThere("no such wait")

    async def status(self, terminal, command):
        """Returns the exit status of a command in a running shell."""
        raise NotThere("no such call")

    async def key_and_wait(self, terminal, key, pattern):
        await self.press(terminal, key)
        return await self.wait(terminal, pattern)

    async def line_and_wait(self, terminal, text, pattern):
        await self.line(terminal, text)
        return await self.wait(terminal, pattern)

    async def line_then_wait(self, terminal, text, pattern):
        """Uses two calls; the program may respond before the second."""
        await self.line(terminal, text)
        return await self.wait(terminal, pattern)

    async def command_and_wait(self, shell, command, pattern):
        return await self.line_and_wait(shell, command, pattern)

    async def words_and_exit(self, mark, pattern):
        """Returns whether the last line was found, and the exit code."""
        terminal = await self.open("last", mark)
        try:
            return await self.wait(terminal, pattern), await self.exit_code(terminal)
        finally:
            await self.close(terminal)


class Mcp(System):
    """An MCP server on stdio. One task owns it, because the SDK must open and close a connection in the same task."""

    async def start(self):
        up, self.stopping = asyncio.get_running_loop().create_future(), asyncio.Event()
        self.owner = asyncio.create_task(self.own(up))
        await asyncio.wait({up, self.owner}, timeout=START_S, return_when=asyncio.FIRST_COMPLETED)
        if not up.done():
            self.owner.cancel()
            why = self.owner.done() and not self.owner.cancelled() and self.owner.exception()
            raise RuntimeError(f"no response to initialize: {why}")

    async def own(self, up):
        command, *args = self.server()
        parameters = StdioServerParameters(command=command, args=args, env=self.place.env, cwd=self.place.directory)
        with open(os.path.join(self.place.directory, f"{self.name}.log"), "a") as log:
            async with stdio_client(parameters, errlog=log) as streams, ClientSession(*streams) as self.session:
                await self.session.initialize()
                await self.session.list_tools()
                up.set_result(None)
                await self.stopping.wait()

    async def stop(self):
        self.stopping.set()
        await asyncio.wait({self.owner}, timeout=10)

    async def call(self, tool, **arguments):
        result = await self.session.call_tool(tool, arguments)
        if result.is_error:
            raise RuntimeError(" ".join(getattr(block, "text", "") for block in result.content)[:300])
        return result.structured_content or {}


class Awaitty(Mcp):
    name = "awaitty"

    def server(self):
        if not os.access(self.place.server, os.X_OK):
            raise NotInstalled
        return [self.place.server, "mcp"]

    async def start(self):
        self.server()
        await super().start()

    async def spawn(self, argv, **options):
        size = {"cols": COLS, "rows": ROWS, "cwd": self.place.directory}
        return (await self.call("spawn", command=argv[0], args=argv[1:], **size, **options))["session_id"]

    async def open(self, program, mark):
        return await self.spawn(["./program", program, mark])

    async def shell(self):
        return await self.spawn(SHELL, wait={"ready": True})

    async def ready(self, terminal, text):
        return (await self.text(terminal, text, since="screen"))["found"]

    async def text(self, terminal, pattern, **options):
        timeout_ms = round(self.place.deadline * 1000)
        return await self.call("wait_for_text", session_id=terminal, pattern=pattern, timeout_ms=timeout_ms, **options)

    async def wait(self, terminal, pattern):
        return (await self.text(terminal, pattern))["found"]

    async def send(self, terminal, wait=None, **what):
        if wait:
            what["wait"] = {**wait, "timeout_ms": round(self.place.deadline * 1000)}
        return await self.call("send_input", session_id=terminal, **what)

    async def line(self, terminal, text):
        await self.send(terminal, input=text + "\n")

    async def key_and_wait(self, terminal, key, pattern):
        return (await self.send(terminal, keys=[key], wait={"text": pattern}))["found"]

    async def line_and_wait(self, terminal, text, pattern):
        return (await self.send(terminal, input=text + "\n", wait={"text": pattern}))["found"]

    async def settled_after(self, terminal, key):
        return (await self.send(terminal, keys=[key], wait={"settled": QUIET_MS}))["outcome"] == "met"

    async def changed_and_settled_after(self, terminal, key):
        return (await self.send(terminal, keys=[key], wait={"change": QUIET_MS}))["outcome"] == "met"

    async def changed_after(self, terminal, key):
        return (await self.send(terminal, keys=[key], wait={"change": 0}))["outcome"] == "met"

    async def stable(self, terminal, **options):
        times = {"stable_ms": QUIET_MS, "timeout_ms": round(self.place.deadline * 1000)}
        result = await self.call("wait_for_screen_change", session_id=terminal, **times, **options)
        return result["outcome"] == "met", [row.get("text", "") for row in result.get("changing_rows", [])]

    async def stable_but_for(self, terminal, rows):
        return (await self.stable(terminal, ignore=[rows]))[0]

    async def exit_code(self, terminal):
        timeout_ms = round(self.place.deadline * 1000)
        return (await self.call("wait_for_exit", session_id=terminal, timeout_ms=timeout_ms)).get("exit_code")

    async def status(self, terminal, command):
        return (await self.call("run_command", session_id=terminal, command=command)).get("exit_code")

    async def look(self, terminal):
        return (await self.call("snapshot", session_id=terminal))["text"]

    async def close(self, terminal):
        await self.call("close_session", session_id=terminal)


async def run(argv, env, timeout=10):
    """Returns the output of a command, or None after the timeout."""
    nothing = asyncio.subprocess.DEVNULL
    pipes = {"stdin": nothing, "stdout": asyncio.subprocess.PIPE, "stderr": nothing}
    process = await asyncio.create_subprocess_exec(*argv, env=env, start_new_session=True, **pipes)
    try:
        async with asyncio.timeout(timeout):
            output = (await process.communicate())[0].decode()
            return output if process.returncode == 0 else ""
    except TimeoutError:
        return None
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, 9)
            await process.wait()


class TmuxServer:
    """A private tmux server without configuration."""

    def __init__(self, place, name):
        self.place, self.argv = place, ["tmux", "-L", name, "-f", "/dev/null"]

    async def __call__(self, *words):
        return await run([*self.argv, *words], self.place.env)

    async def start(self):
        if not shutil.which("tmux"):
            raise NotInstalled
        # A permanent session keeps the server running when terminals are closed.
        for _ in range(20):
            await self("new-session", "-d", "-s", "keep", "sleep 100000")
            if "keep" in (await self("list-sessions") or ""):
                return
            await asyncio.sleep(0.2)  # a killed server may still be shutting down
        raise RuntimeError("tmux does not start")


class LibtmuxMcp(Mcp):
    """Types programs into a shell in a pane, as its recipes do, and runs commands in a shell with run_command."""

    name = "libtmux-mcp"

    def server(self):
        return [sys.executable, "-m", "libtmux_mcp"]

    async def start(self):
        if not importlib.util.find_spec("libtmux_mcp"):
            raise NotInstalled
        self.tmux = TmuxServer(self.place, self.place.env["LIBTMUX_SOCKET"])
        await self.tmux.start()
        await super().start()

    async def stop(self):
        await super().stop()
        await self.tmux("kill-server")

    async def shell(self):
        name = f"t{next(self.numbers)}-{time.monotonic_ns()}"
        options = {"start_directory": self.place.directory, "x": COLS, "y": ROWS}
        pane = (await self.call("create_session", session_name=name, **options))["active_pane_id"]
        await self.ready(pane, "$")
        return pane

    async def open(self, program, mark):
        pane = await self.shell()
        await self.line(pane, f"./program {program} {mark}")
        return pane

    async def ready(self, pane, text):
        # Not wait_for_text, which ignores text that is already on the screen.
        until = time.monotonic() + self.place.deadline
        while time.monotonic() < until:
            if text in await self.look(pane):
                return True
            await asyncio.sleep(0.02)
        return False

    async def wait_for(self, pane, patterns):
        options = {"regex": True, "timeout": self.place.deadline}
        return (await self.call("wait_for_text", pane_id=pane, patterns=patterns, **options))["found"]

    async def wait(self, pane, pattern):
        return await self.wait_for(pane, [pattern])

    async def line(self, pane, text):
        await self.call("send_keys", pane_id=pane, keys=text)

    async def press(self, pane, key):
        await self.call("send_keys", pane_id=pane, keys=key, enter=False, literal=True)

    async def changed_after(self, pane, key):
        await self.press(pane, key)
        return await self.wait_for(pane, None)

    async def run_command(self, pane, command):
        return await self.call("run_command", pane_id=pane, command=command, timeout=self.place.deadline)

    async def command_and_wait(self, pane, command, pattern):
        result = await self.run_command(pane, command)
        return any(line.strip() == pattern for line in result["output"])

    async def words_and_exit(self, mark, pattern):
        pane = await self.shell()
        try:
            result = await self.run_command(pane, f"./program last {mark}")
            return any(line.strip() == pattern for line in result["output"]), result.get("exit_status")
        finally:
            await self.close(pane)

    async def status(self, pane, command):
        return (await self.run_command(pane, command)).get("exit_status")

    async def look(self, pane):
        return (await self.call("snapshot_pane", pane_id=pane))["content"]

    async def close(self, pane):
        await self.tmux("kill-pane", "-t", pane)  # libtmux-mcp disables its destructive tools by default


class Tmux(System):
    """tmux as scripts and agents use it: send-keys, and polling with capture-pane and grep."""

    name = "tmux"
    LOOP = 'until tmux -L "$1" capture-pane -p -t "$2" | grep -qE -- "$3"; do sleep "$4"; done'
    CHANGE = 'until [ "$(tmux -L "$1" capture-pane -p -t "$2")" != "$3" ]; do sleep "$4"; done'
    SOCKET = "peer"

    async def start(self):
        self.tmux = TmuxServer(self.place, self.SOCKET)
        await self.tmux.start()

    async def stop(self):
        await self.tmux("kill-server")

    async def spawn(self, *argv):
        name = f"t{next(self.numbers)}"
        size = ["-x", str(COLS), "-y", str(ROWS), "-c", self.place.directory]
        await self.tmux("new-session", "-d", "-s", name, *size, *argv)
        return f"{name}:"

    async def open(self, program, mark):
        return await self.spawn("./program", program, mark)

    async def shell(self):
        shell = await self.spawn(*SHELL)
        await self.wait(shell, r"\$")
        return shell

    async def loop(self, script, terminal, what):
        words = ["bash", "-c", script, "bash", self.SOCKET, terminal, what, str(POLL_S)]
        return await run(words, self.place.env, timeout=self.place.deadline) is not None

    async def wait(self, terminal, pattern):
        return await self.loop(self.LOOP, terminal, pattern)

    ready = wait

    async def line(self, terminal, text):
        await self.tmux("send-keys", "-t", terminal, "-l", text, ";", "send-keys", "-t", terminal, "Enter")

    async def press(self, terminal, key):
        await self.tmux("send-keys", "-t", terminal, key)

    async def changed_after(self, terminal, key):
        before = (await self.look(terminal)).rstrip("\n")  # like $(…)
        await self.press(terminal, key)
        return await self.loop(self.CHANGE, terminal, before)

    async def words_and_exit(self, mark, pattern):
        shell = await self.shell()
        try:
            await self.line(shell, f"./program last {mark}; echo status=$?")
            ended = await self.wait(shell, "status=[0-9]")
            text = await self.look(shell)
            return pattern in text, int(text.split("status=")[-1].split()[0]) if ended else None
        finally:
            await self.close(shell)

    async def look(self, terminal):
        return await self.tmux("capture-pane", "-p", "-t", terminal)

    async def close(self, terminal):
        await self.tmux("kill-session", "-t", terminal)
