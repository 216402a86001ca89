//! Assembles the page: one file without references to others.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::frames::{Frames, Keep};
use super::raw::RawBlock;
use super::timeline::Timeline;
use super::{Verdict, micros};

const TEMPLATE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/page.css");
const SCRIPT: &str = include_str!("page/page.js");

/// The part of the page that texts may fill. The rest is for frames and output.
const TEXT_PART: usize = 4;

/// Returns the page. Its texts fill at most a part of `limit`; its frames and its output have their size.
pub(super) fn page(
    timeline: &Timeline<'_>,
    frames: &Frames<'_>,
    raw: Option<&[RawBlock]>,
    keep: Keep,
    limit: usize,
) -> String {
    let mut notes = notes(raw.is_some(), keep, limit);
    let mut data = timeline.data(&mut notes, limit / TEXT_PART);
    add_index(&mut data, frames, raw);
    data["notes"] = json!(notes);
    let mut page = String::new();
    for (i, piece) in TEMPLATE.split("{{").enumerate() {
        let Some((name, rest)) = piece.split_once("}}").filter(|_| i > 0) else {
            page += piece;
            continue;
        };
        match name {
            "policy" => page += &policy(),
            "title" => page += &escaped(&timeline.title()),
            "style" => page += STYLE,
            "script" => page += SCRIPT,
            "plain" => page += &plain(timeline),
            "data" => page += &for_script_element(&data),
            "blocks" => push_blocks(&mut page, frames, raw.unwrap_or_default()),
            other => unreachable!("the template has no {other}"),
        }
        page += rest;
    }
    page
}

/// Returns the notes about what is left out.
fn notes(has_raw: bool, keep: Keep, limit: usize) -> Vec<String> {
    let limit = match limit % 1_000_000 {
        0 => format!("{} MB", limit / 1_000_000),
        _ => format!("{limit} bytes"),
    };
    let mut notes = Vec::new();
    if !has_raw {
        notes.push(format!("The raw bytes are left out, because the page would exceed {limit}."));
    }
    let kept = match keep {
        Keep::All => return notes,
        Keep::Interval(interval) => {
            let seconds = interval.as_secs_f64();
            format!(
                "Between the starts and ends of steps, frames are at least {seconds:.2} s apart"
            )
        }
        Keep::Failed => "Only the frames of the failed step and the last one are kept".to_owned(),
        Keep::Nothing => "All frames are left out".to_owned(),
    };
    notes.push(format!("{kept}, because the page would exceed {limit}."));
    notes
}

/// Adds the times of frames and the places of blocks.
fn add_index(data: &mut Value, frames: &Frames<'_>, raw: Option<&[RawBlock]>) {
    let mut last = 0;
    let times = frames.times.iter().map(|time| {
        let after = micros(*time) - last;
        last += after;
        after
    });
    data["times"] = times.collect();
    data["blocks"] = frames.blocks.iter().map(|block| block.first).collect();
    let range = |block: &RawBlock| json!([micros(block.times.0), micros(block.times.1)]);
    data["raw"] = raw.map_or(Value::Null, |blocks| blocks.iter().map(range).collect());
}

/// Adds the packed blocks as elements that the browser does not run.
fn push_blocks(page: &mut String, frames: &Frames<'_>, raw: &[RawBlock]) {
    let frames = frames.blocks.iter().map(|block| ("frames", &block.packed));
    let all = frames.enumerate().chain(raw.iter().map(|block| ("raw", &block.packed)).enumerate());
    for (i, (name, packed)) in all {
        let _ = writeln!(page, "<script type=\"text/plain\" id=\"{name}{i}\">{packed}</script>");
    }
}

/// Returns the content security policy: nothing is loaded, and only our script runs.
fn policy() -> String {
    let hash = |text: &str| STANDARD.encode(Sha256::digest(text.as_bytes()));
    format!(
        "default-src 'none'; img-src data:; script-src 'sha256-{}'; style-src 'sha256-{}'; base-uri 'none'; \
         form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
        hash(SCRIPT),
        hash(STYLE)
    )
}

/// Returns the result as HTML, for browsers without scripts.
fn plain(timeline: &Timeline<'_>) -> String {
    let failed = timeline.failed().map(|failed| &timeline.trace.steps[failed]);
    let Some(step) = failed else { return "<p>All steps passed.</p>".to_owned() };
    let report = match &step.verdict {
        Verdict::Failed(report) | Verdict::Passed(report) => report,
    };
    let [name, report] =
        [&step.name, report].map(|text| escaped(&timeline.text(text, PLAIN_CHARS)));
    format!("<p>Failed: <code>{name}</code></p><pre>{report}</pre>")
}

/// The maximum number of characters of a text for browsers without scripts.
const PLAIN_CHARS: usize = 5_000;

/// Returns JSON that cannot close the element that contains it.
fn for_script_element(data: &Value) -> String {
    data.to_string().replace('<', "\\u003c")
}

/// Escapes text for HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
