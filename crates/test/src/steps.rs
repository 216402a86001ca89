//! The steps of a test so far, with their source lines and results.

use std::panic::Location;

use crate::place::place;
use crate::trace::{Kind, Mask, Place, Step, Verdict};

/// The call of a step.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) kind: Kind,
    /// The call as the test wrote it.
    pub(crate) name: String,
    pub(crate) looked_for: Option<String>,
    pub(crate) location: &'static Location<'static>,
}

/// The steps of a test.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    steps: Vec<(Call, Place, Option<Verdict>)>,
    /// The line of the tape that runs; `None` for a test in Rust.
    tape_line: Option<Place>,
    secrets: Vec<String>,
    has_failed: bool,
}

impl Steps {
    /// Adds a step, and returns its index.
    pub(crate) fn add(&mut self, call: Call) -> usize {
        let place = self.place(call.location);
        self.steps.push((call, place, None));
        self.steps.len() - 1
    }

    /// Sets the result of a step. The first failure of a step stays.
    pub(crate) fn set_verdict(&mut self, index: usize, verdict: Verdict) {
        self.has_failed |= matches!(verdict, Verdict::Failed(_));
        if let Some((_, _, known)) = self.steps.get_mut(index) {
            *known = Some(verdict);
        }
    }

    /// Sets the line of the tape for the next steps.
    pub(crate) fn set_tape_line(&mut self, line: Place) {
        self.tape_line = Some(line);
    }

    /// Returns the command of the tape that runs, if a tape runs.
    pub(crate) fn tape_command(&self) -> Option<&str> {
        Some(&self.tape_line.as_ref()?.text)
    }

    /// Returns the number of steps.
    pub(crate) fn len(&self) -> usize {
        self.steps.len()
    }

    /// Returns whether a step failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// Adds a secret.
    pub(crate) fn add_secret(&mut self, secret: &str) {
        self.secrets.push(secret.to_owned());
    }

    /// Returns the secrets.
    pub(crate) fn secrets(&self) -> &[String] {
        &self.secrets
    }

    /// Returns what masks the secrets in texts.
    pub(crate) fn masker(&self) -> Mask {
        Mask::new(&self.secrets)
    }

    /// Returns the line of a location, with the secrets in it masked.
    pub(crate) fn place(&self, location: &Location<'_>) -> Place {
        let place = self.tape_line.clone().unwrap_or_else(|| place(location));
        let Place { file, line, text } = place;
        Place { file, line, text: self.masker().text(&text) }
    }

    /// Returns the steps for a trace.
    pub(crate) fn of_trace(&self) -> Vec<Step> {
        let masker = self.masker();
        let step = |(call, place, verdict): &(Call, Place, Option<Verdict>)| Step {
            kind: call.kind,
            name: masker.text(&call.name),
            place: Some(Place { text: masker.text(&place.text), ..place.clone() }),
            looked_for: call.looked_for.as_deref().map(|text| masker.text(text)),
            verdict: match verdict {
                Some(Verdict::Passed(text)) => Verdict::Passed(masker.text(text)),
                Some(Verdict::Failed(text)) => Verdict::Failed(masker.text(text)),
                None => Verdict::Failed("the test ended in this step".to_owned()),
            },
        };
        self.steps.iter().map(step).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked_in_all_texts() {
        let mut steps = Steps::default();
        steps.add_secret("");
        assert_eq!(steps.masker().text("abc"), "abc");
        steps.add_secret("hunter2");
        assert_eq!(steps.masker().chars("│hunt\n│er2!"), "│••••\n│•••!");
        let call = Call {
            kind: Kind::Input,
            name: "type_text(\"hunter2\")".to_owned(),
            looked_for: Some("text /hunter2/".to_owned()),
            location: Location::caller(),
        };
        let index = steps.add(call);
        assert!(!steps.has_failed());
        steps.set_verdict(index, Verdict::Failed("the screen has hunter2".to_owned()));
        assert!(steps.has_failed());
        let shown = format!("{:?}", steps.of_trace());
        assert!(!shown.contains("hunter2"), "{shown}");
        assert_eq!(shown.matches(crate::trace::MASK).count(), 3);
    }
}
