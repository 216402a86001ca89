//! The same 200 tests with termlens, by its documentation: `wait_until` for expectations, `wait_exit` for the exit, and
//! for the golden what `assert_screen_snapshot!` does, with a name. With TESTING_UNSETTLED=1 the golden does not wait
//! until the screen has settled.

#[path = "../../two_hundred.rs"]
mod two_hundred;

use termlens::{Key, Result};

fn menu() -> Result<()> {
    let mut t = termlens::bin!("termlens-menu")?;
    t.wait_until(|screen| screen.contains("Main menu"))?;
    t.send(Key::Down)?;
    t.wait_until(|screen| screen.contains("> Two"))?;
    t.send(Key::Enter)?;
    t.wait_until(|screen| screen.contains("You chose Two"))?;
    if std::env::var_os("TESTING_UNSETTLED").is_some() {
        insta::assert_snapshot!("chosen", t.screen().with_styles());
    } else {
        let settled = t.snapshot_after(|screen| screen.contains("You chose Two"))?;
        insta::assert_snapshot!("chosen", settled.with_styles());
    }
    t.send(Key::Char('q'))?;
    assert!(t.wait_exit()?.success());
    Ok(())
}

two_hundred::tests!(menu);
