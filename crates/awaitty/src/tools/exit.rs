//! The end of a program: its exit status or signal, and the names of signals.

use awaitty_core::Exit;
use rustix::process::Signal;
use schemars::JsonSchema;
use serde::Serialize;

use awaitty_terminal::ToolError;

/// The end of a program.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub(crate) struct ExitOutput {
    /// The program has exited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) exited: Option<bool>,
    /// Its exit status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) exit_code: Option<i32>,
    /// The signal that ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) signal: Option<String>,
}

impl From<Option<Exit>> for ExitOutput {
    fn from(exit: Option<Exit>) -> ExitOutput {
        let exited = exit.map(|_| true);
        match exit {
            Some(Exit::Code(code)) => ExitOutput { exited, exit_code: Some(code), signal: None },
            Some(Exit::Signal(number)) => {
                ExitOutput { exited, exit_code: None, signal: Some(signal_name(number)) }
            }
            Some(Exit::Unknown) | None => ExitOutput { exited, exit_code: None, signal: None },
        }
    }
}

impl ExitOutput {
    /// Returns the status or signal as text, with a leading space.
    pub(crate) fn words(&self) -> String {
        match (self.exit_code, &self.signal) {
            (Some(code), _) => format!(" exit_code={code}"),
            (None, Some(signal)) => format!(" signal={signal}"),
            (None, None) => String::new(),
        }
    }
}

const SIGNALS: [(&str, Signal); 30] = [
    ("SIGHUP", Signal::HUP),
    ("SIGINT", Signal::INT),
    ("SIGQUIT", Signal::QUIT),
    ("SIGILL", Signal::ILL),
    ("SIGTRAP", Signal::TRAP),
    ("SIGABRT", Signal::ABORT),
    ("SIGBUS", Signal::BUS),
    ("SIGFPE", Signal::FPE),
    ("SIGKILL", Signal::KILL),
    ("SIGUSR1", Signal::USR1),
    ("SIGSEGV", Signal::SEGV),
    ("SIGUSR2", Signal::USR2),
    ("SIGPIPE", Signal::PIPE),
    ("SIGALRM", Signal::ALARM),
    ("SIGTERM", Signal::TERM),
    ("SIGSTKFLT", Signal::STKFLT),
    ("SIGCHLD", Signal::CHILD),
    ("SIGCONT", Signal::CONT),
    ("SIGSTOP", Signal::STOP),
    ("SIGTSTP", Signal::TSTP),
    ("SIGTTIN", Signal::TTIN),
    ("SIGTTOU", Signal::TTOU),
    ("SIGURG", Signal::URG),
    ("SIGXCPU", Signal::XCPU),
    ("SIGXFSZ", Signal::XFSZ),
    ("SIGVTALRM", Signal::VTALARM),
    ("SIGPROF", Signal::PROF),
    ("SIGIO", Signal::IO),
    ("SIGPWR", Signal::POWER),
    ("SIGSYS", Signal::SYS),
];

fn signal_name(number: i32) -> String {
    let known = SIGNALS.iter().find(|(_, signal)| signal.as_raw() == number);
    known.map_or_else(|| format!("SIG{number}"), |(name, _)| (*name).to_owned())
}

/// Returns the signal with a name (`TERM`, `SIGTERM`) or a number.
pub(crate) fn signal(name: &str) -> Result<Signal, ToolError> {
    let upper = name.to_ascii_uppercase();
    let is_named =
        |known: &str| known == upper || known.strip_prefix("SIG") == Some(upper.as_str());
    let number = upper.parse().ok();
    let found =
        SIGNALS.iter().find(|(known, signal)| is_named(known) || Some(signal.as_raw()) == number);
    found.map(|(_, signal)| *signal).ok_or_else(|| {
        ToolError::argument(format!(
            "signal: {name:?} is not known: use HUP, INT, TERM, KILL or another name"
        ))
    })
}

/// Returns the number of a signal by its name in results.
pub fn signal_number(name: &str) -> Option<i32> {
    let unnamed = || name.strip_prefix("SIG")?.parse().ok();
    signal(name).ok().map(Signal::as_raw).or_else(unnamed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signal_names_map_back_to_numbers() {
        for number in [1, 9, 15, 34] {
            assert_eq!(signal_number(&signal_name(number)), Some(number));
        }
        assert_eq!(signal_number("SIGNOPE"), None);
    }
}
