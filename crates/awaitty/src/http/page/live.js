// The connection to the server: its proof of identity, the ticket, the event stream, and API requests.
//
// The page outlives the server, and then another program may listen on its port. So neither the token nor the key
// derived from it is ever sent. Each connection starts with a proof by the server, and only then the ticket is sent
// (docs/decisions/0009-page.md).

import { hex, hmac } from "./hmac.js";

const SILENCE = 25_000; // ms; the server sends a keep-alive every 10 s
// The token is kept until a server has proved that it knows it. After that only the key is kept.
const state = {
  token: null,
  key: null,
  abort: null,
  attempts: 0,
  timer: 0,
  watchdog: 0,
  connected: false,
  big: null,
};
let on; // the page's handlers: {message, connected, disconnected, unproven}

// Random ID per tab. A reload keeps it, and so keeps control.
export const viewer = sessionStorage.getItem("viewer") ?? hex(crypto.getRandomValues(new Uint8Array(16)));
sessionStorage.setItem("viewer", viewer);

/** Removes the token from the address, which users copy and which screenshots show. */
export function takeToken() {
  const fragment = location.hash.slice(1);
  // A fragment that starts with a slash names a session.
  if (fragment && !fragment.startsWith("/")) {
    history.replaceState(null, "", location.pathname);
    setToken(fragment.trim());
  } else {
    state.key = sessionStorage.getItem("key");
  }
  return state.token !== null || state.key !== null;
}

export function setToken(token) {
  state.token = token;
  setKey(null);
}

function setKey(key) {
  state.key = key;
  if (key === null) sessionStorage.removeItem("key");
  else sessionStorage.setItem("key", key);
}

/** Connects to the stream of all sessions and of one large view, and reconnects when it ends. */
export function follow(big, handlers = on) {
  on = handlers;
  state.big = big;
  state.attempts = 0;
  connect();
}

function stop() {
  state.abort?.abort();
  state.abort = null;
  state.connected = false;
  clearTimeout(state.timer);
  clearTimeout(state.watchdog);
}

async function connect() {
  stop();
  const abort = (state.abort = new AbortController());
  const alive = () => {
    clearTimeout(state.watchdog);
    state.watchdog = setTimeout(() => abort.abort(new Error("nothing received for 25 s")), SILENCE);
  };
  let why;
  try {
    alive();
    const key = await provenKey(abort.signal);
    if (state.abort !== abort) return;
    if (key === null) return rejectServer();
    state.token = null;
    setKey(key);
    const query = new URLSearchParams({ viewer });
    if (state.big !== null) query.set("big", state.big);
    const response = await request(`/api/live?${query}`, { headers: authorization(), signal: abort.signal });
    if (response.status === 401) return rejectServer();
    // A session that no longer exists must not prevent the other ones from being shown.
    if (response.status === 404 && state.big !== null) return follow(null);
    if (!response.ok) throw new Error(await reason(response));
    // The server may have died since its proof. A second proof shows that it held the port all the time.
    const secondKey = await provenKey(abort.signal);
    if (state.abort !== abort) return;
    if (secondKey === null) return rejectServer();
    for await (const message of lines(response.body)) {
      if (state.abort !== abort) return;
      alive();
      if (!state.connected) {
        state.connected = true;
        state.attempts = 0;
        on.connected();
      }
      try {
        await on.message(message);
      } catch (error) {
        reportError(error); // a bug in the page does not end the connection
      }
    }
    why = "the server ended the connection";
  } catch (error) {
    why = error.message;
  }
  if (state.abort !== abort) return; // replaced by another connection
  state.connected = false;
  on.disconnected(why);
  clearTimeout(state.watchdog);
  state.timer = setTimeout(connect, Math.min(5000, 500 * 2 ** state.attempts++));
}

/** Returns the key if the server proves that it knows it, else null. */
async function provenKey(signal) {
  const nonce = hex(crypto.getRandomValues(new Uint8Array(32)));
  const response = await request(`/api/hello?nonce=${nonce}`, { signal });
  // A proxy sends this while it cannot reach the server.
  if (response.status >= 500) throw new Error(await reason(response));
  const { run, proofs } = parsed(await response.text());
  if (typeof run !== "string" || !Array.isArray(proofs)) return null;
  const key = state.token === null ? state.key : hmac(state.token, `awaitty page key\n${run}\n${location.host}`);
  if (key === null || !proofs.includes(hmac(key, `awaitty page proof\n${nonce}`))) return null;
  return key;
}

function parsed(text) {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
}

/** Disconnects from a server without a valid proof, and forgets the token and the key. */
function rejectServer() {
  const hadToken = state.token !== null;
  stop();
  setToken(null);
  on.unproven(hadToken);
}

function request(path, options) {
  // This server never redirects, and another one must not choose where the request is sent.
  return fetch(path, { cache: "no-store", redirect: "error", ...options });
}

async function* lines(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n");
    rest = parts.pop();
    for (const part of parts) if (part) yield JSON.parse(part);
  }
}

function reconnect() {
  if (on && !state.connected && state.abort && document.visibilityState === "visible") connect();
}
addEventListener("online", reconnect);
document.addEventListener("visibilitychange", reconnect);

function authorization() {
  return { Authorization: `Bearer ${hmac(state.key, "awaitty page ticket")}` };
}

async function reason(response) {
  return (await response.json().catch(() => ({}))).error ?? `the server responded with status ${response.status}`;
}

/** Posts to /api/PATH as this viewer. An error has the server's message, and its code if there is one. */
export async function post(path, body) {
  // Nothing is sent to a server that has not proved its identity.
  if (!state.connected) throw new Error("The page is not connected, so nothing was sent.");
  const response = await request(`/api/${path}`, {
    method: "POST",
    headers: { ...authorization(), "Content-Type": "application/json" },
    body: JSON.stringify({ viewer, ...body }),
  }).catch(() => {
    throw new Error("The server cannot be reached.");
  });
  const result = await response.json().catch(() => ({}));
  if (!response.ok)
    throw Object.assign(new Error(result.error ?? `The server responded with status ${response.status}.`), {
      code: result.code,
    });
  return result;
}
