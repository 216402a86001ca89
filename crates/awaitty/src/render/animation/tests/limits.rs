//! Limits and values out of range.

use super::*;

#[test]
fn values_out_of_range_are_refused() {
    let default = Look::default;
    let cases: [(Look, &str); 13] = [
        (Look { font_size: 3.9, ..default() }, "font_size: 3.9 is not between 4 and 200"),
        (Look { font_size: f32::NAN, ..default() }, "font_size: NaN"),
        (Look { letter_spacing: 200.5, ..default() }, "letter_spacing: 200.5"),
        (Look { line_height: 0.0, ..default() }, "line_height: 0"),
        (Look { framerate: 0.0, ..default() }, "framerate: 0"),
        (Look { playback_speed: 0.0, ..default() }, "playback_speed: 0"),
        (Look { loop_offset: 1.1, ..default() }, "loop_offset: 1.1"),
        (Look { padding: EDGE_MAX + 1, ..default() }, "padding: 4097 is more than 4096"),
        (Look { margin: EDGE_MAX + 1, ..default() }, "margin: 4097"),
        (Look { border_radius: EDGE_MAX + 1, ..default() }, "border_radius: 4097"),
        (Look { bar_size: EDGE_MAX + 1, ..default() }, "bar_size: 4097"),
        (
            Look { size: Some((65_536, 9)), ..default() },
            "65536x42 pixels, but the limits are 65535",
        ),
        (
            Look { size: Some((8192, render::PIXELS_MAX / 8192 + 1)), ..default() },
            "8192x4097 pixels",
        ),
    ];
    for (look, expected) in cases {
        let error = Animation::new(look).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
    for look in [
        Look { font_size: 4.0, loop_offset: 1.0, border_radius: EDGE_MAX, ..default() },
        Look { bar: Some(WindowBar::Rings), bar_size: EDGE_MAX, ..default() },
        Look { size: Some((8192, render::PIXELS_MAX / 8192)), ..default() },
        Look { size: Some((65_535, 60)), framerate: 0.1, ..default() },
    ] {
        assert!(Animation::new(look).is_ok());
    }
}

#[test]
fn an_animation_without_screens_is_refused() {
    let mut empty = Animation::new(Look::default()).unwrap();
    empty.set_end(ms(100));
    assert!(empty.is_empty());
    for result in
        [empty.write_gif(Vec::new()), empty.write_svg(Vec::new()), empty.write_png(Vec::new())]
    {
        assert!(result.unwrap_err().to_string().contains("has no screen: add one"));
    }
}

/// Pushes with limits, and returns the first error.
fn pushed(limits: Limits, all: &[Shot]) -> Result<Animation, String> {
    let mut animation = Animation::new(plain())?;
    animation.limits = limits;
    all.iter().try_for_each(|shot| animation.push(shot.clone()))?;
    Ok(animation)
}

#[test]
fn the_drawn_pixels_have_a_limit() {
    // The first screen draws 3 rows, the second one, and the third one, which is replaced.
    let all = shots(10, 3, &[(0, "\x1b[?25la\r\nb"), (100, "c"), (110, "\x1b[1;1Hd"), (115, "e")]);
    let row = 10 * Look::default().cell().0 * Look::default().cell().1;
    assert!(pushed(Limits { pixels: 5 * row, ..LIMITS }, &all).is_ok());
    let error = pushed(Limits { pixels: 5 * row - 1, ..LIMITS }, &all).unwrap_err();
    assert!(
        error.contains(&format!("{} pixels in 3 frames, but the limit is", 5 * row)),
        "{error}"
    );
    assert!(error.contains("lower the framerate (now 50), the font_size (now 15)"), "{error}");
}

#[test]
fn the_memory_has_a_limit() {
    let all = shots(10, 3, &[(0, "a"), (100, "b"), (200, "c")]);
    let bytes = |count: usize| pushed(LIMITS, &all[..count]).unwrap().timeline.bytes();
    assert!(bytes(1) < bytes(2) && bytes(2) < bytes(3));
    assert!(pushed(Limits { bytes: bytes(3), ..LIMITS }, &all).is_ok());
    let error = pushed(Limits { bytes: bytes(3) - 1, ..LIMITS }, &all).unwrap_err();
    assert!(error.contains("bytes for 3 frames of 4 different rows"), "{error}");
    // A shot that is replaced, or looks the same, takes nothing.
    let again = all[1..].iter().cycle().map(|shot| Shot { at: ms(201), ..shot.clone() });
    let after = |count: usize| {
        let shots: Vec<Shot> = all[..1].iter().cloned().chain(again.clone().take(count)).collect();
        pushed(LIMITS, &shots).unwrap().timeline.bytes()
    };
    assert_eq!(after(100), after(2));
}

#[test]
fn the_frames_have_a_limit() {
    let all = shots(10, 1, &[(0, "a"), (100, "b"), (200, "c")]);
    let mut animation = pushed(Limits { steps: 3, ..LIMITS }, &all).unwrap();
    assert!(animation.write_gif(Vec::new()).is_ok());
    animation.limits.steps = 2;
    let error = animation.write_gif(Vec::new()).unwrap_err().to_string();
    assert!(error.contains("more than 2 frames: lower the framerate (now 50), or"), "{error}");
    animation.limits.steps = 3;
    animation.look.cursor_blink = true;
    animation.set_end(Duration::MAX);
    let error = animation.write_svg(Vec::new()).unwrap_err().to_string();
    assert!(error.contains("more than 3 frames") && error.contains("cursor_blink"), "{error}");
}

#[test]
fn a_recording_has_a_longest_duration() {
    let last = |at: Duration| Shot { at, ..shots(10, 1, &[(0, "a")]).remove(0) };
    assert!(pushed(LIMITS, &[last(timeline::LENGTH_MAX)]).is_ok());
    let error = pushed(LIMITS, &[last(timeline::LENGTH_MAX + ms(1000))]).unwrap_err();
    assert!(error.contains("at: 2592001 s is later than 2592000 s"), "{error}");
}

#[test]
fn a_picture_has_a_largest_size() {
    let (cell_width, _) = Look::default().cell();
    let fits = (65_535 - 10) / cell_width;
    let shot = |cols: usize, rows: usize| shots(cols, rows, &[(0, "")]);
    assert!(fits > 1000, "a row of the widest terminal fits");
    let error = pushed(LIMITS, &shot(1000, 500)).unwrap_err();
    assert!(error.contains("1000x500 cells with font_size 15 give a picture of 9010x"), "{error}");
    assert!(error.contains("lower the font size"), "{error}");
    let mut animation = animation(plain(), &shot(10, 2));
    let size = animation.size();
    assert!(animation.push(shot(1000, 500).remove(0)).is_err());
    assert_eq!((animation.size(), last_picture(&animation).0), (size, size.0));
}
