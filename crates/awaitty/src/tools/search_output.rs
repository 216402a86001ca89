//! `search_output`.

use awaitty_core::Screen;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::params::{pattern, within};
use super::{Answer, Context, Kind, Tool};
use crate::policy;
use crate::text;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// A regex for each line.
    pattern: String,
    /// Any of i, m, s, x, U.
    flags: Option<String>,
    /// Default: all.
    session_id: Option<String>,
    /// Default true.
    scrollback: Option<bool>,
    /// Lines before and after each match. Default 2.
    context: Option<usize>,
}

/// A line that matches.
#[derive(Debug, Serialize, JsonSchema)]
struct MatchLine {
    session_id: String,
    line: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    row: Option<usize>,
    text: String,
    /// The lines around it.
    before: Vec<String>,
    after: Vec<String>,
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
    /// There are more than are given.
    truncated: bool,
}

pub(super) fn tool() -> Tool {
    super::tool(
        "search_output",
        "Finds lines that match a regex in one session or in all.",
        Kind::Reads,
        run,
    )
}

/// The lines of a screen, with their rows if they are on it.
fn lines(screen: &Screen, scrollback: bool) -> Vec<(u64, Option<usize>, String)> {
    let kept = screen.scrollback();
    let first = if scrollback { 0 } else { kept.len() };
    let off = (first..kept.len()).filter_map(|i| kept.text(i));
    let off = off.map(|(line, text)| (line.0, None, text.to_owned()));
    let on = (0..screen.rows())
        .map(|row| (screen.line(row).0, Some(row + 1), screen.row(row).text().to_owned()));
    off.chain(on).collect()
}

async fn run(context: Context, params: Params) -> Answer<Output> {
    let pattern = pattern(&params.pattern, params.flags.as_deref())?;
    let around = within("context", params.context.unwrap_or(2), 0, 20)?;
    let scrollback = params.scrollback.unwrap_or(true);
    let entries = match &params.session_id {
        Some(id) => vec![context.sessions.find(Some(id)).await?],
        None => context.sessions.all(),
    };
    let mut output = Output { matches: Vec::new(), truncated: false };
    for entry in entries {
        let Some(lines) =
            entry.handle.call(move |driver| lines(driver.session().screen(), scrollback)).await
        else {
            continue;
        };
        for (i, (line, row, found)) in lines.iter().enumerate() {
            if !pattern.is_match(found) {
                continue;
            }
            let chars: usize = output.matches.iter().map(MatchLine::chars).sum();
            if output.matches.len() == policy::SEARCH_MATCHES_MAX
                || chars > policy::limits().result_chars
            {
                output.truncated = true;
                break;
            }
            let text_of = |range: std::ops::Range<usize>| {
                lines[range].iter().map(|(_, _, line)| text::line(line)).collect::<Vec<_>>()
            };
            output.matches.push(MatchLine {
                session_id: entry.id.clone(),
                line: *line,
                row: *row,
                text: text::line(found),
                before: text_of(i.saturating_sub(around)..i),
                after: text_of(i + 1..(i + 1 + around).min(lines.len())),
            });
        }
    }
    let mut shown = format!(
        "{} matches{}\n",
        output.matches.len(),
        if output.truncated { ", and more" } else { "" }
    );
    for found in &output.matches {
        shown += &format!("{}:{}\t{}\n", found.session_id, found.line, found.text);
    }
    Ok((output, text::cut(shown, policy::limits().result_chars, "make the pattern stricter")))
}
