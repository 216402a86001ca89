// The live page: tiles of all sessions, and a large view of one.

import { follow, setToken, takeToken } from "./live.js";
import { age, drawTile, hasControl, make, nameOf, showSessions, stateOf, waitLine, waitsOf } from "./tiles.js";
import * as view from "./view.js";

const byId = (id) => document.getElementById(id);
const THEMES = {
  dark: {
    contrast: 1,
    mark: "#6b5a1e",
    colours: palette(
      "#0b0d11",
      "#d5dae2",
      "#20252d #f0716b #7cc98a #dfb45c #6fa8f5 #c08af0 #56c4c9 #c3cad4",
      "#6a7482 #ff8f88 #98e0a5 #f2cc7a #93c0ff #d6aaff #7adde2 #f3f6fa",
    ),
  },
  light: {
    contrast: 4.5, // most programs choose colours for dark backgrounds
    mark: "#ffe08a",
    colours: palette(
      "#ffffff",
      "#1c2127",
      "#1c2127 #c0322d #1f7a37 #8a6100 #1d5fc4 #8337b8 #0f7480 #d4d9df",
      "#636c77 #d8453f #2b8f47 #a37405 #2f74de #9a4fd0 #158894 #eef1f4",
    ),
  },
};

const OTHER_SERVER =
  "Another server is listening at this address: awaitty was restarted, or another program uses the port. " +
  "Open the new login file, or enter the token.";
const NO_PROOF_OF_TOKEN =
  "The server does not know this token: it is wrong or from an earlier run, or another program uses the port. " +
  "Open the new login file, or enter the token.";

let sessions = [];
let elsewhere = []; // waits without a session
let selected = null;
let canControl = false;
let online = false;

function palette(background, foreground, ...sixteen) {
  const names = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];
  const colours = sixteen.join(" ").split(" ");
  const bright = names.map((name) => `bright${name[0].toUpperCase()}${name.slice(1)}`);
  const named = Object.fromEntries([...names, ...bright].map((name, i) => [name, colours[i]]));
  const rest = {
    cursor: foreground,
    cursorAccent: background,
    overviewRulerBorder: "#00000000",
    scrollbarSliderActiveBackground: "#808894a6",
    scrollbarSliderBackground: "#80889459",
    scrollbarSliderHoverBackground: "#8088948c",
    selectionBackground: "#4d84d680",
  };
  return { background, foreground, ...rest, ...named };
}

// ---- messages from the server

const handlers = {
  message(message) {
    const mine = message.session_id === selected;
    if (message.type === "hello") {
      canControl = message.can_control;
      byId("looking").hidden = canControl;
    } else if (message.type === "sessions") {
      sessions = message.sessions;
      elsewhere = waitsOf(message);
      refresh();
    } else if (message.type === "tile") drawTile(message);
    else if (message.type === "paint" && mine) return view.paint(message);
    else if (message.type === "commands" && mine) view.showCommands(message.commands);
  },
  connected() {
    online = true;
    byId("offline").hidden = true;
    document.body.classList.remove("offline");
  },
  disconnected(why) {
    online = false;
    byId("offline").textContent = `Disconnected: the page is out of date. Reconnecting… (${why})`;
    byId("offline").hidden = false;
    document.body.classList.add("offline");
    refreshTitle();
  },
  unproven(hadToken) {
    online = false;
    document.body.classList.remove("offline");
    refreshTitle();
    showLogin(hadToken ? NO_PROOF_OF_TOKEN : OTHER_SERVER);
  },
};

function refresh() {
  showSessions(sessions, selected, choose);
  byId("none").hidden = sessions.length > 0;
  const waits = sessions.reduce((sum, session) => sum + waitsOf(session).length, elsewhere.length);
  byId("elsewhere").replaceChildren(...elsewhere.map((wait) => make("li", "", waitLine(wait))));
  const asking = sessions.filter((session) => stateOf(session).kind === "asking").length;
  const counts = [`${sessions.length} ${sessions.length === 1 ? "session" : "sessions"}`];
  if (asking) counts.push(`${asking} asking`);
  if (waits) counts.push(`${waits} ${waits === 1 ? "wait" : "waits"}`);
  byId("counts").textContent = counts.join(" · ");
  if (selected !== null) view.describe(current(), canControl);
  refreshTitle();
}

function current() {
  return sessions.find((session) => session.session_id === selected) ?? null;
}

function refreshTitle() {
  const session = current();
  const what = session
    ? `${nameOf(session)}: ${stateOf(session).word}${hasControl(session) ? ", you type" : ""}`
    : null;
  document.title = [online ? null : "disconnected", what, "awaitty"].filter(Boolean).join(" – ");
}

// ---- selecting the large view

function choose(id) {
  if (id === selected) return;
  // A fragment in the address makes history and reload work.
  history.pushState(null, "", id === null ? location.pathname : `#/${encodeURIComponent(id)}`);
  enlarge(id);
}

function enlarge(id) {
  selected = id;
  byId("big").hidden = id === null;
  document.body.classList.toggle("large", id !== null);
  view.show(current());
  refresh();
  document.querySelector('.tile[aria-current="true"]')?.scrollIntoView({ block: "nearest" });
  follow(id);
}

function named() {
  return location.hash.startsWith("#/") ? decodeURIComponent(location.hash.slice(2)) : null;
}

// ---- login and start

function showLogin(why) {
  byId("desk").hidden = true;
  byId("login").hidden = false;
  byId("offline").hidden = true;
  byId("counts").textContent = "";
  byId("elsewhere").replaceChildren();
  byId("key-why").textContent = why;
  byId("token").value = "";
  byId("token").focus();
}

function openPage() {
  byId("login").hidden = true;
  byId("desk").hidden = false;
  selected = named();
  byId("big").hidden = selected === null;
  document.body.classList.toggle("large", selected !== null);
  follow(selected, handlers);
}

byId("key").addEventListener("submit", (event) => {
  event.preventDefault();
  setToken(byId("token").value.trim());
  openPage();
});
byId("back").addEventListener("click", () => choose(null));
addEventListener("popstate", () => {
  // The user may have pasted an address with a token.
  if (location.hash && !location.hash.startsWith("#/")) {
    if (takeToken()) openPage();
  } else if (named() !== selected && !byId("desk").hidden) enlarge(named());
});

const dark = matchMedia("(prefers-color-scheme: dark)");

function applyTheme() {
  const wanted = localStorage.getItem("theme");
  const name = wanted in THEMES ? wanted : dark.matches ? "dark" : "light";
  document.documentElement.dataset.theme = name;
  const { colours } = THEMES[name];
  const style = document.documentElement.style;
  style.setProperty("--term-bg", colours.background);
  style.setProperty("--term-fg", colours.foreground);
  const numbered = Object.keys(colours).slice(-16);
  numbered.forEach((key, i) => style.setProperty(`--c${i}`, colours[key]));
  view.setTheme(THEMES[name]);
}

dark.addEventListener("change", applyTheme);
byId("theme").addEventListener("click", () => {
  const other = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  // The system's own scheme is not stored, so that the page follows its changes.
  if (other === (dark.matches ? "dark" : "light")) localStorage.removeItem("theme");
  else localStorage.setItem("theme", other);
  applyTheme();
});

// The width of a letter, by which tiles fit all their columns.
const probe = make("span", "probe", "M".repeat(100));
document.body.append(probe);
document.documentElement.style.setProperty("--cw", probe.getBoundingClientRect().width / 100 / 100);
probe.remove();

setInterval(() => {
  for (const element of document.querySelectorAll("[data-since]"))
    element.textContent = age(Number(element.dataset.since));
}, 1000);

applyTheme();
view.setUp(() => choose(null));
if (takeToken()) openPage();
else showLogin("This page shows and controls terminals, so it requires the server's token.");
