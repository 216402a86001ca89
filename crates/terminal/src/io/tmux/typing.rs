//! Typing into a pane without a pipe: by `send-keys`, in pieces.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;

use super::Server;

/// Bytes that one command types: as hexadecimal words they are three times as long, and a client's message to its
/// server has at most 16 KiB.
const PIECE: usize = 4_000;

/// The maximum size of the queue in bytes. The caller keeps further input.
const QUEUE_MAX: usize = 64 * 1024;

/// The interval between checks whether a pane has left copy mode.
const MODE_PAUSE: Duration = Duration::from_millis(100);

/// A queue of bytes to type, and the task that types them.
#[derive(Debug)]
pub(super) struct Typing {
    sender: mpsc::UnboundedSender<Vec<u8>>,
    queue: Arc<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    bytes: AtomicUsize,
    room: Notify,
}

impl Typing {
    pub(super) fn start(server: Server, pane: String) -> Typing {
        let (sender, typed) = mpsc::unbounded_channel();
        let queue = Arc::new(Queue::default());
        tokio::spawn(type_all(server, pane, typed, Arc::clone(&queue)));
        Typing { sender, queue }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.bytes.load(Ordering::Acquire) == 0
    }

    pub(super) async fn writable(&self) {
        loop {
            let room = self.queue.room.notified();
            if self.queue.bytes.load(Ordering::Acquire) < QUEUE_MAX {
                return;
            }
            room.await;
        }
    }

    /// Queues as many bytes as there is room for and returns their number.
    pub(super) fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        let room = QUEUE_MAX.saturating_sub(self.queue.bytes.load(Ordering::Acquire));
        let count = bytes.len().min(room);
        if count > 0 {
            self.queue.bytes.fetch_add(count, Ordering::AcqRel);
            let sent = self.sender.send(bytes[..count].to_vec());
            sent.map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        }
        Ok(count)
    }
}

/// Types bytes in order. They wait while the pane is in a tmux mode, which would interpret them.
async fn type_all(
    server: Server,
    pane: String,
    mut typed: mpsc::UnboundedReceiver<Vec<u8>>,
    queue: Arc<Queue>,
) {
    while let Some(mut bytes) = typed.recv().await {
        while let Ok(mut more) = typed.try_recv() {
            bytes.append(&mut more);
        }
        for piece in bytes.chunks(PIECE) {
            let words: Vec<String> = piece.iter().map(|byte| format!("{byte:02x}")).collect();
            let keys =
                format!("send-keys -t {pane} -H {} ; display-message -p typed", words.join(" "));
            let has_no_mode = "#{?pane_in_mode,0,1}";
            let args = ["if-shell", "-F", "-t", &pane, has_no_mode, &keys];
            while server.run(&args).await.is_ok_and(|output| output.is_empty()) {
                // The session was closed.
                if typed.is_closed() {
                    return;
                }
                tokio::time::sleep_until(Instant::now() + MODE_PAUSE).await;
            }
            queue.bytes.fetch_sub(piece.len(), Ordering::AcqRel);
            queue.room.notify_waiters();
        }
    }
}
