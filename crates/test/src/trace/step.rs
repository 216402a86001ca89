//! The steps of a test, as a trace shows them.

/// A step of a test: an input, a wait or a comparison.
///
/// A step has no times. The recording has a marker at its start (`step 3 start`) and its end (`step 3 end`), in order
/// with the output; the number is the index of the step in the test.
#[derive(Clone, Debug)]
pub struct Step {
    /// The kind.
    pub kind: Kind,
    /// The call as it is written in the test, such as `expect(text("Main menu"))`, with secrets masked.
    pub name: String,
    /// The line of the test or tape that has the step.
    pub place: Option<Place>,
    /// The text that a wait looked for, such as `text /Main menu/ since the last input, for at most 10 s`.
    pub looked_for: Option<String>,
    /// The result.
    pub verdict: Verdict,
}

/// The kind of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The start of the program.
    Start,
    /// Keys, text, a click, a paste or a resize.
    Input,
    /// A wait.
    Wait,
    /// A command in a shell.
    Command,
    /// A comparison with a golden screen.
    Golden,
}

/// A line of a source file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The path of the file, relative to the package if possible.
    pub file: String,
    /// The line number, from 1.
    pub line: usize,
    /// The text of the line, trimmed; empty if it could not be read.
    pub text: String,
}

/// The result of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It passed. The text says why a wait ended, such as `met after 12 ms`, and is empty otherwise.
    Passed(String),
    /// It failed, with the report of the failure.
    Failed(String),
}
