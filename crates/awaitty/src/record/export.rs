//! Exports a recording as asciicast, text or HTML.

use std::io::{self, BufRead, Write};
use std::path::Path;

use awaitty_core::{Line, ROWS_MAX, Screen};

use super::html;
use crate::text::visible;
use awaitty_test::cast::{CastReader, Version};

/// Export format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Asciicast.
    Asciicast(Version),
    /// The lines of output and the last screen.
    Text,
    /// A self-contained page with a player.
    Html,
}

/// Statistics of an export.
#[derive(Clone, Copy, Debug)]
pub struct Exported {
    /// Bytes written.
    pub bytes: u64,
    /// Number of events.
    pub events: usize,
    /// Duration.
    pub seconds: f64,
}

impl Format {
    /// Returns the format by name, or by the extension of the path.
    ///
    /// # Errors
    /// If the name or the version is unknown.
    pub fn choose(
        name: Option<&str>,
        version: Option<u8>,
        path: Option<&Path>,
    ) -> Result<Format, String> {
        let ending = path.and_then(Path::extension).and_then(|ending| ending.to_str());
        let by_ending = match ending {
            Some("txt") => "txt",
            Some("html" | "htm") => "html",
            _ => "asciicast",
        };
        let version = match version {
            None => None,
            Some(2) => Some(Version::Two),
            Some(3) => Some(Version::Three),
            Some(other) => {
                return Err(format!("version: {other} is neither 2 nor 3: give one of them"));
            }
        };
        match (name.unwrap_or(by_ending), version) {
            ("asciicast", version) => Ok(Format::Asciicast(version.unwrap_or_default())),
            ("txt", None) => Ok(Format::Text),
            ("html", None) => Ok(Format::Html),
            ("txt" | "html", Some(_)) => {
                Err("version: it applies to asciicast only: omit it".to_owned())
            }
            (other, _) => Err(format!(
                "format: {other:?} is not one of \"asciicast\", \"txt\", \"html\" and \"trace\""
            )),
        }
    }

    /// Returns the name.
    pub fn name(self) -> &'static str {
        match self {
            Format::Asciicast(_) => "asciicast",
            Format::Text => "txt",
            Format::Html => "html",
        }
    }
}

/// Returns whether a name, or else the end of a path, stands for the trace of a session.
pub(crate) fn is_trace(name: Option<&str>, path: Option<&Path>) -> bool {
    let has_ending =
        || path.and_then(Path::to_str).is_some_and(|path| path.ends_with(".trace.html"));
    name.map_or_else(has_ending, |name| name == "trace")
}

/// Scrollback lines kept until they are written as text: more than [`LINES_HELD`] plus the lines that [`FEED_BYTES`]
/// bytes can scroll.
const LINES_KEPT: usize = 10_000;

/// Scrollback lines that are not written yet, because they return to the screen if it grows.
const LINES_HELD: usize = ROWS_MAX;

/// Bytes of output fed between two writes of scrollback lines. The shortest sequence that scrolls a screen of maximum
/// size has five bytes.
const FEED_BYTES: usize = 64;

/// Writes a recording in a format, with constant memory.
///
/// # Errors
/// If the file is not a recording, cannot be read or written, or is too long for the format.
pub fn export(
    recorded: impl BufRead,
    format: Format,
    target: &mut dyn Write,
) -> io::Result<Exported> {
    let mut cast = CastReader::new(recorded)?;
    let mut target = CountingWriter { target, bytes: 0 };
    match format {
        Format::Asciicast(Version::Three) => {
            target.write_all(cast.line().as_bytes())?;
            while cast.next_event()?.is_some() {
                target.write_all(cast.line().as_bytes())?;
            }
        }
        Format::Asciicast(Version::Two) => {
            target.write_all(cast.header.version_2().as_bytes())?;
            while let Some(event) = cast.next_event()? {
                target.write_all(event.version_2().unwrap_or_default().as_bytes())?;
            }
        }
        Format::Text => write_text(&mut cast, &mut target)?,
        Format::Html => html::write_page(&mut cast, &mut target)?,
    }
    Ok(Exported { bytes: target.bytes, events: cast.events, seconds: cast.seconds() })
}

/// Counts written bytes.
struct CountingWriter<'t> {
    target: &'t mut dyn Write,
    bytes: u64,
}

impl Write for CountingWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.target.write(bytes)?;
        self.bytes += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.target.flush()
    }
}

fn write_text(cast: &mut CastReader<impl BufRead>, target: &mut impl Write) -> io::Result<()> {
    let mut screen = Screen::new(cast.header.cols, cast.header.rows, LINES_KEPT);
    let mut written = Line(0);
    while let Some(event) = cast.next_event()? {
        if event.kind == 'o' {
            for piece in event.data.as_bytes().chunks(FEED_BYTES) {
                screen.feed(piece);
                write_lines_above(&screen, LINES_HELD, &mut written, target)?;
            }
        } else if let Some((cols, rows)) = event.size() {
            screen.resize(cols, rows);
        }
    }
    write_lines_above(&screen, 0, &mut written, target)?;
    screen.text().lines().try_for_each(|line| writeln!(target, "{}", visible(line)))
}

/// Writes the scrollback lines that have not been written yet, except the newest `held`.
fn write_lines_above(
    screen: &Screen,
    held: usize,
    written: &mut Line,
    target: &mut impl Write,
) -> io::Result<()> {
    let above = screen.scrollback();
    let from = above.position(Line(written.0 + 1));
    let to = above.len().saturating_sub(held);
    for (line, text) in (from..to).filter_map(|i| above.text(i)) {
        writeln!(target, "{}", visible(text))?;
        *written = line;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORDED: &str = concat!(
        "{\"version\":3,\"term\":{\"cols\":20,\"rows\":2},\"timestamp\":7,\"command\":\"sh\"}\n",
        "[0.5, \"o\", \"one\\r\\ntwo\\r\\n\\u001b[31m<b>three\"]\n",
        "[0.25, \"r\", \"30x3\"]\n",
        "[0.25, \"m\", \"make\"]\n",
        "[0, \"x\", \"0\"]\n",
        "[0.5, \"o\", \"cut he",
    );

    fn exported(format: Format) -> String {
        let mut saved = Vec::new();
        let exported = export(RECORDED.as_bytes(), format, &mut saved).unwrap();
        assert_eq!((exported.bytes, exported.events), (saved.len() as u64, 4));
        String::from_utf8(saved).unwrap()
    }

    #[test]
    fn version_3_is_unchanged_except_for_an_incomplete_line() {
        let saved = exported(Format::Asciicast(Version::Three));
        assert_eq!(Some(saved.as_str()), RECORDED.strip_suffix("[0.5, \"o\", \"cut he"));
    }

    #[test]
    fn version_2_has_times_relative_to_the_start() {
        let saved = exported(Format::Asciicast(Version::Two));
        let lines: Vec<&str> = saved.lines().collect();
        assert!(lines[0].contains("\"version\":2") && lines[0].contains("\"width\":20"), "{saved}");
        assert_eq!(lines[2..], ["[0.750000, \"r\", \"30x3\"]", "[1.000000, \"m\", \"make\"]"]);
    }

    #[test]
    fn text_has_all_lines() {
        assert_eq!(exported(Format::Text), "one\ntwo\n<b>three\n");
    }

    #[test]
    fn text_has_all_lines_of_fast_scrolling_output() {
        let mut recorded = RECORDED.lines().next().unwrap().to_owned() + "\n";
        let printed: String = (0..3 * LINES_KEPT).map(|i| format!("{i}\r\n")).collect();
        recorded += &format!("[0.0, \"o\", {}]\n", serde_json::json!(printed));
        let mut saved = Vec::new();
        export(recorded.as_bytes(), Format::Text, &mut saved).unwrap();
        let wanted: String = (0..3 * LINES_KEPT).map(|i| format!("{i}\n")).collect();
        assert!(saved == wanted.as_bytes());
    }

    #[test]
    fn a_file_that_is_not_a_recording_is_an_error() {
        for text in ["", "x", "{}", "[0.5, \"o\", \"x\"]\n"] {
            let failed = export(text.as_bytes(), Format::Text, &mut io::sink()).unwrap_err();
            assert!(failed.to_string().contains("not a recording"), "{text:?}: {failed}");
        }
    }

    #[test]
    fn a_page_contains_no_markup_from_output() {
        let page = exported(Format::Html);
        assert!(!page.contains("<b>") && page.contains("three"), "{page}");
        assert!(!page.contains("://"), "it needs nothing else: {page}");
    }

    #[test]
    fn formats_are_chosen_by_name_or_by_ending() {
        let by =
            |name, version, path: Option<&str>| Format::choose(name, version, path.map(Path::new));
        assert_eq!(by(None, None, Some("a.txt")), Ok(Format::Text));
        assert_eq!(by(None, None, Some("a.html")), Ok(Format::Html));
        assert_eq!(by(None, None, Some("a.cast")), Ok(Format::Asciicast(Version::Three)));
        assert_eq!(by(Some("asciicast"), Some(2), None), Ok(Format::Asciicast(Version::Two)));
        let is_trace = |name, path: &str| is_trace(name, Some(Path::new(path)));
        assert!(is_trace(None, "a.trace.html") && is_trace(Some("trace"), "a.html"));
        assert!(!is_trace(None, "a.html") && !is_trace(Some("html"), "a.trace.html"));
        assert!(by(Some("gif"), None, None).unwrap_err().contains("\"gif\""));
        assert!(by(Some("txt"), Some(2), None).unwrap_err().contains("version"));
        assert!(by(None, Some(1), None).unwrap_err().contains("neither"));
    }
}
