//! Typing into a pane whose pipe is not ours: by `send-keys`, piece by piece.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;

use super::Server;

/// Bytes that are typed with one command: as hexadecimal words they are three times as long, and a client's message
/// to its server has 16 KiB.
const PIECE: usize = 4_000;

/// Bytes that wait to be typed; more wait with the caller.
const QUEUE_MAX: usize = 64 * 1024;

/// How long until a pane is asked again whether it has left its copy mode.
const MODE_PAUSE: Duration = Duration::from_millis(100);

/// What waits to be typed.
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

    /// Takes what there is room for, and says how much that was.
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

/// Types what comes, in order. What comes while the pane is in a mode of tmux's own waits until it is not, because it
/// was not meant for that.
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
            let is_free = "#{?pane_in_mode,0,1}";
            let args = ["if-shell", "-F", "-t", &pane, is_free, &keys];
            while server.run(&args).await.is_ok_and(|said| said.is_empty()) {
                // Nobody is there any more who wanted it typed.
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
