//! `Set`: the settings of a tape.

use super::command::{Action, Setting, TapeError, WindowBar};
use super::parser::{Parsed, Parser, show};
use super::pattern::Regex;
use super::scan::is_quote;
use super::suggest;
use super::theme::{Theme, ThemeColors, parse_color};

/// Maximum width, height and distance in pixels: the longest side of a picture.
pub const PIXELS_MAX: u32 = 16_384;

/// Maximum frames in a second: the delays of a GIF are in hundredths of a second.
pub const FRAMERATE_MAX: u32 = 100;

/// Maximum of `LineHeight` and `PlaybackSpeed`. More of them is a slip.
pub const FACTOR_MAX: f64 = 100.0;

/// The names of all settings.
pub(super) const NAMES: [&str; 24] = [
    "Shell",
    "Width",
    "Height",
    "Columns",
    "Rows",
    "Env",
    "TypingSpeed",
    "WaitTimeout",
    "WaitPattern",
    "Theme",
    "FontFamily",
    "FontSize",
    "LetterSpacing",
    "LineHeight",
    "Framerate",
    "PlaybackSpeed",
    "LoopOffset",
    "Padding",
    "Margin",
    "MarginFill",
    "BorderRadius",
    "WindowBar",
    "WindowBarSize",
    "CursorBlink",
];

/// Styles of a window bar.
pub(super) const WINDOW_BARS: [(&str, WindowBar); 4] = [
    ("Colorful", WindowBar::Colorful),
    ("ColorfulRight", WindowBar::ColorfulRight),
    ("Rings", WindowBar::Rings),
    ("RingsRight", WindowBar::RingsRight),
];

impl Parser<'_> {
    /// Parses the rest of a `Set` command.
    pub(super) fn set(&mut self) -> Parsed<Action> {
        self.scan.skip_to_value();
        let start = self.scan.mark();
        let Some(name) = self.scan.word() else {
            return Err(self.missing("Set", "the name of a setting", "Set Shell \"bash\""));
        };
        if name == "Env" {
            return self.env("Set Env");
        }
        let command = format!("Set {name}");
        let setting = match name {
            "Shell" => Setting::Shell(self.shell()?),
            "TypingSpeed" => Setting::TypingSpeed(self.time(&command, "Set TypingSpeed 50ms")?),
            "WaitTimeout" => {
                Setting::WaitTimeout(self.positive_time(&command, "Set WaitTimeout 5s")?)
            }
            "WaitPattern" => Setting::WaitPattern(self.wait_pattern()?),
            "Columns" => Setting::Columns(self.columns(&command, "Set Columns 100")?),
            "Rows" => Setting::Rows(self.rows(&command, "Set Rows 30")?),
            "Theme" => Setting::Theme(self.theme()?),
            "FontFamily" => {
                Setting::FontFamily(self.text(&command, "a name", "Set FontFamily \"Monoflow\"")?)
            }
            "Framerate" => {
                Setting::Framerate(self.integer(&command, 1..=FRAMERATE_MAX, "Set Framerate 30")?)
            }
            "LetterSpacing" => Setting::LetterSpacing(self.decimal(
                &command,
                false,
                f64::from(PIXELS_MAX),
                "Set LetterSpacing 1",
            )?),
            "LineHeight" => Setting::LineHeight(self.factor(&command)?),
            "PlaybackSpeed" => Setting::PlaybackSpeed(self.factor(&command)?),
            "LoopOffset" => {
                let percent = self.decimal(&command, false, 100.0, "Set LoopOffset 50%")?;
                self.eat_value('%');
                Setting::LoopOffset(percent)
            }
            "MarginFill" => Setting::MarginFill(self.margin_fill()?),
            "WindowBar" => Setting::WindowBar(self.window_bar()?),
            "CursorBlink" => Setting::CursorBlink(self.boolean(&command)?),
            _ => match self.pixels(name)? {
                Some(setting) => setting,
                None => {
                    let message = format!("the setting {} is not known", show(name));
                    let error = self.error(start, name, message);
                    return Err(unknown_setting(error, name));
                }
            },
        };
        Ok(Action::Set(setting))
    }

    /// Parses a setting in pixels. Returns `None` if the name is not one.
    fn pixels(&mut self, name: &str) -> Parsed<Option<Setting>> {
        let (setting, min): (fn(u32) -> Setting, u32) = match name {
            "Width" => (Setting::Width, 1),
            "Height" => (Setting::Height, 1),
            "FontSize" => (Setting::FontSize, 1),
            "Padding" => (Setting::Padding, 0),
            "Margin" => (Setting::Margin, 0),
            "BorderRadius" => (Setting::BorderRadius, 0),
            "WindowBarSize" => (Setting::WindowBarSize, 0),
            _ => return Ok(None),
        };
        let (command, example) = (format!("Set {name}"), format!("Set {name} 20"));
        self.integer(&command, min..=PIXELS_MAX, &example).map(|pixels| Some(setting(pixels)))
    }

    fn factor(&mut self, command: &str) -> Parsed<f64> {
        self.decimal(command, true, FACTOR_MAX, &format!("{command} 1.5"))
    }

    fn shell(&mut self) -> Parsed<String> {
        self.scan.skip_to_value();
        let start = self.scan.mark();
        let shell = self.text("Set Shell", "a program", "Set Shell \"bash\"")?;
        if shell.trim().is_empty() {
            let error = self.error(start, &shell, "`Set Shell` needs a program");
            return Err(error.hint("write `Set Shell \"bash\"`"));
        }
        Ok(shell)
    }

    /// Parses the value of `WaitPattern`, which may be a text or a word, as in VHS.
    fn wait_pattern(&mut self) -> Parsed<Regex> {
        let (command, example) = ("Set WaitPattern", "Set WaitPattern /> $/");
        self.scan.skip_to_value();
        if self.scan.peek() == Some('/') || self.scan.is_line_end() {
            return self.any_pattern(command, example);
        }
        let mut inside = self.scan.clone();
        if self.scan.peek().is_some_and(is_quote) {
            inside.bump();
        }
        let text = self.text(command, "a pattern between slashes", example)?;
        self.regex(inside.mark(), self.scan.mark(), &text)
    }

    fn theme(&mut self) -> Parsed<Theme> {
        self.scan.skip_to_value();
        let start = self.scan.mark();
        if self.scan.peek() != Some('{') {
            let example = "Set Theme \"Catppuccin Mocha\"";
            return Ok(Theme::Named(self.text("Set Theme", "a name or JSON", example)?));
        }
        let text = self.scan.rest();
        match ThemeColors::parse(text) {
            Ok((colors, length)) => {
                self.scan.advance_to(start.at + length);
                Ok(Theme::Colors(Box::new(colors)))
            }
            Err(problems) => {
                let mut errors = problems.errors.into_iter().map(|problem| {
                    self.scan.reset(start);
                    self.scan.advance_to(start.at + problem.offset);
                    let error = self.error(self.scan.mark(), &problem.value, problem.message);
                    error.hint("write `Set Theme { \"background\": \"#29283b\" }`")
                });
                let first = errors.next().expect("a wrong theme has an error");
                let others: Vec<TapeError> = errors.collect();
                others.into_iter().for_each(|error| self.report(error));
                self.scan.reset(start);
                self.scan.advance_to(start.at + problems.length);
                Err(first)
            }
        }
    }

    fn margin_fill(&mut self) -> Parsed<String> {
        self.scan.skip_to_value();
        let start = self.scan.mark();
        let example = "Set MarginFill \"#674EFF\"";
        let fill = self.path("Set MarginFill", "a colour in quotes or a file", example)?;
        if fill.starts_with('#') && (fill.len() != 7 || parse_color(&fill).is_none()) {
            let message = format!("{} is not a colour", show(&fill));
            return Err(self.error(start, &fill, message).hint(format!("write `{example}`")));
        }
        Ok(fill)
    }

    fn window_bar(&mut self) -> Parsed<Option<WindowBar>> {
        self.scan.skip_to_value();
        let start = self.scan.mark();
        let name = self.text("Set WindowBar", "a style", "Set WindowBar Colorful")?;
        if name.is_empty() {
            return Ok(None);
        }
        if let Some((_, bar)) = WINDOW_BARS.iter().find(|(known, _)| *known == name) {
            return Ok(Some(*bar));
        }
        let message = format!("the window bar {} is not known", show(&name));
        let near = suggest::nearest(&name, WINDOW_BARS.iter().map(|(known, _)| *known));
        let all = || "use Colorful, ColorfulRight, Rings or RingsRight".to_owned();
        Err(self.error(start, &name, message).hint(near.unwrap_or_else(all)))
    }

    fn boolean(&mut self, command: &str) -> Parsed<bool> {
        self.scan.skip_to_value();
        let start = self.scan.mark();
        match self.scan.word() {
            Some("true") => Ok(true),
            Some("false") => Ok(false),
            _ => {
                self.scan.reset(start);
                Err(self.missing(command, "`true` or `false`", &format!("{command} false")))
            }
        }
    }
}

fn unknown_setting(error: TapeError, name: &str) -> TapeError {
    let close = suggest::nearest(name, NAMES.into_iter());
    let alias = match name.to_ascii_lowercase().as_str() {
        "cols" => Some("Columns"),
        "lines" => Some("Rows"),
        "timeout" => Some("WaitTimeout"),
        "speed" => Some("TypingSpeed"),
        "font" => Some("FontFamily"),
        "fps" => Some("Framerate"),
        _ => None,
    };
    match alias.map(|alias| format!("did you mean `{alias}`?")).or(close) {
        Some(suggestion) => error.hint(suggestion),
        None => error.hint(format!("the settings are {}", NAMES.join(", "))),
    }
}
