//! `screenshot`.

use std::path::Path;
use std::sync::Arc;

use awaitty_core::{Cursor, Frame};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::screen_output::header;
use super::spec::{CommandSpec, Effect, ToolSpec, Waits};
use super::{Context, ImageContent, Tool};
use crate::render::{self, Colors, Font, Options, Picture, SCALES, Theme};
use awaitty_terminal::ToolError;
use awaitty_terminal::terminal::Driver;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// Id or name.
    session_id: Option<String>,
    /// "png" or "svg".
    format: Option<String>,
    /// Default 1.
    scale: Option<f32>,
    /// "dark" or "light".
    theme: Option<String>,
    /// Default true.
    show_cursor: Option<bool>,
    /// A new file, instead of an image in the result.
    path: Option<String>,
    /// A .ttf or .otf file to draw with.
    font: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Output {
    session_id: String,
    seq: u64,
    format: &'static str,
    width: usize,
    height: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Png,
    Svg,
}

impl Format {
    fn name(self) -> &'static str {
        match self {
            Format::Png => "png",
            Format::Svg => "svg",
        }
    }

    fn mime(self) -> &'static str {
        match self {
            Format::Png => "image/png",
            Format::Svg => "image/svg+xml",
        }
    }
}

pub(super) const SPEC: ToolSpec = ToolSpec {
    waits: Waits::Never,
    // A result with an image has no structured content, and clients reject it if a schema was listed.
    returns_image: true,
    command: CommandSpec {
        alias: None,
        positions: &["session_id"],
        switches: &[("force", "Overwrite an existing file")],
        after_help: None,
    },
    ..ToolSpec::new(
        "screenshot",
        "Takes a picture of the screen; snapshot gives its text.",
        Effect::Acts,
    )
};

pub(super) fn tool() -> Tool {
    super::tool(&SPEC, run)
}

/// The checked parameters.
struct PictureRequest {
    format: Format,
    scale: f32,
    theme: Theme,
    font: Font,
}

impl PictureRequest {
    fn new(params: &Params) -> Result<PictureRequest, ToolError> {
        let ending = params.path.as_deref().map(Path::new).and_then(Path::extension);
        let format = match (params.format.as_deref(), ending.and_then(|ending| ending.to_str())) {
            (Some("png"), _) => Format::Png,
            (Some("svg"), _) | (None, Some("svg")) => Format::Svg,
            (None, _) => Format::Png,
            (Some(other), _) => {
                return Err(ToolError::argument(format!(
                    "format: {other:?} is invalid: use \"png\" or \"svg\""
                )));
            }
        };
        let theme = match params.theme.as_deref().unwrap_or("dark") {
            "dark" => Theme::Dark,
            "light" => Theme::Light,
            other => {
                return Err(ToolError::argument(format!(
                    "theme: {other:?} is invalid: use \"dark\" or \"light\""
                )));
            }
        };
        let scale = params.scale.unwrap_or(1.0);
        if !SCALES.contains(&scale) {
            let (least, most) = (SCALES.start(), SCALES.end());
            return Err(ToolError::argument(format!(
                "scale: {scale} is not between {least} and {most}"
            )));
        }
        let font = match &params.font {
            Some(path) => Font::from_file(Path::new(path)).map_err(ToolError::argument)?,
            None => Font::default(),
        };
        Ok(PictureRequest { format, scale, theme, font })
    }

    fn draw(
        self,
        frame: &Frame,
        cursor: Option<Cursor>,
        colors: Colors,
    ) -> Result<Picture, String> {
        let options = Options { scale: self.scale, cursor, colors, font: self.font };
        match self.format {
            Format::Png => render::png(frame, &options),
            Format::Svg => render::svg(frame, &options),
        }
    }
}

async fn run(
    context: Context,
    params: Params,
) -> Result<(Output, String, Option<ImageContent>), ToolError> {
    let request = PictureRequest::new(&params)?;
    let (format, theme) = (request.format, request.theme);
    let entry = context.find(params.session_id.as_deref()).await?;
    let look = move |driver: &mut Driver| {
        let session = driver.session();
        let colors = Colors::new(theme, session.screen());
        (Arc::clone(session.frame()), session.screen().cursor(), colors)
    };
    let (frame, cursor, colors) = entry.handle.call(look).await.ok_or_else(ToolError::gone)?;
    let cursor = params.show_cursor.unwrap_or(true).then_some(cursor);
    let head = header(&entry, &frame, format.name());
    let seq = frame.seq().0;
    let path = params.path.clone();
    // Drawing takes milliseconds, and the first time it may read the system's fonts.
    let drawn = tokio::task::spawn_blocking(move || {
        let picture = request.draw(&frame, cursor, colors).map_err(ToolError::argument)?;
        let written = path
            .map(|path| context.sessions.directories().write(&path, &picture.bytes))
            .transpose()?;
        Ok::<_, ToolError>((picture, written))
    });
    let (picture, written) =
        drawn.await.map_err(|error| ToolError::new("internal", error.to_string()))??;
    let path = written.map(|path| path.display().to_string());
    let place = path.as_ref().map(|path| format!(" in {path}")).unwrap_or_default();
    let text = format!("{head} {}x{} pixels{place}", picture.width, picture.height);
    let Picture { width, height, bytes } = picture;
    let image = path.is_none().then(|| ImageContent { mime: format.mime(), bytes });
    let session_id = entry.id.clone();
    let output = Output { session_id, seq, format: format.name(), width, height, path };
    Ok((output, text, image))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn scales_have_limits() {
        for (scale, is_fit) in [(0.5, true), (0.49, false), (8.0, true), (8.01, false)] {
            let params: Params = serde_json::from_value(json!({ "scale": scale })).unwrap();
            assert_eq!(PictureRequest::new(&params).is_ok(), is_fit, "{scale}");
        }
    }
}
