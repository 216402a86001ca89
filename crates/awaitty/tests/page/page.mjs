// Tests the live page of `awaitty serve` in a real browser: node page.mjs SERVER PICTURES [TEST…]
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import puppeteer from "puppeteer-core";
import { attacks } from "./attacks.mjs";

const LIMIT = 30_000; // for any expected state of the page, in ms
const ROWS = "#term .xterm-rows"; // the rows of the large view
const [server, pictures, ...only] = process.argv.slice(2);
if (!pictures) {
  console.error("usage: page.mjs SERVER PICTURES [TEST…]");
  process.exit(2);
}

/** A server with a private directory, and calls of its tools. */
class Server {
  constructor() {
    this.dir = mkdtempSync(join(tmpdir(), "awaitty-page-"));
    this.log = "";
    const { AWAITTY_SOCKET, TMUX, TMUX_PANE, ...env } = process.env;
    this.env = { ...env, XDG_RUNTIME_DIR: this.dir, TMUX_TMPDIR: this.dir, HISTFILE: "/dev/null" };
  }

  async start(...args) {
    const { env } = this;
    const file = join(this.dir, "token");
    this.child = spawn(server, ["serve", "--json", "--token-file", file, ...args], {
      env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.child.stderr.on("data", (text) => (this.log += text));
    for await (const line of createInterface({ input: this.child.stdout })) {
      const info = JSON.parse(line);
      this.url = info.url;
      this.loginFile = pathToFileURL(info.page_file).href;
      break;
    }
    assert(this.url, "the server prints its URL");
    this.token = readFileSync(file, "utf8").trim();
    return this;
  }

  async kill(signal) {
    const gone = once(this.child, "exit");
    this.child.kill(signal);
    await gone;
  }

  async end() {
    if (this.child.exitCode === null && this.child.signalCode === null) await this.kill("SIGTERM");
    rmSync(this.dir, { recursive: true, force: true });
  }

  async ask(name, args) {
    const version = "2026-07-28";
    const response = await fetch(`${this.url}/mcp`, {
      method: "POST",
      headers: {
        Authorization: `Bearer ${this.token}`,
        Accept: "application/json, text/event-stream",
        "Content-Type": "application/json",
        "MCP-Protocol-Version": version,
        "Mcp-Method": "tools/call",
        "Mcp-Name": name,
      },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "tools/call",
        params: {
          name,
          arguments: args,
          _meta: {
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
          },
        },
      }),
    });
    const body = await response.text();
    const json = body
      .split("\n")
      .map((line) => line.replace(/^data: /, ""))
      .findLast((line) => line.startsWith("{"));
    assert(json, `${name}: ${response.status} ${body}`);
    const message = JSON.parse(json);
    assert(message.result, `${name}: ${json}`);
    return message.result;
  }

  async call(name, args) {
    const result = await this.ask(name, args);
    assert(!result.isError, `${name}: ${result.content?.[0]?.text}`);
    return result.structuredContent;
  }

  async shell(name = "sh") {
    const { session_id } = await this.call("spawn", { command: "bash", args: ["--norc"], name, cols: 100, rows: 30 });
    return session_id;
  }

  /** Starts a program that runs a script and then waits for input. */
  async prints(name, script, size = { cols: 100, rows: 30 }) {
    const { session_id } = await this.call("spawn", {
      command: "bash",
      args: ["-c", `${script}\nexec cat`],
      name,
      ...size,
    });
    return session_id;
  }
}

/** A tab of the browser. It collects errors, foreign requests and leaks of the token. */
class Tab {
  constructor(page, host) {
    this.page = page;
    this.host = host;
    this.wrong = [];
    this.expected = []; // patterns of errors that this test causes
  }

  static async open(context, host, { width = 1280, height = 800, mobile = false, scheme = "dark" } = {}) {
    const tab = new Tab(await context.newPage(), host);
    const { page } = tab;
    page.setDefaultTimeout(LIMIT);
    await page.setViewport({ width, height, isMobile: mobile, hasTouch: mobile });
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
    await page.evaluateOnNewDocument(() => {
      document.addEventListener("securitypolicyviolation", (event) => {
        console.error(`policy: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`);
      });
    });
    page.on("console", (message) => {
      if (["error", "warn"].includes(message.type())) tab.wrong.push(`console: ${message.text()}`);
    });
    page.on("pageerror", (error) => tab.wrong.push(`error: ${error.stack ?? error}`));
    page.on("dialog", async (dialog) => {
      tab.wrong.push(`dialog: ${dialog.message()}`);
      await dialog.dismiss();
    });
    page.on("popup", () => tab.wrong.push("a window was opened"));
    page.on("request", (request) => {
      const url = request.url();
      const isOurs = url.startsWith(`${host.url}/`) || url === host.loginFile || url.startsWith("data:");
      if (!isOurs) tab.wrong.push(`a request to ${url}`);
      // The browser does not send the fragment of a URL.
      if (url.replace(/#.*/, "").includes(host.token)) tab.wrong.push(`the token is in ${url}`);
    });
    return tab;
  }

  async visit(fragment = `#${this.host.token}`) {
    await this.page.goto(`${this.host.url}/${fragment}`);
    return this;
  }

  /** Waits until the condition holds in the page. */
  async until(what, condition, ...args) {
    try {
      // Polls by time, because a background tab draws no frames.
      await this.page.waitForFunction(condition, { polling: 50, timeout: LIMIT }, ...args);
    } catch (error) {
      throw new Error(`not seen: ${what} (${error.message.split("\n")[0]})`);
    }
  }

  visible(selector, shown = true) {
    const check = (selector, shown) => (document.querySelector(selector)?.checkVisibility() ?? false) === shown;
    return this.until(`${selector} ${shown ? "shown" : "hidden"}`, check, selector, shown);
  }

  says(selector, text) {
    const check = (selector, text) => document.querySelector(selector)?.textContent.includes(text);
    return this.until(`${text} in ${selector}`, check, selector, text);
  }

  tile(id) {
    return `.tile[data-session="${id}"]`;
  }

  screen() {
    return this.page.$$eval("#term .xterm-rows > div", (rows) => rows.map((row) => row.textContent).join("\n"));
  }

  /** Waits for a row of the large view that matches. */
  sees(pattern) {
    return this.until(
      `${pattern} in the large view`,
      (source) => {
        const pattern = new RegExp(source);
        return [...document.querySelectorAll("#term .xterm-rows > div")].some((row) =>
          pattern.test(row.textContent.trimEnd()),
        );
      },
      pattern.source,
    );
  }

  /** Waits until the text of the element differs from `before`. */
  async changes(selector, before) {
    before ??= await this.page.$eval(selector, (element) => element.textContent);
    const check = (selector, before) => document.querySelector(selector).textContent !== before;
    await this.until(`a change of ${selector}`, check, selector, before);
  }

  async enlarge(id) {
    const { page } = this;
    await page.waitForSelector(this.tile(id));
    await page.click(this.tile(id));
    await this.visible("#big");
    await this.until("a painted screen", () => document.querySelector("#term .xterm-rows")?.textContent.trim());
  }

  async takeControl() {
    await this.page.waitForSelector("#take", { visible: true });
    await this.page.click("#take");
    await this.visible("#mine");
  }

  async type(text) {
    await this.page.focus("#term textarea");
    await this.page.keyboard.type(text);
  }

  /** Returns the unexpected errors of this tab. */
  async faults() {
    const address = await this.page.evaluate(() => location.href).catch(() => "");
    if (address.includes(this.host.token)) this.wrong.push("the token stays in the address");
    return this.wrong.filter((fault) => !this.expected.some((pattern) => pattern.test(fault)));
  }
}

const LOST = /console: Failed to load resource/; // the browser logs this for each error response

const tests = {
  async tiles({ host, tab }) {
    const id = await host.prints("greeter", "printf 'hello \\033[31mred\\033[0m \\033[38;2;1;200;3mtrue\\033[0m\\n'");
    const { session_id: failed } = await host.call("spawn", {
      command: "bash",
      args: ["-c", "exit 3"],
      name: "broken",
    });
    await host.shell();
    await tab.visit();
    await tab.says(`${tab.tile(id)} .screen`, "hello red true");
    await tab.says(`${tab.tile(id)} .name`, "greeter");
    await tab.says(`${tab.tile(failed)} .state`, "exited 3");
    await tab.says("#tiles", "at prompt");
    await tab.says("#counts", "3 sessions");
    const colour = await tab.page.$eval(
      `${tab.tile(id)} .screen`,
      (screen) =>
        getComputedStyle([...screen.querySelectorAll("span")].find((span) => span.textContent === "true")).color,
    );
    assert.equal(colour, "rgb(1, 200, 3)", "true colour in a tile");
    const fits = await tab.page.$eval(`${tab.tile(id)} .screen`, (screen) => screen.scrollWidth <= screen.clientWidth);
    assert(fits, "all columns fit");
    await tab.enlarge(id);
    await tab.sees(/^hello red true/);
    await tab.until("true colour", () =>
      [...document.querySelectorAll("#term .xterm-rows span")].some(
        (span) => getComputedStyle(span).color === "rgb(1, 200, 3)",
      ),
    );
    await tab.until("the title", () => document.title.startsWith("greeter: "));
    await tab.page.goBack();
    await tab.visible("#big", false);
  },

  async htop({ host, tab }) {
    const { session_id: id } = await host.call("spawn", {
      command: "htop",
      args: ["-d", "3"],
      name: "htop",
      cols: 120,
      rows: 32,
    });
    await tab.visit();
    await tab.says(`${tab.tile(id)} .screen`, "Load average");
    await tab.enlarge(id);
    await tab.sees(/Load average/);
    await tab.changes(`${tab.tile(id)} .screen`);
    await tab.changes(ROWS);
  },

  async look_only_then_type({ host, tab }) {
    const id = await host.shell();
    await tab.visit();
    await tab.enlarge(id);
    await tab.page.click("#term .xterm-screen");
    await tab.type("echo no\n");
    // The later output proves that no earlier input arrived.
    await host.call("send_input", { session_id: id, input: "echo agent-$((5*5))\n" });
    await tab.sees(/^agent-25/);
    assert(!(await tab.screen()).includes("echo no"), "nothing is typed without control");
    await tab.takeControl();
    await tab.type("echo typed-$((6*7))");
    await tab.page.keyboard.press("Enter");
    await tab.sees(/^typed-42/);
    const denied = await host.ask("send_input", { session_id: id, input: "echo agent-again\n" });
    assert(denied.isError, "an agent is denied");
    assert.match(JSON.stringify(denied), /denied/);
    assert.match(JSON.stringify(denied), /human_has_control/);
    await tab.says(`${tab.tile(id)} .holder`, "you type");
    tab.picture = await tab.page.screenshot();
    await tab.page.click("#give");
    await tab.visible("#mine", false);
    await tab.says("#notice", "given back");
    await host.call("send_input", { session_id: id, input: "echo back-$((7*7))\n" });
    await tab.sees(/^back-49/);
    assert(!(await tab.screen()).includes("agent-again"), "what was denied was not typed");
  },

  async paste_cannot_end_itself({ host, tab }) {
    const id = await host.shell();
    await tab.visit();
    await tab.enlarge(id);
    await tab.takeControl();
    const paste = (text) =>
      tab.page.evaluate((text) => {
        const clipboardData = new DataTransfer();
        clipboardData.setData("text/plain", text);
        const event = new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true });
        document.querySelector("#term textarea").dispatchEvent(event);
      }, text);
    await paste("echo first\x1b[201~\necho run-$((4*8))\n");
    await tab.sees(/echo run-/);
    await tab.page.keyboard.down("Control");
    await tab.page.keyboard.press("c");
    await tab.page.keyboard.up("Control");
    await paste("echo second-$((4*9))");
    await tab.page.keyboard.press("Enter");
    await tab.sees(/^second-36/);
    assert(!(await tab.screen()).includes("run-32"), "nothing of the paste was run");
  },

  async lose_control({ host, tab, another }) {
    const id = await host.shell();
    await tab.visit();
    await tab.enlarge(id);
    await tab.takeControl();
    const second = await another();
    await second.visit();
    await second.enlarge(id);
    await second.says(`${second.tile(id)} .holder`, "a person types");
    await second.takeControl();
    await tab.visible("#mine", false);
    await tab.says("#notice", "Another person took control");
    await tab.page.bringToFront();
    await tab.type("echo late\n");
    await second.page.bringToFront();
    await second.type("echo second-$((2*4))\n");
    await second.sees(/^second-8/);
    assert(!(await second.screen()).includes("late"), "a page without control cannot type");
    await tab.page.bringToFront();
    await tab.sees(/^second-8/);
  },

  async reload_keeps_control({ host, tab }) {
    const id = await host.shell();
    await tab.visit();
    await tab.enlarge(id);
    await tab.takeControl();
    await tab.page.reload();
    await tab.visible("#mine");
    await tab.sees(/[$#]$/);
    await tab.type("echo still-$((3*5))\n");
    await tab.sees(/^still-15/);
  },

  async look_only_token({ host, tab }) {
    const id = await host.shell();
    await tab.visit(`#${readFileSync(join(host.dir, "read-token"), "utf8").trim()}`);
    await tab.enlarge(id);
    await tab.visible("#looking");
    await tab.visible("#take", false);
  },

  async scroll_back({ host, tab }) {
    const id = await host.prints("lines", "for i in $(seq 500); do echo line-$i; done");
    await tab.visit();
    await tab.enlarge(id);
    await tab.sees(/^line-500$/);
    const box = await (await tab.page.$("#term .xterm-screen")).boundingBox();
    await tab.page.mouse.move(box.x + 100, box.y + 100);
    await tab.page.mouse.wheel({ deltaY: -400 });
    await tab.until(
      "the wheel scrolls",
      () => !document.querySelector("#term .xterm-rows").textContent.includes("line-500"),
    );
    await tab.visible("#bottom");
    await tab.page.focus("#term textarea");
    for (let i = 0; i < 40 && !/^line-20 *$/m.test(await tab.screen()); i++) {
      const before = await tab.page.$eval(ROWS, (rows) => rows.textContent);
      await tab.page.keyboard.press("PageUp");
      await tab.changes(ROWS, before);
    }
    await tab.sees(/^line-20$/);
    tab.picture = await tab.page.screenshot();
    await tab.page.click("#bottom");
    await tab.sees(/^line-500$/);
    await tab.visible("#bottom", false);
  },

  async search({ host, tab }) {
    const id = await host.prints("lines", "for i in $(seq 300); do echo line-$i; done; echo needle; seq 40");
    await tab.visit();
    await tab.enlarge(id);
    await tab.sees(/^40$/);
    await tab.page.focus("#term textarea");
    await tab.page.keyboard.press("/");
    await tab.visible("#search");
    await tab.page.keyboard.type("line-77");
    await tab.says("#hits", "1 of 1");
    await tab.sees(/^line-77$/);
    await tab.visible("#term .xterm-find-result-decoration, #term .xterm-find-active-result-decoration");
    tab.picture = await tab.page.screenshot();
    await tab.page.$eval("#needle", (needle) => needle.select());
    await tab.page.keyboard.type("line-7");
    await tab.says("#hits", "of 11");
    await tab.page.$eval("#needle", (needle) => needle.select());
    await tab.page.keyboard.type("nowhere");
    await tab.says("#hits", "no match");
    await tab.page.keyboard.press("Escape");
    await tab.visible("#search", false);
    await tab.visible("#big");
    await tab.page.keyboard.press("Escape");
    await tab.visible("#big", false);
  },

  async follow_two({ host, tab }) {
    const count = (name) => host.prints(name, `i=0; while sleep 0.2; do i=$((i+1)); echo ${name}-$i; done`);
    const ids = { apple: await count("apple"), pear: await count("pear") };
    await tab.visit();
    for (const name of ["apple", "pear", "apple"]) {
      await tab.enlarge(ids[name]);
      await tab.sees(new RegExp(`^${name}-\\d+$`));
      await tab.changes(ROWS);
      const other = name === "apple" ? "pear" : "apple";
      assert(!(await tab.screen()).includes(other), `nothing of ${other} in the large view`);
      for (const id of Object.values(ids)) await tab.changes(`${tab.tile(id)} .screen`);
    }
  },

  async timeline({ host, tab }) {
    const id = await host.shell();
    await tab.visit();
    await tab.enlarge(id);
    await host.call("run_command", { session_id: id, command: "echo fine" });
    await host.call("run_command", { session_id: id, command: "ls /nowhere-at-all" });
    await tab.visible("#timeline");
    await tab.says('#commands li[data-kind="fine"]', "echo fine");
    await tab.says('#commands li[data-kind="failed"]', "ls /nowhere-at-all");
    await tab.says('#commands li[data-kind="failed"] .status', "2");
    const colour = (kind) =>
      tab.page.$eval(`#commands li[data-kind="${kind}"] .status`, (status) => getComputedStyle(status).color);
    assert.notEqual(await colour("fine"), await colour("failed"));
    await host.call("send_input", { session_id: id, input: "sleep 1000\n" });
    await tab.says('#commands li[data-kind="running"]', "sleep 1000");
    await tab.says("#big-state", "running");
    await tab.page.click('#commands li[data-kind="failed"] button');
    await tab.says("#hits", " of ");
  },

  async waits({ host, tab }) {
    const id = await host.shell();
    await tab.visit();
    await tab.enlarge(id);
    const waited = host.call("wait_for_text", { session_id: id, pattern: "passed|failed", timeout_ms: 60_000 });
    await tab.says("#waits", "passed|failed");
    await tab.says("#waits", "wait for text");
    await tab.says(`${tab.tile(id)} .waits`, "passed|failed");
    await tab.says("#counts", "1 wait");
    tab.picture = await tab.page.screenshot();
    await tab.takeControl();
    await tab.type("echo pass''ed\n");
    assert.equal((await waited).outcome, "met", "a wait goes on while a person has control");
    await tab.until("no waits", () => document.getElementById("waits").children.length === 0);
  },

  async password({ host, tab }) {
    const id = await host.shell();
    await host.call("send_input", { session_id: id, input: "read -rs -p 'Password: ' secret\n" });
    await tab.visit();
    await tab.says(`${tab.tile(id)} .state`, "asks for a password");
  },

  async restart({ host, tab }) {
    tab.expected.push(LOST);
    const id = await host.shell("before");
    await tab.visit();
    await tab.enlarge(id);
    await host.kill("SIGKILL");
    await tab.visible("#offline");
    await tab.says("#offline", "Disconnected");
    tab.picture = await tab.page.screenshot();
    await host.start("--port", new URL(host.url).port);
    await tab.says("#key-why", "Another server is listening at this address: awaitty was restarted");
    await tab.page.type("#token", host.token);
    await tab.page.keyboard.press("Enter");
    const { session_id } = await host.call("spawn", { command: "cat", name: "after" });
    await tab.visible(tab.tile(session_id));
    await tab.says(`${tab.tile(session_id)} .name`, "after");
    await tab.visible("#offline", false);
  },

  async network_breaks({ host, tab }) {
    const proxy = createServer();
    const sockets = [];
    proxy.listen(0, "127.0.0.1");
    await once(proxy, "listening");
    const address = `127.0.0.1:${proxy.address().port}`;
    await host.kill("SIGTERM");
    await host.start("--allow-host", address);
    const { port } = new URL(host.url);
    proxy.on("connection", (near) => {
      const far = connect(Number(port), "127.0.0.1");
      sockets.push(near, far);
      for (const [from, to] of [[near, far], [far, near]]) {
        from.pipe(to);
        from.on("error", () => to.destroy()).on("close", () => to.destroy());
      }
    });
    try {
      host.url = `http://${address}`;
      tab.expected.push(LOST);
      await tab.visit();
      await tab.says("#counts", "0 sessions");
      sockets.splice(0).forEach((socket) => socket.destroy());
      const { session_id } = await host.call("spawn", { command: "cat", name: "after" });
      await tab.visible(tab.tile(session_id));
      await tab.visible("#offline", false);
      await tab.visible("#login", false);
    } finally {
      proxy.close();
      sockets.forEach((socket) => socket.destroy());
    }
  },

  async narrow({ host, another }) {
    const id = await host.shell("a-name-that-is-longer-than-the-screen-of-this-telephone");
    const tab = await another({ width: 320, height: 640, mobile: true });
    const fits = () => tab.page.evaluate(() => document.documentElement.scrollWidth <= 320);
    await tab.visit();
    await tab.visible(tab.tile(id));
    assert(await fits(), "tiles fit");
    await tab.page.screenshot({ path: join(pictures, "narrow_tiles.png") });
    await tab.enlarge(id);
    assert(await fits(), "the large view fits");
    await tab.visible("#keys", false);
    await tab.takeControl();
    await tab.visible("#keys");
    assert(await fits(), "it fits in control");
    const small = await tab.page.$$eval("#big button", (buttons) =>
      buttons
        .filter((button) => button.checkVisibility() && button.getBoundingClientRect().height < 40)
        .map((button) => button.textContent),
    );
    assert.deepEqual(small, [], "buttons are large enough");
    const press = (name) => tab.page.tap(`#keys [data-key="${name}"]`);
    await tab.type("cat -v\n");
    await tab.type("esc");
    await press("esc");
    await tab.type("up");
    await press("up");
    await tab.type("left");
    await press("left");
    await tab.type("tab");
    await press("tab");
    await tab.type("end\n");
    await tab.sees(/^esc\^\[up\^\[\[Aleft\^\[\[Dtab +end$/);
    await press("ctrl");
    await tab.until(
      "ctrl is down",
      () => document.querySelector('[data-key="ctrl"]').getAttribute("aria-pressed") === "true",
    );
    await tab.type("c");
    await tab.sees(/\^C/);
    await tab.type("echo free-$((4*4))\n");
    await tab.sees(/^free-16/);
  },

  async light_and_dark({ host, tab, another }) {
    const id = await host.shell();
    await host.call("send_input", { session_id: id, input: "ls --color=always -la /\n" });
    const background = (tab) =>
      tab.page.evaluate(() => Number(getComputedStyle(document.body).backgroundColor.match(/\d+/)[0]));
    await tab.visit();
    await tab.enlarge(id);
    assert((await background(tab)) < 80, "dark");
    const light = await another({ scheme: "light" });
    await light.visit();
    await light.enlarge(id);
    assert((await background(light)) > 200, "light");
    await light.page.screenshot({ path: join(pictures, "light.png") });
    await light.page.click("#theme");
    assert((await background(light)) < 80, "the button changes it");
    await light.page.reload();
    await light.visible("#big");
    assert((await background(light)) < 80, "and it is remembered");
  },

  async hostile({ host, tab, context }) {
    const id = await host.prints(
      "hostile",
      String.raw`
      for i in $(seq 0 255); do printf "\\x$(printf %x $i)"; done
      printf '\e\\\e[0m\e[2J\e[H\x0f'
      printf '\e]0;<img src=x onerror=alert(1)>\a'
      printf '\e]52;c;c3RvbGVu\a'
      printf '\e]8;;javascript:alert(2)\aclick-here\e]8;;\a\r\n'
      printf '<script>alert(3)</script><img src=x onerror=alert(4)>\r\nthe-end\r\n'`,
    );
    await context.overridePermissions(host.url, ["clipboard-read", "clipboard-write", "clipboard-sanitized-write"]);
    await tab.visit();
    await tab.page.evaluate(() => navigator.clipboard.writeText("mine"));
    await tab.says(`${tab.tile(id)} .screen`, "the-end");
    await tab.enlarge(id);
    await tab.sees(/^the-end/);
    await tab.sees(/^<script>alert\(3\)/);
    await tab.says("#big-facts", "<img src=x onerror=alert(1)>");
    const box = await (await tab.page.$("#term .xterm-screen")).boundingBox();
    await tab.page.mouse.click(box.x + 20, box.y + 6);
    assert.equal(await tab.page.evaluate(() => navigator.clipboard.readText()), "mine", "the clipboard is untouched");
    const markup = await tab.page.evaluate(() => [
      document.querySelectorAll("img").length,
      document.querySelectorAll("script").length,
      document.querySelectorAll("a, iframe, b:not(.wait b)").length,
    ]);
    assert.deepEqual(markup, [1, 1, 0], "nothing became markup");
    await tab.page.click("#copy");
    await tab.says("#notice", "Copied the screen");
    const copied = await tab.page.evaluate(() => navigator.clipboard.readText());
    assert(copied.includes("the-end"), "a copy by the person works");
  },

  async mouse({ host, tab, context }) {
    const id = await host.prints("mouse", "printf 'first-row\\r\\n\\033[?1000h\\033[?1006h'; exec cat -v");
    await context.overridePermissions(host.url, ["clipboard-read", "clipboard-write", "clipboard-sanitized-write"]);
    await tab.visit();
    await tab.enlarge(id);
    await tab.sees(/^first-row/);
    const drag = async () => {
      const box = await (await tab.page.$("#term .xterm-screen")).boundingBox();
      await tab.page.mouse.move(box.x + 1, box.y + 8);
      await tab.page.mouse.down();
      await tab.page.mouse.move(box.x + (9.2 * box.width) / 100, box.y + 8, { steps: 5 });
      await tab.page.mouse.up();
    };
    await drag();
    await tab.page.click("#copy");
    await tab.says("#notice", "Copied the selection");
    assert.equal(await tab.page.evaluate(() => navigator.clipboard.readText()), "first-row", "a drag without control selects text");
    await tab.takeControl();
    await drag();
    await tab.sees(/\^\[\[<0;1;1M/);
    assert.equal((await tab.screen()).match(/<0;1;1M/g).length, 1, "the drag without control did not reach the program");
  },

  async pane({ host, tab }) {
    const tmux = (...args) => execFileSync("tmux", args, { env: host.env });
    tmux("new-session", "-d", "-s", "work", "-x", "90", "-y", "20", "echo in-the-pane; exec cat");
    try {
      await tab.visit();
      await tab.says("#tiles .dormant .name", "tmux:work:");
      const id = await tab.page.$eval("#tiles .dormant", (tile) => tile.dataset.session);
      await tab.enlarge(id);
      await tab.sees(/^in-the-pane/);
      await tab.until("a live tile", (tile) => !document.querySelector(tile).matches(".dormant"), tab.tile(id));
      await tab.says(`${tab.tile(id)} .screen`, "in-the-pane");
    } finally {
      tmux("kill-server");
    }
  },

  async only_asked_resizes({ host, tab }) {
    const id = await host.shell();
    await tab.visit();
    await tab.enlarge(id);
    await tab.says("#big-facts", "100×30");
    await tab.page.setViewport({ width: 900, height: 500 });
    await tab.takeControl();
    await tab.type("stty size\n");
    await tab.sees(/^30 100/);
    await tab.page.click("#fit");
    await tab.until("another size", () => !document.getElementById("big-facts").textContent.includes("100×30"));
    const [cols, rows] = (await tab.page.$eval("#big-facts", (facts) => facts.textContent))
      .match(/(\d+)×(\d+)/)
      .slice(1);
    await tab.type("clear; stty size\n");
    await tab.sees(new RegExp(`^${rows} ${cols}`));
  },

  async no_token({ host, tab }) {
    await tab.visit("");
    await tab.visible("#login");
    await tab.says("#login", "awaitty serve");
    await tab.page.type("#token", host.token);
    await tab.page.keyboard.press("Enter");
    await tab.visible("#desk");
    await tab.says("#counts", "0 sessions");
    await tab.visible("#none");
  },

  async wrong_token({ host, tab }) {
    tab.expected.push(LOST);
    await tab.visit("#wrong");
    await tab.says("#key-why", "does not know this token");
    assert(
      !(await tab.page.evaluate(() => location.href)).includes("wrong"),
      "a wrong token is removed from the address too",
    );
    tab.picture = await tab.page.screenshot();
    await tab.page.type("#token", host.token);
    await tab.page.click("#key button");
    await tab.visible("#desk");
  },

  ...attacks,
};

mkdirSync(pictures, { recursive: true });
const browser = await puppeteer.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
});
let failed = 0;
for (const [name, test] of Object.entries(tests)) {
  if (only.length > 0 && !only.includes(name)) continue;
  const context = await browser.createBrowserContext();
  const host = new Server();
  const tabs = [];
  const another = async (options) => {
    tabs.push(await Tab.open(context, host, options));
    return tabs.at(-1);
  };
  let why;
  try {
    await host.start("--read-token-file", join(host.dir, "read-token"));
    await test({ host, context, another, tab: await another() });
  } catch (error) {
    why = error;
  }
  for (const [i, tab] of tabs.entries()) {
    const faults = await tab.faults();
    if (faults.length > 0) why ??= new Error(faults.join("; "));
    // Only the last tab is pictured.
    if (i < tabs.length - 1) continue;
    const path = join(pictures, `${name}.png`);
    if (tab.picture && !why) {
      await writeFile(path, tab.picture);
      continue;
    }
    // Chromium may draw no frame of a tab in the background, and the screenshot would wait for one.
    const shot = tab.page.bringToFront().then(() => tab.page.screenshot({ path }));
    await shot.catch((error) => (why ??= error));
  }
  await context.close();
  await host.end();
  console.log(why ? `FAIL ${name}: ${why.message}` : `ok ${name}`);
  if (why) console.log(host.log.trimEnd().replace(/^/gm, "  server: "));
  if (why) failed++;
}
await browser.close();
process.exit(failed > 0 ? 1 : 0);
