//! Work that takes a moment and that nobody is to wait for but who asked, also where the kernel gives no more threads.
//!
//! The runtime makes a thread when there is such work, and lets it go after ten seconds without any. Where a program has
//! filled the limit of processes there is no room for another: then the work waits for ever or the runtime panics, and it is
//! the very work that would end the program. So a server has its own threads for it, from the beginning.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, mpsc};

use tokio::sync::oneshot;

use crate::limits;

type Job = Box<dyn FnOnce() + Send>;

/// Where the threads hear of jobs.
static JOBS: OnceLock<mpsc::Sender<Job>> = OnceLock::new();

/// Makes the threads.
pub fn begin() {
    let (jobs, received) = mpsc::channel::<Job>();
    let received = Arc::new(Mutex::new(received));
    let make = |_: &usize| {
        let received = Arc::clone(&received);
        std::thread::Builder::new().name("aside".to_owned()).spawn(move || work(&received)).is_ok()
    };
    if (0..limits::WORKER_THREADS).filter(make).count() > 0 {
        let _ = JOBS.set(jobs);
    }
}

/// Does something aside. A library, which has no threads of its own, does it on the runtime's.
pub async fn run<T: Send + 'static>(job: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, result) = oneshot::channel();
    let job = move || drop(done.send(job()));
    match JOBS.get() {
        Some(jobs) => drop(jobs.send(Box::new(job))),
        None => drop(tokio::task::spawn_blocking(job)),
    }
    result.await.expect("what is done aside does not panic")
}

fn work(jobs: &Mutex<mpsc::Receiver<Job>>) {
    let next = || jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
    while let Ok(job) = next() {
        job();
    }
}
