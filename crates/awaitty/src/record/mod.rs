//! What is made of a recording: an asciicast of another version, text, or a page that plays it.

mod cast;
mod export;
mod html;

pub use awaitty_terminal::record::*;
pub use cast::Version;
pub use export::{Exported, Format, export};
