//! The first test of docs/testing.md.

use awaitty_test::{Failure, exit, selected, text};

#[test]
fn the_menu_opens_and_q_quits() -> Result<(), Failure> {
    let t = awaitty_test::bin!("tasks").start()?;
    t.expect(text("Main menu"))?;
    t.press("down")?.expect(selected("Load tasks"))?;
    t.press("q")?.expect(exit(0))?;
    Ok(())
}
