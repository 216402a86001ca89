//! The syntax tree of a tape: commands with their positions, errors and warnings.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::pattern::Regex;
use super::theme::Theme;

/// A tape: commands in order. [`Display`](fmt::Display) writes it in its canonical form:
/// one command in a line, without comments.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tape {
    /// The commands. Those of another tape are inside [`Action::Source`]; [`Tape::flat`] has them in order.
    pub commands: Vec<Command>,
    /// What the tape probably does not mean. The tape can run.
    pub warnings: Vec<Warning>,
}

impl Tape {
    /// Returns the commands in the order in which they run. A `Source` is replaced by the commands of its tape.
    pub fn flat(&self) -> impl Iterator<Item = &Command> {
        flat(&self.commands)
    }
}

/// Returns commands in the order in which they run.
pub(super) fn flat(commands: &[Command]) -> impl Iterator<Item = &Command> {
    commands.iter().flat_map(|command| match &command.action {
        Action::Source { commands, .. } => commands.as_slice(),
        _ => std::slice::from_ref(command),
    })
}

/// A command of a tape.
#[derive(Clone, Debug, PartialEq)]
pub struct Command {
    /// What the command does.
    pub action: Action,
    /// The position of its first character.
    pub position: Position,
    /// The command as it is written, without the other commands in the line and without a comment.
    pub source: String,
}

/// A position in a tape.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The path of the tape as a `Source` command names it; `None` in the tape that is parsed.
    pub file: Option<Arc<str>>,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
}

/// What a command does.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// `Output demo.gif`: the file to write. Outputs of a sourced tape are left out.
    Output {
        /// The path.
        path: String,
        /// The format, from the extension.
        format: OutputFormat,
    },
    /// `Require vim`: a program that must be in `PATH`, checked before anything runs.
    Require(String),
    /// `Set FontSize 22`. All but `TypingSpeed` come before the first command that types, waits or records.
    Set(Setting),
    /// `Env NAME "value"` or `Set Env NAME "value"`: the environment of the program, wherever the command is.
    Env {
        /// The name.
        name: String,
        /// The value.
        value: String,
    },
    /// `Type@50ms "text"`.
    Type {
        /// The text.
        text: String,
        /// The time after each character, instead of the `TypingSpeed`.
        speed: Option<Duration>,
    },
    /// `Enter 2`, `Ctrl+C`, `Down@200ms 3`.
    Press {
        /// The key with its modifiers.
        key: KeyPress,
        /// The number of times, at least 1.
        count: u32,
        /// The time after each time, instead of the `TypingSpeed`.
        speed: Option<Duration>,
    },
    /// `ScrollUp 3`, `ScrollDown`: scrolls the view; the program gets no input.
    Scroll {
        /// The direction.
        direction: Scroll,
        /// The number of rows, at least 1.
        count: u32,
        /// The time after each row, instead of the `TypingSpeed`.
        speed: Option<Duration>,
    },
    /// `Sleep 500ms`.
    Sleep(Duration),
    /// `Wait+Screen@5s /pattern/`.
    Wait {
        /// Where the pattern is searched.
        scope: WaitScope,
        /// The timeout, instead of the `WaitTimeout`.
        timeout: Option<Duration>,
        /// The pattern, instead of the `WaitPattern`.
        pattern: Option<Regex>,
    },
    /// `Hide`: leaves out what follows from the outputs.
    Hide,
    /// `Show`: ends a `Hide`.
    Show,
    /// `Screenshot menu.png`.
    Screenshot {
        /// The path.
        path: String,
        /// The format, from the extension.
        format: ScreenshotFormat,
    },
    /// `Copy "text"`: puts text into the clipboard of the tape.
    Copy(String),
    /// `Paste`: pastes the clipboard of the tape.
    Paste,
    /// `Source other.tape`.
    Source {
        /// The path.
        path: String,
        /// The commands of that tape, without its outputs. It has no `Source`.
        commands: Vec<Command>,
    },
    /// `Expect@5s /pattern/`, `Expect Gone /pattern/`, `Expect Exit 0`.
    Expect {
        /// The expectation.
        expectation: Expectation,
        /// The timeout, instead of the `WaitTimeout`.
        timeout: Option<Duration>,
    },
    /// `Settle 300ms`: waits until the program is at rest and the screen has been unchanged for that time.
    Settle {
        /// The time without a change, more than 0.
        quiet: Duration,
        /// The timeout, instead of the `WaitTimeout`.
        timeout: Option<Duration>,
    },
    /// `Run "make"`, `Run! "make"`: runs a command in the shell and waits for its end.
    Run {
        /// The command.
        command: String,
        /// Whether any exit status passes (`Run!`). Otherwise only 0 does.
        any_status: bool,
        /// The timeout, instead of the `WaitTimeout`.
        timeout: Option<Duration>,
    },
    /// `Screen "menu" Mask /\d\d:\d\d/`: compares the screen with a golden.
    Screen {
        /// The name of the golden: letters, digits, `.`, `_`, `-`.
        name: String,
        /// The patterns whose matches are masked.
        masks: Vec<Regex>,
        /// The timeout, instead of the `WaitTimeout`.
        timeout: Option<Duration>,
    },
    /// `Click /pattern/`: clicks on the only match.
    Click {
        /// The pattern.
        pattern: Regex,
        /// The timeout, instead of the `WaitTimeout`.
        timeout: Option<Duration>,
    },
    /// `Resize 100 30`.
    Resize {
        /// The columns.
        columns: u16,
        /// The rows.
        rows: u16,
    },
}

/// What an `Expect` waits for.
#[derive(Clone, Debug, PartialEq)]
pub enum Expectation {
    /// `Expect /pattern/`: text that was drawn since the last input.
    Text(Regex),
    /// `Expect Gone /pattern/`: no match is visible.
    Gone(Regex),
    /// `Expect Selected /pattern/`: the highlighted text matches.
    Selected(Regex),
    /// `Expect Title /pattern/`: the title of the terminal matches.
    Title(Regex),
    /// `Expect Frame /pattern/`: text in a frame that is newer than the last input.
    Frame(Regex),
    /// `Expect Exit 0`: the program exits with this status.
    Exit(u8),
}

/// Where a `Wait` searches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WaitScope {
    /// `Wait` or `Wait+Line`: the row of the cursor.
    #[default]
    Line,
    /// `Wait+Screen`: all rows, joined by newlines.
    Screen,
}

/// The direction of a scroll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scroll {
    /// To older lines.
    Up,
    /// To newer lines.
    Down,
}

/// The format of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputFormat {
    /// `.gif`: an animation.
    Gif,
    /// `.svg`: an animation.
    Svg,
    /// `.png`: a picture of the last frame.
    Png,
    /// `.cast`: an asciicast.
    Cast,
    /// `.txt`, `.ascii` or `.test`: the screens as text.
    Text,
    /// `.html`: a page that plays the recording.
    Html,
    /// `.mp4`: a video. Parsed with a warning; not supported.
    Mp4,
    /// `.webm`: a video. Parsed with a warning; not supported.
    Webm,
    /// `frames/`: a directory of pictures. Parsed with a warning; not supported.
    Frames,
}

/// The format of a screenshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScreenshotFormat {
    /// `.png`.
    Png,
    /// `.svg`.
    Svg,
    /// `.txt` or `.ascii`.
    Text,
}

/// A setting.
#[derive(Clone, Debug, PartialEq)]
pub enum Setting {
    /// `Shell`: a shell or a command line.
    Shell(String),
    /// `Width` of the picture in pixels.
    Width(u32),
    /// `Height` of the picture in pixels.
    Height(u32),
    /// `Columns` of the terminal.
    Columns(u16),
    /// `Rows` of the terminal.
    Rows(u16),
    /// `TypingSpeed`: the time after each character or key.
    TypingSpeed(Duration),
    /// `WaitTimeout`: the timeout of all waits, more than 0.
    WaitTimeout(Duration),
    /// `WaitPattern`: the pattern of a `Wait` without one.
    WaitPattern(Regex),
    /// `Theme`: a name, or JSON with colours.
    Theme(Theme),
    /// `FontFamily`.
    FontFamily(String),
    /// `FontSize` in pixels.
    FontSize(u32),
    /// `LetterSpacing` in pixels.
    LetterSpacing(f64),
    /// `LineHeight` as a factor.
    LineHeight(f64),
    /// `Framerate`: frames in a second.
    Framerate(u32),
    /// `PlaybackSpeed` as a factor, more than 0.
    PlaybackSpeed(f64),
    /// `LoopOffset` in percent, 0 to 100.
    LoopOffset(f64),
    /// `Padding` in pixels.
    Padding(u32),
    /// `Margin` in pixels.
    Margin(u32),
    /// `MarginFill`: a colour such as `#674EFF`, or the path of a picture.
    MarginFill(String),
    /// `BorderRadius` in pixels.
    BorderRadius(u32),
    /// `WindowBar`; `None` for the empty text.
    WindowBar(Option<WindowBar>),
    /// `WindowBarSize` in pixels.
    WindowBarSize(u32),
    /// `CursorBlink`.
    CursorBlink(bool),
}

/// The style of a window bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowBar {
    /// Coloured buttons on the left.
    Colorful,
    /// Coloured buttons on the right.
    ColorfulRight,
    /// Rings on the left.
    Rings,
    /// Rings on the right.
    RingsRight,
}

/// A key with its modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyPress {
    /// Whether Ctrl is held.
    pub ctrl: bool,
    /// Whether Alt is held.
    pub alt: bool,
    /// Whether Shift is held.
    pub shift: bool,
    /// The key.
    pub key: TapeKey,
}

/// A key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the keys")]
pub enum TapeKey {
    /// A character; only with a modifier, because `Type` types plain ones.
    Char(char),
    /// `F1` to `F24`.
    Function(u8),
    Enter,
    Backspace,
    Delete,
    Insert,
    Tab,
    Space,
    Escape,
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    Home,
    End,
}

/// An error of a tape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TapeError {
    /// The position of the wrong value.
    pub position: Position,
    /// The wrong value; empty if one is missing.
    pub value: String,
    /// What is wrong, with the value.
    pub message: String,
    /// The next step.
    pub suggestion: Option<String>,
}

/// A warning about a tape that can run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The kind, by which a caller selects.
    pub kind: WarningKind,
    /// The position of the command.
    pub position: Position,
    /// What has no effect, and the next step.
    pub message: String,
}

/// The kind of a warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarningKind {
    /// A setting about looks that the renderer ignores. It concerns `awaitty play`.
    Looks,
    /// An output that cannot be written. It concerns `awaitty play`.
    Output,
    /// A `Sleep`, which makes a test slow and dependent on timing. It concerns `awaitty test`.
    Sleep,
    /// A command at a place where it has no effect, or an effect at another place.
    Place,
    /// An `Expect` that repeats the one before without an input in between.
    Repeated,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{file}:")?;
        }
        write!(f, "{}:{}", self.line, self.column)
    }
}

impl fmt::Display for TapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.position, self.message)?;
        match &self.suggestion {
            Some(suggestion) => write!(f, ": {suggestion}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for TapeError {}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.position, self.message)
    }
}

impl KeyPress {
    /// Returns the name of the key as the terminal crate parses it, such as `ctrl+alt+left`.
    pub fn name(&self) -> String {
        let mut name = String::new();
        for (held, modifier) in [(self.ctrl, "ctrl+"), (self.alt, "alt+"), (self.shift, "shift+")] {
            name.push_str(if held { modifier } else { "" });
        }
        match self.key {
            TapeKey::Char(c) => name.push(c),
            TapeKey::Function(n) => name.push_str(&format!("f{n}")),
            key => name.push_str(&key.to_string().to_ascii_lowercase()),
        }
        name
    }
}
