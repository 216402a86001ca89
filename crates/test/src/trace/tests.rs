//! Tests of pages: they are unpacked and read like the script of the page reads them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tempfile::NamedTempFile;

use super::*;

/// A recording under construction.
struct Cast(String);

impl Cast {
    fn new(cols: usize, rows: usize) -> Cast {
        let term = json!({"cols": cols, "rows": rows});
        let header = json!({"version": 3, "term": term, "command": "menu --fast", "timestamp": 1});
        Cast(header.to_string())
    }

    fn event(mut self, after: f64, kind: char, data: &str) -> Cast {
        self.0 += &format!("\n{}", json!([after, kind, data]));
        self
    }

    fn output(self, after: f64, text: &str) -> Cast {
        self.event(after, 'o', text)
    }

    /// Adds a step that takes a second, with input at its start and output in it.
    fn step(self, number: usize, input: &str, output: &str) -> Cast {
        self.event(0.1, 'm', &format!("step {number} start"))
            .event(0.1, 'i', input)
            .event(0.8, 'o', output)
            .event(0.1, 'm', &format!("step {number} end"))
    }

    fn file(&self) -> NamedTempFile {
        let file = NamedTempFile::new().unwrap();
        std::fs::write(file.path(), &self.0).unwrap();
        file
    }
}

fn step(name: &str, verdict: Verdict) -> Step {
    let place = Place { file: "tests/menu.rs".into(), line: 3, text: format!("{name}?;") };
    Step {
        kind: Kind::Wait,
        name: name.to_owned(),
        place: Some(place),
        looked_for: Some("text /Two/ since the last input".to_owned()),
        verdict,
    }
}

fn passed(name: &str) -> Step {
    step(name, Verdict::Passed("met after 12 ms".to_owned()))
}

/// A page, unpacked.
struct Page {
    text: String,
    data: Value,
    /// All strings in packed data, joined by line feeds.
    strings: String,
    blocks: Vec<Value>,
    /// The events of the raw blocks.
    raw: Vec<Value>,
}

fn element<'p>(page: &'p str, start: &str) -> Option<&'p str> {
    let from = page.find(start)? + start.len();
    Some(&page[from..from + page[from..].find("</script>")?])
}

fn packed(page: &str, name: &str) -> Vec<Value> {
    let blocks = (0..).map_while(|i| {
        let packed = element(page, &format!("<script type=\"text/plain\" id=\"{name}{i}\">"))?;
        let bytes = STANDARD.decode(packed).unwrap();
        let bytes = miniz_oxide::inflate::decompress_to_vec(&bytes).unwrap();
        Some(serde_json::from_slice(&bytes).unwrap())
    });
    blocks.collect()
}

fn push_strings(value: &Value, strings: &mut String) {
    match value {
        Value::String(text) => *strings += &format!("{text}\n"),
        Value::Array(all) => all.iter().for_each(|value| push_strings(value, strings)),
        Value::Object(all) => all.values().for_each(|value| push_strings(value, strings)),
        _ => {}
    }
}

impl Page {
    fn new(text: String) -> Page {
        let data = element(&text, "<script type=\"application/json\" id=\"data\">").unwrap();
        let data: Value = serde_json::from_str(data).unwrap();
        let blocks = packed(&text, "frames");
        let raw: Vec<Value> = packed(&text, "raw")
            .into_iter()
            .flat_map(|block| block.as_array().cloned().unwrap())
            .collect();
        let mut strings = String::new();
        for value in blocks.iter().chain(&raw).chain([&data]) {
            push_strings(value, &mut strings);
        }
        Page { text, data, strings, blocks, raw }
    }

    /// Returns the text of the rows of each frame.
    fn screens(&self) -> Vec<Vec<String>> {
        let mut screens = Vec::new();
        for block in &self.blocks {
            let mut rows: Vec<String> = Vec::new();
            for frame in block["frames"].as_array().unwrap() {
                if let Some(size) = frame[4]["size"].as_array() {
                    rows.resize(size[1].as_u64().unwrap() as usize, String::new());
                }
                for change in frame[3].as_array().unwrap().chunks(2) {
                    let [row, number] = [0, 1].map(|i| change[i].as_u64().unwrap() as usize);
                    let runs = block["rows"][number].as_array().unwrap();
                    rows[row] = runs.chunks(3).map(|run| run[0].as_str().unwrap()).collect();
                }
                screens.push(rows.clone());
            }
        }
        screens
    }

    fn notes(&self) -> String {
        self.data["notes"].to_string()
    }

    fn raw_text(&self, kind: &str) -> String {
        let of_kind = self.raw.iter().filter(|event| event[1] == kind);
        of_kind.map(|event| event[2].as_str().unwrap()).collect()
    }
}

fn page_of(cast: &Cast, steps: Vec<Step>, secrets: &[&str], limit: usize) -> Page {
    let file = cast.file();
    let trace = Trace {
        title: "menu::opens".to_owned(),
        steps,
        recording: file.path().to_owned(),
        secrets: secrets.iter().map(|&secret| secret.to_owned()).collect(),
    };
    let page = page_within(&trace, limit).unwrap();
    assert!(page.len() <= limit, "{} > {limit}", page.len());
    Page::new(page)
}

#[test]
fn steps_have_the_screens_at_their_start_and_end() {
    let cast = Cast::new(20, 3)
        .output(0.0, "> One\r\n  Two")
        .step(0, "\x1b[B", "\x1b[H  One\r\n> Two")
        .event(0.1, 'm', "note")
        .step(1, "q", "\x1b[2J\x1b]2;bye\x07")
        .event(0.1, 'x', "0");
    let failed = step("expect(text(\"Three\"))", Verdict::Failed("no row\nmatches".to_owned()));
    let page = page_of(&cast, vec![passed("press(\"down\")"), failed], &[], PAGE_MAX);
    let (screens, data) = (page.screens(), &page.data);
    let shown = |value: &Value| screens[value.as_u64().unwrap() as usize].join("/");
    let steps = &data["steps"];
    assert_eq!(shown(&steps[0]["before"]), "> One/  Two/");
    assert_eq!(shown(&steps[0]["after"]), "  One/> Two/");
    assert_eq!(shown(&steps[1]["before"]), "  One/> Two/");
    assert_eq!(shown(&steps[1]["after"]), "//");
    assert_eq!(steps[0]["start"], 100_000);
    assert_eq!(steps[0]["end"], 1_100_000);
    assert_eq!(data["failed"], 1);
    assert_eq!(data["exit"], "0");
    assert_eq!(data["marks"], json!([[1_200_000, "note"]]));
    assert_eq!(data["inputs"], json!([[200_000, "<U+001B>[B"], [1_400_000, "q"]]));
    assert_eq!(page.notes(), "[]");
    assert_eq!(steps[1]["why"], "no row\nmatches");
    assert_eq!(data["times"].as_array().unwrap().len(), screens.len());
    assert!(page.raw_text("o").contains("\x1b]2;bye\x07"));
    assert!(page.text.contains("<pre>no row\nmatches</pre>"), "for browsers without scripts");
    // The test process ended within the step.
    let cut = Cast::new(5, 2).event(0.0, 'm', "step 0 start").output(1.0, "x");
    let page = page_of(&cut, vec![passed("cut")], &[], PAGE_MAX);
    assert_eq!(page.data["steps"][0]["end"], 1_000_000);
    assert_eq!(page.data["steps"][0]["after"], 1);
    let without = Cast::new(5, 2).output(0.0, "x");
    let page = page_of(&without, vec![passed("never")], &[], PAGE_MAX);
    assert_eq!(page.data["steps"][0]["before"], Value::Null);
    assert_eq!(page.data["failed"], Value::Null);
}

#[test]
fn hostile_texts_do_not_leave_their_elements() {
    let evil =
        "</script><script>alert(1)</script><!--<script>\u{202e}\u{0}\u{1b}]0;x\u{2028}{{script}}";
    let cast = Cast::new(200, 3)
        .output(0.0, &format!("{evil}\x1b]2;{evil}\x07"))
        .step(0, evil, evil)
        .event(0.0, 'm', evil)
        .event(0.0, 'x', evil);
    let mut steps = vec![step(evil, Verdict::Failed(evil.to_owned()))];
    steps[0].place = Some(Place { file: evil.into(), line: 1, text: evil.into() });
    let file = cast.file();
    let trace = Trace {
        title: evil.to_owned(),
        steps,
        recording: file.path().to_owned(),
        secrets: Vec::new(),
    };
    let page = Page::new(page_within(&trace, PAGE_MAX).unwrap());
    assert!(!page.text.contains("alert(1)</script>"));
    assert!(!page.text.contains(['\u{202e}', '\u{0}', '\u{1b}', '\u{2028}']));
    // The data, one block of frames, one of raw bytes, and ours.
    assert_eq!(page.text.matches("<script").count(), 4);
    assert_eq!(page.text.matches("</script>").count(), 4);
    assert_eq!(page.text.matches("<!--").count(), 0);
    assert!(page.text.contains("&lt;script&gt;"));
    assert!(page.data["title"].as_str().unwrap().contains("<U+202E><U+0000>"));
    assert!(!page.screens().concat().concat().contains(['\u{202e}', '\u{2028}']));
}

#[test]
fn the_policy_allows_only_the_script_and_the_style_of_the_page() {
    let page = page_of(&Cast::new(5, 2), vec![passed("x")], &[], PAGE_MAX).text;
    let policy = page.split("Content-Security-Policy\" content=\"").nth(1).unwrap();
    let policy = policy.split('"').next().unwrap();
    assert!(policy.starts_with("default-src 'none'; "));
    assert!(!policy.contains("unsafe"));
    for attribute in ["src=", "http:", "https:", "url(", "@import", "fetch(", "innerHTML", "eval("]
    {
        assert!(!page.contains(attribute), "{attribute}");
    }
}

const SECRET: &str = "hunter2-\"x\"-S3cr3t";

/// Asserts that no text of a page has the value, as it is, divided, or encoded.
fn assert_masked(page: &Page, part: &str) {
    let squeezed = |text: &str| -> String { text.chars().filter(|c| !c.is_whitespace()).collect() };
    let mut plain = String::new();
    let mut end = 0;
    let output = page.raw_text("o") + &page.raw_text("i");
    for sequence in mask::sequences(&output) {
        plain += &output[end..sequence.start];
        end = sequence.end;
    }
    plain += &output[end..];
    let mut texts = vec![page.text.clone(), page.strings.clone(), output, plain];
    texts.extend(page.screens().iter().map(|rows| rows.concat()));
    let forms = [
        part.to_owned(),
        part.escape_debug().to_string(),
        part.replace('"', "&quot;"),
        STANDARD.encode(part).trim_end_matches('=').to_owned(),
        STANDARD.encode(format!("x{part}"))[2..].trim_end_matches('=').to_owned(),
        part.bytes().map(|byte| format!("{byte:02x}")).collect(),
    ];
    for (text, form) in texts.iter().flat_map(|text| forms.iter().map(move |form| (text, form))) {
        assert!(!squeezed(text).contains(&squeezed(form)), "{form:?} is in {text:.3000}");
    }
}

#[test]
fn secrets_are_masked_in_all_texts() {
    let cast = Cast::new(60, 3)
        .output(0.0, &format!("pw {SECRET} \x1b]2;{SECRET}\x07"))
        .step(0, SECRET, &format!("\x1b]8;;http://{SECRET}\x1b\\link\x1b]8;;\x1b\\"))
        .event(0.1, 'm', SECRET)
        .event(0.1, 'x', SECRET);
    let text = format!("a {SECRET} b {SECRET:?} c\n│{}│\n│{}│", &SECRET[..7], &SECRET[7..]);
    let mut failed = step(&text, Verdict::Failed(text.clone()));
    failed.looked_for = Some(text.clone());
    failed.place = Some(Place { file: text.clone(), line: 1, text: text.clone() });
    let file = cast.file();
    let trace = Trace {
        title: text,
        steps: vec![failed],
        recording: file.path().to_owned(),
        secrets: vec![SECRET.to_owned(), String::new(), " ".to_owned()],
    };
    let page = Page::new(page_within(&trace, PAGE_MAX).unwrap());
    assert!(
        !format!("{:?}", Trace { steps: Vec::new(), title: String::new(), ..trace })
            .contains("S3cr3t")
    );
    assert_masked(&page, SECRET);
    assert!(page.strings.contains("a ••• b \"•••\" c"), "{}", page.strings);
    assert_eq!(page.screens().last().unwrap()[0], format!("pw •••{} link", " ".repeat(15)));
}

#[test]
fn secrets_are_masked_where_they_are_divided() {
    let half = SECRET.len() / 2;
    let (start, end) = SECRET.split_at(half);
    let typed = |cast: Cast, between: &str| {
        SECRET.chars().fold(cast, |cast, c| {
            cast.event(0.1, 'i', &c.to_string()).output(0.1, &format!("{c}{between}"))
        })
    };
    // Over events, over rows, with escape sequences, typed, with a clock that is drawn between the characters, and
    // drawn from right to left.
    let sequences: String = SECRET.chars().map(|c| format!("{c}\x1b[1m\x1b]2;t\x07")).collect();
    let backwards: String =
        (0..SECRET.len()).rev().map(|i| format!("\x1b[2;{}H{}", i + 5, &SECRET[i..=i])).collect();
    let casts = [
        Cast::new(60, 3).output(0.0, start).output(0.5, end),
        Cast::new(12, 4).output(0.0, &format!("pw: {SECRET} x")),
        Cast::new(40, 4).output(0.0, &format!("│{start}│\r\n│{end}│")),
        Cast::new(60, 4).output(0.0, &sequences),
        typed(Cast::new(60, 4).output(0.0, "pw: "), ""),
        typed(Cast::new(60, 4).output(0.0, "pw: "), "\x1b7\x1b[3;1H12:34\x1b8"),
        Cast::new(60, 4).output(0.0, &backwards),
    ];
    for (i, cast) in casts.into_iter().enumerate() {
        let page = page_of(&cast, Vec::new(), &[SECRET], PAGE_MAX);
        assert_masked(&page, SECRET);
        // Not even most of it.
        for part in [&SECRET[..SECRET.len() - 1], &SECRET[..4]] {
            assert_masked(&page, part);
        }
        assert!(page.raw_text("o").contains(mask::MASK), "{i}: {:?}", page.raw_text("o"));
        assert!(page.screens().concat().concat().contains(mask::MASK), "{i}");
    }
}

#[test]
fn parts_of_a_secret_that_is_never_completely_visible_are_masked() {
    // A field of ten columns shows the end of what was typed; a screen shows some lines of a long value.
    let mut field = Cast::new(40, 3);
    for end in 1..=SECRET.len() {
        let shown = &SECRET[end.saturating_sub(10)..end];
        field = field.output(0.1, &format!("\x1b[2;5H{shown}\x1b[K"));
    }
    let page = page_of(&field, Vec::new(), &[SECRET], PAGE_MAX);
    for start in 0..SECRET.len() - 8 {
        assert_masked(&page, &SECRET[start..start + 8]);
    }
    let key: Vec<String> = (0..20).map(|i| noise(i + 1, 60)).collect();
    let lines = Cast::new(80, 5).output(0.0, &key[3..15].join("\r\n"));
    let page = page_of(&lines, Vec::new(), &[&key.join("\n")], PAGE_MAX);
    for line in &key[3..15] {
        assert_masked(&page, line);
        assert_masked(&page, &line[20..40]);
    }
}

/// Returns text that does not compress.
fn noise(seed: u64, length: usize) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let next = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(b'!' + (state % 90) as u8)
    };
    (0..length).map(next).collect()
}

/// Returns a recording of a screen that is redrawn at each frame, with a step at each tenth of the first 100.
fn redrawn(frames: usize) -> Cast {
    let mut cast = Cast::new(80, 10);
    for i in 0..frames {
        cast = cast.output(0.02, &format!("\x1b[H{}", noise(i as u64 + 1, 799)));
        if i % 10 == 9 && i < 100 {
            let label = |edge: &str| format!("step {} {edge}", i / 10);
            cast = cast.event(0.0, 'm', &label("start")).event(0.0, 'm', &label("end"));
        }
    }
    cast
}

#[test]
fn a_page_that_is_too_large_loses_raw_bytes_then_frames_between_steps_then_frames_of_steps() {
    let (cast, steps) = (redrawn(200), (0..10).map(|i| passed(&format!("step {i}"))));
    let mut steps: Vec<Step> = steps.collect();
    steps[9].verdict = Verdict::Failed("wrong".to_owned());
    let with = |limit: usize| page_of(&cast, steps.clone(), &[], limit);
    let full = with(PAGE_MAX);
    let size = full.text.len();
    assert_eq!((full.notes(), full.screens().len()), ("[]".to_owned(), 201));
    // At the edge nothing is left out, and one byte below it the raw bytes are.
    assert_eq!(with(size).notes(), "[]");
    let without_raw = with(size - 1);
    assert!(without_raw.notes().contains("raw bytes are left out"), "{}", without_raw.notes());
    assert_eq!(without_raw.data["raw"], Value::Null);
    assert_eq!((without_raw.screens().len(), without_raw.raw.len()), (201, 0));
    // The note has the number of bytes, so its length varies.
    let edge = without_raw.text.len();
    assert_eq!(with(edge).screens().len(), 201);
    let thinned = with(edge - 1);
    assert!(thinned.notes().contains("s apart, because the page would exceed"));
    assert!((100..201).contains(&thinned.screens().len()), "{}", thinned.screens().len());
    let all = full.screens();
    let shown = |page: &Page, i: usize| {
        let frame = page.data["steps"][i]["after"].as_u64();
        frame.map(|frame| page.screens()[frame as usize].clone())
    };
    for i in 0..10 {
        assert_eq!(shown(&thinned, i).as_ref(), Some(&all[i * 10 + 10]), "step {i}");
    }
    let mut kinds: Vec<String> = Vec::new();
    let base = size - full.bytes_of("frames") - full.bytes_of("raw");
    for room in [60_000].into_iter().chain((8_000..12_000).rev().step_by(500)).chain([4_000, 0]) {
        let page = with(base + room);
        kinds.push(page.data["notes"][1].as_str().unwrap().split(',').next().unwrap().to_owned());
        assert_eq!(shown(&page, 9).is_some(), room > 0, "{room}");
    }
    kinds.dedup();
    let expected = [
        "Between the starts and ends of steps",
        "Only the frames of the failed step and the last one are kept",
        "All frames are left out",
    ];
    assert_eq!(kinds, expected);
}

impl Page {
    fn bytes_of(&self, name: &str) -> usize {
        let start = |i: usize| format!("<script type=\"text/plain\" id=\"{name}{i}\">");
        (0..).map_while(|i| element(&self.text, &start(i))).map(str::len).sum()
    }
}

#[test]
fn long_texts_and_many_steps_are_cut() {
    let long = |i: usize| noise(i as u64 + 1, 60_000);
    let mut steps: Vec<Step> =
        (0..50).map(|i| step(&format!("{i} {}", long(i)), Verdict::Passed(long(i)))).collect();
    steps.push(step("last", Verdict::Failed(long(99))));
    let cast = Cast::new(5, 2).output(0.0, "x");
    let page = page_of(&cast, steps.clone(), &[], PAGE_MAX);
    assert_eq!(page.data["steps"].as_array().unwrap().len(), 51);
    let why = page.data["steps"][50]["why"].as_str().unwrap();
    assert!(why.ends_with("more characters are left out)"), "{why:.100}");
    assert!(page.notes().contains("Long texts"), "{}", page.notes());
    let page = page_of(&cast, steps, &[], 80_000);
    assert!(page.notes().contains("steps are left out"), "{}", page.notes());
    let data = &page.data["steps"];
    let last = data.as_array().unwrap().last().unwrap();
    assert_eq!(page.data["failed"], data.as_array().unwrap().len() - 1);
    assert_eq!((last["number"].as_u64(), last["passed"].as_bool()), (Some(50), Some(false)));
}

#[test]
fn a_recording_that_is_missing_is_named() {
    let trace = Trace {
        title: String::new(),
        steps: Vec::new(),
        recording: "/nonexistent/trace.cast".into(),
        secrets: Vec::new(),
    };
    let target = NamedTempFile::new().unwrap();
    let error = write(target.path(), &trace).unwrap_err().to_string();
    assert!(error.starts_with("/nonexistent/trace.cast: "), "{error}");
    let file = Cast::new(5, 2).file();
    let trace = Trace { recording: file.path().to_owned(), ..trace };
    let error = write(Path::new("/nonexistent/x.html"), &trace).unwrap_err().to_string();
    assert!(error.starts_with("/nonexistent/x.html: "), "{error}");
    write(target.path(), &trace).unwrap();
    assert!(std::fs::read_to_string(target.path()).unwrap().starts_with("<!doctype html>"));
}
