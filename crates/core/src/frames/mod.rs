//! Frames: immutable snapshots of the screen, the newest of them, and the differences between any two.

mod annotate;
mod diff;
mod frame;
mod history;
mod transient;

pub use diff::{Change, ChangeKind, Diff, SelectionChange};
pub use frame::{Cursor, Frame, Selection};
pub use history::{FRAMES_BYTES_MAX, FRAMES_MAX, History};

pub(crate) use diff::shift_between;
pub(crate) use frame::join_rows;
pub(crate) use transient::TransientFrames;
