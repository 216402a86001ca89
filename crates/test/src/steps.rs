//! The steps of a test so far, with their source lines and results.

use std::panic::Location;

use crate::place::place;
use crate::trace::{Kind, Step, Verdict};

/// The text that replaces a secret.
pub(crate) const MASK: &str = "********";

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
    steps: Vec<(Call, Option<Verdict>)>,
    secrets: Vec<String>,
    has_failed: bool,
}

impl Steps {
    /// Adds a step, and returns its index.
    pub(crate) fn add(&mut self, call: Call) -> usize {
        self.steps.push((call, None));
        self.steps.len() - 1
    }

    /// Sets the result of a step. The first failure of a step stays.
    pub(crate) fn set_verdict(&mut self, index: usize, verdict: Verdict) {
        self.has_failed |= matches!(verdict, Verdict::Failed(_));
        if let Some((_, known)) = self.steps.get_mut(index) {
            *known = Some(verdict);
        }
    }

    /// Returns whether a step failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// Adds a secret. An empty one would match everywhere.
    pub(crate) fn add_secret(&mut self, secret: &str) {
        if !secret.is_empty() {
            self.secrets.push(secret.to_owned());
        }
    }

    /// Returns the secrets.
    pub(crate) fn secrets(&self) -> &[String] {
        &self.secrets
    }

    /// Replaces the secrets in a text.
    pub(crate) fn mask(&self, text: &str) -> String {
        self.secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret, MASK))
    }

    /// Returns the steps for a trace.
    pub(crate) fn of_trace(&self) -> Vec<Step> {
        let step = |(call, verdict): &(Call, Option<Verdict>)| Step {
            kind: call.kind,
            name: self.mask(&call.name),
            place: Some(place(call.location)),
            looked_for: call.looked_for.as_deref().map(|text| self.mask(text)),
            verdict: match verdict {
                Some(Verdict::Passed(text)) => Verdict::Passed(self.mask(text)),
                Some(Verdict::Failed(text)) => Verdict::Failed(self.mask(text)),
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
        assert_eq!(steps.mask("abc"), "abc");
        steps.add_secret("hunter2");
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
        assert!(!shown.replace("let mut steps", "").contains("hunter2"), "{shown}");
        assert_eq!(shown.matches(MASK).count(), 3);
    }
}
