// Drives `awaitty mcp` and `awaitty serve` with the official TypeScript SDK: node client.mjs SERVER
// SILENT_S is the duration of a silent wait over HTTP; more than 300 exceeds the timeout of Node's fetch.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const LIMIT = 15_000; // of each call in ms: a server that does not respond fails the check

const server = process.argv[2];
if (!server) {
  console.error("usage: client.mjs SERVER");
  process.exit(2);
}
const SILENT_MS = 1000 * Number(process.env.SILENT_S ?? 20);
let client;
// The SDK warns about each unknown schema format.
const warnings = [];
console.warn = (...words) => warnings.push(words.join(" "));

async function raw(name, args = {}, options = {}) {
  const result = await client.callTool({ name, arguments: args }, undefined, { timeout: LIMIT, ...options });
  assert.equal(result.content[0]?.type, "text", `${name}: the first block is text`);
  assert(!result.content.some((block) => block.type === "image"), `${name}: no block is an image`);
  return result;
}

async function call(name, args, options) {
  const result = await raw(name, args, options);
  assert(!result.isError, `${name}: ${result.content[0].text}`);
  return result.structuredContent;
}

async function inSession(body) {
  const spawned = await call("spawn", {
    command: "sh",
    args: ["-c", "echo UP; cat"],
    wait: { text: "UP" },
  });
  const { session_id } = spawned;
  assert.equal(typeof session_id, "string", "spawn gives a session_id");
  try {
    assert.equal(spawned.found, true, "spawn waits for UP");
    await body(session_id);
  } finally {
    await call("close_session", { session_id });
  }
}

async function eventually(what, condition, limit = 2000) {
  const end = performance.now() + limit;
  while (!(await condition())) {
    assert(performance.now() < end, `${what} within ${limit} ms`);
    await sleep(10);
  }
}

async function waits() {
  const { sessions } = await call("list_sessions");
  assert.equal(sessions.length, 1, "one session is listed");
  return sessions[0].waits;
}

const checks = {
  // First, because the SDK checks results against the output schemas only once it has listed them.
  async list() {
    const { tools } = await client.listTools();
    assert(tools.length > 0, "there are tools");
    for (const tool of tools) {
      // screenshot has no output schema: this SDK would require structured content beside the image.
      const output = tool.name === "screenshot" ? [] : ["outputSchema"];
      for (const field of ["description", "inputSchema", ...output, "annotations"]) {
        assert(tool[field], `${tool.name} has ${field}`);
      }
    }
    const names = tools.map((tool) => tool.name);
    assert.deepEqual(names, names.toSorted(), "names are sorted");
  },

  async call() {
    await inSession(async (session_id) => {
      const sent = await call("send_input", { session_id, input: "hello\n", wait: { text: "hello" } });
      assert.equal(sent.found, true, "hello is found");
    });
    assert.deepEqual((await call("list_sessions")).sessions, [], "a closed session is gone");
  },

  async picture() {
    await inSession(async (session_id) => {
      const shown = await client.callTool({ name: "screenshot", arguments: { session_id } });
      assert.equal(shown.content[1].mimeType, "image/png", "a picture");
      assert.equal(shown.structuredContent, undefined, "no structured content, which would hide the picture");
    });
  },

  async progress() {
    await inSession(async (session_id) => {
      const notes = [];
      const waited = await call(
        "wait_for_text",
        { session_id, pattern: "NEVER", timeout_ms: 6000 },
        { onprogress: (note) => notes.push(note.progress) },
      );
      assert.equal(waited.outcome, "timeout");
      assert(notes.length > 0, "progress is reported");
      assert(notes.every((note, i) => i === 0 || note > notes[i - 1]), `progress grows: ${notes}`);
    });
  },

  async cancel() {
    await inSession(async (session_id) => {
      const abort = new AbortController();
      const outcome = call(
        "wait_for_text",
        { session_id, pattern: "NEVER", timeout_ms: 60_000 },
        { signal: abort.signal, timeout: 90_000 },
      ).then(
        (result) => ({ result }),
        (error) => ({ error }),
      );
      await eventually("the wait is listed", async () => (await waits()) === 1);
      abort.abort("changed my mind");
      const { error, result } = await outcome;
      assert(error, `a cancelled call rejects; got ${JSON.stringify(result)}`);
      assert.match(String(error), /changed my mind/);
      await eventually("the wait is gone", async () => (await waits()) === 0);
      const sent = await call("send_input", { session_id, input: "still\n", wait: { text: "still" } });
      assert.equal(sent.found, true, "other calls still work");
    });
  },

  async errors() {
    const code = async (args) => {
      const result = await raw("wait_for_text", { pattern: "x", ...args });
      assert.equal(result.isError, true, `${JSON.stringify(args)} is an error`);
      return result.structuredContent.code;
    };
    assert.equal(await code({ session_id: "nope" }), "unknown_session");
    await assert.rejects(raw("no_such_tool"), { code: -32602 });
    await inSession(async (session_id) => {
      assert.equal(await code({ session_id, timeout_ms: -1 }), "bad_argument");
    });
  },
};

// Over HTTP only: the connection survives a long silence.
async function silence() {
  await inSession(async (session_id) => {
    const start = performance.now();
    const waited = await call(
      "wait_for_text",
      { session_id, pattern: "NEVER", timeout_ms: SILENT_MS },
      { timeout: SILENT_MS + 60_000 },
    );
    assert.equal(waited.outcome, "timeout");
    assert(performance.now() - start >= SILENT_MS, "the wait lasts until its timeout");
  });
}

async function run(name, transport, checks) {
  client = new Client({ name: "awaitty-clients", version: "0" });
  await client.connect(transport, { timeout: LIMIT });
  for (const [check, run] of Object.entries(checks)) {
    try {
      await run();
      console.log(`ok ${name} ${check}`);
    } catch (error) {
      console.log(`FAIL ${name} ${check}: ${String(error.message ?? error).replaceAll("\n", "\\n")}`);
      process.exitCode = 1;
    }
  }
  await client.close();
}

await run("stdio", new StdioClientTransport({ command: server, args: ["mcp"] }), checks);

const directory = mkdtempSync(join(tmpdir(), "awaitty-clients-"));
const token = join(directory, "token");
const serving = spawn(server, ["serve", "--json", "--token-file", token], { stdio: ["ignore", "pipe", "ignore"] });
try {
  const [line] = await once(createInterface({ input: serving.stdout }), "line");
  const headers = { Authorization: `Bearer ${readFileSync(token, "utf8").trim()}` };
  const transport = new StreamableHTTPClientTransport(new URL(JSON.parse(line).mcp), { requestInit: { headers } });
  await run("http", transport, { ...checks, silence });
} finally {
  serving.kill();
  await once(serving, "exit");
  rmSync(directory, { recursive: true });
}
if (warnings.length > 0) console.log(`note: the SDK warned ${warnings.length} times, first: ${warnings[0]}`);
