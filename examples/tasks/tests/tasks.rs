//! Tests of `tasks` in a terminal. The same tests are tapes beside this file.

use awaitty_test::{
    Failure, Style, Terminal, assert_screen, color, cursor, exit, selected, styled, text, title,
};

/// The clock, which differs in each run.
const CLOCK: &str = r"\d\d:\d\d:\d\d";

/// Starts the program and waits for its main menu.
#[track_caller]
fn menu() -> Result<Terminal, Failure> {
    let t = awaitty_test::bin!("tasks").size(60, 12).start()?;
    t.expect(text("Main menu"))?;
    Ok(t)
}

/// Starts the program and opens the list of the tasks.
#[track_caller]
fn list() -> Result<Terminal, Failure> {
    let t = menu()?;
    t.press("enter")?.expect(text("4 tasks"))?;
    Ok(t)
}

#[test]
fn the_main_menu_is_the_first_screen() -> Result<(), Failure> {
    let t = menu()?;
    t.expect(title("tasks: 3 open"))?.expect(selected("Show the tasks"))?;
    assert_screen!(t, "menu", mask = [CLOCK]);
    Ok(())
}

#[test]
fn arrows_move_the_selection() -> Result<(), Failure> {
    let t = list()?;
    t.expect(selected("Buy milk"))?;
    t.press("down down")?.expect(selected("Water the plants"))?;
    t.press("up")?.expect(selected("Pay the rent"))?;
    Ok(())
}

#[test]
fn enter_shows_a_task() -> Result<(), Failure> {
    let t = list()?;
    t.press("down enter")?.expect(text("Task 2 of 4"))?;
    t.expect(text("Due:   2026-02-01"))?;
    assert_screen!(t, "task");
    Ok(())
}

/// Ratatui does not draw the footer again: both screens have it.
#[test]
fn esc_goes_back_to_the_list() -> Result<(), Failure> {
    let t = list()?;
    t.press("down enter")?.expect(text("Task 2 of 4"))?;
    t.press("esc")?.expect(text(r"\? keys").in_frame())?;
    t.expect(text("4 tasks"))?.expect(selected("Pay the rent"))?;
    Ok(())
}

#[test]
fn colours_show_what_is_done_and_overdue() -> Result<(), Failure> {
    let t = list()?;
    t.expect(styled("Pay the rent", Style::new().fg(color::RED)))?;
    t.expect(styled("Water the plants", Style::new().fg(color::GREEN)))?;
    t.expect(styled("Call the dentist", Style::plain()))?;
    Ok(())
}

#[test]
fn space_completes_a_task() -> Result<(), Failure> {
    let t = list()?;
    t.press("space")?.expect(text(r"\[x\] Buy milk"))?.expect(title("tasks: 2 open"))?;
    t.press("down")?.expect(styled("Buy milk", Style::new().fg(color::GREEN)))?;
    t.press("up space")?.expect(text(r"\[ \] Buy milk"))?.expect(title("tasks: 3 open"))?;
    Ok(())
}

#[test]
fn a_new_task_is_typed() -> Result<(), Failure> {
    let t = list()?;
    t.press("n")?.expect(text("New task"))?.expect(cursor(3, 7))?;
    t.type_text("Feed the cat")?.expect(cursor(3, 19))?;
    t.press("enter")?.expect(text("5 tasks"))?.expect(selected("Feed the cat"))?;
    assert_screen!(t, "new_task", mask = [CLOCK]);
    Ok(())
}

#[test]
fn a_click_on_ok_deletes_a_task() -> Result<(), Failure> {
    let t = list()?;
    t.press("d")?.expect(text("Delete \"Buy milk\""))?.expect(selected("Cancel"))?;
    t.click(text(r"\[ OK \]"))?.expect(text("3 tasks"))?;
    t.expect_gone(text("Buy milk"))?;
    Ok(())
}

#[test]
fn a_click_on_cancel_keeps_the_task() -> Result<(), Failure> {
    let t = list()?;
    t.press("d")?.expect(text("Delete \"Buy milk\""))?;
    t.click(text(r"\[ Cancel \]"))?.expect_gone(text("Delete"))?;
    t.expect(selected("Buy milk"))?.expect(text("4 tasks").on_screen())?;
    Ok(())
}

#[test]
fn loading_ends_when_the_server_answers() -> Result<(), Failure> {
    let t = menu()?;
    t.press("down enter")?.expect(text("Loading"))?;
    t.expect_gone(text("Loading"))?.expect(text("6 tasks"))?;
    t.expect(title("tasks: 5 open"))?;
    Ok(())
}

#[test]
fn keys_are_shown_and_q_quits() -> Result<(), Failure> {
    let t = list()?;
    t.press("?")?.expect(text("Space +done"))?;
    assert_screen!(t, "keys", mask = [CLOCK]);
    t.press("esc")?.expect_gone(text("Space +done"))?;
    t.press("q")?.expect(exit(0))?;
    Ok(())
}

#[test]
fn ctrl_c_quits_with_status_130() -> Result<(), Failure> {
    let t = list()?;
    t.resize(40, 10)?.expect(text("4 tasks"))?;
    t.press("ctrl+c")?.expect(exit(130))?;
    Ok(())
}
