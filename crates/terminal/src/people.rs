//! The people at a terminal: whether somebody is there, and what they are asked to type.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::text;

/// Characters of a name in a question: more would push the program off the line.
const NAME_CHARS: usize = 40;

/// How long somebody who was there a moment ago is waited for: a client that was told one thing comes back for the
/// next.
const AWAY_MAX: Duration = Duration::from_secs(1);

/// The people at a terminal. A clone is the same people.
#[derive(Clone, Debug, Default)]
pub struct People {
    there: watch::Sender<There>,
    asked: watch::Sender<Asked>,
}

#[derive(Clone, Copy, Debug, Default)]
struct There {
    count: usize,
    left: Option<Instant>,
}

/// What they are asked for.
#[derive(Clone, Debug, Default)]
struct Asked {
    question: Option<Question>,
    is_typed: bool,
}

/// A question to a person: type this secret into this program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The name of the secret, as the agent gave it.
    pub name: String,
    /// The program that reads it.
    pub program: String,
}

impl Question {
    /// Describes it for a person. An agent has chosen the name, so it is quoted, and characters that a person does not see
    /// are shown.
    pub fn words(&self) -> String {
        let name: String = text::visible(&self.name).chars().take(NAME_CHARS).collect();
        format!("\u{201c}{name}\u{201d} for {}", text::visible(&self.program))
    }
}

impl Asked {
    fn open(&self) -> Option<&Question> {
        self.question.as_ref().filter(|_| !self.is_typed)
    }
}

/// Somebody who is there.
#[derive(Debug)]
pub struct Person {
    people: People,
}

impl People {
    /// Somebody is there, for as long as the result lives.
    pub fn attend(&self) -> Person {
        self.there.send_modify(|there| there.count += 1);
        Person { people: self.clone() }
    }

    /// How many are there.
    pub fn count(&self) -> usize {
        self.there.borrow().count
    }

    /// Tells whether somebody is there, or comes back in a moment.
    pub async fn is_anybody_there(&self) -> bool {
        let mut there = self.there.subscribe();
        let There { count, left } = *there.borrow_and_update();
        match left {
            _ if count > 0 => true,
            Some(left) => {
                let back = there.wait_for(|there| there.count > 0);
                tokio::time::timeout_at(left + AWAY_MAX, back).await.is_ok()
            }
            None => false,
        }
    }

    /// Asks for something.
    pub fn ask(&self, question: Question) {
        self.asked.send_replace(Asked { question: Some(question), is_typed: false });
    }

    /// What they are asked for, if they have not typed it yet.
    pub fn open_question(&self) -> Option<String> {
        self.asked.borrow().open().map(Question::words)
    }

    /// Tells whether what was asked for has been typed.
    pub fn is_typed(&self, name: &str) -> bool {
        let asked = self.asked.borrow();
        asked.is_typed && asked.question.as_ref().is_some_and(|question| question.name == name)
    }

    /// Waits until it was typed.
    pub async fn typed(&self) {
        // It cannot fail: we hold the other end.
        let _ = self.asked.subscribe().wait_for(|asked| asked.is_typed).await;
    }

    /// A line was typed where nobody sees it.
    pub fn note_typed(&self) {
        self.asked.send_if_modified(|asked| {
            let is_awaited = asked.open().is_some();
            asked.is_typed |= is_awaited;
            is_awaited
        });
    }

    /// Nothing is asked for any more.
    pub fn forget(&self) {
        self.asked.send_replace(Asked::default());
    }
}

impl Person {
    /// Waits until something else is asked for than what they know of, and says what.
    pub async fn asked(&self, known: Option<&str>) -> Option<String> {
        let mut asked = self.people.asked.subscribe();
        let words = |asked: &Asked| asked.open().map(Question::words);
        let asked = asked.wait_for(|asked| words(asked).as_deref() != known).await;
        asked.ok().and_then(|asked| words(&asked))
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        self.people.there.send_modify(|there| {
            there.count -= 1;
            there.left = Some(Instant::now());
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn somebody_who_has_just_left_may_come_back() {
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
    async fn what_was_typed_is_told_once() {
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
