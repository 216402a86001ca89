// Tests the pages of traces in a real browser: node page.mjs SAMPLES [TEST…]
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

// The packages are those of the live page's tests.
const require = createRequire(new URL("../../../awaitty/tests/page/package.json", import.meta.url));
const { default: puppeteer } = await import(pathToFileURL(require.resolve("puppeteer-core")).href);

const LIMIT = 30_000; // for any expected state of the page, in ms
const PAGE_MAX = 10_000_000; // bytes of a page
const SECRET = "hunter2-S3cr3t";
const [samples, ...only] = process.argv.slice(2);
if (!samples) {
  console.error("usage: page.mjs SAMPLES [TEST…]");
  process.exit(2);
}

/** A tab with a trace. It collects errors and requests. */
class Tab {
  static async open(context, name, { width = 1280, height = 900, scheme = "light", host } = {}) {
    const tab = new Tab();
    tab.wrong = [];
    tab.file = join(samples, `${name}.html`);
    const page = (tab.page = await context.newPage());
    page.setDefaultTimeout(LIMIT);
    await page.setViewport({ width, height });
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
    await page.evaluateOnNewDocument(() => {
      document.addEventListener("securitypolicyviolation", (event) => {
        console.error(`policy: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`);
      });
    });
    page.on("console", (message) => tab.wrong.push(`console: ${message.text()}`));
    page.on("pageerror", (error) => tab.wrong.push(`error: ${error.stack ?? error}`));
    page.on("dialog", async (dialog) => {
      tab.wrong.push(`dialog: ${dialog.message()}`);
      await dialog.dismiss();
    });
    page.on("popup", () => tab.wrong.push("a window was opened"));
    const url = host ? `${host}/${name}.html` : pathToFileURL(tab.file).href;
    page.on("request", (request) => {
      if (request.url() !== url && request.url() !== "data:,") tab.wrong.push(`a request to ${request.url()}`);
    });
    await page.goto(url);
    return tab;
  }

  async until(what, condition, ...args) {
    try {
      await this.page.waitForFunction(condition, { polling: 50, timeout: LIMIT }, ...args);
    } catch (error) {
      throw new Error(`not seen: ${what} (${error.message.split("\n")[0]})`);
    }
  }

  /** Waits until the screen shows a mode and a step or a frame. */
  shows(what) {
    return this.until(what, (what) => document.getElementById("screen").dataset.shown === what, what);
  }

  /** Waits until an element contains a text. */
  says(selector, text) {
    const check = (selector, text) => document.querySelector(selector)?.textContent.includes(text);
    return this.until(`${text} in ${selector}`, check, selector, text);
  }

  text(selector) {
    return this.page.$eval(selector, (element) => element.textContent);
  }

  texts(selector) {
    return this.page.$$eval(selector, (elements) => elements.map((element) => element.textContent.trimEnd()));
  }

  step(number) {
    return this.page.click(`.step[data-step="${number}"]`);
  }

  press(key) {
    return this.page.keyboard.press(key);
  }

  picture(name, options = {}) {
    return this.page.screenshot({ path: join(samples, `${name}.png`), ...options });
  }
}

const tests = {
  async the_failed_step_is_selected(open) {
    const tab = await open("failed");
    await tab.shows("after 10");
    assert.equal(await tab.text("#verdict"), "failed");
    assert.equal(await tab.text(".step[aria-current] .call"), 'expect_gone(text("Theme"))');
    assert.match(await tab.text(".step.failed .icon"), /✗/);
    await tab.says("#report", "timeout after 10 s: the text /Theme/ is still on the screen");
    await tab.says("#list", "no text /Theme/, for at most 10 s");
    await tab.says("#facts", "target/debug/menu --fast · 80×24");
    await tab.says("#window", "menu: settings");
    const sources = await tab.texts(".source .line");
    assert.equal(sources.length, 7, "the steps of a line are listed together");
    assert.equal(sources[2], 't.press("down")?.expect(selected("Settings"))?;');
    const rows = await tab.texts("#rows .row");
    assert.equal(rows.length, 24);
    assert.equal(rows[2], "  Theme     dark");
    assert.equal(await tab.page.$$eval(".changed", (rows) => rows.length), 1, "row 24 changed");
    await tab.picture("failed-light");
  },

  async a_step_has_its_screens_and_changes(open) {
    const tab = await open("failed", { scheme: "dark" });
    await tab.step(3);
    await tab.shows("after 3");
    const rows = await tab.texts("#rows .row");
    assert.match(rows[4], /Help 世界 é {18,}/);
    assert.equal(await tab.page.$$eval(".changed", (rows) => rows.length), 2);
    const inverse = await tab.page.$$eval("#rows .row span", (spans) => {
      const span = spans.find((span) => span.textContent.includes("Settings"));
      return [getComputedStyle(span).backgroundColor, getComputedStyle(span).color];
    });
    assert.deepEqual(inverse, ["rgb(216, 218, 222)", "rgb(12, 14, 18)"]);
    const color = await tab.page.$$eval("#rows .row span", (spans) => {
      const span = spans.find((span) => span.style.background.includes("rgb(7"));
      return getComputedStyle(span).backgroundColor;
    });
    assert.equal(color, "rgb(7, 248, 180)");
    await tab.picture("step-dark");
    await tab.page.click("[data-mode=before]");
    await tab.shows("before 3");
    assert.equal(await tab.page.$$eval(".changed", (rows) => rows.length), 0);
    await tab.page.click("[data-mode=diff]");
    await tab.shows("diff 3");
    const added = await tab.texts(".diff .added .cells");
    const removed = await tab.texts(".diff .removed .cells");
    assert.equal(added.length, 2);
    assert.match(added.join(), /Open a project.*Settings/);
    assert.match(removed.join(), /Open a project.*Settings/);
    await tab.says(".diff .gap", "equal row");
    await tab.picture("changes-dark");
    await tab.says("#list", "met after 14 ms");
    // The mode stays for the next step.
    await tab.press("p");
    await tab.shows("diff 2");
    await tab.says("#screen", "Nothing changed");
    await tab.says("#list", "<U+001B>[B");
    await tab.press("n");
    await tab.shows("diff 3");
  },

  async the_timeline_reaches_every_frame(open) {
    const tab = await open("failed");
    await tab.shows("after 10");
    await tab.press("Home");
    await tab.shows("time 0");
    assert.equal((await tab.texts("#rows .row")).join(""), "");
    const count = Number((await tab.text("#time")).split("/").pop());
    assert(count > 100, `${count} frames`);
    await tab.press("ArrowRight");
    await tab.shows("time 1");
    await tab.says("#rows", "Main menu");
    await tab.press("End");
    await tab.shows(`time ${count - 1}`);
    await tab.press("ArrowLeft");
    await tab.shows(`time ${count - 2}`);
    await tab.says("#rows", "9800 ms");
    // A person drags the slider.
    const at = (at) =>
      tab.page.$eval("#place", (place, at) => {
        place.value = at;
        place.dispatchEvent(new Event("input"));
      }, at);
    await at(35_000);
    await tab.says("#what", "Screen at 0.035 s");
    await at(5_000_000);
    assert.equal(await tab.text(".step[aria-current] .call"), 'expect_gone(text("Theme"))');
    await tab.page.click("#track .tick.input");
    await tab.says(".step[aria-current] .call", 'press("down")');
    const title = await tab.page.$eval("#track .tick.input", (tick) => tick.title);
    assert.match(title, /^Input at 0\.\d+ s: <U\+001B>\[B$/);
    assert.equal(await tab.page.$$eval(".tick.fail", (ticks) => ticks.length), 1);
    // Playback starts at the end of the file with the first frame.
    await tab.press("Home");
    await tab.press("Space");
    await tab.until("pause", () => document.getElementById("play").getAttribute("aria-label") === "Pause");
    await tab.until("playback", () => Number(document.getElementById("place").value) > 500_000);
    await tab.press("Space");
    await tab.until("play", () => document.getElementById("play").getAttribute("aria-label") === "Play");
  },

  async raw_bytes_are_unpacked_when_they_are_opened(open) {
    const tab = await open("failed");
    await tab.shows("after 10");
    assert.equal(await tab.text("#bytes"), "");
    await tab.step(3);
    await tab.page.click("#raw summary");
    await tab.says("#raw-state", "1 event, ");
    await tab.says("#bytes .event .text", "\\e[H\\e[2J\\e[?25l\\e[1;36m  Main menu\\e[0m\\r\\n\n");
    await tab.says("#bytes", "\\e]2;menu: main\\a");
    await tab.picture("raw-light", { fullPage: true });
    await tab.step(2);
    await tab.says("#bytes .event.in .text", "\\e[B");
    await tab.page.click("[data-range=all]");
    await tab.says("#bytes", "9900 ms");
    await tab.page.$eval("#from", (from) => (from.value = "0"));
    await tab.page.$eval("#to", (to) => (to.value = "0.05"));
    await tab.page.click("#range [type=submit]");
    await tab.says("#raw-state", "1 event, ");
    await tab.says("#bytes", "Main menu");
  },

  async secrets_are_masked(open) {
    const tab = await open("failed");
    await tab.shows("after 10");
    await tab.says("#report", "Password  •••");
    await tab.says("#rows", "Password  •••");
    await tab.page.click("#raw summary");
    await tab.page.click("[data-range=all]");
    await tab.says("#bytes", "•••");
    const html = await tab.page.$eval("html", (html) => html.outerHTML);
    const text = html + (await tab.texts("#bytes .event.out .text")).join("");
    assert(!text.includes(SECRET), "the secret is not in the page");
    assert(!(await tab.texts("#bytes .event.in .text")).join("").includes(SECRET));
    const count = Number((await tab.text("#time")).split("/").pop());
    for (let frame = 0; frame < Math.min(count, 60); frame++) {
      await tab.press(frame === 0 ? "Home" : "ArrowRight");
      await tab.shows(`time ${frame}`);
      assert(!(await tab.text("#rows")).includes(SECRET.slice(0, 4)), `frame ${frame}`);
    }
  },

  async a_hostile_session_runs_nothing(open) {
    const tab = await open("hostile");
    await tab.shows("after 4");
    const steps = await tab.page.$$eval(".step", (steps) => steps.length);
    for (let step = 0; step < steps; step++) {
      await tab.step(step);
      for (const mode of ["before", "diff", "after"]) {
        await tab.page.click(`[data-mode=${mode}]`);
        await tab.shows(`${mode} ${step}`);
      }
    }
    await tab.page.click("#raw summary");
    await tab.page.click("[data-range=all]");
    await tab.says("#raw-state", "the rest is left out");
    await tab.says("#bytes", "</script><script>window.pwned=1</script>");
    await tab.says("#bytes", "\\u{202e}gnirts");
    await tab.press("Home");
    await tab.press("End");
    await tab.says("#rows", "<b>huge</b>");
    assert.equal(await tab.page.evaluate(() => window.pwned), undefined);
    const elements = await tab.page.evaluate(() => ({
      images: document.images.length,
      links: document.links.length,
      scripts: [...document.scripts].filter((script) => !script.type).length,
      styles: document.styleSheets.length,
      body: getComputedStyle(document.body).display,
      controls: /[\u202a-\u202e\u2066-\u2069\u0000-\u0008\u001b]/.test(document.getElementById("app").textContent),
    }));
    assert.deepEqual(elements, { images: 0, links: 0, scripts: 1, styles: 1, body: "block", controls: false });
    const fits = () => document.documentElement.scrollWidth <= innerWidth;
    assert(await tab.page.evaluate(fits), "nothing is wider than the window");
    const ran = await tab.page.evaluate(() => {
      try {
        document.body.insertAdjacentHTML("beforeend", "<p>");
        return true;
      } catch {
        return false;
      }
    });
    assert(!ran, "the policy refuses markup");
    tab.expected = /insertAdjacentHTML|TrustedHTML/;
    await tab.picture("hostile");
  },

  async a_large_session_is_thinned_out_and_says_so(open) {
    const bytes = statSync(join(samples, "large.html")).size;
    assert(bytes <= PAGE_MAX && bytes > PAGE_MAX / 2, `${bytes} bytes`);
    const tab = await open("large");
    await tab.shows("after 9");
    await tab.says("#notes", "The raw bytes are left out, because the page would exceed 10 MB.");
    await tab.says("#notes", "s apart, because the page would exceed 10 MB.");
    for (const step of [0, 5, 9]) {
      await tab.step(step);
      await tab.shows(`after ${step}`);
      await tab.says("#rows .row", `frame ${step * 1800 + 900}`);
    }
    await tab.page.click("#raw summary");
    await tab.says("#raw-state", "not in this trace");
    await tab.press("End");
    await tab.says("#rows .row", "frame 17999");
    await tab.picture("large");
  },

  async real_programs_look_right(open) {
    const tab = await open("programs", { scheme: "dark" });
    const seen = ["Load average", "Chinese", "Left", "Counts words", "took stone", "hello world"];
    for (const [step, text] of seen.entries()) {
      await tab.step(step);
      await tab.shows(`after ${step}`);
      await tab.says("#rows", text);
      const wide = await tab.page.$eval("#screen", (screen) => screen.scrollWidth - screen.clientWidth);
      assert(wide <= 0, `step ${step} is ${wide} pixels too wide`);
      if (text === "Chinese") {
        const wide = await tab.page.$$eval("#rows .row", (rows) => {
          const cell = [...rows[0].querySelectorAll("span")].find((span) => span.textContent === "好");
          const column = rows[0].getBoundingClientRect().width / 100;
          return Math.round((cell.getBoundingClientRect().left - rows[0].getBoundingClientRect().left) / column);
        });
        assert.equal(wide, 16, "the column of the second wide character");
      }
      await tab.picture(`program-${step}`);
    }
  },

  async a_page_on_a_server_requests_nothing_else(open) {
    const requests = [];
    const server = createServer((request, response) => {
      requests.push(request.url);
      response.end(readFileSync(join(samples, "failed.html")));
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    try {
      const tab = await open("failed", { host: `http://127.0.0.1:${server.address().port}` });
      await tab.shows("after 10");
      await tab.page.click("#raw summary");
      await tab.says("#raw-state", "events");
      assert.deepEqual(requests, ["/failed.html"]);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  },

  async a_trace_without_steps_has_its_screen(open) {
    const tab = await open("empty");
    await tab.shows("time 0");
    assert.equal(await tab.text("#verdict"), "passed");
    assert.equal(await tab.page.$eval("#details", (details) => details.checkVisibility()), false);
  },

  async a_narrow_window_shows_everything(open) {
    const tab = await open("failed", { width: 390, height: 844, scheme: "dark" });
    await tab.shows("after 10");
    const fits = () => document.documentElement.scrollWidth <= innerWidth;
    assert(await tab.page.evaluate(fits), "the page is not wider than the window");
    assert(await tab.page.$eval("#screen", (screen) => screen.scrollWidth <= screen.clientWidth), "all columns fit");
    await tab.page.click("#theme");
    assert.equal(await tab.page.evaluate(() => document.documentElement.dataset.theme), "light");
    await tab.page.click("#theme");
    const background = () => tab.page.$eval("#screen", (screen) => getComputedStyle(screen).backgroundColor);
    assert.equal(await background(), "rgb(12, 14, 18)");
    await tab.page.click("#light");
    assert.equal(await background(), "rgb(255, 255, 255)");
    await tab.page.click("#light");
    await tab.picture("narrow-dark", { fullPage: true });
    await tab.page.setViewport({ width: 1680, height: 1000 });
    await tab.picture("wide-dark");
  },

  async controls_have_labels(open) {
    const tab = await open("failed");
    await tab.shows("after 10");
    const unnamed = await tab.page.evaluate(() =>
      [...document.querySelectorAll("button, input, [tabindex='0']")]
        .filter((element) => {
          const label = element.getAttribute("aria-label") ?? element.labels?.[0]?.textContent ?? element.textContent;
          return !label.trim() && element.checkVisibility();
        })
        .map((element) => element.id || element.outerHTML),
    );
    assert.deepEqual(unnamed.filter((id) => id !== "report"), []);
    assert.deepEqual(await tab.texts("#modes button[aria-pressed=true]"), ["After"]);
    const value = await tab.page.$eval("#place", (place) => place.getAttribute("aria-valuetext"));
    assert.match(value, /^\d+\.\d+ s, frame \d+ of \d+$/);
  },
};

const browser = await puppeteer.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
});
let failed = 0;
for (const [name, test] of Object.entries(tests)) {
  if (only.length > 0 && !only.includes(name)) continue;
  const context = await browser.createBrowserContext();
  const tabs = [];
  const open = async (...args) => {
    tabs.push(await Tab.open(context, ...args));
    return tabs.at(-1);
  };
  let why;
  try {
    await test(open);
  } catch (error) {
    why = error;
  }
  const faults = tabs.flatMap((tab) => tab.wrong.filter((fault) => !tab.expected?.test(fault)));
  if (faults.length > 0) why ??= new Error(faults.join("; "));
  if (why && tabs.length > 0) await tabs.at(-1).picture(`failed-${name}`).catch(() => {});
  await context.close();
  console.log(why ? `FAIL ${name}: ${why.message}` : `ok ${name}`);
  if (why) failed++;
}
await browser.close();
process.exit(failed > 0 ? 1 : 0);
