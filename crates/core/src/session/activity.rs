//! The activity of the foreground job: the samples of the driver, and when it must sample again.

use super::Session;
use crate::Time;
use crate::waits::{Activity, Samples, Trigger};

impl Session {
    /// Handles a sample of the foreground job. The output that the job printed before the sample must be fed first.
    pub fn handle_activity(&mut self, now: Time, activity: Activity) {
        self.job.activity = activity;
        let is_reading = activity.terminal.is_some() && !self.input.is_open();
        let reading_since = self.job.reading_since.unwrap_or(now);
        self.job.reading_since = is_reading.then_some(reading_since);
        let alternate_since = self.job.alternate_since.unwrap_or(now);
        self.job.alternate_since = self.screen.is_alternate().then_some(alternate_since);
        self.judge_activity(now);
    }

    /// Returns the newest sample of the foreground job.
    pub fn activity(&self) -> Activity {
        self.job.activity
    }

    /// Returns whether a wait needs periodic samples of the foreground job.
    pub fn wants_activity(&self) -> bool {
        self.waits.triggered(Trigger::Activity).any(|(_, wait)| {
            !wait.is_held
                && match wait.spec.condition.rules().samples {
                    Samples::Periodic => true,
                    Samples::OnAlternate => self.screen.is_alternate(),
                    Samples::Never | Samples::WhenDue => false,
                }
        })
    }

    /// Returns whether a wait that needs a sample of that moment is due.
    pub fn wants_activity_at(&self, now: Time) -> bool {
        self.waits.due(now).into_iter().filter_map(|id| self.waits.get(id)).any(|wait| {
            !wait.is_held
                && match wait.spec.condition.rules().samples {
                    Samples::Never => false,
                    Samples::WhenDue => wait.holds(now),
                    Samples::Periodic | Samples::OnAlternate => true,
                }
        })
    }
}
