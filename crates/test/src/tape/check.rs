//! Checks a tape as a whole: misused commands, and warnings.

use super::command::{
    Action, Command, Expectation, OutputFormat, Setting, Tape, TapeError, Warning, WarningKind,
};

/// What a setting changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    /// What the program does, or what a wait means.
    Behaviour,
    /// Only looks; the renderer honours it.
    Looks,
    /// Only looks; the renderer ignores it.
    Ignored,
}

impl Setting {
    /// Returns the name of the setting.
    pub fn name(&self) -> &'static str {
        self.describe().0
    }

    /// Returns whether the setting changes only the looks of outputs. It is never an error where it has no effect.
    pub fn is_looks(&self) -> bool {
        self.describe().1 != Effect::Behaviour
    }

    /// Returns whether the renderer uses the setting. docs/tapes.md has the same table.
    pub fn is_honoured(&self) -> bool {
        self.describe().1 != Effect::Ignored
    }

    fn describe(&self) -> (&'static str, Effect) {
        match self {
            Setting::Shell(_) => ("Shell", Effect::Behaviour),
            Setting::Width(_) => ("Width", Effect::Behaviour),
            Setting::Height(_) => ("Height", Effect::Behaviour),
            Setting::Columns(_) => ("Columns", Effect::Behaviour),
            Setting::Rows(_) => ("Rows", Effect::Behaviour),
            Setting::TypingSpeed(_) => ("TypingSpeed", Effect::Behaviour),
            Setting::WaitTimeout(_) => ("WaitTimeout", Effect::Behaviour),
            Setting::WaitPattern(_) => ("WaitPattern", Effect::Behaviour),
            Setting::Theme(_) => ("Theme", Effect::Looks),
            Setting::FontFamily(_) => ("FontFamily", Effect::Ignored),
            Setting::FontSize(_) => ("FontSize", Effect::Looks),
            Setting::LetterSpacing(_) => ("LetterSpacing", Effect::Looks),
            Setting::LineHeight(_) => ("LineHeight", Effect::Looks),
            Setting::Framerate(_) => ("Framerate", Effect::Looks),
            Setting::PlaybackSpeed(_) => ("PlaybackSpeed", Effect::Looks),
            Setting::LoopOffset(_) => ("LoopOffset", Effect::Looks),
            Setting::Padding(_) => ("Padding", Effect::Looks),
            Setting::Margin(_) => ("Margin", Effect::Looks),
            Setting::MarginFill(_) => ("MarginFill", Effect::Looks),
            Setting::BorderRadius(_) => ("BorderRadius", Effect::Looks),
            Setting::WindowBar(_) => ("WindowBar", Effect::Looks),
            Setting::WindowBarSize(_) => ("WindowBarSize", Effect::Looks),
            Setting::CursorBlink(_) => ("CursorBlink", Effect::Looks),
        }
    }
}

impl Action {
    /// Returns whether the command prepares a tape: it may come before the settings and has no step of its own.
    pub fn is_preamble(&self) -> bool {
        matches!(
            self,
            Action::Output { .. }
                | Action::Require(_)
                | Action::Set(_)
                | Action::Env { .. }
                | Action::Source { .. }
        )
    }

    /// Returns whether the command sends something to the program, so that waits count from it.
    pub fn is_input(&self) -> bool {
        matches!(
            self,
            Action::Type { .. }
                | Action::Press { .. }
                | Action::Paste
                | Action::Run { .. }
                | Action::Click { .. }
                | Action::Resize { .. }
        )
    }
}

impl Tape {
    /// Returns the settings that count from the start: those before the first step. A later one of the same name
    /// replaces an earlier one. `TypingSpeed` may also be a step.
    pub fn settings(&self) -> impl Iterator<Item = &Setting> {
        self.flat().take_while(|command| command.action.is_preamble()).filter_map(|command| {
            match &command.action {
                Action::Set(setting) => Some(setting),
                _ => None,
            }
        })
    }
}

/// Splits the commands, those of sources included, at the first step.
fn split(commands: &[Command]) -> (Vec<&Command>, Vec<&Command>) {
    let flat: Vec<&Command> = super::command::flat(commands).collect();
    let first = flat.iter().position(|command| !command.action.is_preamble());
    let steps = flat[first.unwrap_or(flat.len())..].to_vec();
    (flat[..first.unwrap_or(flat.len())].to_vec(), steps)
}

/// Returns the errors of commands that are valid alone.
pub(super) fn misuses(commands: &[Command]) -> Vec<TapeError> {
    let (preamble, steps) = split(commands);
    let mut errors = small_dimensions(&preamble);
    let Some(first) = steps.first() else { return errors };
    for command in &steps {
        let Action::Set(setting) = &command.action else { continue };
        if setting.is_looks() || matches!(setting, Setting::TypingSpeed(_)) {
            continue;
        }
        let name = setting.name();
        let instead = match setting {
            Setting::Columns(_) | Setting::Rows(_) => ", or write `Resize 100 30`",
            Setting::WaitTimeout(_) => ", or write `Expect@5s /text/`",
            Setting::WaitPattern(_) => ", or write `Wait /text/`",
            _ => "",
        };
        errors.push(TapeError {
            position: command.position.clone(),
            value: command.source.clone(),
            message: format!("`Set {name}` has no effect after the first step"),
            suggestion: Some(format!("move it before the step at {}{instead}", first.position)),
        });
    }
    errors
}

/// Returns errors if the picture has no room for what is around the terminal. Only values of the tape count.
fn small_dimensions(preamble: &[&Command]) -> Vec<TapeError> {
    let (mut around, mut bar, mut sides) = (0, 0, Vec::new());
    let (mut padding, mut margin) = (0, 0);
    for command in preamble {
        match &command.action {
            Action::Set(Setting::Padding(pixels)) => padding = *pixels,
            Action::Set(Setting::Margin(pixels)) => margin = *pixels,
            Action::Set(Setting::WindowBarSize(pixels)) => bar = *pixels,
            Action::Set(setting @ (Setting::Width(_) | Setting::Height(_))) => {
                sides.retain(|(_, other): &(_, &Setting)| other.name() != setting.name());
                sides.push((command, setting));
            }
            _ => {}
        }
        around = 2 * (padding + margin);
    }
    let has_bar =
        |command: &&Command| matches!(command.action, Action::Set(Setting::WindowBar(Some(_))));
    let bar = if preamble.iter().any(has_bar) { bar } else { 0 };
    let mut errors = Vec::new();
    for (command, setting) in sides {
        let (pixels, min) = match setting {
            Setting::Height(pixels) => (*pixels, around + bar),
            Setting::Width(pixels) => (*pixels, around),
            _ => continue,
        };
        if pixels < min {
            let name = setting.name();
            errors.push(TapeError {
                position: command.position.clone(),
                value: pixels.to_string(),
                message: format!("`Set {name} {pixels}` has no room for padding and margin"),
                suggestion: Some(format!("it must be at least {min}")),
            });
        }
    }
    errors
}

/// Returns the warnings of a tape, in order.
pub(super) fn warnings(tape: &Tape) -> Vec<Warning> {
    let (preamble, steps) = split(&tape.commands);
    let all = || preamble.iter().chain(&steps).copied();
    let mut warnings = Vec::new();
    warnings.extend(ignored_looks(all()));
    warnings.extend(sleeps(&steps));
    warnings.extend(all().filter_map(output));
    warnings.extend(steps.iter().copied().filter_map(late));
    warnings.extend(repeated(&steps));
    warnings.sort_by(|a, b| a.position.cmp(&b.position));
    warnings
}

fn warning(kind: WarningKind, command: &Command, message: String) -> Warning {
    Warning { kind, position: command.position.clone(), message }
}

/// Returns one warning with all settings that the renderer ignores.
fn ignored_looks<'c>(commands: impl Iterator<Item = &'c Command>) -> Option<Warning> {
    let mut names: Vec<&str> = Vec::new();
    let mut first = None;
    for command in commands {
        match &command.action {
            Action::Set(setting) if !setting.is_honoured() && !names.contains(&setting.name()) => {
                names.push(setting.name());
                first = first.or(Some(command));
            }
            _ => {}
        }
    }
    let (plural, names) = (if names.len() == 1 { "is" } else { "are" }, names.join(", "));
    let message = format!("{names} {plural} ignored: the renderer has no such setting");
    first.map(|command| warning(WarningKind::Looks, command, message))
}

/// Returns one warning about all sleeps.
fn sleeps(steps: &[&Command]) -> Option<Warning> {
    let is_sleep = |command: &&&Command| matches!(command.action, Action::Sleep(_));
    let count = steps.iter().filter(is_sleep).count();
    let message = format!(
        "{count} `Sleep`: a test that sleeps is slow and depends on timing; \
         write `Expect /text/` or `Settle 300ms`"
    );
    let first = steps.iter().find(is_sleep)?;
    Some(warning(WarningKind::Sleep, first, message))
}

fn output(command: &Command) -> Option<Warning> {
    let Action::Output { path, format } = &command.action else { return None };
    let instead = match format {
        OutputFormat::Mp4 | OutputFormat::Webm => {
            "a video needs an encoder; use .gif, .svg or .html"
        }
        OutputFormat::Frames => "a directory of frames is not supported; use .gif or .cast",
        OutputFormat::Gif
        | OutputFormat::Svg
        | OutputFormat::Png
        | OutputFormat::Cast
        | OutputFormat::Text
        | OutputFormat::Html => return None,
    };
    let message = format!("the output {path:?} is not written: {instead}");
    Some(warning(WarningKind::Output, command, message))
}

/// Returns the warning about a setting or a variable after the first step.
fn late(command: &Command) -> Option<Warning> {
    let message = match &command.action {
        Action::Set(setting) if setting.is_looks() => {
            format!("`Set {}` has no effect after the first step: move it up", setting.name())
        }
        Action::Env { name, .. } => {
            format!("`Env {name}` counts from the start of the tape: move it before the first step")
        }
        _ => return None,
    };
    Some(warning(WarningKind::Place, command, message))
}

/// Returns warnings about expectations that hold because the one before held. What is gone, selected or in the title
/// can change without an input.
fn repeated(steps: &[&Command]) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut before: Option<&Expectation> = None;
    for command in steps {
        match &command.action {
            Action::Expect { expectation, .. } => {
                let lasts = matches!(
                    expectation,
                    Expectation::Text(_) | Expectation::Frame(_) | Expectation::Exit(_)
                );
                if lasts && before == Some(expectation) {
                    let message = format!(
                        "`{}` holds because the same one before it held: remove it, or send an \
                         input in between",
                        command.source
                    );
                    warnings.push(warning(WarningKind::Repeated, command, message));
                }
                before = Some(expectation);
            }
            action if action.is_input() => before = None,
            _ => {}
        }
    }
    warnings
}
