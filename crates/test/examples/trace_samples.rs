//! Writes sample traces for the tests in a browser: `trace_samples DIRECTORY`.

use std::io;
use std::path::Path;

use awaitty_test::trace::{self, Kind, Place, Step, Trace, Verdict};
use serde_json::json;

const SECRET: &str = "hunter2-S3cr3t";

/// A recording under construction, with its steps.
struct Sample {
    recording: String,
    steps: Vec<Step>,
    /// The time of the next event after the last one, in seconds.
    after: f64,
}

impl Sample {
    fn new(command: &str, cols: usize, rows: usize) -> Sample {
        let term = json!({"cols": cols, "rows": rows});
        let header =
            json!({"version": 3, "term": term, "command": command, "timestamp": 1_790_000_000});
        Sample { recording: header.to_string(), steps: Vec::new(), after: 0.0 }
    }

    fn event(&mut self, kind: char, data: &str) {
        self.recording += &format!("\n{}", json!([self.after, kind, data]));
        self.after = 0.0;
    }

    fn pause(&mut self, seconds: f64) -> &mut Sample {
        self.after += seconds;
        self
    }

    fn output(&mut self, text: &str) -> &mut Sample {
        self.event('o', text);
        self
    }

    /// Adds a step whose events `act` adds.
    fn step(&mut self, kind: Kind, line: usize, name: &str, act: impl FnOnce(&mut Sample)) {
        let number = self.steps.len();
        self.event('m', &format!("step {number} start"));
        act(self);
        self.event('m', &format!("step {number} end"));
        let source = line.checked_sub(12).and_then(|at| SOURCE.lines().nth(at));
        let text = source.unwrap_or(name).trim().to_owned();
        let place = Some(Place { file: "tests/menu.rs".to_owned(), line, text });
        let verdict = Verdict::Passed(String::new());
        self.steps.push(Step { kind, name: name.to_owned(), place, looked_for: None, verdict });
    }

    fn wait(&mut self, line: usize, name: &str, looked_for: &str, why: &str, output: &str) {
        self.step(Kind::Wait, line, name, |sample| {
            if !output.is_empty() {
                sample.pause(0.012).output(output).pause(0.002);
            }
        });
        if let Some(step) = self.steps.last_mut() {
            step.looked_for = Some(looked_for.to_owned());
            step.verdict = Verdict::Passed(why.to_owned());
        }
    }

    fn press(&mut self, line: usize, name: &str, keys: &str) {
        self.step(Kind::Input, line, name, |sample| {
            sample.pause(0.05).event('i', keys);
            sample.pause(0.001);
        });
    }

    fn fail(&mut self, report: &str) {
        if let Some(step) = self.steps.last_mut() {
            step.verdict = Verdict::Failed(report.to_owned());
        }
    }

    fn write(self, directory: &Path, name: &str, title: &str) -> io::Result<()> {
        let recording = directory.join(format!("{name}.cast"));
        std::fs::write(&recording, self.recording)?;
        let secrets = vec![SECRET.to_owned()];
        let trace = Trace { title: title.to_owned(), steps: self.steps, recording, secrets };
        trace::write(&directory.join(format!("{name}.html")), &trace)
    }
}

const SOURCE: &str = r#"    let t = awaitty_test::bin!("menu").size(80, 24).start()?;
    t.expect(text("Main menu"))?;
    t.press("down")?.expect(selected("Settings"))?;
    t.press("enter")?.expect(text("Theme"))?;
    t.type_text(&password)?;
    t.press("tab")?.expect(text("saved"))?;
    t.press("esc")?.expect_gone(text("Theme"))?;
    t.press("q")?.expect(exit(0))?;"#;

fn menu(selected: usize) -> String {
    let mut screen = "\x1b[H\x1b[2J\x1b[?25l\x1b[1;36m  Main menu\x1b[0m\r\n".to_owned();
    screen += &format!("  ╭{}╮\r\n", "─".repeat(38));
    for (i, entry) in ["Open a project", "Settings", "Help 世界 é", "Quit"].iter().enumerate() {
        let style = if i == selected { "\x1b[7m" } else { "" };
        let wide = if i == 2 { 2 } else { 0 };
        let fill = " ".repeat(35 - entry.chars().count() - wide);
        screen += &format!("  │{style}  {entry}{fill} \x1b[0m│\r\n");
    }
    screen += &format!("  ╰{}╯\r\n\r\n", "─".repeat(38));
    for i in 0..36 {
        screen += &format!("\x1b[48;2;{};{};180m ", i * 7, 255 - i * 7);
    }
    screen += "\x1b[0m\r\n  ";
    for i in 0..8 {
        screen += &format!("\x1b[3{i}mred{i}\x1b[0m \x1b[9{i};4mlight\x1b[0m ");
    }
    screen + "\r\n\r\n  \x1b[2m↑↓ select   enter open   q quit\x1b[0m\x1b]2;menu: main\x07"
}

const SETTINGS: &str = "\x1b[H\x1b[2J\x1b[1;36m  Settings\x1b[0m\r\n\r\n  Theme     \x1b[4mdark\x1b[0m\r\n  \
                        Font      DejaVu Sans Mono\r\n  Password  \x1b[?25h\x1b]2;menu: settings\x07";

/// A test that fails at its last step: Esc does not work.
fn failed(directory: &Path) -> io::Result<()> {
    let mut sample = Sample::new("target/debug/menu --fast", 80, 24);
    sample.step(Kind::Start, 12, "start(\"menu\")", |sample| {
        sample.pause(0.03);
    });
    let looked = "text /Main menu/ since the start, for at most 10 s";
    sample.wait(13, "expect(text(\"Main menu\"))", looked, "met after 31 ms", &menu(0));
    sample.press(14, "press(\"down\")", "\x1b[B");
    let looked = "a selected /Settings/ since the last input, for at most 10 s";
    sample.wait(14, "expect(selected(\"Settings\"))", looked, "met after 14 ms", &menu(1));
    sample.press(15, "press(\"enter\")", "\r");
    let looked = "text /Theme/ since the last input, for at most 10 s";
    sample.wait(15, "expect(text(\"Theme\"))", looked, "met after 14 ms", SETTINGS);
    sample.step(Kind::Input, 16, &format!("type_text(\"{SECRET}\")"), |sample| {
        for c in SECRET.chars() {
            sample.pause(0.06).event('i', &c.to_string());
            sample.pause(0.004).output(&c.to_string());
        }
        sample.pause(0.02);
    });
    sample.press(17, "press(\"tab\")", "\t");
    let saved = "\x1b[8;3H\x1b[32m✓ saved\x1b[0m\x1b[5;28H";
    let looked = "text /saved/ since the last input, for at most 10 s";
    sample.wait(17, "expect(text(\"saved\"))", looked, "met after 14 ms", saved);
    sample.press(18, "press(\"esc\")", "\x1b");
    let looked = "no text /Theme/, for at most 10 s";
    sample.step(Kind::Wait, 18, "expect_gone(text(\"Theme\"))", |sample| {
        for i in 0..100 {
            sample.pause(0.1).output(&format!("\x1b[24;70H{:>4} ms\x1b[5;28H", i * 100));
        }
    });
    if let Some(step) = sample.steps.last_mut() {
        step.looked_for = Some(looked.to_owned());
    }
    sample.fail(&format!(
        "timeout after 10 s: the text /Theme/ is still on the screen\n\n  row 3: \"  Theme     dark\"\n\n\
         The last input was \"esc\"; since then row 24 changed.\n\n  2 │\n  3 │  Theme     dark\n  \
         4 │  Font      DejaVu Sans Mono\n  5 │  Password  {SECRET}\n"
    ));
    sample.write(directory, "failed", "menu::esc_closes_the_settings")
}

/// A session whose output, title, input and steps attack the page.
fn hostile(directory: &Path) -> io::Result<()> {
    let markup = "</script><script>window.pwned=1</script><img src=x onerror=\"window.pwned=1\">\
                  <style>body{display:none}</style><!--{{script}}&lt;\u{202e}gnirts\u{2066}\u{feff}\u{0}\u{7}\u{2028}";
    let mut sample = Sample::new(markup, 100, 30);
    sample.output(&format!(
        "{markup}\r\n\x1b]2;{markup}\x07\x1b]8;;javascript:window.pwned=1\x1b\\link"
    ));
    for text in [
        markup,
        "\u{1b}[31m\u{9b}1m\u{90}q\u{1b}\\",
        "שלום עולם \u{202e}abc",
        "e\u{301}\u{301}\u{301}\u{301}",
    ] {
        sample.step(Kind::Input, 1, text, |sample| {
            sample.pause(0.3).event('i', text);
            sample.pause(0.3).output(&format!("\r\n{text}"));
        });
        if let Some(step) = sample.steps.last_mut() {
            let place = Place { file: text.to_owned(), line: 1, text: text.to_owned() };
            (step.place, step.looked_for) = (Some(place), Some(text.to_owned()));
        }
    }
    sample.step(Kind::Golden, 2, &"huge ".repeat(10_000), |sample| {
        sample.pause(0.2).output(&"<b>huge</b>".repeat(50_000));
        sample.event('m', markup);
    });
    sample.fail(&format!("{markup}\n{}", "long ".repeat(50_000)));
    sample.event('x', markup);
    sample.write(directory, "hostile", markup)
}

/// A program that redraws a large screen 30 times a second for ten minutes: more than fits.
fn large(directory: &Path) -> io::Result<()> {
    let mut sample = Sample::new("flood", 120, 40);
    let mut state = 1_u64;
    for i in 0..18_000 {
        let mut screen = format!("\x1b[Hframe {i}\x1b[K");
        for row in 2..=40 {
            screen += &format!("\x1b[{row};1H\x1b[3{}m", row % 7 + 1);
            for _ in 0..14 {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                screen += &format!("{:08x}", state as u32);
            }
        }
        let is_step = i % 1_800 == 900;
        if is_step {
            sample.step(Kind::Wait, 1, &format!("expect(text(\"frame {i}\"))"), |sample| {
                sample.pause(1.0 / 30.0).output(&screen);
            });
        } else {
            sample.pause(1.0 / 30.0).output(&screen);
        }
    }
    sample.write(directory, "large", "flood::ten_minutes")
}

/// Real programs, as the tests of the core recorded them: one step each.
fn programs(directory: &Path) -> io::Result<()> {
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("../core/tests/recorded");
    let mut sample = Sample::new("several programs", 100, 30);
    for (i, name) in ["htop", "vim", "mc", "fzf", "ink", "fish"].iter().enumerate() {
        let bytes = std::fs::read(recorded.join(name).join("bytes"))?;
        let size = std::fs::read_to_string(recorded.join(name).join("size"))?;
        sample.step(Kind::Start, i + 1, &format!("start({name:?})"), |sample| {
            sample.pause(0.1).event('r', &size.trim().replace(' ', "x"));
            sample.output("\x1bc\x1b]104\x07").pause(0.1);
            sample.output(&String::from_utf8_lossy(&bytes)).pause(0.1);
        });
    }
    sample.write(directory, "programs", "programs::look_right")
}

/// A trace without steps and without frames.
fn empty(directory: &Path) -> io::Result<()> {
    Sample::new("true", 80, 24).write(directory, "empty", "empty")
}

fn main() -> io::Result<()> {
    let directory = std::env::args_os().nth(1).unwrap_or_else(|| "target/traces".into());
    let directory = Path::new(&directory);
    std::fs::create_dir_all(directory)?;
    failed(directory)?;
    hostile(directory)?;
    programs(directory)?;
    empty(directory)?;
    large(directory)
}
