// The connection to the server: the token, the stream of what happens, and requests.

const SILENCE = 25_000; // the server says something each 10 s
const state = { token: null, abort: null, attempts: 0, timer: 0, watchdog: 0, connected: false, big: null };
let on; // {message, connected, disconnected, denied}: what the page does

// Random and made once for each tab: a reload keeps what it has control of.
export const viewer = sessionStorage.getItem("viewer") ?? hex(crypto.getRandomValues(new Uint8Array(16)));
sessionStorage.setItem("viewer", viewer);

function hex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Takes the token out of the address, which is what people copy and what screenshots show. */
export function takeToken() {
  const fragment = location.hash.slice(1);
  // What begins with a slash names a session.
  if (fragment && !fragment.startsWith("/")) {
    sessionStorage.setItem("token", fragment.trim());
    history.replaceState(null, "", location.pathname);
  }
  state.token = sessionStorage.getItem("token");
  return state.token !== null;
}

export function setToken(token) {
  sessionStorage.setItem("token", token);
  state.token = token;
}

/** Connects, and stays connected, to what concerns all sessions and the large view of one. */
export function follow(big, handlers = on) {
  on = handlers;
  state.big = big;
  state.attempts = 0;
  connect();
}

export function stop() {
  state.abort?.abort();
  state.abort = null;
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
    const query = new URLSearchParams({ viewer });
    if (state.big !== null) query.set("big", state.big);
    const answer = await fetch(`/api/live?${query}`, {
      headers: authorization(),
      signal: abort.signal,
      cache: "no-store",
    });
    if (answer.status === 401) return on.denied();
    // A session that was named and is gone is no reason to see nothing of the others.
    if (answer.status === 404 && state.big !== null) return follow(null);
    if (!answer.ok) throw new Error(await reason(answer));
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
  return { Authorization: `Bearer ${state.token}` };
}

async function reason(answer) {
  return (await answer.json().catch(() => ({}))).error ?? `the server answered ${answer.status}`;
}

/** Posts to /api/WHAT as this viewer; an error has the server's words, and its code if there is one. */
export async function post(what, body) {
  const answer = await fetch(`/api/${what}`, {
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
