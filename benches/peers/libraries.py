"""The compared libraries. Each runs in a worker process."""

import asyncio
import importlib.util
import json
import os
import shutil
import sys
import time

from systems import SHELL, START_S, NotInstalled, System


class Worker(System):
    """A library in a worker process, which reads and writes lines of JSON."""

    async def start(self):
        argv = self.worker()
        pipes = {"stdin": asyncio.subprocess.PIPE, "stdout": asyncio.subprocess.PIPE}
        with open(os.path.join(self.place.directory, f"{self.name}.log"), "a") as log:
            self.process = await asyncio.create_subprocess_exec(
                *argv, env=self.place.env, cwd=self.place.directory, stderr=log, **pipes, limit=1 << 24
            )
        self.pending, self.reader = {}, asyncio.create_task(self.read())
        terminal = await asyncio.wait_for(self.open("idle", "none"), START_S)
        await self.close(terminal)

    async def read(self):
        while line := await self.process.stdout.readline():
            response = json.loads(line)
            if (pending := self.pending.pop(response.pop("number"), None)) and not pending.done():
                pending.set_result(response)
        for pending in self.pending.values():
            if not pending.done():
                pending.set_exception(RuntimeError("the worker exited"))

    async def stop(self):
        self.process.stdin.close()
        try:
            await asyncio.wait_for(self.process.wait(), 5)
        except TimeoutError:
            self.process.kill()
            await self.process.wait()
        self.reader.cancel()

    async def call(self, op, id, **arguments):
        number = next(self.numbers)
        self.pending[number] = asyncio.get_running_loop().create_future()
        request = {"number": number, "op": op, "id": id, "timeout": self.place.deadline, **arguments}
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        response = await self.pending[number]
        if "error" in response:
            raise RuntimeError(response["error"])
        return response

    async def open(self, program, mark):
        id = next(self.numbers)
        await self.call("open", id, argv=["./program", program, mark], cwd=self.place.directory)
        return id

    async def wait(self, terminal, pattern):
        return (await self.call("wait", terminal, pattern=pattern))["found"]

    ready = wait

    async def exit_code(self, terminal):
        return (await self.call("exit", terminal))["code"]

    async def look(self, terminal):
        return (await self.call("look", terminal))["text"]

    async def close(self, terminal):
        await self.call("close", terminal)


class Tuistory(Worker):
    name = "tuistory"

    def worker(self):
        node, worker = shutil.which("node"), os.path.join(self.place.npm or "", "tuistory_worker.mjs")
        if not node or not os.path.isdir(os.path.join(self.place.npm or "", "node_modules", "tuistory")):
            raise NotInstalled
        return [node, worker]

    async def shell(self):
        id = next(self.numbers)
        await self.call("open", id, argv=SHELL, cwd=self.place.directory)
        await self.wait(id, r"\$")
        return id

    async def line(self, terminal, text):
        await self.call("type", terminal, text=text)
        await self.call("press", terminal, text="enter")

    async def press(self, terminal, key):
        await self.call("press", terminal, text=key)

    async def settled_after(self, terminal, key):
        await self.press(terminal, key)
        await self.call("idle", terminal)
        return True

    async def stable(self, terminal):
        start = time.monotonic()
        await self.call("idle", terminal)  # waitIdle does not report whether it timed out
        return time.monotonic() - start < self.place.deadline * 0.95, []


class Pexpect(Worker):
    name = "pexpect"

    def worker(self):
        if not importlib.util.find_spec("pexpect"):
            raise NotInstalled
        return [sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "pexpect_worker.py")]

    async def shell(self):
        id = next(self.numbers)
        await self.call("shell", id)
        return id

    async def line(self, terminal, text):
        await self.call("line", terminal, text=text)

    async def press(self, terminal, key):
        await self.call("send", terminal, text=key)

    async def command_and_wait(self, shell, command, pattern):
        return (await self.call("command", shell, text=command, pattern=pattern))["found"]

    async def changed_after(self, terminal, key):
        await self.press(terminal, key)
        return await self.wait(terminal, r"[^\r\n]")
