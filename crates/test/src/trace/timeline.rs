//! What the page lists with its time: steps, input, other markers and the exit.

use std::time::Duration;

use awaitty_terminal::text::visible;
use serde_json::{Value, json};

use super::mask::Mask;
use super::{Kind, Step, Trace, Verdict, micros};
use crate::cast::CastHeader;

/// The maximum number of steps that a page lists: more than a person reads. The last ones are kept, because a test
/// ends at its failed step.
const STEPS_MAX: usize = 5_000;

/// The maximum number of inputs and other markers: a key that is held for ten minutes.
const MARKS_MAX: usize = 20_000;

/// The maximum number of characters of a text, such as the report of a failure with a large screen.
const TEXT_CHARS: usize = 50_000;

/// The maximum number of characters of a name and of an input.
const NAME_CHARS: usize = 500;

/// The sizes to which the lists are cut.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    steps: usize,
    marks: usize,
    text: usize,
    name: usize,
}

/// The moment of a marker of a step.
#[derive(Clone, Copy, Debug)]
struct Edge {
    at: Duration,
    /// The number of the frame; `None` if it was left out.
    frame: Option<usize>,
}

/// Steps, input, other markers and the exit, with their times.
#[derive(Debug)]
pub(super) struct Timeline<'t> {
    pub(super) trace: &'t Trace,
    mask: &'t Mask,
    header: CastHeader,
    /// Start and end of each step.
    edges: Vec<[Option<Edge>; 2]>,
    /// Time and masked text. The newest input may be extended, to mask values that are typed key by key.
    inputs: Vec<(Duration, String)>,
    marks: Vec<(Duration, String)>,
    exit: Option<String>,
    /// The time of the last event.
    pub(super) duration: Duration,
}

impl<'t> Timeline<'t> {
    pub(super) fn new(trace: &'t Trace, header: &CastHeader, mask: &'t Mask) -> Timeline<'t> {
        Timeline {
            trace,
            mask,
            header: header.clone(),
            edges: vec![[None; 2]; trace.steps.len()],
            inputs: Vec::new(),
            marks: Vec::new(),
            exit: None,
            duration: Duration::ZERO,
        }
    }

    pub(super) fn end_at(&mut self, at: Duration) {
        self.duration = self.duration.max(at);
    }

    pub(super) fn input(&mut self, at: Duration, text: &str) {
        self.end_at(at);
        if self.inputs.len() < MARKS_MAX {
            self.inputs.push((at, text.to_owned()));
        }
    }

    pub(super) fn exit(&mut self, at: Duration, status: String) {
        self.end_at(at);
        self.exit = Some(status);
    }

    /// Notes a marker. `frame` returns the frame at a marker of a step that has failed or not.
    pub(super) fn marker(
        &mut self,
        at: Duration,
        label: &str,
        frame: impl FnOnce(bool) -> Option<usize>,
    ) {
        self.end_at(at);
        let Some((number, edge)) = step_of(label).filter(|(n, _)| *n < self.edges.len()) else {
            if self.marks.len() < MARKS_MAX {
                self.marks.push((at, label.to_owned()));
            }
            return;
        };
        let has_failed = matches!(self.trace.steps[number].verdict, Verdict::Failed(_));
        self.edges[number][edge] = Some(Edge { at, frame: frame(has_failed) });
    }

    /// Ends steps without an end at the last frame, and masks the values in the input, also those of several inputs.
    pub(super) fn finish(&mut self, last_frame: Option<usize>) {
        let last = Edge { at: self.duration, frame: last_frame };
        for [start, end] in &mut self.edges {
            *end = end.or(start.map(|_| last));
        }
        let text: String = self.inputs.iter().map(|(_, text)| text.as_str()).collect();
        let found = self.mask.find_in_output(&text);
        let mut start = 0;
        for (_, input) in &mut self.inputs {
            let range = start..start + input.len();
            start = range.end;
            let first = found.partition_point(|value| value.end <= range.start);
            if found.get(first).is_some_and(|value| value.start < range.end) {
                *input = super::mask::MASK.to_owned();
            }
        }
    }

    /// Returns the number of the failed step, if a step failed.
    pub(super) fn failed(&self) -> Option<usize> {
        self.trace.steps.iter().position(|step| matches!(step.verdict, Verdict::Failed(_)))
    }

    /// Returns a text that is safe to show, with secrets masked.
    pub(super) fn text(&self, text: &str, chars_max: usize) -> String {
        let text = visible(&self.mask.text(text).replace('\t', "  "));
        match text.char_indices().nth(chars_max) {
            Some((at, _)) => {
                let left_out = text[at..].chars().count();
                format!("{}… ({left_out} more characters are left out)", &text[..at])
            }
            None => text,
        }
    }

    /// Returns the title of the page.
    pub(super) fn title(&self) -> String {
        self.text(&self.trace.title, NAME_CHARS)
    }

    /// Returns the data as JSON in at most `limit` bytes, shortened as far as necessary.
    pub(super) fn data(&self, notes: &mut Vec<String>, limit: usize) -> Value {
        let mut sizes = Sizes {
            steps: self.trace.steps.len().min(STEPS_MAX),
            marks: MARKS_MAX,
            text: TEXT_CHARS,
            name: NAME_CHARS,
        };
        loop {
            let data = self.data_of(sizes);
            let is_smallest = sizes.steps <= 1 && sizes.text <= 1;
            if data.to_string().len() <= limit || is_smallest {
                let missing = self.trace.steps.len().saturating_sub(sizes.steps);
                if missing > 0 {
                    notes.push(format!("The first {missing} steps are left out."));
                }
                if sizes.text < TEXT_CHARS {
                    notes.push("Long texts and lists of input are cut.".to_owned());
                }
                return data;
            }
            sizes = Sizes {
                steps: if sizes.text < NAME_CHARS { sizes.steps.div_ceil(2) } else { sizes.steps },
                marks: sizes.marks / 2,
                text: sizes.text.div_ceil(2),
                name: sizes.name.min(sizes.text).max(1),
            };
        }
    }

    fn data_of(&self, sizes: Sizes) -> Value {
        let first = self.trace.steps.len().saturating_sub(sizes.steps);
        let steps: Vec<Value> = (first..self.trace.steps.len())
            .map(|i| self.step(&self.trace.steps[i], &self.edges[i], i, sizes))
            .collect();
        let list = |all: &[(Duration, String)]| -> Vec<Value> {
            let listed = all.iter().take(sizes.marks);
            listed.map(|(at, text)| json!([micros(*at), self.text(text, sizes.name)])).collect()
        };
        json!({
            "title": self.text(&self.trace.title, sizes.name),
            "command": self.text(&self.header.command, sizes.name),
            "size": [self.header.cols, self.header.rows],
            "started": self.header.timestamp,
            "duration": micros(self.duration),
            "exit": self.exit.as_ref().map(|exit| self.text(exit, sizes.name)),
            "failed": self.failed().map(|failed| failed.saturating_sub(first)),
            "steps": steps,
            "inputs": list(&self.inputs),
            "marks": list(&self.marks),
        })
    }

    fn step(&self, step: &Step, edges: &[Option<Edge>; 2], number: usize, sizes: Sizes) -> Value {
        let kind = match step.kind {
            Kind::Start => "start",
            Kind::Input => "input",
            Kind::Wait => "wait",
            Kind::Command => "command",
            Kind::Golden => "golden",
        };
        let (passed, why) = match &step.verdict {
            Verdict::Passed(why) => (true, why),
            Verdict::Failed(report) => (false, report),
        };
        let [start, end] = edges;
        json!({
            "number": number,
            "kind": kind,
            "name": self.text(&step.name, sizes.name),
            "file": step.place.as_ref().map(|place| self.text(&place.file, sizes.name)),
            "line": step.place.as_ref().map(|place| place.line),
            "source": step.place.as_ref().map(|place| self.text(&place.text, sizes.name)),
            "looked": step.looked_for.as_ref().map(|text| self.text(text, sizes.name)),
            "passed": passed,
            "why": self.text(why, sizes.text),
            "start": start.map(|edge| micros(edge.at)),
            "end": end.map(|edge| micros(edge.at)),
            "before": start.and_then(|edge| edge.frame),
            "after": end.and_then(|edge| edge.frame),
        })
    }
}

/// Returns the number of the step of a marker, and 0 for its start or 1 for its end.
fn step_of(label: &str) -> Option<(usize, usize)> {
    let (number, edge) = label.strip_prefix("step ")?.split_once(' ')?;
    let edge = ["start", "end"].iter().position(|name| *name == edge)?;
    Some((number.parse().ok()?, edge))
}
