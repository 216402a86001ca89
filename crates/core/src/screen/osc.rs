//! Operating system commands: titles, colours, directory, links, marks, notifications.

use super::palette::{SpecialColor, parse_color};
use super::{Event, MARK_MAX, Mark, Screen, TITLE_MAX};
use crate::style::Style;

impl Screen {
    /// Executes an OSC. `bel` says whether BEL ended it, which determines the terminator of the reply.
    pub(super) fn osc(&mut self, string: &[u8], bel: bool) {
        let text = String::from_utf8_lossy(string);
        let (number, rest) = text.split_once(';').unwrap_or((&text, ""));
        let Ok(number) = number.parse::<u32>() else {
            // For example Linux's palette sequences.
            return self.count_unknown("OSC".to_owned());
        };
        match number {
            0 | 2 => self.title = clean(rest),
            4 => self.set_colors(rest, bel),
            7 => self.cwd = file_path(rest),
            8 => self.open_link(rest),
            9 if !is_conemu_command(rest) => self.notify(None, rest),
            10..=12 => self.set_special_colors(number, rest, bel),
            104 => self.reset_colors(rest),
            110..=112 => {
                if let Some(which) = SpecialColor::from_osc(number - 100) {
                    self.palette.special.remove(&which);
                }
            }
            133 => self.mark(rest),
            777 => {
                if let Some(("notify", rest)) = rest.split_once(';') {
                    let (title, body) = rest.split_once(';').unwrap_or((rest, ""));
                    self.notify(Some(clean(title)), body);
                }
            }
            // Icon titles, X properties, other colours and the pointer have no effect. Neither has OSC 52: the
            // clipboard is the user's.
            1 | 3 | 5 | 9 | 13..=19 | 22 | 52 | 105 | 113..=119 => {}
            _ => self.count_unknown(format!("OSC {number}")),
        }
    }

    fn notify(&mut self, title: Option<String>, body: &str) {
        self.push_event(Event::Notification { title, body: clean(body) });
    }

    /// OSC 4: pairs of an index and either a colour or a question mark.
    fn set_colors(&mut self, rest: &str, bel: bool) {
        let mut parts = rest.split(';');
        while let (Some(index), Some(color)) = (parts.next(), parts.next()) {
            let Ok(index) = index.parse::<u8>() else { continue };
            if color == "?" {
                let rgb = self.palette.color(index);
                self.report_color(&format!("4;{index}"), rgb, bel);
            } else if let Some(rgb) = parse_color(color) {
                self.palette.indexed.insert(index, rgb);
            }
        }
    }

    /// OSC 10, 11 and 12: one colour, and further ones for the numbers that follow.
    fn set_special_colors(&mut self, first: u32, rest: &str, bel: bool) {
        for (number, color) in (first..).zip(rest.split(';')) {
            let Some(which) = SpecialColor::from_osc(number) else { return };
            if color == "?" {
                let rgb = self.palette.special(which);
                self.report_color(&number.to_string(), rgb, bel);
            } else if let Some(rgb) = parse_color(color) {
                self.palette.special.insert(which, rgb);
            }
        }
    }

    /// OSC 104: resets some colours, or all.
    fn reset_colors(&mut self, rest: &str) {
        if rest.is_empty() {
            self.palette.indexed.clear();
        }
        for index in rest.split(';').filter_map(|index| index.parse().ok()) {
            self.palette.indexed.remove(&index);
        }
    }

    /// OSC 8: opens a link, or closes it if the URI is empty.
    fn open_link(&mut self, rest: &str) {
        let Some((params, uri)) = rest.split_once(';') else { return };
        let id = params.split(':').find_map(|param| param.strip_prefix("id=")).unwrap_or("");
        let uri_is_clean = !uri.chars().any(char::is_control);
        let link = if uri_is_clean { self.links.open(id, uri) } else { None };
        self.set_pen(Style { link, ..self.pen.style });
    }

    /// OSC 133: a shell mark.
    fn mark(&mut self, rest: &str) {
        let mut chars = rest.chars();
        let Some(kind) = chars.next().filter(char::is_ascii_alphabetic) else { return };
        let params = chars.as_str().strip_prefix(';').unwrap_or(chars.as_str());
        let mark = Mark {
            kind,
            params: params.chars().filter(|c| !c.is_control()).take(MARK_MAX).collect(),
            line: self.line(self.position.row),
            col: self.position.col,
            tick: self.tick,
        };
        self.push_event(Event::Mark(mark));
        self.mark_received = true;
    }
}

/// Returns whether OSC 9 is one of ConEmu's numbered commands instead of a notification.
fn is_conemu_command(rest: &str) -> bool {
    let number = rest.split(';').next().unwrap_or_default();
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// Removes control characters from a program's text and limits its length.
fn clean(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(TITLE_MAX).collect()
}

/// Returns the percent-decoded path of a `file:` URI.
fn file_path(uri: &str) -> Option<String> {
    let rest = uri.strip_prefix("file://")?;
    let path = &rest.as_bytes()[rest.find('/')?..];
    let mut bytes = Vec::with_capacity(path.len());
    let mut i = 0;
    while i < path.len() {
        let escape = path.get(i..i + 3).filter(|escape| escape[0] == b'%');
        let code = escape.and_then(|escape| std::str::from_utf8(&escape[1..]).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                i += 3;
            }
            None => {
                bytes.push(path[i]);
                i += 1;
            }
        }
    }
    Some(clean(&String::from_utf8_lossy(&bytes)))
}
