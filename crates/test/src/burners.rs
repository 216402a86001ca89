//! Threads that keep processors busy, so that a test which depends on timing fails.

use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Busy threads. Dropping it ends them.
#[derive(Debug)]
pub struct Burners {
    is_done: Arc<AtomicBool>,
    threads: Vec<thread::JoinHandle<()>>,
}

impl Burners {
    /// Starts one thread for each processor.
    pub fn on_all_processors() -> Burners {
        Burners::start(thread::available_parallelism().map_or(1, NonZero::get))
    }

    /// Starts threads. Starts fewer if the system refuses more: the processors are busy then.
    pub fn start(count: usize) -> Burners {
        let is_done = Arc::new(AtomicBool::new(false));
        let spawn = |_| {
            let is_done = Arc::clone(&is_done);
            let burn = move || {
                while !is_done.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            };
            thread::Builder::new().name("burner".to_owned()).spawn(burn).ok()
        };
        let threads = (0..count).filter_map(spawn).collect();
        Burners { is_done, threads }
    }
}

impl Drop for Burners {
    fn drop(&mut self) {
        self.is_done.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn burners_end_when_they_are_dropped() {
        let burners = Burners::start(2);
        let is_done = Arc::clone(&burners.is_done);
        assert_eq!(burners.threads.len(), 2);
        drop(burners);
        assert_eq!(Arc::strong_count(&is_done), 1, "the threads have ended");
    }
}
