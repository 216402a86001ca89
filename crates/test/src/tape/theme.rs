//! Themes: a name, or JSON with colours in the format of VHS.

use serde_json::{Map, Value};

use super::parser::show;

/// A colour: red, green, blue.
pub type Rgb = (u8, u8, u8);

/// The value of `Set Theme`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Theme {
    /// The name of a theme. The renderer decides whether it knows it.
    Named(String),
    /// Colours.
    Colors(Box<ThemeColors>),
}

/// The colours of a theme. Those that are not set are the renderer's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThemeColors {
    /// The name.
    pub name: Option<String>,
    /// The colour of the background.
    pub background: Option<Rgb>,
    /// The colour of text.
    pub foreground: Option<Rgb>,
    /// The colour of the cursor.
    pub cursor: Option<Rgb>,
    /// The colour of text below the cursor.
    pub cursor_accent: Option<Rgb>,
    /// The background of a selection.
    pub selection: Option<Rgb>,
    /// The 16 colours of the palette: black, red, green, yellow, blue, magenta, cyan, white, then the bright ones.
    pub palette: [Option<Rgb>; 16],
}

/// The keys of the palette, in order.
const PALETTE: [&str; 16] = [
    "black",
    "red",
    "green",
    "yellow",
    "blue",
    "magenta",
    "cyan",
    "white",
    "brightBlack",
    "brightRed",
    "brightGreen",
    "brightYellow",
    "brightBlue",
    "brightMagenta",
    "brightCyan",
    "brightWhite",
];

/// Alternative keys, which Windows Terminal and older tapes use.
const ALIASES: [(&str, &str); 4] = [
    ("purple", "magenta"),
    ("brightPurple", "brightMagenta"),
    ("cursorColor", "cursor"),
    ("selectionBackground", "selection"),
];

/// The problems in the JSON of a theme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ThemeErrors {
    pub(super) errors: Vec<ThemeError>,
    /// The length of the object in bytes.
    pub(super) length: usize,
}

/// A problem in the JSON of a theme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ThemeError {
    pub(super) value: String,
    pub(super) message: String,
    /// The offset of the problem in bytes.
    pub(super) offset: usize,
}

impl ThemeColors {
    /// Parses the JSON object at the start of a text. Returns the colours and the length of the object. Unknown keys
    /// are ignored, as in VHS.
    pub(super) fn parse(text: &str) -> Result<(ThemeColors, usize), ThemeErrors> {
        let mut stream = serde_json::Deserializer::from_str(text).into_iter::<Map<String, Value>>();
        let object = match stream.next() {
            Some(Ok(object)) => object,
            Some(Err(error)) => {
                let error = json_error(text, &error);
                let length = broken_length(text, error.offset);
                return Err(ThemeErrors { errors: vec![error], length });
            }
            None => Map::new(),
        };
        let length = stream.byte_offset();
        let (mut theme, mut errors) = (ThemeColors::default(), Vec::new());
        for (key, value) in &object {
            let known = ALIASES.iter().find(|(alias, _)| alias == key).map(|(_, key)| *key);
            let known = known.unwrap_or(key);
            if known == "name" {
                theme.name = value.as_str().map(str::to_owned);
            } else if let Some(color) = theme.color_mut(known) {
                *color = value.as_str().and_then(parse_color);
                if color.is_none() {
                    errors.push(color_error(&text[..length], key, value));
                }
            }
        }
        if errors.is_empty() {
            return Ok((theme, length));
        }
        errors.sort_by_key(|error| error.offset);
        Err(ThemeErrors { errors, length })
    }

    fn color_mut(&mut self, key: &str) -> Option<&mut Option<Rgb>> {
        Some(match key {
            "background" => &mut self.background,
            "foreground" => &mut self.foreground,
            "cursor" => &mut self.cursor,
            "cursorAccent" => &mut self.cursor_accent,
            "selection" => &mut self.selection,
            _ => {
                let index = PALETTE.iter().position(|name| *name == key)?;
                &mut self.palette[index]
            }
        })
    }

    /// Returns the theme as JSON.
    pub fn to_json(&self) -> String {
        let mut object = Map::new();
        if let Some(name) = &self.name {
            object.insert("name".to_owned(), name.as_str().into());
        }
        let others = [
            ("background", self.background),
            ("foreground", self.foreground),
            ("cursor", self.cursor),
            ("cursorAccent", self.cursor_accent),
            ("selection", self.selection),
        ];
        for (key, color) in others.into_iter().chain(PALETTE.into_iter().zip(self.palette)) {
            if let Some((red, green, blue)) = color {
                let color = format!("#{red:02x}{green:02x}{blue:02x}");
                object.insert(key.to_owned(), color.into());
            }
        }
        Value::Object(object).to_string()
    }
}

/// Parses `#rgb`, `#rrggbb` or `#rrggbbaa`, whose opacity is ignored.
pub(super) fn parse_color(text: &str) -> Option<Rgb> {
    let digits = text.strip_prefix('#')?;
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let channel = |range| u8::from_str_radix(digits.get(range)?, 16).ok();
    match digits.len() {
        3 => Some((channel(0..1)? * 17, channel(1..2)? * 17, channel(2..3)? * 17)),
        6 | 8 => Some((channel(0..2)?, channel(2..4)?, channel(4..6)?)),
        _ => None,
    }
}

/// Returns the length of an object with a syntax error: up to its `}`, over lines that look like a part of it, so that
/// they are no further errors.
fn broken_length(text: &str, offset: usize) -> usize {
    let mut start = text[..offset].rfind('\n').map_or(0, |at| at + 1);
    for line in text[start..].split_inclusive('\n') {
        if !line.trim_start().starts_with(['"', '{', '}']) {
            return start.max(offset);
        }
        let from = offset.saturating_sub(start).min(line.len());
        if let Some(at) = line[from..].find('}') {
            return start + from + at + 1;
        }
        start += line.len();
    }
    text.len()
}

fn json_error(text: &str, error: &serde_json::Error) -> ThemeError {
    let before: usize =
        text.split_inclusive('\n').take(error.line().max(1) - 1).map(str::len).sum();
    // The column counts bytes, and may be inside a character.
    let mut offset = (before + error.column().saturating_sub(1)).min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    let problem = error.to_string();
    // The position of the error is the one in the tape.
    let problem = problem.split(" at line ").next().unwrap_or(&problem);
    let message = format!("the theme is not valid JSON: {problem}");
    ThemeError { value: String::new(), message, offset }
}

fn color_error(text: &str, key: &str, value: &Value) -> ThemeError {
    let quoted = format!("\"{key}\"");
    let is_key = |at: &usize| text[at + quoted.len()..].trim_start().starts_with(':');
    let offset = text.match_indices(&quoted).map(|(at, _)| at).find(is_key).unwrap_or(0);
    let message =
        format!("the colour {} of {key:?} in the theme is not known", show(&value.to_string()));
    ThemeError { value: value.to_string(), message, offset }
}
