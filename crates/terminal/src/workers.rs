//! A thread pool for blocking work, such as scans of the process table. Its threads start with the server.
//!
//! Tokio starts the threads of its blocking pool on demand, and ends them after ten seconds without work. If a program
//! has reached the limit of processes, no thread can be started: the work then blocks forever, or the runtime panics.
//! The work would have ended that program.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, mpsc};

use tokio::sync::oneshot;

use crate::limits;

type Job = Box<dyn FnOnce() + Send>;

/// The job queue of the threads; unset in a library, which has no threads of its own.
static JOBS: OnceLock<mpsc::Sender<Job>> = OnceLock::new();

/// Starts the threads.
pub fn begin() {
    let (jobs, received) = mpsc::channel::<Job>();
    let received = Arc::new(Mutex::new(received));
    let start = |_: &usize| {
        let received = Arc::clone(&received);
        std::thread::Builder::new().name("worker".to_owned()).spawn(move || work(&received)).is_ok()
    };
    if (0..limits::WORKER_THREADS).filter(start).count() > 0 {
        let _ = JOBS.set(jobs);
    }
}

/// Runs a job on one of the threads, or on the runtime's blocking pool if [`begin`] was not called.
pub async fn run<T: Send + 'static>(job: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, result) = oneshot::channel();
    let job = move || drop(done.send(job()));
    match JOBS.get() {
        Some(jobs) => drop(jobs.send(Box::new(job))),
        None => drop(tokio::task::spawn_blocking(job)),
    }
    result.await.expect("jobs do not panic")
}

fn work(jobs: &Mutex<mpsc::Receiver<Job>>) {
    let next = || jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
    while let Ok(job) = next() {
        job();
    }
}
