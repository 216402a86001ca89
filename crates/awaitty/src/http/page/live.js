// The connection to the server: the proof that it is ours, the ticket, the stream of what happens, and requests.
//
// The page outlives the server, and then another program may listen at its port. So no token is ever sent, nor the key that
// is made from it. Each connection begins with a proof of the server, and only then the ticket is sent
// (docs/decisions/0009-page.md).

import { hex, hmac } from "./hmac.js";

const SILENCE = 25_000; // the server says something each 10 s
// The token is here until a server has proved that it knows it; then there is the key.
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
let on; // {message, connected, disconnected, unproven}: what the page does

// Random and made once for each tab: a reload keeps what it has control of.
export const viewer = sessionStorage.getItem("viewer") ?? hex(crypto.getRandomValues(new Uint8Array(16)));
sessionStorage.setItem("viewer", viewer);

/** Takes the token out of the address, which is what people copy and what screenshots show. */
export function takeToken() {
  const fragment = location.hash.slice(1);
  // What begins with a slash names a session.
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

/** Connects, and stays connected, to what concerns all sessions and the large view of one. */
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
    state.watchdog = setTimeout(() => abort.abort(new Error("nothing was heard for 25 s")), SILENCE);
  };
  let why;
  try {
    alive();
    const key = await provenKey(abort.signal);
    if (state.abort !== abort) return;
    if (key === null) return forget();
    state.token = null;
    setKey(key);
    const query = new URLSearchParams({ viewer });
    if (state.big !== null) query.set("big", state.big);
    const answer = await request(`/api/live?${query}`, { headers: authorization(), signal: abort.signal });
    if (answer.status === 401) return forget();
    // A session that was named and is gone is no reason to see nothing of the others.
    if (answer.status === 404 && state.big !== null) return follow(null);
    if (!answer.ok) throw new Error(await reason(answer));
    // The server may have died since its proof. One that proves itself again has had the port all the time.
    const again = await provenKey(abort.signal);
    if (state.abort !== abort) return;
    if (again === null) return forget();
    for await (const message of lines(answer.body)) {
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
        reportError(error); // a mistake of the page is not one of the connection
      }
    }
    why = "the server ended the connection";
  } catch (error) {
    why = error.message;
  }
  if (state.abort !== abort) return; // another connection took its place
  state.connected = false;
  on.disconnected(why);
  clearTimeout(state.watchdog);
  state.timer = setTimeout(connect, Math.min(5000, 500 * 2 ** state.attempts++));
}

/** Returns the key if the server proves that it knows it, else null. */
async function provenKey(signal) {
  const nonce = hex(crypto.getRandomValues(new Uint8Array(32)));
  const answer = await request(`/api/hello?nonce=${nonce}`, { signal });
  // A proxy answers so while it does not reach the server.
  if (answer.status >= 500) throw new Error(await reason(answer));
  const { run, proofs } = parsed(await answer.text());
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

/** Ends the connection to a server that is not ours. */
function forget() {
  const hadToken = state.token !== null;
  stop();
  setToken(null);
  on.unproven(hadToken);
}

function request(path, options) {
  // Our server redirects nothing; another one must not choose where this is sent.
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

function again() {
  if (on && !state.connected && state.abort && document.visibilityState === "visible") connect();
}
addEventListener("online", again);
document.addEventListener("visibilitychange", again);

function authorization() {
  return { Authorization: `Bearer ${hmac(state.key, "awaitty page ticket")}` };
}

async function reason(answer) {
  return (await answer.json().catch(() => ({}))).error ?? `the server answered ${answer.status}`;
}

/** Posts to /api/WHAT as this viewer; an error has the server's words, and its code if there is one. */
export async function post(what, body) {
  // Nothing is sent to a server that has not proved that it is ours.
  if (!state.connected) throw new Error("The page is not connected, so nothing was sent.");
  const answer = await request(`/api/${what}`, {
    method: "POST",
    headers: { ...authorization(), "Content-Type": "application/json" },
    body: JSON.stringify({ viewer, ...body }),
  }).catch(() => {
    throw new Error("The server cannot be reached.");
  });
  const said = await answer.json().catch(() => ({}));
  if (!answer.ok)
    throw Object.assign(new Error(said.error ?? `The server answered ${answer.status}.`), { code: said.code });
  return said;
}
