//! A recording for somebody: as it is, as text, or as a page that plays it.

use std::path::Path;

use awaitty_core::Screen;

use super::cast::{Cast, Version};
use super::html;
use crate::policy;

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

/// A recording as it is saved.
#[derive(Clone, Debug)]
pub struct Export {
    /// The file.
    pub bytes: Vec<u8>,
    /// How many things happened.
    pub events: usize,
    /// How long it took.
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

/// Makes of a recording what is asked for.
///
/// # Errors
/// If it is no recording, or too long for the format.
pub fn export(recorded: &str, format: Format) -> Result<Export, String> {
    let cast = Cast::parse(recorded).ok_or("the file is no recording any more")?;
    let bytes = match format {
        // A last line that was cut is not for others.
        Format::Asciicast(Version::Three) => {
            recorded.split_inclusive('\n').take(cast.events.len() + 1).collect()
        }
        Format::Asciicast(Version::Two) => cast.version_2(),
        Format::Text => text(&cast),
        Format::Html => html::page(&cast)?,
    };
    Ok(Export { bytes: bytes.into_bytes(), events: cast.events.len(), seconds: cast.seconds() })
}

fn text(cast: &Cast) -> String {
    let mut screen = Screen::new(cast.cols, cast.rows, policy::SCROLLBACK_MAX);
    for event in &cast.events {
        if event.kind == 'o' {
            screen.feed(event.data.as_bytes());
        } else if let Some((cols, rows)) = Cast::size(event) {
            screen.resize(cols, rows);
        }
    }
    let above = screen.scrollback();
    let lines = (0..above.len()).filter_map(|i| above.text(i)).map(|(_, line)| line);
    let mut text: String = lines.map(|line| crate::text::visible(line) + "\n").collect();
    let shown = screen.text();
    let shown = shown.lines().map(|line| crate::text::visible(line) + "\n");
    text.extend(shown);
    text
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
        String::from_utf8(export(RECORDED, format).unwrap().bytes).unwrap()
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
