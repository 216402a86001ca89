//! 200 tests with awaitty-test: start, three expectations, golden, exit.

#[path = "../../two_hundred.rs"]
mod two_hundred;

use awaitty_test::{Failure, assert_screen, exit, text};

fn menu() -> Result<(), Failure> {
    let t = awaitty_test::bin!("awaitty-menu").size(80, 24).start()?;
    t.expect(text("Main menu"))?;
    t.press("down")?.expect(text("> Two"))?;
    t.press("enter")?.expect(text("You chose Two"))?;
    assert_screen!(t, "chosen");
    t.press("q")?.expect(exit(0))?;
    t.close()
}

two_hundred::tests!(menu);
