//! The terminal of a tape: its shell, size and environment, from the settings of the tape.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use super::{Mode, RunOptions};
use crate::Builder;
use crate::tape::{Action, Regex, Setting, Tape};

/// The prompt of shells in tapes, as in VHS: `Wait` without a pattern waits for it.
const PROMPT: &str = "> ";

/// The shell of a tape without `Set Shell`, as in VHS.
const SHELL: &str = "bash";

/// The time after each character of a demo, as in VHS.
const TYPING_SPEED: Duration = Duration::from_millis(50);

/// The timeout of waits, as in VHS.
const WAIT_TIMEOUT: Duration = Duration::from_secs(15);

/// The pattern of `Wait` without a pattern, as in VHS.
const WAIT_PATTERN: &str = ">$";

/// The settings of a tape that change while it runs, or that its steps need.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) typing_speed: Duration,
    pub(super) wait_timeout: Duration,
    pub(super) wait_pattern: String,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            typing_speed: TYPING_SPEED,
            wait_timeout: WAIT_TIMEOUT,
            wait_pattern: WAIT_PATTERN.to_owned(),
        }
    }
}

impl Settings {
    /// Returns the settings of a tape before its first command.
    pub(super) fn of(tape: &Tape) -> Settings {
        let mut settings = Settings::default();
        for command in tape.flat() {
            match &command.action {
                Action::Set(Setting::WaitTimeout(timeout)) => settings.wait_timeout = *timeout,
                Action::Set(Setting::WaitPattern(pattern)) => {
                    settings.wait_pattern = Regex::as_str(pattern).to_owned();
                }
                _ => {}
            }
        }
        settings
    }
}

/// The looks of the picture that decide how many cells it has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Looks {
    /// Columns and rows, if the tape sets them.
    columns: Option<u16>,
    rows: Option<u16>,
    /// Pixels, and the font, if the tape sets any of them.
    width: Option<u32>,
    height: Option<u32>,
    font_size: Option<u32>,
    letter_spacing: f64,
    line_height: f64,
    padding: u32,
    margin: u32,
    bar: u32,
}

/// Pixels of the picture of a tape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LooksSize {
    /// Width.
    pub width: u32,
    /// Height.
    pub height: u32,
}

/// The looks of VHS where a tape sets only some of them.
const WIDTH: u32 = 1200;
const HEIGHT: u32 = 600;
const FONT_SIZE: u32 = 22;
const PADDING: u32 = 60;
const BAR: u32 = 30;

/// The width of a cell of a monospaced font, and its height, as parts of the font size.
const CELL_WIDTH: f64 = 0.602;
const CELL_HEIGHT: f64 = 1.164;

impl Looks {
    /// Returns the looks of a tape.
    pub fn of(tape: &Tape) -> Looks {
        let mut looks = Looks {
            columns: None,
            rows: None,
            width: None,
            height: None,
            font_size: None,
            letter_spacing: 0.0,
            line_height: 1.0,
            padding: PADDING,
            margin: 0,
            bar: 0,
        };
        let (mut bar, mut bar_size) = (false, BAR);
        for command in tape.flat() {
            let Action::Set(setting) = &command.action else { continue };
            match setting {
                Setting::Columns(columns) => looks.columns = Some(*columns),
                Setting::Rows(rows) => looks.rows = Some(*rows),
                Setting::Width(width) => looks.width = Some(*width),
                Setting::Height(height) => looks.height = Some(*height),
                Setting::FontSize(size) => looks.font_size = Some(*size),
                Setting::LetterSpacing(spacing) => looks.letter_spacing = *spacing,
                Setting::LineHeight(height) => looks.line_height = *height,
                Setting::Padding(padding) => looks.padding = *padding,
                Setting::Margin(margin) => looks.margin = *margin,
                Setting::WindowBar(style) => bar = style.is_some(),
                Setting::WindowBarSize(size) => bar_size = *size,
                _ => {}
            }
        }
        looks.bar = if bar { bar_size } else { 0 };
        looks
    }

    /// Returns the pixels of the picture, if the tape sets them.
    pub fn pixels(&self) -> Option<LooksSize> {
        let is_set = self.width.or(self.height).is_some();
        let (width, height) = (self.width.unwrap_or(WIDTH), self.height.unwrap_or(HEIGHT));
        is_set.then_some(LooksSize { width, height })
    }

    /// Returns columns and rows: those that the tape sets, or as many cells as fit into its pixels, or 80x24.
    pub fn size(&self) -> (usize, usize) {
        let fit = |pixels: u32, around: u32, cell: f64| {
            let cells = f64::from(pixels.saturating_sub(2 * (self.padding + self.margin) + around)) / cell;
            (cells.floor() as usize).clamp(1, 500)
        };
        let by_pixels = self.width.or(self.height).or(self.font_size).is_some();
        let font = f64::from(self.font_size.unwrap_or(FONT_SIZE));
        let (cols, rows) = if by_pixels {
            let LooksSize { width, height } =
                self.pixels().unwrap_or(LooksSize { width: WIDTH, height: HEIGHT });
            let cell_width = (font * CELL_WIDTH + self.letter_spacing).max(1.0);
            let cell_height = (font * CELL_HEIGHT * self.line_height).max(1.0);
            (fit(width, 0, cell_width), fit(height, self.bar, cell_height))
        } else {
            crate::SIZE
        };
        (self.columns.map_or(cols, usize::from), self.rows.map_or(rows, usize::from))
    }
}

/// Returns the builder of the terminal of a tape.
///
/// # Errors
/// If the value of `Set Shell` is not a command line.
pub(super) fn builder(path: &Path, tape: &Tape, options: &RunOptions) -> Result<Builder, String> {
    let mut shell = SHELL.to_owned();
    let mut env = BTreeMap::new();
    for command in tape.flat() {
        match &command.action {
            Action::Set(Setting::Shell(line)) => shell.clone_from(line),
            Action::Env { name, value } => {
                env.insert(name.clone(), value.clone());
            }
            _ => {}
        }
    }
    let argv = shell_words::split(&shell).ok().filter(|words| !words.is_empty());
    let argv = argv.ok_or_else(|| format!("Set Shell {shell:?}: it is not a command line"))?;
    let (cols, rows) = Looks::of(tape).size();
    let mut builder = Builder::new(argv[0].clone())
        .args(argv[1..].to_vec())
        .size(cols, rows)
        .timeout(Settings::of(tape).wait_timeout)
        .trace(options.trace);
    builder.env = env;
    builder.disturbance = options.seed;
    builder.trace_path = Some(options.trace_path.clone());
    builder.recording.clone_from(&options.recording);
    builder.prompt = PROMPT;
    builder.title = Some(path.display().to_string());
    // A tape names programs of its user, such as the one that was just built. A demo shows the user's environment.
    let is_inherited = |name: &str| options.mode == Mode::Play || name == "PATH";
    builder.inherited = std::env::vars().filter(|(name, _)| is_inherited(name)).collect();
    Ok(builder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tape;

    fn parsed(text: &str) -> Tape {
        tape::parse(text, &|_| Err(std::io::ErrorKind::NotFound.into())).unwrap()
    }

    #[test]
    fn the_size_follows_from_cells_or_pixels() {
        let size = |text: &str| Looks::of(&parsed(text)).size();
        assert_eq!(size(""), (80, 24));
        assert_eq!(size("Set Columns 100\nSet Rows 30"), (100, 30));
        assert_eq!(size("Set Columns 100"), (100, 24));
        assert_eq!(size("Set FontSize 22"), (81, 18));
        assert_eq!(size("Set Width 600\nSet Height 300\nSet Padding 0"), (45, 11));
        assert_eq!(size("Set Width 120\nSet Padding 60"), (1, 18), "at least one cell");
        let bar = "Set Height 300\nSet Padding 0\nSet WindowBar Rings\nSet WindowBarSize 100";
        assert_eq!(size(bar).1, 7);
    }

    #[test]
    fn settings_of_waits_are_those_of_vhs_unless_the_tape_sets_them() {
        let settings = Settings::of(&parsed(""));
        assert_eq!((settings.wait_timeout, settings.wait_pattern.as_str()), (WAIT_TIMEOUT, ">$"));
        let settings = Settings::of(&parsed("Set WaitTimeout 2s\nSet WaitPattern /ok/"));
        assert_eq!(settings.wait_timeout, Duration::from_secs(2));
        assert_eq!(settings.wait_pattern, "ok");
    }
}
