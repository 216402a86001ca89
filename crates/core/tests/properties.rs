//! Invariants of all streams of bytes, checked with plausible streams and with noise.
//!
//! The default run is short; `PROPTEST_CASES=1000000 cargo test --release --test properties` is the long one. Failed
//! cases are stored in `properties.proptest-regressions` and run first.

mod common;

use std::collections::BTreeMap;

use awaitty_core::{Line, Screen, Tick};
use common::{SCROLLBACK, Step};
use proptest::prelude::*;

fn text() -> impl Strategy<Value = Vec<u8>> {
    let words = prop_oneof![
        8 => "[ -~]{1,12}",
        2 => "[世界日本語]{1,4}",
        1 => "[a-e]\u{301}\u{302}?",
        1 => Just("👩\u{200d}💻".to_owned()),
        1 => Just("🇩🇪".to_owned()),
        1 => Just("☀\u{fe0f}".to_owned()),
        1 => Just("\u{301}".to_owned()),
        1 => Just("\u{600}".to_owned()),
        1 => "[a-z]{40,90}",
    ];
    words.prop_map(String::into_bytes)
}

fn control() -> impl Strategy<Value = Vec<u8>> {
    let controls: &[&[u8]] =
        &[b"\r\n", b"\n", b"\r", b"\x08", b"\t", b"\x07", b"\x0b", b"\x0e", b"\x0f", b"\x18"];
    prop::sample::select(controls).prop_map(<[u8]>::to_vec)
}

fn escape() -> impl Strategy<Value = Vec<u8>> {
    let escapes: &[&str] = &[
        "7", "8", "D", "E", "H", "M", "N", "O", "c", "=", ">", "6", "9", "V", "W", "n", "o", "#8",
        "(0", "(B", ")0", "*A", "+0", " F", " G", "%G", "Z", "\\", "#6",
    ];
    prop::sample::select(escapes).prop_map(|escape| format!("\x1b{escape}").into_bytes())
}

/// Mostly small numbers, occasionally one out of any range.
fn param() -> impl Strategy<Value = String> {
    prop_oneof![
        10 => (0u32..12).prop_map(|n| n.to_string()),
        3 => (0u32..120).prop_map(|n| n.to_string()),
        2 => Just(String::new()),
        1 => Just("999999999999".to_owned()),
    ]
}

fn csi() -> impl Strategy<Value = Vec<u8>> {
    let finals: &[&str] = &[
        "@", "A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L", "M", "P", "S", "T", "X",
        "Z", "`", "a", "b", "d", "e", "f", "g", "m", "n", "r", "s", "u", "t", "c", "x", " @", " A",
        "'}", "'~", "$z", "${", "$x", "$v", "$r", "$t", "*x", "*y", "!p", "\"q", " q", "\"p", "$p",
    ];
    let private: &[&str] = &["J", "K", "n", "u", "$p", "r", "s"];
    let greater: &[&str] = &["c", "m", "u", "q", "n"];
    let body = prop_oneof![
        12 => (Just(""), prop::sample::select(finals)),
        1 => (Just("?"), prop::sample::select(private)),
        1 => (Just(">"), prop::sample::select(greater)),
        1 => (prop::sample::select(&["<", "="][..]), Just("u")),
    ];
    (body, prop::collection::vec(param(), 0..6)).prop_map(|((marker, last), params)| {
        format!("\x1b[{marker}{}{last}", params.join(";")).into_bytes()
    })
}

fn sgr() -> impl Strategy<Value = Vec<u8>> {
    let styles: &[&str] = &[
        "",
        "0",
        "1",
        "2",
        "3",
        "4",
        "4:3",
        "5",
        "7",
        "8",
        "9",
        "21",
        "22",
        "24",
        "27",
        "31",
        "42",
        "39",
        "49",
        "94",
        "103",
        "53",
        "38;5;196",
        "48;2;1;2;3",
        "38:2::9:8:7",
        "58:5:3",
        "1;4;33;44",
    ];
    prop::sample::select(styles).prop_map(|style| format!("\x1b[{style}m").into_bytes())
}

fn mode() -> impl Strategy<Value = Vec<u8>> {
    let modes: &[&str] = &[
        "4", "20", "?1", "?3", "?5", "?6", "?7", "?25", "?45", "?1045", "?47", "?1047", "?1048",
        "?1049", "?69", "?95", "?1000", "?1002", "?1006", "?2004", "?2026", "?2027", "?2048",
        "?12",
    ];
    (prop::sample::select(modes), any::<bool>())
        .prop_map(|(mode, on)| format!("\x1b[{mode}{}", if on { 'h' } else { 'l' }).into_bytes())
}

fn string() -> impl Strategy<Value = Vec<u8>> {
    let strings: &[&str] = &[
        "\x1b]0;title\x07",
        "\x1b]2;other\x1b\\",
        "\x1b]4;1;red\x07",
        "\x1b]4;1;?\x07",
        "\x1b]104\x07",
        "\x1b]10;?\x07",
        "\x1b]11;#123456\x07",
        "\x1b]8;;http://a/\x07",
        "\x1b]8;id=1;http://b/\x07",
        "\x1b]8;;\x07",
        "\x1b]7;file://h/a%20b\x07",
        "\x1b]133;A\x07",
        "\x1b]133;D;1\x1b\\",
        "\x1b]9;hello\x07",
        "\x1b]777;notify;a;b\x07",
        "\x1bP$qm\x1b\\",
        "\x1bP$qr\x1b\\",
        "\x1bP+q544e\x1b\\",
        "\x1b_Gq=1;AAAA\x1b\\",
        "\x1bPq#0;2;0;0;0#0~~\x1b\\",
        "\x1b]never ends",
        "\x1b[22;0t",
        "\x1b[23;0t",
    ];
    prop::sample::select(strings).prop_map(|string| string.as_bytes().to_vec())
}

/// A typical element of program output.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        10 => text(),
        5 => control(),
        3 => escape(),
        10 => csi(),
        4 => sgr(),
        4 => mode(),
        2 => string(),
        1 => prop::collection::vec(any::<u8>(), 1..12),
    ]
}

/// Elements that draw, erase and move the cursor. They move no cells, except by scrolling whole lines up.
fn drawing() -> impl Strategy<Value = Vec<u8>> {
    let finals: &[&str] = &[
        "A", "B", "C", "D", "G", "H", "d", "J", "K", "X", "b", "?J", "?K", "$z", "${", "$x", "$r",
        "\"q", "I", "Z",
    ];
    let erase = (prop::sample::select(finals), prop::collection::vec(param(), 0..6)).prop_map(
        |(last, params)| {
            let (marker, last) = last.strip_prefix('?').map_or(("", last), |last| ("?", last));
            format!("\x1b[{marker}{}{last}", params.join(";")).into_bytes()
        },
    );
    let controls: &[&[u8]] =
        &[b"\r\n", b"\n", b"\r", b"\x08", b"\t", b"\x1b7", b"\x1b8", b"\x1b#8"];
    prop_oneof![
        10 => text(),
        5 => prop::sample::select(controls).prop_map(<[u8]>::to_vec),
        10 => erase,
        2 => sgr(),
        1 => prop::sample::select(&["\x1b[?2027h", "\x1b[?2027l", "\x1b[?7h", "\x1b[?7l"][..])
            .prop_map(|mode| mode.as_bytes().to_vec()),
    ]
}

/// Returns the ticks of the visible cells, by absolute line number.
fn ticks_by_line(screen: &Screen) -> BTreeMap<Line, Vec<Tick>> {
    let ticks = |row| (0..screen.cols()).map(|col| screen.tick_at(row, col)).collect();
    (0..screen.rows()).map(|row| (screen.line(row), ticks(row))).collect()
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(piece(), 0..60).prop_map(|pieces| pieces.concat())
}

fn size() -> impl Strategy<Value = (usize, usize)> {
    prop_oneof![8 => (2usize..20, 1usize..10), 1 => (1usize..4, 1usize..3), 1 => (20usize..100, 10usize..30)]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        12 => piece().prop_map(Step::Bytes),
        1 => size().prop_map(|(cols, rows)| Step::Resize(cols, rows)),
    ];
    prop::collection::vec(step, 0..60)
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn split_bytes_give_the_same_screen(
        bytes in bytes(), size in size(), cuts in prop::collection::vec(1usize..30, 1..20)
    ) {
        common::check_cuts(&[Step::Bytes(bytes)], size, &cuts);
    }

    #[test]
    fn split_bytes_give_the_same_wait_results(
        steps in steps(), size in size(), cuts in prop::collection::vec(1usize..30, 1..20)
    ) {
        common::check_waits(&steps, size, &cuts, "[a-e]{2}|世");
    }

    #[test]
    fn every_stream_keeps_the_invariants(steps in steps(), size in size()) {
        common::check_invariants(&steps, size);
    }

    #[test]
    fn ticks_of_a_cell_never_decrease(
        pieces in prop::collection::vec(drawing(), 0..60), (cols, rows) in size(), watched in any::<bool>()
    ) {
        let mut screen = Screen::new(cols, rows, SCROLLBACK);
        for piece in pieces {
            let before = ticks_by_line(&screen);
            if watched {
                screen.feed_observed(&piece, &mut |_| {});
            } else {
                screen.feed(&piece);
            }
            for (line, after) in ticks_by_line(&screen) {
                let Some(before) = before.get(&line) else { continue };
                for (col, (before, after)) in before.iter().zip(&after).enumerate() {
                    prop_assert!(before <= after, "line {line:?} column {col}: {before:?} {after:?}");
                }
            }
        }
    }

    #[test]
    fn drawn_cells_are_observed_before_they_disappear(bytes in bytes(), size in size()) {
        common::check_observed(&bytes, size);
    }

    #[test]
    fn observation_changes_only_ticks(bytes in bytes(), size in size()) {
        common::check_observation(&bytes, size);
    }

    #[test]
    fn a_dump_reproduces_the_terminal(steps in steps(), size in size()) {
        common::check_dump(&steps, size);
    }

    #[test]
    fn frame_numbers_count_changes_and_diffs_reproduce_frames(
        steps in steps(), size in size(), gaps in prop::collection::vec(0u64..40, 1..20)
    ) {
        common::check_frames(&steps, size, &gaps);
    }
}
