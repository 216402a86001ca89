"""Checks of HTTP alone. Checks that hold for stdio too run over HTTP with `--transport http`."""

import asyncio
import tempfile
import time

import httpx2
from mcp import Client, ClientSession
from mcp.client.streamable_http import streamable_http_client

import harness
from harness import HOME, Result, check, expect, fields, serving

# The read timeout of HTTP clients of the SDK, and the duration of a silent wait that exceeds it.
READ_TIMEOUT_S, SILENT_S = 300, 310


async def silent_wait(call, read_timeout):
    """Waits without any output for longer than the read timeout of the client."""
    seconds = SILENT_S * read_timeout / READ_TIMEOUT_S
    spawned = await call("spawn", {"command": "cat"})
    start = time.monotonic()
    wait = {"session_id": spawned["session_id"], "pattern": "NEVER", "timeout_ms": round(seconds * 1000)}
    result = await call("wait_for_text", wait)
    fields(result, outcome="timeout", found=False)
    took = time.monotonic() - start
    expect(took >= seconds, f"a wait of {seconds} s", f"{took} s")
    return took


@check(limit=SILENT_S * 1.2, server=False, backends=["pty"], transports=["http"])
async def a_silent_wait_outlasts_client_read_timeouts():
    # Scaled down, but longer than the 15 s between two keep-alives of the server.
    read_timeout = max(24.0, READ_TIMEOUT_S * harness.SCALE)
    with tempfile.TemporaryFile("w+") as log:
        async with serving([], {"HOME": HOME}, log) as (_, url, headers):
            timeout = httpx2.Timeout(30, read=read_timeout)

            async def older():
                async with httpx2.AsyncClient(headers=headers, timeout=timeout) as client:
                    async with streamable_http_client(url, http_client=client) as (reader, writer):
                        async with ClientSession(reader, writer) as session:
                            await session.initialize()

                            async def call(tool, arguments):
                                return Result(await session.call_tool(tool, arguments), 0)

                            return await silent_wait(call, read_timeout)

            async def newest():
                async with httpx2.AsyncClient(headers=headers, timeout=timeout) as http:
                    transport = streamable_http_client(url, http_client=http)
                    async with Client(transport, mode="2026-07-28") as client:

                        async def call(tool, arguments):
                            return Result(await client.call_tool(tool, arguments), 0)

                        return await silent_wait(call, read_timeout)

            took = await asyncio.gather(older(), newest())
    return f"{min(took):.0f} s of silence in both protocols with a read timeout of {read_timeout:.0f} s"
