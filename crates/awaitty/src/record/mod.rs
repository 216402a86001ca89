//! Exports recordings: as an asciicast of another version, as text, or as a page that plays one.

mod export;
mod html;

pub use awaitty_terminal::record::*;
pub use awaitty_test::cast::Version;
pub(crate) use export::is_trace;
pub use export::{Exported, Format, export};
