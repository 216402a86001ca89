//! People attached to a terminal, and the secret that they are asked to type.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::text;

/// The maximum length of a secret's name in a prompt, in characters. A longer one would push the program's name off the
/// line.
const NAME_CHARS: usize = 40;

/// Time for which a detached person still counts as present. A polling client detaches after each update and attaches
/// again.
const AWAY_MAX: Duration = Duration::from_secs(1);

/// The people attached to a terminal. Clones share their state.
#[derive(Clone, Debug, Default)]
pub struct People {
    presence: watch::Sender<Presence>,
    pending: watch::Sender<PendingSecret>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Presence {
    count: usize,
    last_detached: Option<Instant>,
}

/// A secret that people are asked to type.
#[derive(Clone, Debug, Default)]
struct PendingSecret {
    question: Option<Question>,
    is_typed: bool,
}

/// A request to a person: type this secret into this program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// Name of the secret, chosen by the agent.
    pub name: String,
    /// The program that reads it.
    pub program: String,
}

impl Question {
    /// Describes the request for a person. The name comes from an agent, so it is quoted, and invisible characters are
    /// shown.
    pub fn words(&self) -> String {
        let name: String = text::visible(&self.name).chars().take(NAME_CHARS).collect();
        format!("\u{201c}{name}\u{201d} for {}", text::visible(&self.program))
    }
}

impl PendingSecret {
    fn untyped_question(&self) -> Option<&Question> {
        self.question.as_ref().filter(|_| !self.is_typed)
    }
}

/// An attached person; dropping it detaches them.
#[derive(Debug)]
pub struct Person {
    people: People,
}

impl People {
    /// Attaches a person for as long as the result lives.
    pub fn attend(&self) -> Person {
        self.presence.send_modify(|presence| presence.count += 1);
        Person { people: self.clone() }
    }

    /// Returns how many people are attached.
    pub fn count(&self) -> usize {
        self.presence.borrow().count
    }

    /// Returns whether a person is attached, or attaches again within [``AWAY_MAX`.
    pub async fn is_anybody_there(&self) -> bool {
        let mut presence = self.presence.subscribe();
        let Presence { count, last_detached } = *presence.borrow_and_update();
        match last_detached {
            _ if count > 0 => true,
            Some(last_detached) => {
                let back = presence.wait_for(|presence| presence.count > 0);
                tokio::time::timeout_at(last_detached + AWAY_MAX, back).await.is_ok()
            }
            None => false,
        }
    }

    /// Asks for a secret.
    pub fn ask(&self, question: Question) {
        self.pending.send_replace(PendingSecret { question: Some(question), is_typed: false });
    }

    /// Describes the request, unless the secret has been typed.
    pub fn open_question(&self) -> Option<String> {
        self.pending.borrow().untyped_question().map(Question::words)
    }

    /// Returns whether the requested secret of this name has been typed.
    pub fn is_typed(&self, name: &str) -> bool {
        let pending = self.pending.borrow();
        pending.is_typed && pending.question.as_ref().is_some_and(|question| question.name == name)
    }

    /// Waits until the requested secret has been typed.
    pub async fn typed(&self) {
        // Cannot fail: `self` holds the sender.
        let _ = self.pending.subscribe().wait_for(|pending| pending.is_typed).await;
    }

    /// Records that a person has typed a line without echo.
    pub fn note_typed(&self) {
        self.pending.send_if_modified(|pending| {
            let is_awaited = pending.untyped_question().is_some();
            pending.is_typed |= is_awaited;
            is_awaited
        });
    }

    /// Clears the request.
    pub fn forget(&self) {
        self.pending.send_replace(PendingSecret::default());
    }
}

impl Person {
    /// Waits until the request differs from `known`, and describes it.
    pub async fn asked(&self, known: Option<&str>) -> Option<String> {
        let mut pending = self.people.pending.subscribe();
        let words = |pending: &PendingSecret| pending.untyped_question().map(Question::words);
        let pending = pending.wait_for(|pending| words(pending).as_deref() != known).await;
        pending.ok().and_then(|pending| words(&pending))
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        self.people.presence.send_modify(|presence| {
            presence.count -= 1;
            presence.last_detached = Some(Instant::now());
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_person_may_reattach_within_the_grace_period() {
        let people = People::default();
        assert!(!people.is_anybody_there().await);
        let person = people.attend();
        assert!(people.is_anybody_there().await);
        drop(person);
        let (is_there, _person) = tokio::join!(people.is_anybody_there(), async {
            tokio::time::sleep_until(Instant::now() + AWAY_MAX - Duration::from_millis(1)).await;
            people.attend()
        });
        assert!(is_there);
        drop(_person);
        tokio::time::sleep_until(Instant::now() + AWAY_MAX).await;
        assert!(!people.is_anybody_there().await);
    }

    #[test]
    fn a_name_cannot_hide_the_program() {
        let name = format!("\u{202e}{}", "x".repeat(100));
        let words = Question { name, program: "/usr/bin/ssh".to_owned() }.words();
        assert!(words.contains("<U+202E>") && words.ends_with(" for /usr/bin/ssh"), "{words}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_typed_secret_counts_once() {
        let people = People::default();
        let person = people.attend();
        people.note_typed();
        let question = || Question { name: "PASSWORD".to_owned(), program: "ssh".to_owned() };
        people.ask(question());
        let words = person.asked(None).await;
        assert_eq!(words.as_deref(), Some("“PASSWORD” for ssh"));
        assert!(!people.is_typed("PASSWORD"));
        people.note_typed();
        people.typed().await;
        assert!(people.is_typed("PASSWORD") && !people.is_typed("OTHER"));
        assert_eq!(person.asked(words.as_deref()).await, None);
        people.forget();
        people.ask(question());
        assert!(tokio::time::timeout(AWAY_MAX, people.typed()).await.is_err());
    }
}
