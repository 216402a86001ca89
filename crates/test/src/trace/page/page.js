
"use strict";
// Shows a trace. All text comes from the data as text nodes; times are in microseconds.
const $ = (id) => document.getElementById(id);
const data = JSON.parse($("data").textContent);
const { steps, inputs, marks } = data;

// Pauses during playback are shortened to this.
const PAUSE_MAX = 2_000_000;
// Characters of raw bytes that are shown at once: more make the browser slow.
const RAW_SHOWN_MAX = 200_000;
// Unpacked blocks of frames that are kept.
const BLOCKS_KEPT = 4;
// Input marks are merged into this number of positions on the timeline.
const POSITIONS = 400;
// Equal rows that are shown around changed ones.
const CONTEXT = 3;
// Columns of the sign and the number before a row of a comparison, and a blank one.
const SIGN_COLUMNS = 6;

const times = [];
for (const after of data.times) times.push((times.at(-1) ?? 0) + after);
const duration = Math.max(data.duration, times.at(-1) ?? 0);

const state = { mode: "after", step: -1, frame: -1, now: 0, playing: null, shown: 0 };

function make(tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

function seconds(micros) {
  return `${(micros / 1e6).toFixed(3)} s`;
}

function span(micros) {
  return micros < 1e6 ? `${Math.round(micros / 1e3)} ms` : `${(micros / 1e6).toFixed(2)} s`;
}

// ---- Packed data

async function unpack(id) {
  const bytes = Uint8Array.from(atob($(id).textContent), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return JSON.parse(await new Response(stream).text());
}

const blocks = new Map();

function block(number) {
  const known = blocks.get(number) ?? unpack(`frames${number}`);
  blocks.delete(number);
  blocks.set(number, known);
  if (blocks.size > BLOCKS_KEPT) blocks.delete(blocks.keys().next().value);
  return known;
}

/** Returns the screen of a frame: its rows as runs of text with styles, and the cursor. */
async function screenOf(frame) {
  const number = data.blocks.findLastIndex((first) => first <= frame);
  const { styles, rows, frames } = await block(number);
  const screen = { numbers: [], title: "", colors: [null, null, null], size: data.size };
  for (const [row, col, flags, changes, rest] of frames.slice(0, frame - data.blocks[number] + 1)) {
    Object.assign(screen, { row, col, flags }, rest);
    screen.numbers.length = screen.size[1];
    for (let i = 0; i < changes.length; i += 2) screen.numbers[changes[i]] = changes[i + 1];
  }
  screen.rows = screen.numbers.map((number) => ({ runs: rows[number], styles }));
  return screen;
}

/** Returns a text that is equal for rows that look the same. */
function keyOf({ runs, styles }) {
  let key = "";
  for (let i = 0; i < runs.length; i += 3) key += `${styles[runs[i + 1]]}\n${runs[i]}\n`;
  return key;
}

// ---- Screens

function cssColor(code) {
  if (code < 16) return `var(--c${code})`;
  if (code >= 256) return `#${(code - 256).toString(16).padStart(6, "0")}`;
  if (code >= 232) return `rgb(${Array(3).fill(8 + 10 * (code - 232))})`;
  const level = (n) => (n === 0 ? 0 : 55 + 40 * n);
  const n = code - 16;
  return `rgb(${[level(Math.floor(n / 36)), level(Math.floor(n / 6) % 6), level(n % 6)]})`;
}

const LINES = ["", "solid", "double", "wavy", "dotted", "dashed"];

function paint(element, [fg, bg, lineColor, attributes, underline]) {
  const has = (bit) => (attributes >> bit) & 1;
  const { style } = element;
  let text = fg < 0 ? "var(--fg)" : cssColor(fg);
  let behind = bg < 0 ? "var(--bg)" : cssColor(bg);
  if (has(3)) [text, behind] = [behind, text];
  if (has(1)) text = `color-mix(in srgb, ${text} 55%, ${behind})`;
  if (has(4)) text = behind;
  if (text !== "var(--fg)") style.color = text;
  if (behind !== "var(--bg)") style.background = behind;
  if (has(0)) style.fontWeight = "bold";
  if (has(2)) style.fontStyle = "italic";
  const lines = [underline && "underline", has(5) && "line-through", has(6) && "overline"].filter(Boolean);
  if (lines.length === 0) return;
  style.textDecorationLine = lines.join(" ");
  if (underline) style.textDecorationStyle = LINES[underline];
  if (lineColor >= 0) style.textDecorationColor = cssColor(lineColor);
}

function fill(element, { runs, styles }) {
  for (let i = 0; i < runs.length; i += 3) {
    const [text, style, columns] = runs.slice(i, i + 3);
    if (columns === 0 && isDefault(styles[style])) {
      element.append(text);
      continue;
    }
    const run = make("span", "", text);
    if (columns > 0) run.style.width = `${columns}ch`;
    paint(run, styles[style]);
    element.append(run);
  }
}

function isDefault([fg, bg, , attributes, underline]) {
  return fg < 0 && bg < 0 && attributes === 0 && underline === 0;
}

function cursorOf({ row, col, flags }) {
  const cursor = make("div");
  cursor.id = "cursor";
  cursor.className = flags & 2 ? "line" : flags & 4 ? "stroke" : "block";
  cursor.style.top = `${row * 1.2}em`;
  cursor.style.left = `${col}ch`;
  return cursor;
}

/** Shows a screen; `changed` has the numbers of the rows to highlight. */
function showScreen(screen, changed = new Set()) {
  const rows = make("div");
  rows.id = "rows";
  // A background on most rows would change how the screen looks.
  const isTinted = changed.size <= screen.rows.length / 4;
  screen.rows.forEach((row, i) => {
    const element = make("div", "row");
    element.classList.toggle("changed", changed.has(i));
    element.classList.toggle("tinted", changed.has(i) && isTinted);
    fill(element, row);
    rows.append(element);
  });
  if (screen.flags & 1) rows.append(cursorOf(screen));
  prepare(screen);
  replaceScreen(rows);
}

function prepare(screen) {
  const area = $("screen");
  const [fg, bg, cursor] = screen.colors.map((color) => color && `rgb(${color})`);
  const set = (name, value) => (value ? area.style.setProperty(name, value) : area.style.removeProperty(name));
  set("--own-fg", fg);
  set("--own-bg", bg);
  set("--term-cursor", cursor);
  area.style.setProperty("--width", screen.size[0]);
  area.classList.toggle("reverse", (screen.flags & 8) !== 0);
  area.classList.remove("diff");
  $("window").textContent = screen.title || "\u00a0";
}

function replaceScreen(...content) {
  $("screen").replaceChildren(...content);
}

/** Returns the longest common subsequence of two lists as pairs of indexes. */
function common(a, b) {
  const lengths = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      lengths[i][j] = a[i] === b[j] ? lengths[i + 1][j + 1] + 1 : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
    }
  }
  const pairs = [];
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    if (a[i] === b[j]) pairs.push([i++, j++]);
    else if (lengths[i + 1][j] >= lengths[i][j + 1]) i++;
    else j++;
  }
  return pairs;
}

/** Returns the lines of a comparison: `[kind, row, number]`. */
function compare(before, after) {
  const [a, b] = [before, after].map(({ rows }) => rows.map(keyOf));
  const lines = [];
  let [i, j] = [0, 0];
  for (const [x, y] of [...common(a, b), [a.length, b.length]]) {
    while (i < x) lines.push(["removed", before.rows[i++], i]);
    while (j < y) lines.push(["added", after.rows[j++], j]);
    if (x < a.length) lines.push(["same", after.rows[y], y + 1]);
    [i, j] = [x + 1, y + 1];
  }
  return lines;
}

function showComparison(before, after) {
  const lines = compare(before, after);
  const rows = make("div");
  const isNear = (i) => lines.slice(Math.max(0, i - CONTEXT), i + CONTEXT + 1).some(([kind]) => kind !== "same");
  let hidden = 0;
  const endGap = () => {
    if (hidden > 0) rows.append(make("div", "row gap", `      ${hidden} equal ${hidden === 1 ? "row" : "rows"}`));
    hidden = 0;
  };
  lines.forEach(([kind, row, number], i) => {
    if (!isNear(i)) {
      hidden++;
      return;
    }
    endGap();
    const line = make("div", `row ${kind}`);
    const sign = { same: " ", added: "+", removed: "−" }[kind];
    line.append(make("span", "sign", `${sign} ${String(number).padStart(2)}`));
    const cells = make("div", "cells");
    fill(cells, row);
    line.append(cells);
    rows.append(line);
  });
  endGap();
  prepare(after);
  $("screen").classList.add("diff");
  $("screen").style.setProperty("--width", Math.max(before.size[0], after.size[0]) + SIGN_COLUMNS);
  if (lines.every(([kind]) => kind === "same")) {
    const moved = before.row !== after.row || before.col !== after.col;
    const place = ({ row, col }) => `row ${row + 1}, column ${col + 1}`;
    const text = moved
      ? `No row changed; the cursor moved from ${place(before)} to ${place(after)}.`
      : "Nothing changed.";
    replaceScreen(make("p", "empty", text));
  } else {
    replaceScreen(rows);
  }
}

function showNothing(text) {
  $("screen").classList.remove("diff");
  $("window").textContent = "\u00a0";
  replaceScreen(make("p", "empty", text));
}

/** Shows what the mode selects. A later call replaces an earlier one that is still unpacking. */
async function show() {
  const turn = ++state.shown;
  const step = steps[state.step];
  const wanted = { before: [step?.before], after: [step?.before, step?.after], diff: [step?.before, step?.after] };
  const frames = wanted[state.mode] ?? [state.frame >= 0 ? state.frame : null];
  for (const button of document.querySelectorAll("#modes button")) {
    button.setAttribute("aria-pressed", String(button.dataset.mode === state.mode));
    button.disabled = button.dataset.mode !== "time" && !step;
  }
  const label = { before: "Before", after: "After", diff: "Changes in" }[state.mode];
  $("what").textContent =
    state.mode === "time" ? `Screen at ${seconds(state.now)}` : `${label} step ${step.number + 1}: ${step.name}`;
  $("screen").setAttribute("aria-label", $("what").textContent);
  try {
    const screens = await Promise.all(frames.map((frame) => (frame == null ? null : screenOf(frame))));
    if (turn !== state.shown) return;
    if (screens.at(-1) === null || (state.mode === "diff" && screens[0] === null)) {
      showNothing(times.length > 0 ? "This screen is not in the trace." : "The trace has no frames.");
    } else if (state.mode === "diff") {
      showComparison(...screens);
    } else {
      showScreen(screens.at(-1), state.mode === "after" && screens[0] ? changedRows(...screens) : new Set());
    }
    $("screen").dataset.shown = `${state.mode} ${state.mode === "time" ? state.frame : state.step}`;
  } catch (error) {
    if (turn === state.shown) showNothing(`The frames cannot be unpacked: ${error.message}`);
  }
}

function changedRows(before, after) {
  const added = compare(before, after).filter(([kind]) => kind === "added");
  return new Set(added.map(([, , number]) => number - 1));
}

// ---- Time

/** Returns the number of the last entry that is not later; entries are in order. */
function lastUntil(list, at) {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle] <= at) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function setTime(now) {
  state.now = Math.min(Math.max(now, 0), duration);
  state.frame = lastUntil(times, state.now);
  $("place").value = state.now;
  const place = `frame ${state.frame + 1} of ${times.length}`;
  $("place").setAttribute("aria-valuetext", `${seconds(state.now)}, ${place}`);
  $("time").textContent = `${seconds(state.now)} · ${state.frame + 1}/${times.length}`;
}

/** Shows the screen at a time, and selects the step that was running. */
function goTo(now) {
  setTime(now);
  state.mode = "time";
  const running = steps.findLastIndex((step) => step.start !== null && step.start <= state.now);
  if (running !== state.step && running >= 0) select(running);
  show();
}

function goToFrame(frame) {
  if (times.length === 0) return;
  stop();
  goTo(times[Math.min(Math.max(frame, 0), times.length - 1)]);
}

function goToStep(number, mode = state.mode === "time" ? "after" : state.mode) {
  if (steps.length === 0) return;
  stop();
  const index = Math.min(Math.max(number, 0), steps.length - 1);
  const step = steps[index];
  select(index);
  state.mode = mode;
  const at = mode === "before" ? step.start : (step.end ?? step.start);
  if (at !== null) setTime(at);
  show();
}

function stop() {
  state.playing = null;
  $("what").setAttribute("aria-live", "polite");
  $("play").textContent = "▶";
  $("play").setAttribute("aria-label", "Play");
}

function play() {
  if (times.length === 0) return;
  if (state.now >= duration) setTime(0);
  state.playing = performance.now();
  $("what").setAttribute("aria-live", "off");
  $("play").textContent = "❚❚";
  $("play").setAttribute("aria-label", "Pause");
  requestAnimationFrame(tick);
}

function tick(at) {
  if (state.playing === null) return;
  let to = state.now + Math.max(at - state.playing, 0) * 1000;
  state.playing = at;
  const coming = times[state.frame + 1] ?? duration;
  if (coming - to > PAUSE_MAX) to = coming - PAUSE_MAX;
  const before = state.frame;
  if (lastUntil(times, to) !== before || state.mode !== "time") goTo(to);
  else setTime(to);
  if (state.now >= duration) stop();
  else requestAnimationFrame(tick);
}

// ---- Steps

function listSteps() {
  const list = $("steps");
  let place = null;
  let items = null;
  steps.forEach((step, i) => {
    const key = `${step.file}:${step.line}`;
    if (key !== place || items === null) {
      const group = make("div");
      if (step.file !== null) {
        const source = make("p", "source");
        source.append(make("span", "file", `${step.file}:${step.line}`));
        if (step.source) source.append(make("span", "line", step.source));
        group.append(source);
      }
      items = make("ol");
      group.append(items);
      list.append(group);
      place = key;
    }
    const button = make("button", step.passed ? "step passed" : "step failed");
    button.type = "button";
    button.dataset.step = i;
    const icon = make("span", "icon", step.passed ? "✓" : "✗");
    icon.setAttribute("role", "img");
    icon.setAttribute("aria-label", step.passed ? "passed" : "failed");
    button.append(icon, make("span", "call", step.name));
    const took = step.start !== null && step.end !== null ? span(step.end - step.start) : "";
    button.append(make("span", "took", took));
    button.onclick = () => goToStep(i);
    const item = make("li");
    item.append(button);
    items.append(item);
  });
  $("count").textContent = steps.length;
}

/** Selects a step without a change of the screen. */
function select(index) {
  state.step = index;
  const step = steps[index];
  document.querySelector(".step[aria-current]")?.removeAttribute("aria-current");
  const button = document.querySelector(`.step[data-step="${index}"]`);
  button.setAttribute("aria-current", "step");
  scrollTo(document.querySelector("nav"), button);
  $("name").textContent = step.name;
  const facts = [
    ["Result", step.passed ? "passed" : "failed", step.passed ? "" : "bad"],
    ["Looked for", step.looked],
    ["Ended", step.passed ? step.why : step.looked && step.why.split("\n", 1)[0], step.passed ? "" : "bad"],
    ["Input", inputsOf(step)],
    ["Time", timeOf(step)],
    ["Source", step.file === null ? "" : `${step.file}:${step.line}\n${step.source ?? ""}`.trim()],
  ];
  const entries = facts.filter(([, text]) => text);
  $("list").replaceChildren(
    ...entries.flatMap(([name, text, className]) => [make("dt", "", name), make("dd", className, text)]),
  );
  $("report-box").hidden = step.passed;
  $("report").textContent = step.passed ? "" : step.why;
  const band = $("band");
  band.hidden = step.start === null;
  band.className = step.passed ? "" : "failed";
  const end = step.end ?? duration;
  band.style.left = `calc(8px + (100% - 16px) * ${(step.start ?? 0) / (duration || 1)})`;
  band.style.width = `calc((100% - 16px) * ${(end - (step.start ?? 0)) / (duration || 1)})`;
  if ($("raw").open) setRange("step");
}

/** Scrolls a list, but not the page, until an item is visible. */
function scrollTo(list, item) {
  const [outer, inner] = [list.getBoundingClientRect(), item.getBoundingClientRect()];
  const head = list.querySelector("h2").offsetHeight;
  if (inner.top < outer.top + head) list.scrollTop -= outer.top + head - inner.top;
  if (inner.bottom > outer.bottom) list.scrollTop += inner.bottom - outer.bottom;
}

function timeOf({ start, end }) {
  if (start === null) return "";
  return end === null ? `from ${seconds(start)}` : `${seconds(start)} to ${seconds(end)}, ${span(end - start)}`;
}

function inputsOf({ start, end }) {
  const during = inputs.filter(([at]) => at >= (start ?? Infinity) && at <= (end ?? Infinity));
  const shown = during.slice(0, 20).map(([, text]) => text).join(" ");
  return during.length > 20 ? `${shown} … and ${during.length - 20} more` : shown;
}

/** Adds marks for input, for other markers and for the failure. Near marks are merged. */
function addTicks() {
  const places = new Map();
  const add = (kind, at, text) => {
    const place = Math.round((at / (duration || 1)) * POSITIONS);
    const key = `${kind} ${place}`;
    if (!places.has(key)) places.set(key, { kind, at, texts: [] });
    places.get(key).texts.push(text);
  };
  for (const [at, text] of inputs) add("input", at, text);
  for (const [at, text] of marks) add("mark", at, text);
  const failed = steps[data.failed];
  if (failed) add("fail", failed.end ?? duration, failed.name);
  for (const { kind, at, texts } of places.values()) {
    const tick = make("div", `tick ${kind}`);
    tick.style.left = `${(at / (duration || 1)) * 100}%`;
    const more = texts.length > 5 ? ` and ${texts.length - 5} more` : "";
    const label = { input: "Input", mark: "Marker", fail: "Failed" }[kind];
    tick.title = `${label} at ${seconds(at)}: ${texts.slice(0, 5).join(" ")}${more}`;
    tick.onclick = () => {
      stop();
      goTo(at);
    };
    $("ticks").append(tick);
  }
}

// ---- Raw bytes

const SEQUENCES = new RegExp(
  [
    "(\\x1b\\[[0-?]*[ -/]*[@-~]", // CSI
    "\\x1b[\\]PX^_][^\\x07\\x1b]*(?:\\x07|\\x1b\\\\)?", // strings
    "\\x1b[ -/]*[0-~]?",
    "[\\x00-\\x1a\\x1c-\\x1f\\x7f-\\x9f]+)",
  ].join("|"),
);
const NAMES = { "\x1b": "\\e", "\n": "\\n\n", "\r": "\\r", "\t": "\\t", "\x07": "\\a", "\b": "\\b", "\\": "\\\\" };

/** Returns a text in which all characters are visible. */
function printable(text) {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\\]/gu, (c) => {
    const code = c.codePointAt(0);
    return NAMES[c] ?? (code < 256 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u{${code.toString(16)}}`);
  });
}

function eventLine([at, kind, text]) {
  const line = make("div", kind === "i" ? "event in" : "event out");
  line.append(make("time", "", seconds(at)), make("span", "way", kind === "i" ? "in" : "out"));
  const shown = make("span", "text");
  text.split(SEQUENCES).forEach((part, i) => {
    if (part) shown.append(i % 2 === 1 ? make("i", "", printable(part)) : printable(part));
  });
  line.append(shown);
  return line;
}

let rawTurn = 0;

async function showRaw(from, to) {
  const turn = ++rawTurn;
  const list = $("bytes");
  list.replaceChildren();
  if (data.raw === null) {
    $("raw-state").textContent = "The raw bytes are not in this trace.";
    return;
  }
  $("raw-state").textContent = "Unpacking …";
  let [count, length, cut] = [0, 0, false];
  try {
    for (const [number, [first, last]] of data.raw.entries()) {
      if (last < from || first > to || cut) continue;
      const events = await unpack(`raw${number}`);
      if (turn !== rawTurn) return;
      for (const event of events) {
        if (event[0] < from || event[0] > to) continue;
        cut = length >= RAW_SHOWN_MAX;
        if (cut) break;
        const room = RAW_SHOWN_MAX - length;
        list.append(eventLine([event[0], event[1], event[2].slice(0, room)]));
        length += event[2].length;
        count++;
      }
    }
    const rest = cut || length > RAW_SHOWN_MAX ? "; the rest is left out: select less time" : "";
    const events = count === 1 ? "1 event" : `${count} events`;
    $("raw-state").textContent = `${events}, ${Math.min(length, RAW_SHOWN_MAX)} characters${rest}`;
  } catch (error) {
    if (turn === rawTurn) $("raw-state").textContent = `The raw bytes cannot be unpacked: ${error.message}`;
  }
}

function setRange(kind) {
  const step = steps[state.step];
  const ranges = {
    step: [step?.start ?? 0, step?.end ?? duration],
    frame: [times[state.frame - 1] ?? 0, times[state.frame] ?? 0],
    all: [0, duration],
  };
  const [from, to] = ranges[kind];
  $("from").value = from / 1e6;
  $("to").value = to / 1e6;
  showRaw(from, to);
}

// ---- Start

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input[type=number]")) return;
  const last = times.length - 1;
  const keys = {
    ArrowLeft: () => goToFrame(state.frame - 1),
    ArrowRight: () => goToFrame(state.frame + 1),
    Home: () => goToFrame(0),
    End: () => goToFrame(last),
    n: () => goToStep(state.step + 1),
    p: () => goToStep(state.step - 1),
    " ": () => $("play").click(),
  };
  if (event.key === " " && event.target.matches("button, summary")) return;
  if (event.target === $("place")) [keys.ArrowDown, keys.ArrowUp] = [keys.ArrowLeft, keys.ArrowRight];
  if (!Object.hasOwn(keys, event.key)) return;
  event.preventDefault();
  keys[event.key]();
}

function start() {
  setTheme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  $("theme").onclick = () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
  $("light").onclick = () => {
    const isLight = $("terminal").dataset.theme !== "light";
    $("terminal").dataset.theme = isLight ? "light" : "dark";
    $("light").setAttribute("aria-pressed", String(isLight));
  };
  $("title").textContent = data.title;
  $("verdict").textContent = data.failed === null ? "passed" : "failed";
  $("verdict").className = $("verdict").textContent;
  const began = data.started > 0 ? new Date(data.started * 1000).toISOString().slice(0, 19).replace("T", " ") : "";
  const exit = data.exit === null ? "" : `exit ${data.exit}`;
  const facts = [data.command, data.size.join("×"), span(duration), exit, began && `${began} UTC`];
  $("facts").textContent = facts.filter(Boolean).join(" · ");
  $("notes").append(...data.notes.map((note) => make("li", "", note)));
  listSteps();
  addTicks();
  $("place").max = duration;
  $("place").oninput = () => {
    stop();
    goTo(Number($("place").value));
  };
  $("play").onclick = () => (state.playing === null ? play() : stop());
  for (const button of document.querySelectorAll("#modes button")) {
    const { mode } = button.dataset;
    button.onclick = () => (mode === "time" ? (stop(), goTo(state.now)) : goToStep(state.step, mode));
  }
  $("raw").ontoggle = () => $("raw").open && setRange("step");
  $("range").onsubmit = (event) => {
    event.preventDefault();
    showRaw(Math.round(Number($("from").value) * 1e6), Math.round(Number($("to").value) * 1e6));
  };
  for (const button of document.querySelectorAll("#range [data-range]")) {
    button.onclick = () => setRange(button.dataset.range);
  }
  document.addEventListener("keydown", onKey);
  $("app").hidden = false;
  $("details").hidden = steps.length === 0;
  if (steps.length > 0) goToStep(data.failed ?? steps.length - 1);
  else goTo(duration);
}

start();
