//! The state of the program, and what each key and click does. Nothing is drawn here.

use ratatui::crossterm::event::{
    Event, KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEventKind,
};
use ratatui::layout::{Position, Rect};

/// The exit status after Ctrl+C: 128 and the number of SIGINT.
const INTERRUPTED: u8 = 130;

/// The entries of the main menu.
pub(crate) const MENU: [&str; 3] = ["Show the tasks", "Load tasks from the server", "Quit"];

/// The state of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// It is still to be done.
    Open,
    /// It should have been done.
    Overdue,
    /// It is done.
    Done,
}

/// A task.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    /// What is to be done, in one line.
    pub(crate) name: String,
    /// The date, for example `2026-03-01`.
    pub(crate) due: &'static str,
    /// Whether it is done.
    pub(crate) state: State,
}

impl Task {
    fn new(name: &str, due: &'static str, state: State) -> Task {
        Task { name: name.to_owned(), due, state }
    }
}

/// A button of the dialog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Button {
    /// Deletes the task.
    Ok,
    /// Keeps it.
    Cancel,
}

/// What the terminal shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Screen {
    /// The main menu.
    Menu,
    /// The list of the tasks.
    List,
    /// One task.
    Detail,
    /// The dialog that asks before a task is deleted, with the focused button.
    Delete(Button),
    /// The input line for a new task, with what was typed.
    New(String),
}

/// What the main loop has to do after an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Ask the server for tasks.
    Load,
    /// End the program with a status.
    Exit(u8),
}

/// The state of the program.
#[derive(Debug)]
pub(crate) struct App {
    /// What the terminal shows.
    pub(crate) screen: Screen,
    /// All tasks.
    pub(crate) tasks: Vec<Task>,
    /// The index of the selected entry of the menu.
    pub(crate) entry: usize,
    /// The index of the selected task.
    pub(crate) selected: usize,
    /// The server has not answered yet.
    pub(crate) is_loading: bool,
    /// The list of the keys is shown.
    pub(crate) shows_keys: bool,
    /// Where the buttons were drawn.
    pub(crate) buttons: Vec<(Button, Rect)>,
    is_esc_broken: bool,
}

impl App {
    /// Returns the state at the start.
    pub(crate) fn new(is_esc_broken: bool) -> App {
        let tasks = vec![
            Task::new("Buy milk", "2026-03-02", State::Open),
            Task::new("Pay the rent", "2026-02-01", State::Overdue),
            Task::new("Water the plants", "2026-02-27", State::Done),
            Task::new("Call the dentist", "2026-03-09", State::Open),
        ];
        App {
            screen: Screen::Menu,
            tasks,
            entry: 0,
            selected: 0,
            is_loading: false,
            shows_keys: false,
            buttons: Vec::new(),
            is_esc_broken,
        }
    }

    /// Returns the title of the window.
    pub(crate) fn title(&self) -> String {
        let open = self.tasks.iter().filter(|task| task.state != State::Done).count();
        format!("tasks: {open} open")
    }

    /// Adds the tasks that the server sent.
    pub(crate) fn add_loaded(&mut self, tasks: Vec<Task>) {
        self.tasks.extend(tasks);
        self.is_loading = false;
    }

    /// Reacts to an event of the terminal.
    pub(crate) fn handle(&mut self, event: &Event) -> Option<Effect> {
        match event {
            Event::Key(key) if key.is_press() => self.press(*key),
            Event::Mouse(mouse) if mouse.kind == MouseEventKind::Down(MouseButton::Left) => {
                let at = Position::new(mouse.column, mouse.row);
                let hit = self.buttons.iter().find(|(_, area)| area.contains(at));
                if let Some((button, _)) = hit.copied() {
                    self.end_dialog(button);
                }
                None
            }
            _ => None,
        }
    }

    fn press(&mut self, key: KeyEvent) -> Option<Effect> {
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return (key.code == KeyCode::Char('c')).then_some(Effect::Exit(INTERRUPTED));
        }
        if let Screen::New(_) = self.screen {
            self.edit(key.code);
            return None;
        }
        if self.shows_keys {
            self.shows_keys = false;
            return None;
        }
        match key.code {
            KeyCode::Char('q') => return Some(Effect::Exit(0)),
            KeyCode::Char('?') => self.shows_keys = true,
            code => match self.screen {
                Screen::Menu => return self.press_in_menu(code),
                Screen::List => self.press_in_list(code),
                Screen::Detail if code == KeyCode::Esc && !self.is_esc_broken => {
                    self.screen = Screen::List;
                }
                Screen::Delete(button) => self.press_in_dialog(code, button),
                Screen::Detail | Screen::New(_) => {}
            },
        }
        None
    }

    fn press_in_menu(&mut self, code: KeyCode) -> Option<Effect> {
        match code {
            KeyCode::Up => self.entry = self.entry.saturating_sub(1),
            KeyCode::Down => self.entry = (self.entry + 1).min(MENU.len() - 1),
            KeyCode::Enter if self.entry == MENU.len() - 1 => return Some(Effect::Exit(0)),
            KeyCode::Enter => {
                self.screen = Screen::List;
                if self.entry == 1 && !self.is_loading {
                    self.is_loading = true;
                    return Some(Effect::Load);
                }
            }
            _ => {}
        }
        None
    }

    fn press_in_list(&mut self, code: KeyCode) {
        let last = self.tasks.len().saturating_sub(1);
        match code {
            KeyCode::Up => self.selected = self.selected.saturating_sub(1),
            KeyCode::Down => self.selected = (self.selected + 1).min(last),
            KeyCode::Esc => self.screen = Screen::Menu,
            KeyCode::Char('n') => self.screen = Screen::New(String::new()),
            _ => {}
        }
        let Some(task) = self.tasks.get_mut(self.selected) else { return };
        match code {
            KeyCode::Enter => self.screen = Screen::Detail,
            KeyCode::Char('d') => self.screen = Screen::Delete(Button::Cancel),
            KeyCode::Char(' ') if task.state == State::Done => task.state = State::Open,
            KeyCode::Char(' ') => task.state = State::Done,
            _ => {}
        }
    }

    fn press_in_dialog(&mut self, code: KeyCode, button: Button) {
        match code {
            KeyCode::Tab | KeyCode::Left | KeyCode::Right => {
                let other = if button == Button::Ok { Button::Cancel } else { Button::Ok };
                self.screen = Screen::Delete(other);
            }
            KeyCode::Enter => self.end_dialog(button),
            KeyCode::Esc => self.end_dialog(Button::Cancel),
            _ => {}
        }
    }

    fn end_dialog(&mut self, button: Button) {
        if button == Button::Ok {
            self.tasks.remove(self.selected);
            self.selected = self.selected.min(self.tasks.len().saturating_sub(1));
        }
        self.screen = Screen::List;
    }

    fn edit(&mut self, code: KeyCode) {
        let Screen::New(name) = &mut self.screen else { return };
        match code {
            KeyCode::Char(typed) => name.push(typed),
            KeyCode::Backspace => {
                name.pop();
            }
            KeyCode::Enter if !name.is_empty() => {
                let task = Task { name: std::mem::take(name), due: "no date", state: State::Open };
                self.tasks.push(task);
                self.selected = self.tasks.len() - 1;
                self.screen = Screen::List;
            }
            KeyCode::Esc => self.screen = Screen::List,
            _ => {}
        }
    }
}

/// Returns the tasks that the server has.
pub(crate) fn tasks_of_server() -> Vec<Task> {
    vec![
        Task::new("Review the budget", "2026-03-05", State::Open),
        Task::new("Send the minutes", "2026-02-20", State::Overdue),
    ]
}
