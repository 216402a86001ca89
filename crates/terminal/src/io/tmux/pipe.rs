//! How we come by the end of a pipe that tmux makes for a program: the program sends it to us, and is gone.
//!
//! So the pane's bytes come without a detour and what is typed goes without one, no process of ours waits for each pane,
//! and the kernel ends the pipe with us, even if we are killed.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};

/// What tmux starts: sends its own input, which is its output too, to whoever listens at the path.
///
/// # Errors
/// If nobody does.
pub fn run(socket: &Path) -> io::Result<()> {
    let socket = UnixStream::connect(socket)?;
    let input = io::stdin();
    let fds = [input.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(&fds));
    rustix::net::sendmsg(&socket, &[IoSlice::new(b"0")], &mut control, SendFlags::empty())?;
    Ok(())
}

/// Receives what [`run`] sends.
pub(super) fn receive(socket: impl AsFd) -> io::Result<OwnedFd> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let mut buffer = [IoSliceMut::new(&mut byte)];
    rustix::net::recvmsg(socket, &mut buffer, &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let received = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
        _ => None,
    });
    received.ok_or_else(|| io::Error::other("no pipe came"))
}
