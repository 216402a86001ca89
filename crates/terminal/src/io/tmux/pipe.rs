//! Passes the pipe that tmux creates for a program to the server: the program sends the file descriptor and exits.
//!
//! So input and output take no detour, no helper process runs for each pane, and the kernel closes the pipe when the
//! server ends, even if it is killed.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};

/// Sends standard input, which is the pipe in both directions, to the socket. tmux starts this.
///
/// # Errors
/// If no server listens on the socket.
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

/// Receives the file descriptor that [`run`] sends.
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
    received.ok_or_else(|| io::Error::other("no file descriptor was received"))
}
