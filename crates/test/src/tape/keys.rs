//! Keys and their combinations.

use super::command::{Action, KeyPress, TapeKey};
use super::parser::{Parsed, Parser, show};
use super::scan::{Mark, is_quote};
use super::suggest;

/// Modifiers, which `+` joins to a key.
pub(super) const MODIFIERS: [&str; 3] = ["Ctrl", "Alt", "Shift"];

/// The highest function key that terminals encode.
pub(super) const FUNCTION_MAX: u8 = 24;

/// The keys that are commands. `F1` to `F24` are too.
pub(super) const NAMED: [(&str, TapeKey); 15] = [
    ("Enter", TapeKey::Enter),
    ("Backspace", TapeKey::Backspace),
    ("Delete", TapeKey::Delete),
    ("Insert", TapeKey::Insert),
    ("Tab", TapeKey::Tab),
    ("Space", TapeKey::Space),
    ("Escape", TapeKey::Escape),
    ("Up", TapeKey::Up),
    ("Down", TapeKey::Down),
    ("Left", TapeKey::Left),
    ("Right", TapeKey::Right),
    ("PageUp", TapeKey::PageUp),
    ("PageDown", TapeKey::PageDown),
    ("Home", TapeKey::Home),
    ("End", TapeKey::End),
];

/// Returns the key with a name.
pub(super) fn named(word: &str) -> Option<TapeKey> {
    if let Some((_, key)) = NAMED.iter().find(|(name, _)| *name == word) {
        return Some(*key);
    }
    let digits = word.strip_prefix('F').filter(|digits| !digits.starts_with(['0', '+']))?;
    let number = digits.parse().ok().filter(|number| (1..=FUNCTION_MAX).contains(number))?;
    Some(TapeKey::Function(number))
}

impl<'t> Parser<'t> {
    /// Parses the rest of a key command: `Enter@50ms 2` or `Ctrl+Alt+Left 3`. Returns `None` if the word is not one.
    pub(super) fn press(&mut self, word: &str) -> Parsed<Option<Action>> {
        let plain = KeyPress { ctrl: false, alt: false, shift: false, key: TapeKey::Enter };
        let key = match named(word) {
            Some(key) => KeyPress { key, ..plain },
            None if MODIFIERS.contains(&word) => self.combination(word, plain)?,
            None => return Ok(None),
        };
        let speed = self.speed(word)?;
        let count = self.count(word)?;
        Ok(Some(Action::Press { key, count, speed }))
    }

    fn combination(&mut self, word: &str, mut press: KeyPress) -> Parsed<KeyPress> {
        press.hold(word);
        let mut name = word.to_owned();
        loop {
            let before = self.scan.mark();
            if !self.eat_value('+') {
                return Err(self.missing(&name, "`+` and a key", &format!("{name}+a")));
            }
            self.scan.skip_to_value();
            let start = self.scan.mark();
            let part = self.key_part(before).unwrap_or_default();
            if MODIFIERS.contains(&part) {
                if !press.hold(part) {
                    let message = format!("`{part}` is in the combination twice");
                    return Err(self.error(start, part, message).hint(format!("write `{name}+a`")));
                }
                name.extend(["+", part]);
                continue;
            }
            press.key = self.combined_key(&name, start, part)?;
            return Ok(press);
        }
    }

    /// Reads the part of a combination after a `+`: letters and digits, a character in quotes, or one character.
    fn key_part(&mut self, plus: Mark) -> Option<&'t str> {
        let name = self.scan.take_while(|c| c.is_ascii_alphanumeric());
        if !name.is_empty() {
            return Some(name);
        }
        // A `#` after a blank starts a comment.
        let is_adjacent = self.scan.since(plus).ends_with('+');
        let is_key = |c: &char| !c.is_whitespace() && !c.is_control() && (is_adjacent || *c != '#');
        let start = self.scan.mark();
        let first = self.scan.peek().filter(is_key)?;
        self.scan.bump();
        let one = self.scan.since(start);
        let quoted = self.scan.mark();
        if is_quote(first) && self.scan.peek().is_some_and(|c| is_key(&c)) {
            let inner = self.scan.mark();
            self.scan.bump();
            let inside = self.scan.since(inner);
            if self.scan.eat(first) {
                return Some(inside);
            }
            self.scan.reset(quoted);
        }
        Some(one)
    }

    /// Returns the key of a combination, after which nothing else may follow directly.
    fn combined_key(&mut self, name: &str, start: Mark, part: &str) -> Parsed<TapeKey> {
        let mut chars = part.chars();
        let key = match (chars.next(), chars.next()) {
            (None, _) => {
                return Err(self.missing(&format!("{name}+"), "a key", &format!("{name}+a")));
            }
            (Some(c), None) => Some(TapeKey::Char(c)),
            (Some(_), Some(_)) => named(part),
        };
        let Some(key) = key else {
            let message = format!("the key {} is not known", show(part));
            let error = self.error(start, part, message);
            return Err(error.hint(suggest::key(part).unwrap_or_else(suggest::all_keys)));
        };
        let ends = |c: char| c.is_whitespace() || matches!(c, '@' | '#');
        if self.scan.peek().is_some_and(|c| !ends(c)) {
            let value = self.scan.since(start).to_owned() + self.scan.chunk();
            let message = format!("{} is more than one key", show(&value));
            let suggestion = format!("write modifiers first, then one key: `{name}+{key}`");
            return Err(self.error(start, &value, message).hint(suggestion));
        }
        Ok(key)
    }
}

impl KeyPress {
    /// Adds a modifier. Returns false if it is held already.
    fn hold(&mut self, modifier: &str) -> bool {
        let held = match modifier {
            "Ctrl" => &mut self.ctrl,
            "Alt" => &mut self.alt,
            _ => &mut self.shift,
        };
        !std::mem::replace(held, true)
    }
}
