//! `read_output`.

use awaitty_core::{Pattern, Screen};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::lines::{TextLine, all_lines, first_line, matching};
use super::params::{pattern, within};
use super::spec::{Callers, CommandSpec, Effect, ToolSpec, Waits};
use super::{Context, Tool, ToolResult};
use crate::policy;
use crate::text;
use awaitty_terminal::ToolError;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// Id or name.
    session_id: Option<String>,
    /// Default: the last `limit` lines.
    from_line: Option<u64>,
    /// Default 500.
    limit: Option<usize>,
    /// Only lines that match.
    pattern: Option<String>,
    /// Any of i, m, s, x, U.
    flags: Option<String>,
    /// Return the newest bytes, escaped.
    #[serde(default)]
    raw: bool,
}

/// A line.
#[derive(Debug, Serialize, JsonSchema)]
struct LineOutput {
    line: u64,
    text: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Output {
    session_id: String,
    lines: Vec<LineOutput>,
    /// The `from_line` of the next call.
    next_line: u64,
    /// The oldest line still kept.
    first_line: u64,
    /// The number of lines from from_line on that are no longer kept.
    lines_missed: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    raw: Option<String>,
    seq: u64,
}

pub(super) const SPEC: ToolSpec = ToolSpec {
    waits: Waits::Never,
    callers: Callers::ReadersAndPrograms,
    command: CommandSpec {
        alias: Some("read"),
        positions: &["session_id"],
        switches: &[],
        after_help: None,
    },
    ..ToolSpec::new(
        "read_output",
        "Reads lines of output by absolute line number, including lines that scrolled off the screen.",
        Effect::Reads,
    )
};

pub(super) fn tool() -> Tool {
    super::tool(&SPEC, run)
}

/// Returns all lines up to the last one that is not blank.
fn lines(screen: &Screen) -> Vec<TextLine> {
    let mut all = all_lines(screen, true);
    let end = all.iter().rposition(|line| !line.text.is_empty()).map_or(0, |last| last + 1);
    all.truncate(end);
    all
}

fn read(screen: &Screen, params: &Params, limit: usize, pattern: Option<&Pattern>) -> Output {
    let all = lines(screen);
    let first_line = first_line(screen);
    let from = params.from_line.unwrap_or_else(|| {
        let first = all.len().checked_sub(limit).and_then(|first| all.get(first));
        first.map_or(first_line, |line| line.line)
    });
    let matches = match pattern {
        Some(pattern) => matching(&all, pattern),
        None => (0..all.len()).map(|i| (i, None)).collect(),
    };
    let mut found = matches.into_iter().filter(|(i, _)| all[*i].line >= from);
    let given = found.by_ref().take(limit).map(|(i, whole)| LineOutput {
        line: all[i].line,
        text: text::visible(whole.as_ref().unwrap_or(&all[i].text)),
    });
    let lines: Vec<LineOutput> = given.collect();
    let end = all.last().map_or(first_line, |line| line.line + 1);
    let next_line = found.next().map_or(end.max(from), |(i, _)| all[i].line);
    Output {
        session_id: String::new(),
        lines,
        next_line,
        first_line,
        lines_missed: first_line.saturating_sub(from.max(1)),
        raw: None,
        seq: 0,
    }
}

async fn run(context: Context, params: Params) -> ToolResult<Output> {
    let limit =
        within("limit", params.limit.unwrap_or(policy::READ_LINES), 1, policy::READ_LINES_MAX)?;
    let pattern =
        params.pattern.as_deref().map(|text| pattern(text, params.flags.as_deref())).transpose()?;
    let entry = context.find(params.session_id.as_deref()).await?;
    let output = entry.handle.call(move |driver| {
        let mut output = read(driver.session().screen(), &params, limit, pattern.as_deref());
        output.seq = driver.session().frame().seq().0;
        output.raw = params.raw.then(|| driver.raw().escape_ascii().to_string());
        output
    });
    let mut output = output.await.ok_or_else(ToolError::gone)?;
    output.session_id.clone_from(&entry.id);
    bound_lines(&mut output);
    let mut text = format!(
        "[{}] next_line={} first_line={}\n",
        entry.label(),
        output.next_line,
        output.first_line
    );
    if output.first_line > 1 {
        text += &format!("lines before {} are no longer kept\n", output.first_line);
    }
    match &output.raw {
        Some(raw) => text += raw,
        None => {
            output.lines.iter().for_each(|line| text += &format!("{}\t{}\n", line.line, line.text))
        }
    }
    let how = "read fewer lines at a time with limit and from_line";
    let text = text::cut(text, policy::limits().result_chars, how);
    output.raw = output.raw.map(|raw| text::cut(raw, policy::limits().result_chars, how));
    Ok((output, text))
}

/// Removes the lines that would make the result too long, and sets `next_line` to the first of them.
fn bound_lines(output: &mut Output) {
    let mut chars = 0;
    let fits = |line: &LineOutput| {
        chars += line.text.chars().count() + 1;
        chars <= policy::limits().result_chars
    };
    let count = output.lines.iter().map(fits).take_while(|&fits| fits).count();
    if let Some(line) = output.lines.get(count.max(1)) {
        output.next_line = line.line;
        output.lines.truncate(count.max(1));
    }
}
