// Another program takes the port of a dead server. Checks what the page sends to it and what the page shows.
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { EventEmitter, once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";

const LIMIT = 30_000; // for any request to arrive, in ms
const LOST = /console: Failed to load resource/; // the browser logs this for each error response
const PAGE = new URL("../../src/http/page/", import.meta.url);
const TYPES = { ".js": "text/javascript", ".mjs": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" };
const NONCE = "0123456789abcdef".repeat(4);
const OTHER_SERVER =
  "Another server is listening at this address: awaitty was restarted, or another program uses the port. " +
  "Open the new login file, or enter the token.";

const sign = (key, text) => createHmac("sha256", key).update(text).digest("hex");

/** A program at the port of a dead server. It responds to each request with 200 and records the request. */
class Rogue extends EventEmitter {
  constructor({ hello, secrets }) {
    super();
    this.hello = hello; // an earlier response of the server, to another nonce
    this.ticket = secrets.ticket; // a program that got a request of the page knows the ticket
    this.requests = [];
    this.held = null; // responses that wait for `release`, or null to respond immediately
    this.http = createServer(async (request, response) => {
      let body = "";
      for await (const chunk of request) body += chunk;
      const { method, url, rawHeaders } = request;
      this.requests.push([method, url, ...rawHeaders, body].join("\n"));
      if (url.startsWith("/api/")) this.emit("contact");
      const answer = () => this.answer(new URL(url, "http://x"), response);
      if (this.held && url.startsWith("/api/")) this.held.push(answer);
      else answer();
    });
  }

  answer({ pathname: path, searchParams }, response) {
    const type = path === "/" ? "text/html" : (TYPES[extname(path)] ?? "application/json");
    const headers = ["Origin", "Headers", "Methods"].map((name) => [`Access-Control-Allow-${name}`, "*"]);
    response.writeHead(200, { ...Object.fromEntries(headers), "Content-Type": type });
    const forged = sign(this.ticket, `awaitty page proof\n${searchParams.get("nonce")}`);
    const { run, proofs = [] } = this.hello;
    if (type === "application/json") response.end(JSON.stringify({ run, proofs: [...proofs, forged] }));
    else response.end(readFileSync(fileURLToPath(new URL(`.${path === "/" ? "/index.html" : path}`, PAGE))));
  }

  async listen(port) {
    this.http.listen(Number(port), "127.0.0.1");
    await once(this.http, "listening");
  }

  contact() {
    return once(this, "contact", { signal: AbortSignal.timeout(LIMIT) });
  }

  release() {
    this.held.splice(0).forEach((answer) => answer());
    this.held = null;
  }

  close() {
    this.http.close();
    this.http.closeAllConnections();
  }

  /** Checks that no request has one of these secrets, and that the page sent only requests for a proof. */
  checkRequests(secrets) {
    for (const [name, secret] of Object.entries(secrets))
      for (const request of this.requests)
        assert(!request.toLowerCase().includes(secret.toLowerCase()), `the other program got the ${name}: ${request}`);
    const asked = this.requests.filter((request) => request.includes("/api/"));
    for (const request of asked) assert.match(request, /^GET\n\/api\/hello\?nonce=[0-9a-f]{64}\n/);
  }
}

/** Returns a hello response of the server, and all secrets that another program must not get. */
async function secretsOf(host) {
  const hello = await (await fetch(`${host.url}/api/hello?nonce=${NONCE}`)).json();
  const page = readFileSync(fileURLToPath(host.loginFile), "utf8").match(/#(\w+)"/)[1];
  const keys = [page, host.token].map((token) =>
    sign(token, `awaitty page key\n${hello.run}\n${new URL(host.url).host}`),
  );
  const tickets = keys.map((key) => sign(key, "awaitty page ticket"));
  const secrets = {
    "file token": host.token,
    "page token": page,
    key: keys[0],
    ticket: tickets[0],
    "key of the file token": keys[1],
    "ticket of the file token": tickets[1],
  };
  return { hello, secrets };
}

const storedKey = (tab) => tab.page.evaluate(() => sessionStorage.getItem("key"));

export const attacks = {
  async hmac({ tab }) {
    await tab.visit("");
    const lengths = [0, 1, 20, 55, 56, 63, 64, 65, 119, 120, 131, 1000];
    const cases = lengths.flatMap((key) => lengths.map((text) => ["k".repeat(key), "\u00fc".repeat(text)]));
    const macs = (cases) =>
      tab.page.evaluate(async (cases) => {
        const { hmac } = await import("/hmac.js");
        return cases.map(([key, text]) => hmac(key, text));
      }, cases);
    // Test cases 1 and 2 of RFC 4231; the keys of the others are not text.
    const known = [
      ["\x0b".repeat(20), "Hi There"],
      ["Jefe", "what do ya want for nothing?"],
    ];
    assert.deepEqual(await macs(known), [
      "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
      "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
    ]);
    assert.deepEqual(
      await macs(cases),
      cases.map(([key, text]) => sign(key, text)),
    );
  },

  async port_taken({ host, tab }) {
    tab.expected.push(LOST);
    const id = await host.shell();
    const known = await secretsOf(host);
    const { secrets } = known;
    await tab.page.goto(host.loginFile);
    await tab.enlarge(id);
    await tab.takeControl();
    const stored = await storedKey(tab);
    const rogue = new Rogue(known);
    try {
      await host.kill("SIGKILL");
      rogue.held = [];
      const contact = rogue.contact();
      await rogue.listen(new URL(host.url).port);
      await contact;
      rogue.checkRequests(secrets);
      assert.equal(stored, secrets.key, "the tab keeps the key");
      // Keys are not sent before the page has verified the server.
      await tab.type("typed-meanwhile");
      await tab.says("#notice", "not connected");
      rogue.release();
      await tab.says("#key-why", OTHER_SERVER);
      tab.picture = await tab.page.screenshot();
      assert.equal(await storedKey(tab), null, "the key is deleted");
      const again = rogue.contact();
      await tab.page.type("#token", host.token);
      await tab.page.keyboard.press("Enter");
      await again;
      await tab.says("#key-why", "does not know this token");
      rogue.checkRequests({ ...secrets, keys: "typed-meanwhile" });
    } finally {
      rogue.close();
    }
  },

  async port_taken_before_a_reload({ host, tab }) {
    const known = await secretsOf(host);
    const { secrets } = known;
    await tab.page.goto(host.loginFile);
    await tab.says("#counts", "0 sessions");
    // On another page the tab keeps its session storage and sends no requests.
    await tab.page.goto("about:blank");
    const rogue = new Rogue(known);
    try {
      await host.kill("SIGKILL");
      await rogue.listen(new URL(host.url).port);
      const contact = rogue.contact();
      await tab.page.goto(`${host.url}/`);
      await contact;
      rogue.checkRequests(secrets);
      await tab.says("#key-why", OTHER_SERVER);
      await tab.page.reload();
      await tab.says("#key-why", "requires the server's token");
      rogue.checkRequests(secrets);
    } finally {
      rogue.close();
    }
  },
};
