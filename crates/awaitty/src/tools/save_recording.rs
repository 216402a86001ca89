//! `save_recording`.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::spec::{CommandSpec, Effect, ToolSpec, Waits};
use super::{Context, Tool, ToolResult};
use crate::record::{self, Format, RecordingStatus, Version};
use awaitty_terminal::ToolError;
use awaitty_terminal::terminal::Driver;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// Id or name.
    session_id: Option<String>,
    /// A new file.
    path: Option<String>,
    /// "asciicast", "txt", "html" or "trace"; default by `path`.
    format: Option<String>,
    /// For asciicast: 3 (default) or 2.
    version: Option<u8>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Output {
    session_id: String,
    format: &'static str,
    /// The path of the saved file.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// The path of the recording itself.
    recording: String,
    bytes: u64,
    events: usize,
    duration_ms: u64,
    /// Whether nothing is missing.
    complete: bool,
    /// The reason why the recording ended early.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

pub(super) const SPEC: ToolSpec = ToolSpec {
    waits: Waits::Never,
    command: CommandSpec {
        alias: None,
        positions: &["session_id", "path"],
        switches: &[("force", "Overwrite an existing file")],
        after_help: None,
    },
    ..ToolSpec::new(
        "save_recording",
        "Saves the recording of a session that was spawned with `record`, or its trace.",
        Effect::Acts,
    )
};

pub(super) fn tool() -> Tool {
    super::tool(&SPEC, run)
}

async fn run(context: Context, params: Params) -> ToolResult<Output> {
    let given_path = params.path.as_deref().map(Path::new);
    if record::is_trace(params.format.as_deref(), given_path) {
        return save_trace(&context, params).await;
    }
    let format = Format::choose(params.format.as_deref(), params.version, given_path)
        .map_err(ToolError::argument)?;
    let entry = context.find(params.session_id.as_deref()).await?;
    let look = |driver: &mut Driver| driver.recorded();
    let Some(recorded) = entry.handle.call(look).await.ok_or_else(ToolError::gone)? else {
        let message = format!("{} is not recorded: spawn it with record: true", entry.label());
        return Err(ToolError::new("unsupported", message));
    };
    // An error means that the recording ended early, and the note has the reason.
    let _ = recorded.await;
    let status = entry.handle.call(|driver| driver.recording()).await.flatten();
    let RecordingStatus { path: recording, note, .. } = status.ok_or_else(ToolError::gone)?;
    let (source, path) = (recording.clone(), params.path);
    let saved = tokio::task::spawn_blocking(move || {
        let failed = |error: std::io::Error| {
            let note = note.as_deref().map(|note| format!(" ({note})")).unwrap_or_default();
            ToolError::new("exited", format!("{}: {error}{note}", source.display()))
        };
        let recorded = BufReader::new(File::open(&source).map_err(failed)?);
        let Some(path) = path else {
            let saved = record::export(recorded, format, &mut std::io::sink()).map_err(failed)?;
            return Ok((saved, None, note));
        };
        let (path, saved) = context.sessions.directories().write_with(&path, |file| {
            let mut file = BufWriter::new(file);
            let saved = record::export(recorded, format, &mut file)?;
            file.flush().map(|()| saved)
        })?;
        Ok::<_, ToolError>((saved, Some(path), note))
    });
    let (saved, path, note) =
        saved.await.map_err(|error| ToolError::new("internal", error.to_string()))??;
    let path = path.map(|path| path.display().to_string());
    let place = match &path {
        Some(path) => format!("saved in {path}"),
        None => format!("not saved: give a path. The recording is in {}", recording.display()),
    };
    let cut = note.as_ref().map(|note| format!("; it ended early: {note}")).unwrap_or_default();
    let text = format!(
        "[{}] {} events in {:.1} s as {}: {place}{cut}",
        entry.label(),
        saved.events,
        saved.seconds,
        format.name()
    );
    let output = Output {
        session_id: entry.id.clone(),
        format: format.name(),
        path,
        recording: recording.display().to_string(),
        bytes: saved.bytes,
        events: saved.events,
        duration_ms: (saved.seconds * 1000.0) as u64,
        complete: note.is_none(),
        note,
    };
    Ok((output, text))
}

/// Writes the trace up to now: to the path, or beside the recording.
async fn save_trace(context: &Context, params: Params) -> ToolResult<Output> {
    if params.version.is_some() {
        let why = "version: it applies to asciicast only: omit it";
        return Err(ToolError::argument(why));
    }
    let entry = context.find(params.session_id.as_deref()).await?;
    let Some(trace) = context.sessions.traces.get(&entry.id) else {
        let message = format!("{} has no trace: spawn it with trace: true", entry.label());
        return Err(ToolError::new("unsupported", message));
    };
    let path = match params.path {
        None => trace.write().await?,
        Some(path) => {
            let (page, sessions) = (trace.render().await?, Arc::clone(&context.sessions));
            let write = move || sessions.directories().write(&path, page.as_bytes());
            let written = tokio::task::spawn_blocking(write).await;
            written.map_err(|error| ToolError::new("internal", error.to_string()))??
        }
    };
    let status = entry.handle.call(|driver| driver.recording()).await.flatten();
    let RecordingStatus { path: recording, note, .. } = status.ok_or_else(ToolError::gone)?;
    let source = recording.clone();
    let counted = tokio::task::spawn_blocking(move || {
        let recorded = BufReader::new(File::open(source)?);
        record::export(recorded, Format::Asciicast(Version::Three), &mut std::io::sink())
    });
    let counted = counted.await.map_err(|error| ToolError::new("internal", error.to_string()))?;
    let failed = |error: std::io::Error| {
        ToolError::new("exited", format!("{}: {error}", recording.display()))
    };
    let counted = counted.map_err(failed)?;
    let bytes = path.metadata().map_err(failed)?.len();
    let cut = note.as_ref().map(|note| format!("; it ended early: {note}")).unwrap_or_default();
    let text = format!(
        "[{}] {} steps in {:.1} s as trace: saved in {}{cut}",
        entry.label(),
        trace.len(),
        counted.seconds,
        path.display()
    );
    let output = Output {
        session_id: entry.id.clone(),
        format: "trace",
        path: Some(path.display().to_string()),
        recording: recording.display().to_string(),
        bytes,
        events: counted.events,
        duration_ms: (counted.seconds * 1000.0) as u64,
        complete: note.is_none(),
        note,
    };
    Ok((output, text))
}
