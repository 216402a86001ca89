//! The hyperlinks of OSC 8. Only the newest are kept: older cells lose their links.

use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasherDefault;

use crate::intern::FastHasher;
use crate::style::LinkId;

/// The maximum number of links. A screen full of links has fewer.
pub const LINKS_MAX: usize = 4096;

/// The maximum length of a URI in bytes, as in other terminals. A longer URI makes no link.
const URI_MAX: usize = 2083;

/// The maximum length of an ID in bytes.
const ID_MAX: usize = 250;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Link {
    id: Box<str>,
    uri: Box<str>,
}

/// The newest links, by number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Links {
    first: u32,
    links: VecDeque<Link>,
    numbers: HashMap<Link, u32, BuildHasherDefault<FastHasher>>,
}

impl Links {
    /// Returns the number of a link. The same ID and URI give the same number, so that redrawing a link does not change
    /// its style.
    pub(crate) fn open(&mut self, id: &str, uri: &str) -> Option<LinkId> {
        if uri.is_empty() || uri.len() > URI_MAX || id.len() > ID_MAX {
            return None;
        }
        let link = Link { id: id.into(), uri: uri.into() };
        if let Some(&number) = self.numbers.get(&link) {
            return Some(LinkId(number));
        }
        if self.links.len() == LINKS_MAX
            && let Some(oldest) = self.links.pop_front()
        {
            self.numbers.remove(&oldest);
            self.first += 1;
        }
        let number = self.first + self.links.len() as u32;
        self.numbers.insert(link.clone(), number);
        self.links.push_back(link);
        Some(LinkId(number))
    }

    fn get(&self, id: LinkId) -> Option<&Link> {
        self.links.get(id.0.checked_sub(self.first)? as usize)
    }

    /// Returns the URI of a link.
    pub(crate) fn uri(&self, id: LinkId) -> Option<&str> {
        self.get(id).map(|link| &*link.uri)
    }

    /// Returns the ID that the program gave a link, or an empty string.
    pub(crate) fn id(&self, id: LinkId) -> &str {
        self.get(id).map_or("", |link| &link.id)
    }
}
