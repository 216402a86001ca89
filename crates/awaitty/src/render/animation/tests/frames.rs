//! The frames of a GIF, compared with screenshots.

use proptest::prelude::*;

use super::*;

#[test]
fn each_gif_frame_is_the_screenshot_of_its_shot() {
    let shots = shots(24, 6, &SESSION);
    let animation = animation(plain(), &shots);
    let gif = DecodedGif::of(&animation);
    assert_eq!(gif.delays(), [10, 3, 7, 6, 4, 10, 10, 2]);
    for (shot, frame) in shots.iter().zip(&gif.frames) {
        let expected = gif.nearest(&screenshot(shot));
        assert!(frame.picture == expected, "the frame at {:?}", shot.at);
    }
    assert_eq!(last_picture(&animation).1, screenshot(shots.last().unwrap()));
}

#[test]
fn a_frame_is_the_rectangle_that_changed() {
    let parts =
        [(0, "\x1b[?25lone\r\ntwo\r\nthree"), (100, "\x1b[2;2HX"), (200, "\x1b[HY\x1b[3;5HZ")];
    let gif = DecodedGif::of(&animation(plain(), &shots(20, 4, &parts)));
    let ((cell_width, cell_height), padding) = (Look::default().cell(), 5);
    let (left, top, width, height) = gif.frames[1].area;
    let cell = (padding + cell_width, padding + cell_height);
    assert!(left >= cell.0 && left + width <= cell.0 + cell_width, "{left} {width}");
    assert!(top >= cell.1 && top + height <= cell.1 + cell_height, "{top} {height}");
    let far = &gif.frames[2];
    assert!(far.area.2 > cell_width * 3 && far.area.3 > cell_height * 2, "{:?}", far.area);
    assert!(far.drawn <= 2 * cell_width * cell_height, "{} of both cells", far.drawn);
}

#[test]
fn a_shot_that_looks_the_same_is_no_frame() {
    let parts =
        [(0, "\x1b[?25la"), (100, "\ra"), (200, "\x1b]0;title\x07"), (300, "b"), (400, "\x1b[K")];
    let gif = DecodedGif::of(&animation(plain(), &shots(20, 2, &parts)));
    assert_eq!(gif.delays(), [30, 10]);
    // Both texts are invisible, although their styles differ.
    let parts = [(0, "\x1b[?25l\x1b[8ma"), (100, "\x1b[1G\x1b[8mb"), (200, "\x1b[mc")];
    let gif = DecodedGif::of(&animation(plain(), &shots(20, 2, &parts)));
    assert_eq!(gif.delays(), [20, 2]);
}

#[test]
fn rounded_delays_add_up_to_the_duration() {
    let parts: Vec<(u64, String)> = (0..30).map(|i| (i * 333 / 10, format!("{i}"))).collect();
    let parts: Vec<(u64, &str)> = parts.iter().map(|(at, text)| (*at, text.as_str())).collect();
    let mut animation = animation(plain(), &shots(70, 1, &parts));
    animation.set_end(ms(1239));
    let delays = DecodedGif::of(&animation).delays();
    assert_eq!(delays.len(), 30);
    assert_eq!(delays.iter().map(|delay| u64::from(*delay)).sum::<u64>(), 124);
    assert!(delays[..29].iter().all(|delay| [3, 4].contains(delay)), "{delays:?}");
}

#[test]
fn a_long_rest_is_several_frames() {
    for (end, expected) in
        [(650_000, &[65_000][..]), (650_010, &[65_000, 1]), (1_300_000, &[65_000; 2])]
    {
        let mut animation = animation(plain(), &shots(4, 1, &[(0, "a")]));
        animation.set_end(ms(end));
        let gif = DecodedGif::of(&animation);
        assert_eq!(gif.delays(), expected);
        assert!(gif.frames.iter().all(|frame| frame.picture == gif.frames[0].picture));
    }
}

#[test]
fn a_fast_change_waits_for_the_next_frame() {
    let parts = [(0, "a"), (5, "b"), (19, "c"), (39, "d"), (59, "e"), (61, "f"), (200, "g")];
    let all = shots(8, 1, &parts);
    let gif = DecodedGif::of(&animation(plain(), &all));
    assert_eq!(gif.delays(), [2, 2, 2, 2, 12, 2]);
    let visible: Vec<&Shot> = [0, 2, 3, 4, 5, 6].map(|i| &all[i]).into();
    for (frame, shot) in gif.frames.iter().zip(visible) {
        assert!(frame.picture == gif.nearest(&screenshot(shot)), "{:?}", shot.at);
    }
    let slow = DecodedGif::of(&animation(Look { framerate: 10.0, ..plain() }, &all));
    assert_eq!(slow.delays(), [10, 10, 10]);
    let fast = DecodedGif::of(&animation(Look { framerate: 1000.0, ..plain() }, &all));
    assert_eq!(fast.delays(), gif.delays());
}

#[test]
fn the_speed_scales_times() {
    let all = shots(8, 1, &[(0, "a"), (100, "b"), (300, "c")]);
    for (playback_speed, expected) in [(2.0, [5, 10, 10]), (0.5, [20, 40, 40])] {
        let mut animation = animation(Look { playback_speed, ..plain() }, &all);
        animation.set_end(ms(500));
        assert_eq!(DecodedGif::of(&animation).delays(), expected);
    }
}

#[test]
fn the_loop_starts_at_its_offset() {
    let all = shots(8, 1, &[(0, "a"), (100, "b"), (300, "c")]);
    let mut straight = animation(plain(), &all);
    straight.set_end(ms(400));
    let straight = DecodedGif::of(&straight);
    for (loop_offset, first, delays) in [
        (0.2, 0, [10, 20, 10]),
        (0.25, 1, [20, 10, 10]),
        (0.8, 2, [10, 10, 20]),
        (1.0, 2, [10, 10, 20]),
    ] {
        let mut rotated = animation(Look { loop_offset, ..plain() }, &all);
        rotated.set_end(ms(400));
        let rotated = DecodedGif::of(&rotated);
        assert_eq!(rotated.delays(), delays, "{loop_offset}");
        for (i, frame) in rotated.frames.iter().enumerate() {
            assert!(frame.picture == straight.frames[(first + i) % 3].picture, "{loop_offset} {i}");
        }
    }
}

#[test]
fn a_cursor_blinks_while_the_screen_rests() {
    let all = shots(8, 1, &[(0, "a"), (1200, "b\x1b[?25l")]);
    let mut animation = animation(Look { cursor_blink: true, ..plain() }, &all);
    animation.set_end(ms(5000));
    let gif = DecodedGif::of(&animation);
    assert_eq!(gif.delays(), [53, 53, 14, 380]);
    assert!(gif.frames[0].picture == gif.frames[2].picture);
    let without = Shot { cursor: None, ..all[0].clone() };
    assert!(gif.frames[1].picture == gif.nearest(&screenshot(&without)));
}

#[test]
fn the_colours_of_the_theme_are_exact_among_many() {
    let mut printed = String::from("\x1b[?25l");
    for i in 0..2000 {
        printed += &format!("\x1b[38;2;{};{};{}mx", i % 256, i * 7 % 256, i / 8);
    }
    for i in 0..8 {
        printed += &format!("\x1b[{}m \x1b[{}m \x1b[m", 40 + i, 100 + i);
    }
    let animation = animation(plain(), &shots(80, 30, &[(0, &printed)]));
    let gif = DecodedGif::of(&animation);
    let theme = Theme::Dark.colors();
    for color in theme.basic.iter().chain([&theme.background]) {
        assert!(gif.palette.contains(color), "{color:?}");
    }
    let (_, exact) = last_picture(&animation);
    let differences = exact
        .iter()
        .zip(&gif.frames[0].picture)
        .map(|(a, b)| (0..3).map(|i| u64::from(a[i].abs_diff(b[i]))).sum::<u64>());
    let mean = differences.sum::<u64>() as f64 / exact.len() as f64;
    assert!(mean < 6.0, "the mean difference is {mean}");
}

#[test]
fn the_same_screens_give_the_same_bytes() {
    let look = Look { bar: Some(WindowBar::Rings), border_radius: 9, margin: 7, ..plain() };
    let all = shots(24, 6, &SESSION);
    let [a, b] = [(); 2].map(|()| animation(look.clone(), &all));
    assert!(gif_of(&a) == gif_of(&b));
    assert!(svg_of(&a) == svg_of(&b));
    assert!(last_picture(&a) == last_picture(&b));
}

/// A piece of output: text, styles, movements, erasing, colours and sizes.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zA-Z世─é ]{1,12}",
        (30..48_u8).prop_map(|n| format!("\x1b[{n}m")),
        (0..10_u8).prop_map(|n| format!("\x1b[{n}m")),
        (1..8_u8, 1..24_u8).prop_map(|(row, col)| format!("\x1b[{row};{col}H")),
        (0..3_u8).prop_map(|n| format!("\x1b[{n}J")),
        (0..6_u8).prop_map(|n| format!("\x1b[{n} q")),
        Just("\r\n".to_owned()),
        Just("\x1b[?25l".to_owned()),
        Just("\x1b[?25h".to_owned()),
        Just("\x1b[?5h".to_owned()),
        Just("\x1b[?5l".to_owned()),
        any::<u8>().prop_map(|n| format!("\x1b]11;#{n:02x}0040\x07")),
        (4..24_u8, 2..6_u8).prop_map(|(cols, rows)| format!("\0resize {cols} {rows}")),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..Default::default() })]

    #[test]
    fn frames_up_to_a_time_give_the_picture_of_that_time(
        parts in proptest::collection::vec((1..90_u64, piece()), 1..14),
        radius in 0..20_usize,
        padding in 0..9_usize,
        loop_offset in 0.0..1.0_f32,
        cursor_blink in any::<bool>(),
    ) {
        let mut at = 0;
        let timed: Vec<(u64, &str)> = parts
            .iter()
            .map(|(after, printed)| { at += after * 11; (at, printed.as_str()) })
            .collect();
        let look = Look {
            padding,
            border_radius: radius,
            loop_offset,
            cursor_blink,
            bar: Some(WindowBar::RingsRight),
            ..Look::default()
        };
        let animation = animation(look, &shots(16, 4, &timed));
        let gif = DecodedGif::of(&animation);
        let faces = animation.look.font.faces();
        let (steps, end) = animation.steps().unwrap();
        for step in steps {
            let at = ((step.at.as_millis() + 5) / 10) as u64;
            let picture = animation.drawer(&faces).picture(step.screen, step.has_cursor);
            prop_assert!(gif.at(at) == gif.nearest(picture.pixels.as_chunks().0), "at {:?}", step.at);
        }
        let sum: u64 = gif.delays().iter().map(|delay| u64::from(*delay)).sum();
        prop_assert_eq!(sum, ((end.as_millis() + 5) / 10) as u64);
    }
}
