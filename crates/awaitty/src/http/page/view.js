// The large view: a terminal, with input for the viewer in control.

import "./csp.js";
import { SearchAddon } from "./vendor/addon-search.mjs";
import { Unicode11Addon } from "./vendor/addon-unicode11.mjs";
import { Terminal } from "./vendor/xterm.mjs";
import { post } from "./live.js";
import { age, hasControl, make, nameOf, showState, waitLine, waitsOf } from "./tiles.js";

const SMALLEST = 10; // px; a larger terminal makes the box scroll
const LARGEST = 18;
const SCROLLBAR = 10;
const PADDING = 4; // of the terminal, the same as in page.css
const MOUSE = [9, 1000, 1002, 1003]; // the modes that report mouse events
const byId = (id) => document.getElementById(id);
const box = byId("box");
const keys = { esc: "\x1b", tab: "\t", up: "A", down: "B", right: "C", left: "D" };

let session = null; // the shown session, as last received
let controlled = false;
let canControl = false;
let given = false; // the user gave control back
let typed = []; // input to send: keys as {data}, pastes as {paste}
let typing = false;
let ctrl = false;
let noticeTimer = 0;
let mouse = new Set(); // the mouse modes that the program has set

const term = new Terminal({
  allowProposedApi: true, // the search's highlights and the widths of Unicode 11
  cursorInactiveStyle: "outline",
  disableStdin: true,
  fontFamily: getComputedStyle(document.documentElement).getPropertyValue("--mono").trim(),
  fontSize: 13,
  lineHeight: 1.1, // with less, some sizes cut off underscores
  // Links from programs are not trusted, so they do nothing.
  linkHandler: { activate() {} },
  macOptionClickForcesSelection: true,
  overviewRuler: { width: SCROLLBAR },
  scrollback: 5000,
});
const search = new SearchAddon();
term.loadAddon(new Unicode11Addon());
term.loadAddon(search);
term.unicode.activeVersion = "11";

// Only the viewer in control sends mouse events to the program. Others select and scroll.
term.parser.registerCsiHandler({ prefix: "?", final: "h" }, (params) => {
  const modes = params.filter((mode) => MOUSE.includes(mode));
  modes.forEach((mode) => mouse.add(mode));
  return modes.length > 0 && !controlled;
});
term.parser.registerCsiHandler({ prefix: "?", final: "l" }, (params) => {
  params.forEach((mode) => mouse.delete(mode));
  return false;
});

function giveMouse() {
  const saved = new Set(mouse); // writing the sequences changes `mouse`
  const modes = controlled ? [...saved].map((mode) => `\x1b[?${mode}h`) : MOUSE.map((mode) => `\x1b[?${mode}l`);
  term.write(modes.join(""), () => (mouse = saved));
}

/** Puts the terminal into the page. `leave` returns to the tiles. */
export function setUp(leave) {
  term.open(byId("term"));
  term.write("\x1b[?47l"); // otherwise no cursor is drawn before the first focus
  new ResizeObserver(fitFont).observe(box.parentElement); // its size does not depend on scrollbars
  term.onData(type);
  byId("term").addEventListener("paste", paste, { capture: true });
  term.onBinary(type);
  term.onScroll(showBottom);
  term.onWriteParsed(showBottom);
  term.onRender(showCursor);
  // Scrolling by wheel fires no scroll event of the terminal.
  byId("term").addEventListener("wheel", () => requestAnimationFrame(showBottom), { passive: true });
  term.attachCustomKeyEventHandler(key);
  search.onDidChangeResults(({ resultIndex, resultCount }) => {
    const which = resultIndex >= 0 ? `${resultIndex + 1} of ${resultCount}` : `${resultCount}`;
    byId("hits").textContent = !byId("needle").value ? "" : resultCount === 0 ? "no match" : which;
  });

  byId("bottom").addEventListener("click", () => {
    term.scrollToBottom();
    showBottom();
    term.focus();
  });
  byId("take").addEventListener("click", take);
  byId("give").addEventListener("click", give);
  byId("fit").addEventListener("click", fitProgram);
  byId("copy").addEventListener("click", copy);
  byId("find").addEventListener("click", () => (byId("search").hidden ? openSearch() : closeSearch()));
  byId("shut").addEventListener("click", closeSearch);
  byId("up").addEventListener("click", () => find(true));
  byId("down").addEventListener("click", () => find(false));
  byId("needle").addEventListener("input", () => find(true, true));
  byId("search").addEventListener("submit", (event) => event.preventDefault());
  byId("search").addEventListener("keydown", (event) => {
    // The newest output is at the bottom, so the next match is the one above.
    if (event.key === "Enter") find(!event.shiftKey);
    if (event.key === "Escape") closeSearch();
    event.stopPropagation();
  });
  byId("keys").addEventListener("pointerdown", (event) => event.preventDefault()); // keeps a phone's keyboard open
  byId("keys").addEventListener("click", (event) => press(event.target.closest("[data-key]")?.dataset.key));
  document.addEventListener("keydown", (event) => {
    if (!session || event.defaultPrevented || event.target.closest?.("input")) return;
    const inTerminal = byId("term").contains(event.target);
    if (controlled && inTerminal) return;
    if (isSearchKey(event)) {
      event.preventDefault();
      openSearch();
    } else if (event.key === "Escape") {
      leave();
    }
  });
}

function isSearchKey(event) {
  return (
    (event.key === "/" && !event.ctrlKey && !event.altKey) || (event.key === "f" && (event.ctrlKey || event.metaKey))
  );
}

/** Handles a key event. Returns true if the terminal should process it. */
function key(event) {
  if (event.ctrlKey && event.shiftKey && event.key === "C") {
    event.preventDefault();
    if (event.type === "keydown") copy();
    return false;
  }
  if (controlled) {
    if (event.type === "keydown" && event.ctrlKey && event.key === "]") {
      event.preventDefault();
      give();
      return false;
    }
    return true;
  }
  const page = term.rows - 1;
  const lines = { PageUp: -page, PageDown: page, ArrowUp: -1, ArrowDown: 1, Home: -1e6, End: 1e6 }[event.key];
  if (lines !== undefined && event.type === "keydown") {
    event.preventDefault();
    term.scrollLines(lines);
    showBottom();
  }
  return false;
}

// ---- messages from the server

/** Shows another session, or none. */
export function show(chosen) {
  session = chosen;
  controlled = false;
  typed = [];
  mouse = new Set();
  term.reset();
  term.clearSelection();
  byId("commands").replaceChildren();
  byId("timeline").hidden = true;
  byId("waits").replaceChildren();
  closeSearch();
  notice("");
}

/** Resolves once the update is drawn. Until then no more is read from the stream, and the server sends no more. */
export function paint({ cols, rows, reset, data }) {
  if (reset) {
    // Keeps the scroll position of a viewer who has scrolled up.
    const { baseY, viewportY } = term.buffer.active;
    const up = baseY - viewportY;
    mouse = new Set();
    term.reset();
    term.resize(cols, rows);
    fitFont();
    return new Promise((drawn) =>
      term.write(data, () => {
        if (up > 0) term.scrollLines(-up);
        drawn();
      }),
    );
  }
  return new Promise((drawn) => term.write(data, drawn));
}

/** Updates the description of the session; null if it was closed. */
export function describe(now, mayControl) {
  canControl = mayControl;
  const had = controlled && now && session?.session_id === now.session_id;
  const changes = controlled !== hasControl(now);
  controlled = hasControl(now);
  if (changes) giveMouse();
  byId("big").classList.toggle("gone", now === null);
  if (now) {
    session = now;
    byId("big-name").textContent = nameOf(now);
    showState(byId("big-state"), now);
    const title = now.title && now.title !== now.command ? now.title : null;
    const facts = [title, now.running ?? now.command, now.cwd, `${now.cols}×${now.rows}`].filter(Boolean);
    byId("big-facts").textContent = facts.join(" · ");
    byId("waits").replaceChildren(...waitsOf(now).map((wait) => make("li", "", waitLine(wait))));
  } else {
    byId("waits").replaceChildren();
    notice("This session was closed. This is its last screen.");
  }
  if (had && !controlled && !given)
    notice(now.control ? "Another person took control. You can only watch." : "You no longer have control.");
  if (controlled && !had) {
    given = false;
    notice("");
  }
  const open = now !== null && now.state !== "exited";
  const others = open && now.control && !controlled;
  byId("mine").hidden = !controlled;
  byId("take").hidden = !canControl || controlled || !open;
  byId("take").textContent = others ? "Take over" : "Take control";
  byId("fit").hidden = !controlled || !open;
  byId("keys").hidden = !controlled;
  byId("big").classList.toggle("controlled", controlled);
  term.options.disableStdin = !controlled;
  term.options.cursorBlink = controlled && !matchMedia("(prefers-reduced-motion: reduce)").matches;
  if (!controlled) setCtrl(false);
  if (controlled && !had) term.focus();
}

export function showCommands(commands) {
  const items = commands.map((one) => {
    const failed = one.exit_code !== undefined && one.exit_code !== 0;
    const kind = one.running ? "running" : one.exit_code === undefined ? "unknown" : failed ? "failed" : "fine";
    const word = { running: "runs", unknown: "?", failed: `✕ ${one.exit_code}`, fine: "✓" }[kind];
    const status = make("span", "status", word);
    const spent = make("span", "spent", one.running ? age(one.started) : one.ms === undefined ? "" : took(one.ms));
    if (one.running) spent.dataset.since = one.started;
    const button = make("button", "", status, make("code", "", one.command), spent);
    button.type = "button";
    button.title = `${one.command}\nstarted ${new Date(one.started).toLocaleString()}; click to search for it`;
    button.addEventListener("click", () => openSearch(one.command.split("\n")[0]));
    const item = make("li", "", button);
    item.dataset.kind = kind;
    return item;
  });
  const listed = byId("commands");
  const atEnd = listed.scrollHeight - listed.scrollTop - listed.clientHeight < 30;
  listed.replaceChildren(...items);
  byId("timeline").hidden = items.length === 0;
  if (atEnd) listed.scrollTop = listed.scrollHeight;
}

function took(ms) {
  if (ms < 1000) return `${ms} ms`;
  return ms < 60_000
    ? `${(ms / 1000).toFixed(1)} s`
    : `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

/** Shows a message above the terminal. With a time it overlays the terminal and disappears after it. */
export function notice(text, ms) {
  clearTimeout(noticeTimer);
  byId("notice").classList.toggle("toast", ms !== undefined);
  byId("notice").textContent = text;
  byId("notice").hidden = !text;
  if (ms) noticeTimer = setTimeout(() => notice(""), ms);
}

// ---- control

async function take() {
  term.focus();
  try {
    await post("control", { session_id: session.session_id, take: true });
  } catch (error) {
    notice(error.message);
  }
}

async function give() {
  given = true;
  try {
    const { from_seq, to_seq } = await post("control", { session_id: session.session_id, take: false });
    const changed = to_seq > from_seq ? "the agent is notified of the changes" : "nothing has changed";
    notice(`Control given back: ${changed}.`, 6000);
  } catch (error) {
    given = false;
    notice(error.message);
  }
}

function type(data) {
  if (!controlled) return;
  if (ctrl && data.length === 1) {
    data = String.fromCharCode(data.toUpperCase().charCodeAt(0) & 0x1f);
    setCtrl(false);
  }
  const last = typed.at(-1);
  if (last?.data !== undefined) last.data += data;
  else typed.push({ data });
  flush();
}

// The server adds the paste marks: this terminal would let the text end its own paste.
function paste(event) {
  event.preventDefault();
  event.stopPropagation();
  const text = event.clipboardData?.getData("text/plain");
  if (!text || !controlled) return;
  typed.push({ paste: text });
  flush();
}

// One request at a time keeps the input in order.
async function flush() {
  if (typing) return;
  typing = true;
  while (typed.length > 0 && session) {
    const input = typed.shift();
    try {
      await post("input", { session_id: session.session_id, ...input });
    } catch (error) {
      typed = [];
      notice(error.code === "not_in_control" ? "You no longer have control; the input was not sent." : error.message);
    }
  }
  typing = false;
}

function press(name) {
  if (!name) return;
  if (name === "ctrl") return setCtrl(!ctrl);
  const code = keys[name];
  // Application mode uses other sequences for arrow keys.
  const arrow = term.modes.applicationCursorKeysMode ? "\x1bO" : "\x1b[";
  type(code >= "A" ? arrow + code : code);
  term.focus();
}

function setCtrl(down) {
  ctrl = down;
  byId("keys").querySelector('[data-key="ctrl"]').setAttribute("aria-pressed", String(down));
}

async function fitProgram() {
  const cell = cellSize();
  const scale = 13 / term.options.fontSize;
  const cols = Math.max(20, Math.floor(room().width / (cell.width * scale)));
  const rows = Math.max(5, Math.floor(room().height / (cell.height * scale)));
  try {
    await post("resize", { session_id: session.session_id, cols, rows });
  } catch (error) {
    notice(error.message);
  }
  term.focus();
}

// ---- size, scrolling, colours

function cellSize() {
  const { width, height } = byId("term").querySelector(".xterm-screen").getBoundingClientRect();
  return { width: width / term.cols, height: height / term.rows };
}

/** Returns the size available for cells. */
function room() {
  const around = 2 * (PADDING + 1 + 8);
  return { width: box.parentElement.clientWidth - around - SCROLLBAR, height: box.parentElement.clientHeight - around };
}

/** Fits the font size to the window; the program's size stays. */
function fitFont() {
  const { width, height } = room();
  const fits = (factor) => {
    const cell = cellSize();
    return Math.min(width / (cell.width * term.cols), height / (cell.height * term.rows)) * factor;
  };
  if (!cellSize().width || width <= 0) return;
  const wanted = Math.floor(fits(term.options.fontSize) * 4) / 4;
  let size = Math.max(SMALLEST, Math.min(LARGEST, wanted));
  term.options.fontSize = size;
  // Cells have whole pixels, so the estimate may be slightly too large.
  while (size > SMALLEST && fits(1) < 1) term.options.fontSize = size -= 0.25;
}

/** Scrolls to the cursor while typing, if the terminal is larger than its box. */
function showCursor() {
  if (!controlled || (box.scrollWidth <= box.clientWidth && box.scrollHeight <= box.clientHeight)) return;
  const { width, height } = cellSize();
  const x = term.buffer.active.cursorX * width;
  const y = term.buffer.active.cursorY * height;
  if (x < box.scrollLeft || x + 4 * width > box.scrollLeft + box.clientWidth) box.scrollLeft = x - box.clientWidth / 2;
  if (y < box.scrollTop || y + 2 * height > box.scrollTop + box.clientHeight) box.scrollTop = y - box.clientHeight / 2;
}

function showBottom() {
  const { baseY, viewportY } = term.buffer.active;
  byId("bottom").hidden = viewportY >= baseY;
}

export function setTheme(theme) {
  term.options.theme = theme.colours;
  term.options.minimumContrastRatio = theme.contrast;
  const ruler = { matchOverviewRuler: "#d9a520", activeMatchColorOverviewRuler: "#d9a520" };
  marks = { ...ruler, matchBackground: theme.mark, activeMatchBackground: theme.mark };
}

// ---- search and copy

let marks;

function find(up, incremental = false) {
  const text = byId("needle").value;
  if (!text) {
    search.clearDecorations();
    byId("hits").textContent = "";
    return;
  }
  const options = { decorations: marks, incremental };
  if (up) search.findPrevious(text, options);
  else search.findNext(text, options);
  showBottom();
}

function openSearch(text) {
  byId("search").hidden = false;
  byId("find").setAttribute("aria-pressed", "true");
  const needle = byId("needle");
  if (typeof text === "string") needle.value = text;
  needle.focus();
  needle.select();
  if (needle.value) find(true);
}

function closeSearch() {
  if (byId("search").hidden) return;
  byId("search").hidden = true;
  byId("find").setAttribute("aria-pressed", "false");
  search.clearDecorations();
  term.clearSelection();
  term.focus();
}

/** Returns the visible rows without trailing blanks. */
function visibleText() {
  const buffer = term.buffer.active;
  const rows = Array.from(
    { length: term.rows },
    (_, row) => buffer.getLine(buffer.viewportY + row)?.translateToString(true) ?? "",
  );
  return rows.join("\n").trimEnd();
}

async function copy() {
  const selected = term.getSelection();
  try {
    await navigator.clipboard.writeText(selected || visibleText());
    notice(selected ? "Copied the selection." : "Copied the screen.", 2500);
  } catch {
    notice("The browser does not allow copying. Select with the mouse and press ctrl+C.", 6000);
  }
}
