//! The callers of a terminal and their waits. A caller may have several waits. It is answered when the first of them is
//! met, or when all of them have ended.

use std::collections::HashMap;

use awaitty_core::{Outcome, WaitEnded, WaitId};

use super::Driver;

/// The ends of a caller's waits.
#[derive(Clone, Debug)]
pub struct Ends {
    /// The wait that was met, else the one that was started first.
    pub first: WaitEnded,
    /// The other waits, if none was met.
    pub others: Vec<WaitEnded>,
}

/// The callback that answers a caller. It runs on the terminal's task when the waits end.
pub(super) type AnswerFn = Box<dyn FnOnce(&mut Driver, Ends) + Send>;

/// A caller and its waits.
struct Caller {
    answer: AnswerFn,
    running: Vec<WaitId>,
    /// The waits that ended without being met.
    ended: Vec<WaitEnded>,
}

/// The callers of a terminal.
#[derive(Default)]
pub(super) struct Callers {
    /// The first wait of its caller, for each wait. It identifies the caller.
    by_wait: HashMap<WaitId, WaitId>,
    callers: HashMap<WaitId, Caller>,
}

/// An answer that is due.
pub(super) struct DueAnswer {
    pub(super) answer: AnswerFn,
    pub(super) ends: Ends,
    /// The waits that still run and must be cancelled.
    pub(super) rest: Vec<WaitId>,
}

impl Callers {
    /// Adds a caller with the waits that it started.
    pub(super) fn add(&mut self, waits: Vec<WaitId>, answer: AnswerFn) {
        let Some(&first) = waits.first() else { return };
        self.by_wait.extend(waits.iter().map(|&wait| (wait, first)));
        self.callers.insert(first, Caller { answer, running: waits, ended: Vec::new() });
    }

    /// Removes the caller whose first wait is `first`, and returns its running waits.
    pub(super) fn remove(&mut self, first: WaitId) -> Vec<WaitId> {
        let running = self.callers.remove(&first).map_or_else(Vec::new, |caller| caller.running);
        self.by_wait.retain(|wait, _| !running.contains(wait));
        running
    }

    /// Records the end of a wait, and returns the answer to its caller if it is due.
    pub(super) fn note_ended(&mut self, ended: WaitEnded) -> Option<DueAnswer> {
        let first = self.by_wait.remove(&ended.id)?;
        let caller = self.callers.get_mut(&first)?;
        caller.running.retain(|&wait| wait != ended.id);
        let is_met = ended.outcome == Outcome::Met;
        caller.ended.push(ended);
        if !is_met && !caller.running.is_empty() {
            return None;
        }
        let Caller { answer, running, mut ended } = self.callers.remove(&first)?;
        self.by_wait.retain(|wait, _| !running.contains(wait));
        let ends = match is_met {
            true => Ends { first: ended.pop()?, others: Vec::new() },
            false => Ends { first: ended.remove(0), others: ended },
        };
        Some(DueAnswer { answer, ends, rest: running })
    }
}

impl std::fmt::Debug for Callers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Callers").field("waits", &self.by_wait).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use awaitty_core::{Condition, Exit, Session, Since, Spec, Time};

    use super::*;

    /// Returns how two waits of one caller end when the program exits: one for text, one for the exit.
    fn ends() -> Vec<WaitEnded> {
        let mut session = Session::new(Time::from_ms(0), 20, 5, 10);
        let pattern = std::sync::Arc::new(awaitty_core::Pattern::new("never", "").unwrap());
        for condition in [Condition::Text(pattern), Condition::Exit] {
            let deadline = Some(Time::from_ms(1000));
            let spec = Spec { condition, since: Since::Now, deadline };
            session.start_wait(Time::from_ms(0), spec).unwrap();
        }
        session.handle_exit(Time(Duration::from_millis(5)), Exit::Code(3));
        session.poll_ended()
    }

    fn ignore() -> AnswerFn {
        Box::new(|_, _| {})
    }

    #[test]
    fn the_first_wait_that_is_met_answers() {
        let ends = ends();
        let ids: Vec<WaitId> = ends.iter().map(|ended| ended.id).collect();
        let mut callers = Callers::default();
        callers.add(ids.clone(), ignore());
        assert!(callers.note_ended(ends[0].clone()).is_none(), "the other may be met");
        let due = callers.note_ended(ends[1].clone()).expect("it was met");
        assert_eq!((due.ends.first.id, due.ends.others.len(), due.rest), (ids[1], 0, vec![]));
        // In the other order the wait that was not met is left to be cancelled.
        callers.add(ids.clone(), ignore());
        let due = callers.note_ended(ends[1].clone()).expect("it was met");
        assert_eq!(due.rest, vec![ids[0]]);
        assert!(callers.by_wait.is_empty() && callers.callers.is_empty());
    }

    #[test]
    fn if_no_wait_is_met_the_last_end_answers() {
        let mut ends = ends();
        ends.iter_mut().for_each(|ended| ended.outcome = Outcome::Timeout);
        let ids: Vec<WaitId> = ends.iter().map(|ended| ended.id).collect();
        let mut callers = Callers::default();
        callers.add(ids.clone(), ignore());
        assert!(callers.note_ended(ends[0].clone()).is_none());
        let due = callers.note_ended(ends[1].clone()).expect("all have ended");
        assert_eq!((due.ends.first.id, due.ends.others[0].id), (ids[0], ids[1]));
        // A caller that was removed is not answered.
        callers.add(ids.clone(), ignore());
        assert_eq!(callers.remove(ids[0]), ids);
        assert!(callers.note_ended(ends[0].clone()).is_none());
        assert!(callers.by_wait.is_empty() && callers.callers.is_empty());
    }
}
