//! A recording for somebody: as it is, as text, or as a page that plays it.

use std::io::{self, BufRead, Write};
use std::path::Path;

use awaitty_core::{Line, ROWS_MAX, Screen};

use super::cast::{CastReader, Version};
use super::html;
use crate::text::visible;

/// What a recording is saved as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// As it was recorded.
    Asciicast(Version),
    /// The lines that were printed, and the last screen.
    Text,
    /// A page that plays it, with nothing else needed.
    Html,
}

/// A recording that was written.
#[derive(Clone, Copy, Debug)]
pub struct Exported {
    /// Bytes of the file.
    pub bytes: u64,
    /// Events that it has.
    pub events: usize,
    /// How long it plays.
    pub seconds: f64,
}

impl Format {
    /// The format of a name, or of the ending of a path.
    ///
    /// # Errors
    /// If there is none of that name, or of that version.
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
            Some(other) => return Err(format!("version: {other} is neither 2 nor 3")),
        };
        match (name.unwrap_or(by_ending), version) {
            ("asciicast", version) => Ok(Format::Asciicast(version.unwrap_or_default())),
            ("txt", None) => Ok(Format::Text),
            ("html", None) => Ok(Format::Html),
            ("txt" | "html", Some(_)) => {
                Err("version: it is a version of asciicast: leave it out".to_owned())
            }
            (other, _) => {
                Err(format!("format: {other:?} is none of \"asciicast\", \"txt\" and \"html\""))
            }
        }
    }

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Format::Asciicast(_) => "asciicast",
            Format::Text => "txt",
            Format::Html => "html",
        }
    }
}

/// Lines above the screen that are kept until they are written as text: more than [`LINES_HELD`] and what [`PIECE`] can
/// scroll away.
const LINES_KEPT: usize = 10_000;

/// Lines above the screen that are not written yet, because a screen that grows shows them again.
const LINES_HELD: usize = ROWS_MAX;

/// Bytes of output that are fed before the lines that scrolled away are written. The shortest sequence that scrolls by a
/// screen of the largest size has five bytes.
const PIECE: usize = 64;

/// Writes a recording in the format that is asked for. Memory does not depend on its size.
///
/// # Errors
/// If it is no recording, cannot be read or written, or is too long for the format.
pub fn export(
    recorded: impl BufRead,
    format: Format,
    target: &mut dyn Write,
) -> io::Result<Exported> {
    let mut cast = CastReader::new(recorded)?;
    let mut target = Counted { target, bytes: 0 };
    match format {
        Format::Asciicast(Version::Three) => {
            target.write_all(cast.line().as_bytes())?;
            while cast.next()?.is_some() {
                target.write_all(cast.line().as_bytes())?;
            }
        }
        Format::Asciicast(Version::Two) => {
            target.write_all(cast.head.version_2().as_bytes())?;
            while let Some(event) = cast.next()? {
                target.write_all(event.version_2().unwrap_or_default().as_bytes())?;
            }
        }
        Format::Text => write_text(&mut cast, &mut target)?,
        Format::Html => html::write_page(&mut cast, &mut target)?,
    }
    Ok(Exported { bytes: target.bytes, events: cast.events, seconds: cast.seconds() })
}

/// Counts the bytes that are written.
struct Counted<'t> {
    target: &'t mut dyn Write,
    bytes: u64,
}

impl Write for Counted<'_> {
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
    let mut screen = Screen::new(cast.head.cols, cast.head.rows, LINES_KEPT);
    let mut written = Line(0);
    while let Some(event) = cast.next()? {
        if event.kind == 'o' {
            for piece in event.data.as_bytes().chunks(PIECE) {
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

/// Writes the lines that scrolled away since the last time, but for the newest `held`.
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
    fn version_3_is_as_it_was_recorded_without_what_was_cut() {
        let saved = exported(Format::Asciicast(Version::Three));
        assert_eq!(Some(saved.as_str()), RECORDED.strip_suffix("[0.5, \"o\", \"cut he"));
    }

    #[test]
    fn version_2_counts_from_the_beginning() {
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
    fn text_has_all_lines_of_a_recording_that_scrolls_faster_than_lines_are_kept() {
        let mut recorded = RECORDED.lines().next().unwrap().to_owned() + "\n";
        let printed: String = (0..3 * LINES_KEPT).map(|i| format!("{i}\r\n")).collect();
        recorded += &format!("[0.0, \"o\", {}]\n", serde_json::json!(printed));
        let mut saved = Vec::new();
        export(recorded.as_bytes(), Format::Text, &mut saved).unwrap();
        let wanted: String = (0..3 * LINES_KEPT).map(|i| format!("{i}\n")).collect();
        assert!(saved == wanted.as_bytes());
    }

    #[test]
    fn what_is_no_recording_is_an_error() {
        for text in ["", "x", "{}", "[0.5, \"o\", \"x\"]\n"] {
            let failed = export(text.as_bytes(), Format::Text, &mut io::sink()).unwrap_err();
            assert!(failed.to_string().contains("no recording"), "{text:?}: {failed}");
        }
    }

    #[test]
    fn a_page_has_no_markup_of_the_program() {
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
        assert!(by(Some("gif"), None, None).unwrap_err().contains("\"gif\""));
        assert!(by(Some("txt"), Some(2), None).unwrap_err().contains("version"));
        assert!(by(None, Some(1), None).unwrap_err().contains("neither"));
    }
}
