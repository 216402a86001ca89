//! The window around the screens.

use super::*;

#[test]
fn the_picture_is_as_large_as_the_largest_screen() {
    let parts = [(0, "small"), (100, "\0resize 20 4"), (200, "\r\nlarge"), (300, "\0resize 5 2")];
    let all = shots(10, 2, &parts);
    let animation = animation(plain(), &all);
    let gif = DecodedGif::of(&animation);
    let (cell_width, cell_height) = Look::default().cell();
    assert_eq!(animation.size(), (20 * cell_width + 10, 4 * cell_height + 10));
    // What is outside a smaller screen has the colour of the background.
    let background = Theme::Dark.colors().background;
    let width = animation.size().0;
    let inside = 5 * cell_width + 5;
    let last = &gif.frames.last().unwrap().picture;
    let is_blank = |(i, pixel): (usize, &Rgb)| {
        let (x, y) = (i % width, i / width);
        x < inside && y < 2 * cell_height + 5 || *pixel == background
    };
    assert!(last.iter().enumerate().all(is_blank));
    let middle = all.iter().position(|shot| shot.at == ms(200)).unwrap();
    assert!(gif.at(20) == gif.nearest(&screenshot(&all[middle])));
}

#[test]
fn a_window_has_corners_a_bar_and_a_margin() {
    for (bar, is_right) in [(WindowBar::Colorful, false), (WindowBar::ColorfulRight, true)] {
        let look = Look {
            bar: Some(bar),
            bar_size: 30,
            margin: 10,
            margin_fill: [200, 100, 0],
            border_radius: 8,
            ..plain()
        };
        let cell = look.cell();
        let all = shots(20, 2, &[(0, "abc"), (100, "d")]);
        let animation = animation(look, &all);
        assert_eq!(animation.size(), (20 * cell.0 + 10 + 20, 2 * cell.1 + 10 + 20 + 30));
        let (width, picture) = last_picture(&animation);
        let at = |x: usize, y: usize| picture[y * width + x];
        let background = Theme::Dark.colors().background;
        let height = animation.size().1;
        for (x, y) in [(0, 0), (9, 40), (10, 10), (width - 11, height - 11), (width - 11, 10)] {
            assert_eq!(at(x, y), [200, 100, 0], "{x} {y}");
        }
        for (x, y) in [(10, 20), (18, 10), (width - 11, 40)] {
            assert_eq!(at(x, y), background, "{x} {y}");
        }
        let red = if is_right { width - 10 - 15 } else { 10 + 15 };
        assert_eq!(at(red, 25), [0xff, 0x5f, 0x57]);
        let screen = screenshot(&all[1]);
        let row = |y: usize| &picture[(40 + y) * width + 10..][..20 * cell.0 + 10];
        assert!((0..30).all(|y| row(y) == &screen[y * row(y).len()..][..row(y).len()]));
        let gif = DecodedGif::of(&animation);
        assert!(gif.frames[1].picture == gif.nearest(&picture));
    }
}

#[test]
fn a_corner_hides_the_cells_under_it() {
    let look = Look { padding: 0, border_radius: 12, margin_fill: [9, 9, 9], ..plain() };
    let all = shots(10, 2, &[(0, "\x1b[41m\x1b[2J"), (100, "\x1b[42m\x1b[2J")]);
    let animation = animation(look, &all);
    let gif = DecodedGif::of(&animation);
    let (_, picture) = last_picture(&animation);
    assert_eq!(picture[0], [9, 9, 9]);
    assert!(gif.frames[1].picture == gif.nearest(&picture));
}

#[test]
fn cells_fill_the_size_that_was_asked_for() {
    let look = Look {
        size: Some((640, 480)),
        margin: 10,
        bar: Some(WindowBar::Rings),
        letter_spacing: 2.0,
        line_height: 1.5,
        ..Look::default()
    };
    let (cols, rows) = look.cells_within(640, 480);
    let blank = animation(look.clone(), &shots(cols, rows, &[(0, "")]));
    assert_eq!(blank.size(), (640, 480));
    let wider = animation(look.clone(), &shots(cols + 1, rows + 1, &[(0, "")])).size();
    assert!(wider.0 > 640 && wider.1 > 480, "{wider:?}");
    assert_eq!(look.cell(), (11, 27));
    assert_eq!(look.cells_within(1, 1), (1, 1));
}
