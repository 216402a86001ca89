// The tiles of all sessions, and the text that describes a session's state.

import { viewer } from "./live.js";

const ATTRIBUTES = new Set(["bold", "dim", "italic", "underline", "blink", "inverse", "conceal", "strike"]);
const list = document.getElementById("tiles");
const tiles = new Map(); // by session_id

/** Makes an element. Children may be text, so that program output is never parsed as HTML. */
export function make(name, className, ...children) {
  const element = document.createElement(name);
  if (className) element.className = className;
  element.append(...children);
  return element;
}

export function nameOf(session) {
  return session.name || (session.place ? `tmux:${session.place}` : session.session_id);
}

/** Returns the text of the state, and the class that colours it. */
export function stateOf(session) {
  if (session.state === "exited") {
    if (session.signal) return { word: `ended by ${session.signal}`, kind: "failed" };
    const code = session.exit_code;
    return { word: code === undefined ? "exited" : `exited ${code}`, kind: code ? "failed" : "ended" };
  }
  if (session.asked) return { word: `an agent asks for ${session.asked}`, kind: "asking" };
  if (session.waiting_for_input && session.echo === "off") return { word: "asks for a password", kind: "asking" };
  // A full-screen program that waits for keys is ready, but asks nothing.
  if (session.waiting_for_input && session.full_screen) return { word: "waiting for input", kind: "prompt" };
  if (session.waiting_for_input && !session.at_prompt) return { word: "waiting for input", kind: "asking" };
  if (session.at_prompt) return { word: "at prompt", kind: "prompt" };
  if (!isLive(session)) return { word: "not attached", kind: "ended" };
  return { word: "running", kind: "running" };
}

export function showState(element, session) {
  const { word, kind } = stateOf(session);
  element.textContent = word;
  element.dataset.kind = kind;
}

/** Returns whether the session has a screen. A tmux pane has none until it is attached. */
export function isLive(session) {
  return session.seq !== undefined;
}

export function hasControl(session) {
  return session?.control?.viewer === viewer;
}

/** Returns the time since `since` as text, which is updated each second. */
export function age(since) {
  const seconds = Math.max(0, Math.round((Date.now() - since) / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}

/** Returns the running waits. A pane that is not attached has none. */
export function waitsOf(session) {
  return Array.isArray(session.waits) ? session.waits : [];
}

export function waitLine(wait) {
  const since = make("span", "since", age(wait.since));
  since.dataset.since = wait.since;
  const line = make(
    "span",
    "wait",
    make("b", "", wait.tool.replaceAll("_", " ")),
    " ",
    make("span", "for", wait.what ?? ""),
    since,
  );
  line.title = `${wait.tool} ${wait.what ?? ""}`;
  return line;
}

/** Shows exactly these sessions in this order. */
export function showSessions(sessions, selected, choose) {
  const gone = new Set(tiles.keys());
  let before = null;
  for (const session of sessions) {
    gone.delete(session.session_id);
    const tile = tiles.get(session.session_id) ?? newTile(session.session_id, choose);
    describe(tile, session, selected);
    // Moves only misplaced tiles: moving one loses the focus.
    const place = before ? before.nextSibling : list.firstChild;
    if (place !== tile.item) list.insertBefore(tile.item, place);
    before = tile.item;
  }
  for (const id of gone) {
    tiles.get(id).item.remove();
    tiles.delete(id);
  }
}

function newTile(id, choose) {
  const tile = {
    name: make("span", "name"),
    state: make("span", "state"),
    holder: make("span", "holder"),
    screen: make("span", "screen"),
    cursor: make("span", "cursor"),
    command: make("span", "command"),
    waits: make("span", "waits"),
    rows: [],
  };
  tile.screen.setAttribute("aria-hidden", "true");
  tile.button = make(
    "button",
    "tile",
    make("span", "head", tile.name, tile.holder, tile.state),
    make("span", "frame", tile.screen),
    make("span", "foot", tile.command, tile.waits),
  );
  tile.button.type = "button";
  tile.button.dataset.session = id;
  tile.button.addEventListener("click", () => choose(id));
  tile.item = make("li", "", tile.button);
  tiles.set(id, tile);
  return tile;
}

function describe(tile, session, selected) {
  const live = isLive(session);
  tile.name.textContent = nameOf(session);
  showState(tile.state, session);
  const { word, kind } = stateOf(session);
  tile.button.dataset.kind = kind;
  const held = hasControl(session) ? "yours" : session.control ? "held" : "";
  tile.holder.textContent = { yours: "you type", held: "a person types", "": "" }[held];
  tile.button.classList.toggle("yours", held === "yours");
  tile.button.classList.toggle("dormant", !live);
  if (!live) {
    tile.screen.replaceChildren("This pane is not attached. Select it to attach it.");
    tile.rows = [];
  }
  tile.command.textContent = [session.running || session.command, session.title].filter(Boolean).join(" · ");
  tile.command.title = session.command;
  tile.waits.replaceChildren(...waitsOf(session).map(waitLine));
  tile.button.setAttribute("aria-label", `${nameOf(session)}, ${word}`);
  if (session.session_id === selected) tile.button.setAttribute("aria-current", "true");
  else tile.button.removeAttribute("aria-current");
}

/** Draws the changed rows. */
export function drawTile({ session_id, cols, rows, cursor, changed }) {
  const tile = tiles.get(session_id);
  if (!tile) return;
  if (tile.rows.length !== rows || tile.cols !== cols) {
    tile.rows = Array.from({ length: rows }, () => make("span", "row"));
    tile.cols = cols;
    tile.screen.replaceChildren(...tile.rows, tile.cursor);
    tile.screen.style.setProperty("--cols", cols);
    tile.screen.style.setProperty("--rows", rows);
  }
  for (const [row, spans] of Object.entries(changed)) tile.rows[row]?.replaceChildren(...spans.map(span));
  tile.cursor.hidden = !cursor?.visible;
  if (cursor) {
    tile.cursor.style.setProperty("--col", cursor.col);
    tile.cursor.style.setProperty("--row", cursor.row);
  }
}

function span({ text, fg, bg, attrs = [] }) {
  if (fg === undefined && bg === undefined && attrs.length === 0) return text;
  const element = make("span", attrs.filter((name) => ATTRIBUTES.has(name)).join(" "), text);
  const [front, back] = attrs.includes("inverse")
    ? [colour(bg) ?? "var(--term-bg)", colour(fg) ?? "var(--term-fg)"]
    : [colour(fg), colour(bg)];
  if (front) element.style.color = front;
  if (back) element.style.backgroundColor = back;
  return element;
}

function colour(value) {
  if (typeof value !== "number") return value;
  if (value < 16) return `var(--c${value})`;
  if (value >= 232) return `rgb(${Array(3).fill(8 + (value - 232) * 10)})`;
  const step = (part) => (part === 0 ? 0 : 55 + part * 40);
  const cube = value - 16;
  return `rgb(${[Math.floor(cube / 36), Math.floor(cube / 6) % 6, cube % 6].map(step)})`;
}
