"""Acceptance checks as in tuis.py, of programs that take long to install.

scripts/tuis installs the programs and runs these checks with AWAITTY_TUIS. Without this variable the checks do not exist.
"""

import json
import os
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from harness import check, expect, fields
from tuis import LIMIT_S, START_MS, STDIO, drive, place, program, repeat, typed

FOLDER = os.environ.get("AWAITTY_TUIS")
PACED_LIMIT_S = 2 * LIMIT_S  # Claude Code takes seconds to start.


def installed(*names):
    return os.path.join(FOLDER, *names)


def node(script, *arguments):
    return lambda path: [installed("node_modules", ".bin", "node"), installed(script), *arguments, path]


def python(script):
    return lambda path: [installed("venv", "bin", "python"), installed(script), path]


# ------------------------------------------------------------------------------------ Ink, clack, inquirer
def add_node_programs():
    """Node programs may take one read for one input: `sk-1\\r` is a text, and `\\x1b[B\\r` is no known key."""
    program(
        "ink_list",
        node("ink.mjs", "list"),
        "elderberry",
        [
            (["down", "down", "enter"], "cherry"),
            ([typed("j"), "enter"], "banana"),
            (["down", "down", "down", "up", "enter"], "cherry"),
            (["down", "esc"], "escaped"),
        ],
    )
    program(
        "ink_box",
        node("ink.mjs", "box"),
        "Key:",
        [
            ([typed("sk-123 456"), "enter"], "sk-123 456"),
            ([typed("sk-12"), "backspace", "left", "left", typed("x"), "enter"], "skx-1"),
        ],
    )
    program(
        "clack",
        node("clack.mjs"),
        "svelte",
        [
            (
                ["down", "down", "enter", typed("my project"), "backspace", "enter", "enter"],
                {"framework": "react", "name": "my projec", "sure": True},
            ),
            (
                ["up", "enter", typed("app"), "enter", "right", "enter"],
                {"framework": "svelte", "name": "app", "sure": False},
            ),
        ],
        read=json.loads,
    )
    program(
        "inquirer",
        node("inquirer.mjs"),
        "huge",
        [
            (
                ["down", "down", "enter", "space", "down", "down", "space", "enter", typed("Jo Doe"), "enter"],
                {"size": "large", "toppings": ["basil", "capers"], "name": "Jo Doe"},
            ),
            (
                ["down", "enter", "down", "space", "enter", typed("Jon"), "backspace", "enter"],
                {"size": "medium", "toppings": ["olives"], "name": "Jo"},
            ),
        ],
        read=json.loads,
    )


# ---------------------------------------------------------------------------- Textual, prompt_toolkit, Bubble Tea
def add_other_programs():
    program(
        "textual",
        python("textual_app.py"),
        "Leave it",
        [
            (
                ["down", "down", "enter", typed("Jo Doe"), "enter", "enter"],
                {"chosen": "south", "name": "Jo Doe", "pressed": "save"},
            ),
            (
                ["down", "enter", typed("Jon"), "backspace", "home", "x", "tab", "tab", "enter"],
                {"chosen": "east", "name": "xJo", "pressed": "leave"},
            ),
        ],
        read=json.loads,
        rows=30,
    )
    program(
        "prompt_toolkit",
        python("prompt_toolkit_app.py"),
        "black",
        [
            (
                ["down", "down", "enter", "tab", "enter", typed("Jo Doe"), "enter"],
                {"colour": "blue", "name": "Jo Doe"},
            ),
            (
                ["down", "space", "tab", "enter", typed("Jon"), "backspace", "home", "x", "enter"],
                {"colour": "green", "name": "xJo"},
            ),
        ],
        read=json.loads,
    )
    program(
        # Bubble Tea takes one read for one key, and ignores unknown keys.
        "bubbletea",
        lambda path: [installed("bubbletea", "menu"), path],
        "ristretto",
        [
            (["down", "down", "enter"], "mocha"),
            ([typed("j"), "enter"], "latte"),
            (["down", "down", "down", "up", "enter"], "mocha"),
            (["down", "esc"], ""),
        ],
    )


# ------------------------------------------------------------------------------------ Claude Code
API_KEY = "sk-ant-api03-" + "x" * 60 + "0123456789abcdefghij"
KEY_END = API_KEY[-20:]  # The part of a key that Claude Code stores.
# Claude Code 2.1.326 discards keys in the first 125 ms of its first dialog, which /proc does not show.
IGNORES_KEYS_MS = 500


class Api(ThreadingHTTPServer):
    """Responds to each request with an error, and stores the texts of the messages."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.texts = []


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        for message in body.get("messages", []):
            content = message["content"]
            self.server.texts.extend([content] if isinstance(content, str) else [block.get("text") for block in content])
        self.answer(400)

    def do_GET(self):
        self.answer(404)

    do_HEAD = do_GET

    def answer(self, status):
        body = json.dumps({"type": "error", "error": {"type": "invalid_request_error", "message": "a stub"}}).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_):
        pass


@contextmanager
def api():
    """Runs an API on the loopback that refuses each message."""
    with Api() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


class Claude:
    """Claude Code with a private home."""

    def __init__(self, s, server, directory):
        self.s, self.project = s, os.path.join(directory, "project")
        self.config = os.path.join(directory, ".claude.json")
        os.mkdir(self.project)
        self.env = {
            "HOME": directory,
            "CLAUDE_CONFIG_DIR": directory,
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{server.server_port}",
            "ANTHROPIC_API_KEY": API_KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        }

    async def start(self, first, **config):
        """Starts Claude Code with a configuration. It skips the dialogs that the configuration answers."""
        with open(self.config, "w") as file:
            json.dump({"hasCompletedOnboarding": True, **config}, file)
        claude = installed("node_modules", ".bin", "claude")
        self.sid = await self.s.spawn(claude, rows=40, cols=100, cwd=self.project, env=self.env)
        fields(await self.s.wait(self.sid, first, since="screen", timeout_ms=START_MS), found=True)
        waits = [{"session_id": self.sid, "settled": IGNORES_KEYS_MS}]
        fields(await self.s.ok("wait_for_any", waits=waits, timeout_ms=START_MS), outcome="met")

    async def drive(self, items, form, text):
        fields(await drive(self.s, self.sid, items, form, text=text), outcome="met", found=True)

    async def end(self, form):
        """Exits with a command in the text box. Returns the configuration."""
        fields(await drive(self.s, self.sid, [typed("/exit"), "enter"], form, exit=True), exited=True, exit_code=0)
        await self.s.close(self.sid)
        with open(self.config) as file:
            return json.load(file)


def add_claude():
    @check(limit=PACED_LIMIT_S, name="tuis_claude_dialogs", transports=STDIO)
    async def dialogs(s):
        """Answers the dialogs, in which the first entry is No."""
        with api() as server:

            async def one(i, form):
                with place() as (directory, _):
                    claude = Claude(s, server, directory)
                    await claude.start("Yes, I trust this directory")
                    trust, key = (["down"], ["up"]) if i % 2 == 0 else (["down", "up", "down"], ["up", "down", "up"])
                    await claude.drive([*trust, "enter"], form, "Do you want to use this API key")
                    await claude.drive([*key, "enter"], form, "Claude Code v")
                    config = await claude.end(form)
                    fields(config, customApiKeyResponses={"approved": [KEY_END], "rejected": []})
                    fields(config["projects"][claude.project], hasTrustDialogAccepted=True)

            return await repeat(one)

    @check(limit=PACED_LIMIT_S, name="tuis_claude_refusal", transports=STDIO)
    async def refusal(s):
        with api() as server:

            async def one(_, form):
                with place() as (directory, _):
                    claude = Claude(s, server, directory)
                    await claude.start("Yes, I trust this directory")
                    result = await drive(s, claude.sid, ["down", "up", "enter"], form, exit=True)
                    fields(result, exited=True, exit_code=1)
                    await s.close(claude.sid)

            return await repeat(one, forms=["one", "several"])

    @check(limit=PACED_LIMIT_S, name="tuis_claude_message", transports=STDIO)
    async def message(s):
        """Text and Enter send a message instead of inserting a line break."""
        with api() as server:

            async def one(i, form):
                with place() as (directory, _):
                    claude = Claude(s, server, directory)
                    trusted = {claude.project: {"hasTrustDialogAccepted": True}}
                    approved = {"approved": [KEY_END], "rejected": []}
                    await claude.start("Claude Code v", projects=trusted, customApiKeyResponses=approved)
                    text = f"message {i} in {form}"
                    await claude.drive([typed(text), "enter"], form, "API Error: 400")
                    await claude.end(form)
                    expect(text in server.texts, f"the message {text!r}", [one for one in server.texts if "message" in str(one)])

            return await repeat(one)


if FOLDER:
    add_node_programs()
    add_other_programs()
    add_claude()
