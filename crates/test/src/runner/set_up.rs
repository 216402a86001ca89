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

/// Returns the columns and rows of a tape: those that it sets, or else the given ones.
fn size(tape: &Tape, (mut cols, mut rows): (usize, usize)) -> (usize, usize) {
    for command in tape.flat() {
        match &command.action {
            Action::Set(Setting::Columns(columns)) => cols = usize::from(*columns),
            Action::Set(Setting::Rows(count)) => rows = usize::from(*count),
            _ => {}
        }
    }
    (cols, rows)
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
    let (cols, rows) = size(tape, options.size);
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
        let text = format!("{text}\nEnter");
        tape::parse(&text, &|_| Err(std::io::ErrorKind::NotFound.into())).unwrap()
    }

    #[test]
    fn the_size_is_that_of_the_tape_or_the_given_one() {
        let size = |text: &str| size(&parsed(text), (81, 18));
        assert_eq!(size(""), (81, 18));
        assert_eq!(size("Set Columns 100\nSet Rows 30"), (100, 30));
        assert_eq!(size("Set Columns 100"), (100, 18));
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
