//! Draws the state of the program. Ratatui writes only the cells that differ from the ones before.

use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Layout, Position, Rect};
use ratatui::style::{Color, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph};

use crate::app::{App, Button, MENU, Screen, State, Task};

/// The keys, for the user who presses `?`.
const KEYS: [&str; 6] = [
    "Up, Down  choose",
    "Enter     open",
    "Space     done, or not done",
    "n         new task",
    "d         delete",
    "Esc       back",
];

/// The buttons of the dialog.
const BUTTONS: [(Button, &str); 2] = [(Button::Ok, "[ OK ]"), (Button::Cancel, "[ Cancel ]")];

/// Draws the screen at a time in seconds.
pub(crate) fn draw(frame: &mut Frame<'_>, app: &mut App, now: u64) {
    let [head, body, foot] =
        Layout::vertical([Constraint::Length(2), Constraint::Min(0), Constraint::Length(1)])
            .areas(frame.area());
    let heading = match &app.screen {
        Screen::Menu => "Main menu".to_owned(),
        Screen::List | Screen::Delete(_) => format!("{} tasks", app.tasks.len()),
        Screen::Detail => format!("Task {} of {}", app.selected + 1, app.tasks.len()),
        Screen::New(_) => "New task".to_owned(),
    };
    frame.render_widget(Line::from(heading.bold()), head);
    app.buttons.clear();
    match &app.screen {
        Screen::Menu => {
            draw_clock(frame, head, now);
            let entries = MENU.iter().enumerate();
            let lines = entries.map(|(index, entry)| selectable(entry, index == app.entry));
            frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()), body);
        }
        Screen::List => {
            draw_clock(frame, head, now);
            draw_list(frame, body, app);
        }
        Screen::Detail => draw_task(frame, body, &app.tasks[app.selected]),
        Screen::Delete(button) => {
            let focused = *button;
            draw_list(frame, body, app);
            draw_dialog(frame, body, app, focused);
        }
        Screen::New(name) => {
            frame.render_widget(Line::from(format!("Name: {name}")), body);
            let column = body.x + 6 + Span::raw(name).width() as u16;
            frame.set_cursor_position(Position::new(column, body.y));
        }
    }
    let keys = if let Screen::New(_) = app.screen { "Enter adds, Esc cancels" } else { "? keys" };
    frame.render_widget(Line::from(keys.dim()), foot);
    if app.shows_keys {
        draw_keys(frame, body);
    }
}

/// Draws the time of day in UTC.
fn draw_clock(frame: &mut Frame<'_>, area: Rect, now: u64) {
    let (hours, minutes, seconds) = (now / 3600 % 24, now / 60 % 60, now % 60);
    let clock = format!("{hours:02}:{minutes:02}:{seconds:02}");
    frame.render_widget(Line::from(clock).alignment(Alignment::Right), area);
}

fn selectable(text: &str, is_selected: bool) -> Line<'_> {
    let style = if is_selected { Style::new().reversed() } else { Style::new() };
    Line::styled(text, style)
}

fn draw_list(frame: &mut Frame<'_>, area: Rect, app: &App) {
    let mut lines: Vec<Line<'_>> = Vec::new();
    for (index, task) in app.tasks.iter().enumerate() {
        let (mark, color) = look(task.state);
        let is_selected = index == app.selected && app.screen == Screen::List;
        let style = Style::new().fg(color);
        let style = if is_selected { style.reversed() } else { style };
        lines.push(Line::styled(format!("[{mark}] {}", task.name), style));
    }
    if app.is_loading {
        lines.push(Line::from("Loading…"));
    }
    frame.render_widget(Paragraph::new(lines), area);
}

/// Returns the mark and the colour of a state.
fn look(state: State) -> (char, Color) {
    match state {
        State::Open => (' ', Color::Reset),
        State::Overdue => ('!', Color::Red),
        State::Done => ('x', Color::Green),
    }
}

fn draw_task(frame: &mut Frame<'_>, area: Rect, task: &Task) {
    let state = match task.state {
        State::Open => "open",
        State::Overdue => "overdue",
        State::Done => "done",
    };
    let state = Span::styled(state, Style::new().fg(look(task.state).1));
    let lines = vec![
        Line::from(task.name.as_str()),
        Line::from(format!("Due:   {}", task.due)),
        Line::from(vec!["State: ".into(), state]),
    ];
    frame.render_widget(Paragraph::new(lines), area);
}

fn draw_dialog(frame: &mut Frame<'_>, area: Rect, app: &mut App, focused: Button) {
    let area = centred(area, 34, 5);
    let block = Block::bordered();
    let inside = block.inner(area);
    frame.render_widget(Clear, area);
    frame.render_widget(block, area);
    let question = format!("Delete \"{}\"?", app.tasks[app.selected].name);
    frame.render_widget(Line::from(question), inside);
    let mut column = inside.x + 6;
    for (button, label) in BUTTONS {
        let place = Rect::new(column, inside.y + 2, label.len() as u16, 1).intersection(inside);
        frame.render_widget(selectable(label, button == focused), place);
        app.buttons.push((button, place));
        column += place.width + 2;
    }
}

fn draw_keys(frame: &mut Frame<'_>, area: Rect) {
    let area = centred(area, 32, KEYS.len() as u16 + 2);
    let block = Block::bordered().title(" Keys ");
    frame.render_widget(Clear, area);
    frame.render_widget(Paragraph::new(KEYS.map(Line::from).to_vec()).block(block), area);
}

/// Returns an area of a size in the middle of another, as far as it fits.
fn centred(area: Rect, width: u16, height: u16) -> Rect {
    area.centered(Constraint::Length(width), Constraint::Length(height))
}
