//! `search_output`.

use std::collections::BTreeMap;
use std::fmt::Write;

use awaitty_core::{Pattern, Screen};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::lines::{TextLine, all_lines, first_line, matching};
use super::params::{max_chars, pattern, within};
use super::spec::{Callers, CommandSpec, Effect, ToolSpec, Waits};
use super::{Context, Tool, ToolResult};
use crate::policy;
use crate::text;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// Regex, matched against each line.
    pattern: String,
    /// Any of i, m, s, x, U.
    flags: Option<String>,
    /// Default: all.
    session_id: Option<String>,
    /// Default true.
    scrollback: Option<bool>,
    /// Lines before and after each match. Default 2.
    context: Option<usize>,
    /// Length of the text. Default 2000.
    max_chars: Option<usize>,
}

/// A line that matches.
#[derive(Debug, Serialize, JsonSchema)]
struct MatchLine {
    session_id: String,
    line: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    row: Option<usize>,
    text: String,
    /// The lines before it.
    before: Vec<String>,
    /// The lines after it.
    after: Vec<String>,
    /// The full text of a wrapped line that matches only as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    unwrapped: Option<String>,
}

impl MatchLine {
    fn chars(&self) -> usize {
        let around = self.before.iter().chain(&self.after);
        self.text.len() + around.map(String::len).sum::<usize>()
    }
}

#[derive(Debug, Serialize, JsonSchema)]
struct Output {
    matches: Vec<MatchLine>,
    /// Whether matches are left out.
    truncated: bool,
    /// The total number of matches.
    count: usize,
    /// The oldest line still kept, for each session whose first lines are gone.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    first_line: BTreeMap<String, u64>,
}

pub(super) const SPEC: ToolSpec = ToolSpec {
    waits: Waits::Never,
    callers: Callers::ReadersAndPrograms,
    command: CommandSpec {
        alias: Some("search"),
        positions: &["pattern"],
        switches: &[],
        after_help: None,
    },
    ..ToolSpec::new(
        "search_output",
        "Searches the output of one session, or of all, for a regex, scrollback included.",
        Effect::Reads,
    )
};

pub(super) fn tool() -> Tool {
    super::tool(&SPEC, run)
}

async fn run(context: Context, params: Params) -> ToolResult<Output> {
    let pattern = pattern(&params.pattern, params.flags.as_deref())?;
    let around = within("context", params.context.unwrap_or(2), 0, 20)?;
    let scrollback = params.scrollback.unwrap_or(true);
    let max = max_chars(Some(params.max_chars.unwrap_or(policy::SHOWN_CHARS)))?;
    let entries = match &params.session_id {
        Some(id) => vec![context.find(Some(id)).await?],
        None => context.all()?,
    };
    let mut output =
        Output { matches: Vec::new(), truncated: false, count: 0, first_line: BTreeMap::new() };
    for entry in entries {
        let read = move |screen: &Screen| (all_lines(screen, scrollback), first_line(screen));
        let lines = entry.handle.call(move |driver| read(driver.session().screen())).await;
        let Some((lines, first)) = lines else { continue };
        if first > 1 && scrollback {
            output.first_line.insert(entry.id.clone(), first);
        }
        output.add(&entry.id, &lines, &pattern, around);
    }
    let text = output.describe(max);
    Ok((output, text))
}

impl Output {
    /// Adds the matching lines of a session, as many as a result may have.
    fn add(&mut self, session_id: &str, lines: &[TextLine], pattern: &Pattern, around: usize) {
        for (i, unwrapped) in matching(lines, pattern) {
            self.count += 1;
            let chars: usize = self.matches.iter().map(MatchLine::chars).sum();
            if self.matches.len() == policy::SEARCH_MATCHES_MAX
                || chars > policy::limits().result_chars
            {
                self.truncated = true;
                continue;
            }
            let text_of = |range: std::ops::Range<usize>| {
                lines[range].iter().map(|line| text::line(&line.text)).collect::<Vec<_>>()
            };
            self.matches.push(MatchLine {
                session_id: session_id.to_owned(),
                line: lines[i].line,
                row: lines[i].row,
                text: text::line(&lines[i].text),
                before: text_of(i.saturating_sub(around)..i),
                after: text_of(i + 1..(i + 1 + around).min(lines.len())),
                unwrapped: unwrapped.map(|whole| text::line(&whole)),
            });
        }
    }

    /// Returns the matches with the lines around them as text: `N:` before a match, `N-` before other lines.
    fn describe(&self, max: usize) -> String {
        let mut text = format!("{} matches\n", self.count);
        for (session, first) in &self.first_line {
            let _ = writeln!(text, "{session}: lines before {first} are no longer kept");
        }
        let mut last_shown: Option<(&str, u64)> = None;
        let mut shown = 0;
        for found in &self.matches {
            let block = found.block(last_shown);
            if text.chars().count() + block.chars().count() > max && shown > 0 {
                break;
            }
            text += &block;
            shown += 1;
            last_shown = Some((&found.session_id, found.line + found.after.len() as u64));
        }
        if shown < self.count {
            let next = self.matches.get(shown).map_or_else(String::new, |next| {
                format!(", or read_output from_line {}", next.line)
            });
            let more = self.count - shown;
            let _ = writeln!(text, "… {more} more: a stricter pattern, max_chars{next} shows them");
        }
        text::cut(text, policy::limits().result_chars, "make the pattern stricter")
    }
}

impl MatchLine {
    /// Returns the line and those around it, without lines up to `last_shown`.
    fn block(&self, last_shown: Option<(&str, u64)>) -> String {
        let first = self.line - (self.before.len() as u64).min(self.line);
        let until = last_shown.filter(|(id, _)| *id == self.session_id).map_or(0, |(_, line)| line);
        let mut block = String::new();
        if last_shown.is_some() && (until == 0 || until + 1 < first) {
            block.push_str("--\n");
        }
        if until == 0 {
            let _ = writeln!(block, "[{}]", self.session_id);
        }
        for (line, text) in (first..).zip(&self.before).filter(|(line, _)| *line > until) {
            let _ = writeln!(block, "{line}-{text}");
        }
        let text = self.unwrapped.as_ref().unwrap_or(&self.text);
        let _ = writeln!(block, "{}:{text}", self.line);
        for (line, text) in (self.line + 1..).zip(&self.after) {
            let _ = writeln!(block, "{line}-{text}");
        }
        block
    }
}
