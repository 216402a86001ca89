//! `tasks`: a list of tasks in a terminal, as an example of a program with tests.
//!
//! `tasks --broken-esc` ignores Esc on the screen of a task, to show how a test fails.

mod app;
mod view;

use std::io;
use std::process::ExitCode;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ratatui::crossterm::event::{self, DisableMouseCapture, EnableMouseCapture, Event};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::SetTitle;

use app::{App, Effect, Task};

/// The time until the server answers. The program has no server: a thread stands for it.
const SERVER_TIME: Duration = Duration::from_millis(400);

/// What the main thread waits for.
enum Message {
    Terminal(Event),
    /// The tasks that the server sent.
    Loaded(Vec<Task>),
}

fn main() -> io::Result<ExitCode> {
    let mut is_esc_broken = false;
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--broken-esc" => is_esc_broken = true,
            other => {
                let text = format!("{other:?} is not an option: the only one is --broken-esc");
                return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
            }
        }
    }
    let terminal = ratatui::init();
    execute!(io::stdout(), EnableMouseCapture)?;
    let status = run(terminal, App::new(is_esc_broken));
    execute!(io::stdout(), DisableMouseCapture)?;
    ratatui::restore();
    status.map(ExitCode::from)
}

/// Runs the program until the user ends it. Returns the exit status.
#[expect(clippy::disallowed_methods, reason = "the screen shows the time of day")]
fn run(mut terminal: ratatui::DefaultTerminal, mut app: App) -> io::Result<u8> {
    let (sender, messages) = mpsc::channel();
    read_events(sender.clone());
    let mut title = String::new();
    loop {
        if title != app.title() {
            title = app.title();
            execute!(io::stdout(), SetTitle(&title))?;
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        terminal.draw(|frame| view::draw(frame, &mut app, now.as_secs()))?;
        let until_next_second = Duration::from_nanos(1_000_000_000 - u64::from(now.subsec_nanos()));
        match next(&messages, until_next_second)? {
            Some(Message::Terminal(event)) => match app.handle(&event) {
                Some(Effect::Load) => load(sender.clone()),
                Some(Effect::Exit(status)) => return Ok(status),
                None => {}
            },
            Some(Message::Loaded(tasks)) => app.add_loaded(tasks),
            None => {}
        }
    }
}

/// Returns the next message, or `None` if the clock has to be drawn again first.
fn next(messages: &Receiver<Message>, timeout: Duration) -> io::Result<Option<Message>> {
    match messages.recv_timeout(timeout) {
        Ok(message) => Ok(Some(message)),
        Err(RecvTimeoutError::Timeout) => Ok(None),
        Err(RecvTimeoutError::Disconnected) => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Starts the thread that reads the terminal.
fn read_events(sender: Sender<Message>) {
    thread::spawn(move || {
        while let Ok(event) = event::read() {
            if sender.send(Message::Terminal(event)).is_err() {
                break;
            }
        }
    });
}

/// Starts a thread that gets tasks from the server.
#[expect(clippy::disallowed_methods, reason = "the time of an answer of the server")]
fn load(sender: Sender<Message>) {
    thread::spawn(move || {
        thread::sleep(SERVER_TIME);
        // The program may have ended.
        let _ = sender.send(Message::Loaded(app::tasks_of_server()));
    });
}
