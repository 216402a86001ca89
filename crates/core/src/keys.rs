//! Encodes key names to the bytes that a program expects in the modes that it set.
//!
//! Names are `enter`, `ctrl+c`, `shift+tab`, `ctrl+alt+x`, `f5` or any character. The spellings of tmux, emacs, vim and
//! browsers are accepted too: `C-c`, `^C`, `M-x`, `BTab`, `PPage`, `ArrowDown`. The default encoding is xterm's. Keys
//! without an encoding there get one with modifyOtherKeys or kitty's protocol.

use std::fmt;

use crate::screen::{MouseEncoding, MouseTracking, Screen};

/// The error for an unknown key name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyError {
    /// The given name.
    pub name: String,
    /// Similar names.
    pub near: Vec<&'static str>,
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the key {:?} is not known", self.name)?;
        if !self.near.is_empty() {
            write!(f, ": did you mean {}?", self.near.join(", "))?;
        }
        write!(
            f,
            " Keys are one character, or one of enter tab esc space backspace delete insert up down left \
             right home end pageup pagedown f1 … f24, with ctrl+ alt+ shift+ meta+ (or C- M- S-) before it"
        )
    }
}

impl std::error::Error for KeyError {}

const NAMED: [&str; 16] = [
    "enter",
    "tab",
    "esc",
    "space",
    "backspace",
    "delete",
    "insert",
    "up",
    "down",
    "left",
    "right",
    "home",
    "end",
    "pageup",
    "pagedown",
    "escape",
];

/// Alternative names from tmux, browsers and keyboards.
const ALIASES: [(&str, &str); 23] = [
    ("return", "enter"),
    ("cr", "enter"),
    ("escape", "esc"),
    ("spc", "space"),
    ("bspace", "backspace"),
    ("bs", "backspace"),
    ("del", "delete"),
    ("dc", "delete"),
    ("ins", "insert"),
    ("ic", "insert"),
    ("arrowup", "up"),
    ("arrowdown", "down"),
    ("arrowleft", "left"),
    ("arrowright", "right"),
    ("pgup", "pageup"),
    ("ppage", "pageup"),
    ("page_up", "pageup"),
    ("prior", "pageup"),
    ("pgdn", "pagedown"),
    ("pgdown", "pagedown"),
    ("npage", "pagedown"),
    ("page_down", "pagedown"),
    ("next", "pagedown"),
];

const SHIFT: u8 = 1;
const ALT: u8 = 2;
const CTRL: u8 = 4;
const META: u8 = 8;

/// A key with its modifiers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    name: KeyName,
    modifiers: u8,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum KeyName {
    Char(char),
    Function(u8),
    Named(&'static str),
}

impl Key {
    /// Parses the name of a key.
    ///
    /// # Errors
    /// Returns similar names if the key is unknown.
    pub fn parse(text: &str) -> Result<Key, KeyError> {
        let (modifiers, rest) = split_modifiers(text).ok_or_else(|| unknown_key(text, text))?;
        let mut chars = rest.chars();
        if let (Some(c), None) = (chars.next(), chars.next()) {
            // Control combinations have no case: `C-C`, `ctrl+C` and `ctrl+c` are one key.
            let is_control = modifiers & CTRL != 0 && modifiers & SHIFT == 0;
            let c = if is_control { c.to_ascii_lowercase() } else { c };
            return Ok(Key { name: KeyName::Char(c), modifiers });
        }
        let lower = rest.to_ascii_lowercase();
        if let Some(number) = lower.strip_prefix('f').and_then(|n| n.parse().ok())
            && (1..=24).contains(&number)
        {
            return Ok(Key { name: KeyName::Function(number), modifiers });
        }
        if lower == "btab" || lower == "backtab" {
            return Ok(Key { name: KeyName::Named("tab"), modifiers: modifiers | SHIFT });
        }
        let name = ALIASES.iter().find(|(alias, _)| *alias == lower).map(|(_, name)| *name);
        let name = name.or_else(|| NAMED.iter().find(|&&name| name == lower).copied());
        let name = name.ok_or_else(|| unknown_key(text, rest))?;
        Ok(Key { name: KeyName::Named(name), modifiers })
    }

    /// Returns the bytes that the key sends to the program on this screen.
    pub fn encode(&self, screen: &Screen) -> Vec<u8> {
        let kitty = screen.keyboard_flags();
        let text = match &self.name {
            KeyName::Char(c) => return self.encode_char(*c, screen, kitty),
            KeyName::Function(n) => self.encode_function(*n),
            KeyName::Named("space") => return self.encode_char(' ', screen, kitty),
            KeyName::Named(name) => self.encode_named(name, screen, kitty),
        };
        text.into_bytes()
    }

    /// Returns the modifier parameter of escape sequences: the bits of the modifiers plus one.
    fn modifier_parameter(&self) -> u8 {
        self.modifiers + 1
    }

    fn encode_char(&self, c: char, screen: &Screen, kitty: u8) -> Vec<u8> {
        let plain = self.modifiers & !SHIFT == 0;
        let shown =
            if self.modifiers & SHIFT != 0 { c.to_uppercase().next().unwrap_or(c) } else { c };
        if plain && kitty & 8 == 0 {
            return shown.to_string().into_bytes();
        }
        let code = c.to_lowercase().next().unwrap_or(c) as u32;
        if kitty & 1 != 0 {
            return format!("\x1b[{code};{}u", self.modifier_parameter()).into_bytes();
        }
        if screen.modify_other_keys() == 2 {
            return format!("\x1b[27;{};{}~", self.modifier_parameter(), c as u32).into_bytes();
        }
        let mut bytes = Vec::new();
        if self.modifiers & (ALT | META) != 0 {
            bytes.push(0x1b);
        }
        match control_byte(c).filter(|_| self.modifiers & CTRL != 0) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend(shown.to_string().bytes()),
        }
        bytes
    }

    fn encode_function(&self, n: u8) -> String {
        const TILDE: [u8; 20] =
            [15, 17, 18, 19, 20, 21, 23, 24, 25, 26, 28, 29, 31, 32, 33, 34, 42, 43, 44, 45];
        match (n, self.modifiers) {
            (1..=4, 0) => format!("\x1bO{}", char::from(b'P' + n - 1)),
            (1..=4, _) => {
                format!("\x1b[1;{}{}", self.modifier_parameter(), char::from(b'P' + n - 1))
            }
            (_, 0) => format!("\x1b[{}~", TILDE[usize::from(n - 5)]),
            (_, _) => format!("\x1b[{};{}~", TILDE[usize::from(n - 5)], self.modifier_parameter()),
        }
    }

    fn encode_named(&self, name: &str, screen: &Screen, kitty: u8) -> String {
        let letter = match name {
            "up" => Some('A'),
            "down" => Some('B'),
            "right" => Some('C'),
            "left" => Some('D'),
            "home" => Some('H'),
            "end" => Some('F'),
            _ => None,
        };
        if let Some(letter) = letter {
            return match self.modifiers {
                0 if screen.has_application_cursor() => format!("\x1bO{letter}"),
                0 => format!("\x1b[{letter}"),
                _ => format!("\x1b[1;{}{letter}", self.modifier_parameter()),
            };
        }
        let tilde = match name {
            "insert" => Some(2),
            "delete" => Some(3),
            "pageup" => Some(5),
            "pagedown" => Some(6),
            _ => None,
        };
        match (tilde, self.modifiers) {
            (Some(n), 0) => format!("\x1b[{n}~"),
            (Some(n), _) => format!("\x1b[{n};{}~", self.modifier_parameter()),
            (None, _) => self.encode_editing(name, screen, kitty),
        }
    }

    /// Encodes Enter, Tab, Escape and Backspace, which are also control characters.
    fn encode_editing(&self, name: &str, screen: &Screen, kitty: u8) -> String {
        let (code, plain) = match name {
            "enter" => (13, if screen.has_newline_mode() { "\r\n" } else { "\r" }),
            "tab" => (9, "\t"),
            "esc" => (27, "\x1b"),
            _ => (127, if screen.has_backspace_bs() { "\x08" } else { "\x7f" }),
        };
        let special = self.modifiers != 0 || name == "esc" && kitty & 1 != 0 || kitty & 8 != 0;
        if special && kitty & 1 != 0 {
            return match self.modifiers {
                0 => format!("\x1b[{code}u"),
                _ => format!("\x1b[{code};{}u", self.modifier_parameter()),
            };
        }
        let alt = if self.modifiers & (ALT | META) != 0 { "\x1b" } else { "" };
        match name {
            "tab" if self.modifiers & SHIFT != 0 => format!("{alt}\x1b[Z"),
            _ if self.modifiers & !(ALT | META) != 0 && screen.modify_other_keys() > 0 => {
                format!("\x1b[27;{};{code}~", self.modifier_parameter())
            }
            "backspace" if self.modifiers & CTRL != 0 => format!("{alt}\x08"),
            _ => format!("{alt}{plain}"),
        }
    }
}

/// Writes the name that [`Key::parse`] reads, such as `ctrl+alt+x`.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (bit, name) in [(CTRL, "ctrl+"), (ALT, "alt+"), (SHIFT, "shift+"), (META, "meta+")] {
            f.write_str(if self.modifiers & bit != 0 { name } else { "" })?;
        }
        match &self.name {
            KeyName::Char(c) => write!(f, "{c}"),
            KeyName::Function(n) => write!(f, "f{n}"),
            KeyName::Named(name) => f.write_str(name),
        }
    }
}

/// Splits the name of a key into its modifiers and the rest: `ctrl+alt+x`, `Ctrl-Alt-x`, `C-M-x`, `^X`. Returns `None`
/// for an unknown modifier.
fn split_modifiers(text: &str) -> Option<(u8, &str)> {
    if let Some(rest) = text.strip_prefix('^').filter(|rest| rest.chars().count() == 1) {
        return Some((CTRL, rest));
    }
    let (mut modifiers, mut rest) = (0, text);
    // A separator at the end is the key itself, as in `ctrl++`.
    while let Some(at) = rest.find(['+', '-']).filter(|&at| at > 0 && at + 1 < rest.len()) {
        let is_dash = rest.as_bytes()[at] == b'-';
        modifiers |= match rest[..at].to_ascii_lowercase().as_str() {
            "shift" => SHIFT,
            "s" if is_dash => SHIFT,
            "alt" | "option" => ALT,
            // tmux, emacs and vim write Alt as `M`.
            "m" | "a" if is_dash => ALT,
            "ctrl" | "control" => CTRL,
            "c" if is_dash => CTRL,
            "meta" | "super" | "cmd" => META,
            _ => return None,
        };
        rest = &rest[at + 1..];
    }
    Some((modifiers, rest))
}

/// Returns the control character for a character typed with Ctrl.
fn control_byte(c: char) -> Option<u8> {
    Some(match c {
        'a'..='z' => c as u8 - b'a' + 1,
        'A'..='Z' => c as u8 - b'A' + 1,
        ' ' | '@' | '2' => 0,
        '[' | '3' => 0x1b,
        '\\' | '4' => 0x1c,
        ']' | '5' => 0x1d,
        '^' | '~' | '6' => 0x1e,
        '_' | '/' | '7' => 0x1f,
        '?' | '8' => 0x7f,
        _ => return None,
    })
}

fn unknown_key(text: &str, part: &str) -> KeyError {
    let part = part.to_ascii_lowercase();
    let mut near: Vec<(usize, &'static str)> = NAMED
        .iter()
        .map(|&name| (edit_distance(&part, name), name))
        .filter(|(far, _)| *far <= 3)
        .collect();
    near.sort();
    KeyError {
        name: text.to_owned(),
        near: near.into_iter().take(3).map(|(_, name)| name).collect(),
    }
}

/// Returns the edit distance: the number of letters to change, add or remove.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().take(32).enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, &cb) in b.iter().enumerate() {
            let change = diagonal + usize::from(ca != cb);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[b.len()]
}

/// The action of a mouse event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MouseAction {
    /// A button is pressed.
    Press,
    /// A button is released.
    Release,
    /// The pointer moves, with or without a button held.
    Move,
}

/// A mouse event. Rows and columns count from 0. Buttons are 0 left, 1 middle, 2 right, 3 none, 64 wheel up and 65
/// wheel down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mouse {
    /// The action.
    pub action: MouseAction,
    /// The button.
    pub button: u8,
    /// The row of the pointer.
    pub row: usize,
    /// The column of the pointer.
    pub col: usize,
}

/// Encodes a mouse event. Returns no bytes if the program does not request such events.
pub fn encode_mouse(mouse: Mouse, screen: &Screen) -> Vec<u8> {
    let wanted = match (screen.mouse_tracking(), mouse.action) {
        (MouseTracking::Off, _) => false,
        (MouseTracking::Press, action) => action == MouseAction::Press,
        (MouseTracking::Buttons, action) => action != MouseAction::Move,
        (MouseTracking::Drag, MouseAction::Move) => mouse.button != 3,
        (MouseTracking::Drag | MouseTracking::Motion, _) => true,
    };
    if !wanted {
        return Vec::new();
    }
    let motion = if mouse.action == MouseAction::Move { 32 } else { 0 };
    let (col, row) = (mouse.col + 1, mouse.row + 1);
    let is_release = mouse.action == MouseAction::Release;
    let code = u32::from(mouse.button) + motion;
    match screen.mouse_encoding() {
        MouseEncoding::Sgr => {
            format!("\x1b[<{code};{col};{row}{}", if is_release { 'm' } else { 'M' }).into_bytes()
        }
        MouseEncoding::Urxvt => {
            let code = 32 + if is_release { 3 } else { code };
            format!("\x1b[{code};{col};{row}M").into_bytes()
        }
        MouseEncoding::Bytes | MouseEncoding::Utf8 => {
            let code = if is_release { 3 } else { code };
            let wide = screen.mouse_encoding() == MouseEncoding::Utf8;
            let mut bytes = b"\x1b[M".to_vec();
            for value in [code, col as u32, row as u32] {
                match char::from_u32(value + 32) {
                    Some(c) if wide => bytes.extend(c.to_string().bytes()),
                    _ => bytes.push((value + 32).min(255) as u8),
                }
            }
            bytes
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(modes: &str, key: &str, expected: &str) {
        let mut screen = Screen::new(80, 24, 0);
        screen.feed(modes.as_bytes());
        let bytes = Key::parse(key).map(|key| key.encode(&screen));
        assert_eq!(bytes, Ok(expected.as_bytes().to_vec()), "{modes:?} {key}");
    }

    #[test]
    fn plain_keys() {
        for (key, expected) in [
            ("a", "a"),
            ("shift+a", "A"),
            ("世", "世"),
            ("+", "+"),
            ("ctrl++", "+"),
            ("enter", "\r"),
            ("tab", "\t"),
            ("shift+tab", "\x1b[Z"),
            ("esc", "\x1b"),
            ("space", " "),
            ("backspace", "\x7f"),
            ("delete", "\x1b[3~"),
            ("up", "\x1b[A"),
            ("ctrl+right", "\x1b[1;5C"),
            ("home", "\x1b[H"),
            ("pageup", "\x1b[5~"),
            ("f1", "\x1bOP"),
            ("f5", "\x1b[15~"),
            ("shift+f1", "\x1b[1;2P"),
            ("f12", "\x1b[24~"),
            ("f24", "\x1b[45~"),
            ("ctrl+c", "\x03"),
            ("ctrl+alt+x", "\x1b\x18"),
            ("alt+b", "\x1bb"),
            ("ctrl+space", "\0"),
            ("ctrl+j", "\n"),
            ("alt+enter", "\x1b\r"),
        ] {
            check("", key, expected);
        }
    }

    #[test]
    fn key_names_have_aliases_and_are_case_insensitive() {
        for (expected, names) in [
            ("\x03", &["ctrl+c", "Ctrl-C", "C-c", "^C", "Control+c", "^c", "CTRL+C", "c-C"][..]),
            ("\x1bx", &["M-x", "alt+x", "Alt-x", "A-x", "m-x"]),
            ("\x1b[Z", &["S-Tab", "BTab", "shift+tab", "Shift-Tab", "backtab"]),
            ("\x1b", &["Escape", "esc", "ESC", "^["]),
            ("\r", &["Return", "enter", "Enter", "CR"]),
            ("\x1b[B", &["ArrowDown", "down", "Down"]),
            ("\x1b[5~", &["PgUp", "PPage", "pageup", "PageUp", "page_up"]),
            ("\x1b[6~", &["PgDn", "NPage", "pagedown"]),
            ("\x7f", &["BSpace", "backspace", "BS"]),
            ("\x1b[3~", &["DEL", "DC", "delete"]),
            ("\x1b[2~", &["IC", "Insert"]),
            (" ", &["Space", "space"]),
            ("\x1b[1;5C", &["C-Right", "ctrl+ArrowRight"]),
            ("\x1b\x18", &["C-M-x", "M-C-x", "ctrl+alt+X"]),
            ("-", &["-"]),
            ("^", &["^"]),
            ("\x1b-", &["M--", "alt+-"]),
            ("\x1bX", &["M-X"]),
        ] {
            names.iter().for_each(|name| check("", name, expected));
        }
        check("\x1b[>4;2m", "C-C", "\x1b[27;5;99~");
        for bad in ["x-y", "C-", "hyper-x", "C-nokey", "^ab"] {
            assert!(Key::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn keys_follow_the_modes_of_the_program() {
        check("\x1b[?1h", "up", "\x1bOA");
        check("\x1b[?1h", "shift+up", "\x1b[1;2A");
        check("\x1b[?67h", "backspace", "\x08");
        check("\x1b[20h", "enter", "\r\n");
        check("\x1b[>1u", "ctrl+c", "\x1b[99;5u");
        check("\x1b[>1u", "esc", "\x1b[27u");
        check("\x1b[>1u", "a", "a");
        check("\x1b[>1u", "shift+enter", "\x1b[13;2u");
        check("\x1b[>4;2m", "ctrl+c", "\x1b[27;5;99~");
        check("\x1b[>4;1m", "ctrl+enter", "\x1b[27;5;13~");
    }

    #[test]
    fn unknown_keys_suggest_similar_names() {
        for (key, near) in [("entre", "enter"), ("pagup", "pageup"), ("escpae", "escape")] {
            let error = Key::parse(key).expect_err("it is not a key");
            assert_eq!(error.near.first(), Some(&near), "{error}");
        }
        assert!(Key::parse("f25").is_err());
        assert!(Key::parse("hyper+x").is_err());
        assert!(Key::parse("").is_err());
        assert!(Key::parse("entre").expect_err("no").to_string().contains("did you mean enter"));
    }

    #[test]
    fn mouse_events_are_encoded() {
        let mut screen = Screen::new(80, 24, 0);
        let press = Mouse { action: MouseAction::Press, button: 0, row: 2, col: 4 };
        assert_eq!(encode_mouse(press, &screen), b"");
        screen.feed(b"\x1b[?1000h");
        assert_eq!(encode_mouse(press, &screen), b"\x1b[M %#");
        screen.feed(b"\x1b[?1006h");
        assert_eq!(encode_mouse(press, &screen), b"\x1b[<0;5;3M");
        let release = Mouse { action: MouseAction::Release, ..press };
        assert_eq!(encode_mouse(release, &screen), b"\x1b[<0;5;3m");
    }
}
