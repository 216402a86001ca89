//! The effect of each sequence, one line per case. The corpus and the recordings cover more; these tests are readable.

use awaitty_core::{Attrs, Color, Event, MouseEncoding, MouseTracking, Screen, Style, Underline};

/// Returns a 10x4 screen with one letter per row, from a to d, after feeding `bytes`.
fn lettered(bytes: &str) -> Screen {
    let mut screen = Screen::new(10, 4, 100);
    screen.feed(b"aaaaa\r\nbbbbb\r\nccccc\r\nddddd");
    screen.feed(bytes.as_bytes());
    screen
}

fn rows(screen: &Screen) -> Vec<String> {
    (0..screen.rows()).map(|row| screen.row(row).text().to_owned()).collect()
}

fn check(bytes: &str, expected: [&str; 4]) {
    assert_eq!(rows(&lettered(bytes)), expected, "{bytes:?}");
}

/// Checks the reply to `bytes` on an 80x24 screen.
fn check_reply(bytes: &str, expected: &str) {
    let mut screen = Screen::new(80, 24, 0);
    screen.feed(bytes.as_bytes());
    let reply = screen.take_replies();
    assert_eq!(
        reply.escape_ascii().to_string(),
        expected.as_bytes().escape_ascii().to_string(),
        "{bytes:?}"
    );
}

fn style_of(sgr: &str) -> Style {
    let mut screen = Screen::new(10, 1, 0);
    screen.feed(format!("\x1b[{sgr}mx").as_bytes());
    screen.row(0).style_at(0)
}

#[test]
fn erasing() {
    check("\x1b[2;3H\x1b[K", ["aaaaa", "bb", "ccccc", "ddddd"]);
    check("\x1b[2;3H\x1b[1K", ["aaaaa", "   bb", "ccccc", "ddddd"]);
    check("\x1b[2;3H\x1b[2K", ["aaaaa", "", "ccccc", "ddddd"]);
    check("\x1b[2;3H\x1b[J", ["aaaaa", "bb", "", ""]);
    check("\x1b[2;3H\x1b[1J", ["", "   bb", "ccccc", "ddddd"]);
    check("\x1b[2J", ["", "", "", ""]);
    check("\x1b[2;3H\x1b[2X", ["aaaaa", "bb  b", "ccccc", "ddddd"]);
}

#[test]
fn inserting_and_deleting() {
    check("\x1b[2;3H\x1b[2@x", ["aaaaa", "bbx bbb", "ccccc", "ddddd"]);
    check("\x1b[2;3H\x1b[2P", ["aaaaa", "bbb", "ccccc", "ddddd"]);
    check("\x1b[2;3H\x1b[L", ["aaaaa", "", "bbbbb", "ccccc"]);
    check("\x1b[2;3H\x1b[M", ["aaaaa", "ccccc", "ddddd", ""]);
    check("\x1b[4h\x1b[1;2Hxy\x1b[4lz", ["axyzaaa", "bbbbb", "ccccc", "ddddd"]);
}

#[test]
fn margins() {
    check("\x1b[2;3r\x1b[3;1H\nx", ["aaaaa", "ccccc", "x", "ddddd"]);
    check("\x1b[2;3r\x1b[2;1H\x1bMx", ["aaaaa", "x", "bbbbb", "ddddd"]);
    check("\x1b[2;3r\x1b[?6h\x1b[1;1Hx", ["aaaaa", "xbbbb", "ccccc", "ddddd"]);
    check("\x1b[?69h\x1b[2;4s\x1b[S", ["abbba", "bcccb", "cdddc", "d   d"]);
    check("\x1b[?69h\x1b[2;4s\x1b[2;2H\x1b[L", ["aaaaa", "b   b", "cbbbc", "dcccd"]);
    check("\x1b[?69h\x1b[2;4s\x1b[1;2Hxyzw", ["axyza", "bwbbb", "ccccc", "ddddd"]);
    check("\x1b[1;2H\x1b['}", ["a aaaa", "b bbbb", "c cccc", "d dddd"]);
    check("\x1b[1;2H\x1b['~", ["aaaa", "bbbb", "cccc", "dddd"]);
    check("\x1b[3;2r\x1b[4;1H\nx", ["bbbbb", "ccccc", "ddddd", "x"]);
}

#[test]
fn rectangles() {
    check("\x1b[2;2;3;4$z", ["aaaaa", "b   b", "c   c", "ddddd"]);
    check("\x1b[88;2;2;3;4$x", ["aaaaa", "bXXXb", "cXXXc", "ddddd"]);
    check("\x1b[1;1;2;2;1;3;4;1$v", ["aaaaa", "bbbbb", "cccaa", "dddbb"]);
    check("\x1b[H\x1b[1\"qx\x1b[0\"q\x1b[1;1;2;5${", ["x", "", "ccccc", "ddddd"]);
}

#[test]
fn selective_erase_keeps_protected_cells() {
    check("\x1b[H\x1b[1\"qxy\x1b[0\"qz\x1b[?2J", ["xy", "", "", ""]);
    check("\x1b[H\x1b[1\"qxy\x1b[0\"qz\x1b[H\x1b[?K", ["xy", "bbbbb", "ccccc", "ddddd"]);
    check("\x1b[H\x1b[1\"qxy\x1b[0\"qz\x1b[2J", ["", "", "", ""]);
}

#[test]
fn wrapping() {
    check("\x1b[2J\x1b[1;9Hxyz", ["        xy", "z", "", ""]);
    check("\x1b[2J\x1b[1;10Hx\ry", ["y        x", "", "", ""]);
    check("\x1b[2J\x1b[?7l\x1b[1;9Hxyz", ["        xz", "", "", ""]);
    check("\x1b[2J\x1b[1;10H世", ["", "世", "", ""]);
    assert!(lettered("\x1b[2J\x1b[1;9Hxyz").row(0).is_wrapped());
    assert!(!lettered("\x1b[2J\x1b[1;9Hxy\r\nz").row(0).is_wrapped());
    assert!(!lettered("\x1b[2J\x1b[1;9Hxyz\x1b[1;3H\x1b[K").row(0).is_wrapped());
}

#[test]
fn tabs() {
    let at = |bytes: &str| {
        let mut screen = Screen::new(40, 2, 0);
        screen.feed(bytes.as_bytes());
        screen.cursor().col
    };
    assert_eq!(at("\t"), 8);
    assert_eq!(at("abc\x1b[2I"), 16);
    assert_eq!(at("\x1b[20G\x1b[Z"), 16);
    assert_eq!(at("\x1b[5G\x1bH\r\t"), 4);
    assert_eq!(at("\x1b[3g\t"), 39);
    assert_eq!(at("\x1b[9G\x1b[g\r\t"), 16);
    assert_eq!(at("\x1b[3g\x1b[?5W\r\t"), 8);
}

#[test]
fn charsets() {
    check("\x1b[H\x1b(0lqk\x1b(Bx", ["┌─┐xa", "bbbbb", "ccccc", "ddddd"]);
    check("\x1b[H\x1b)0\x0eq\x0fq", ["─qaaa", "bbbbb", "ccccc", "ddddd"]);
    check("\x1b[H\x1b*0\x1bNqq", ["─qaaa", "bbbbb", "ccccc", "ddddd"]);
    check("\x1b[H\x1b(A#", ["£aaaa", "bbbbb", "ccccc", "ddddd"]);
}

#[test]
fn repeating_and_alignment() {
    check("\x1b[Hx\x1b[3b", ["xxxxa", "bbbbb", "ccccc", "ddddd"]);
    check("\x1b[Hx\r\n\x1b[3b", ["xaaaa", "bbbbb", "ccccc", "ddddd"]);
    check("\x1b#8", ["EEEEEEEEEE"; 4]);
}

#[test]
fn the_alternate_screen() {
    check("\x1b[?1049h\x1b[Halt", ["alt", "", "", ""]);
    check("\x1b[?1049h\x1b[Halt\x1b[?1049lx", ["aaaaa", "bbbbb", "ccccc", "dddddx"]);
    check("\x1b[?47h\x1b[Halt\x1b[?47l\x1b[?47h", ["alt", "", "", ""]);
    check("\x1b[?1047h\x1b[Halt\x1b[?1047l\x1b[?1047h", ["", "", "", ""]);
    assert!(lettered("\x1b[?1049h").is_alternate());
    assert!(!lettered("\x1b[?1049h\x1bc").is_alternate());
}

#[test]
fn saving_and_restoring() {
    check("\x1b[2;2H\x1b7\x1b[H\x1b8x", ["aaaaa", "bxbbb", "ccccc", "ddddd"]);
    check("\x1b[2;2H\x1b[s\x1b[H\x1b[ux", ["aaaaa", "bxbbb", "ccccc", "ddddd"]);
    check("\x1b[2;2H\x1b[?1048h\x1b[H\x1b[?1048lx", ["aaaaa", "bxbbb", "ccccc", "ddddd"]);
    check("\x1b[?7s\x1b[?7l\x1b[?7r\x1b[1;10Hxy", ["aaaaa    x", "ybbbb", "ccccc", "ddddd"]);
}

#[test]
fn resets() {
    let screen = lettered("\x1b[2;3r\x1b[?6h\x1b[4h\x1b[1m\x1b(0\x1b[?25l\x1b[!px");
    assert!(screen.cursor().visible);
    assert_eq!(screen.row(1).style_at(0), Style::default());
    assert_eq!(rows(&screen), ["aaaaa", "xbbbb", "ccccc", "ddddd"]);
    let screen = lettered("\x1b]2;t\x07\x1b[?2004h\x1b[?1003h\x1b[5 q\x1bc");
    assert_eq!(screen.title(), "");
    assert!(!screen.has_bracketed_paste());
    assert_eq!(screen.mouse_tracking(), MouseTracking::Off);
    assert_eq!(screen.text(), "");
}

#[test]
fn reset_strings_of_terminals_do_not_clear_the_screen() {
    check("\x1b[!p\x1b[?3;4l\x1b[4l\x1b>", ["aaaaa", "bbbbb", "ccccc", "ddddd"]);
    check("\x1b[?40h\x1b[?3h", ["", "", "", ""]);
}

#[test]
fn styles() {
    let attrs = |sgr: &str| style_of(sgr).attrs;
    for (sgr, attr) in [
        ("1", Attrs::BOLD),
        ("2", Attrs::DIM),
        ("3", Attrs::ITALIC),
        ("5", Attrs::BLINK),
        ("7", Attrs::INVERSE),
        ("8", Attrs::CONCEALED),
        ("9", Attrs::STRIKE),
        ("53", Attrs::OVERLINE),
    ] {
        assert!(attrs(sgr).has(attr), "{sgr}");
        assert_eq!(style_of(&format!("{sgr};0")), Style::default());
    }
    assert_eq!(style_of("1;2;22;3;23;4;24;5;25;7;27;8;28;9;29;53;55"), Style::default());
    for (sgr, underline) in [
        ("4", Underline::Single),
        ("4:0", Underline::None),
        ("4:2", Underline::Double),
        ("21", Underline::Double),
        ("4:3", Underline::Curly),
        ("4:4", Underline::Dotted),
        ("4:5", Underline::Dashed),
    ] {
        assert_eq!(style_of(sgr).underline, underline, "{sgr}");
    }
}

#[test]
fn colours_are_parsed_in_all_forms() {
    let rgb = Color::Rgb(1, 2, 3);
    for sgr in ["38;2;1;2;3", "38:2:1:2:3", "38:2::1:2:3", "38:2:0:1:2:3", "38:2::1:2:3:0:1"] {
        assert_eq!(style_of(sgr).fg, rgb, "{sgr}");
        assert_eq!(style_of(&format!("{sgr};39")).fg, Color::Default);
        assert!(
            style_of(&format!("{sgr};1")).attrs.has(Attrs::BOLD),
            "{sgr} consumes only its own parameters"
        );
    }
    assert_eq!(style_of("48;5;200").bg, Color::Indexed(200));
    assert_eq!(style_of("48:5:200").bg, Color::Indexed(200));
    assert_eq!(style_of("58:5:9").underline_color, Color::Indexed(9));
    assert_eq!(style_of("58;2;1;2;3").underline_color, rgb);
    assert_eq!(style_of("58;2;1;2;3;59").underline_color, Color::Default);
    assert_eq!(style_of("31").fg, Color::Indexed(1));
    assert_eq!(style_of("97").fg, Color::Indexed(15));
    assert_eq!(style_of("104").bg, Color::Indexed(12));
    for bad in ["38;2;1;2", "38;5", "38", "38;2;1;2;256", "38;5;256", "38:5", "38;9;1"] {
        assert_eq!(style_of(bad).fg, Color::Default, "{bad}");
    }
}

#[test]
fn an_erased_cell_keeps_only_the_background() {
    let mut screen = Screen::new(10, 2, 0);
    screen.feed(b"\x1b[1;4;31;44m\x1b[2J");
    let style = screen.row(1).style_at(9);
    assert_eq!(style, Style { bg: Color::Indexed(4), ..Style::default() });
}

#[test]
fn replies() {
    check_reply("\x1b[c", "\x1b[?64;6;21;22;28c");
    check_reply("\x1b[>c", "\x1b[>41;390;0c");
    check_reply("\x1b[=c", "\x1bP!|00000000\x1b\\");
    check_reply("\x1b[5n", "\x1b[0n");
    check_reply("ab\x1b[6ncd\x1b[6n", "\x1b[1;3R\x1b[1;5R");
    check_reply("\x1b[5;10r\x1b[?6h\x1b[2;3H\x1b[6n", "\x1b[2;3R");
    check_reply("\x1b[3;4H\x1b[?6n", "\x1b[?3;4R");
    check_reply("\x1b[>q", concat!("\x1bP>|awaitty(", env!("CARGO_PKG_VERSION"), ")\x1b\\"));
    check_reply("\x1b[14t\x1b[18t\x1b[19t", "\x1b[4;384;640t\x1b[8;24;80t\x1b[9;24;80t");
    check_reply("\x1b[?u", "\x1b[?0u");
    check_reply("\x1b[>5u\x1b[?u\x1b[=2;2u\x1b[?u\x1b[<u\x1b[?u", "\x1b[?5u\x1b[?7u\x1b[?0u");
    check_reply("\x1b[>4;2m\x1b[?4m", "\x1b[>4;2m");
    check_reply("\x1b[?2048h", "\x1b[48;24;80;384;640t");
}

#[test]
fn replies_in_eight_bits() {
    let mut screen = Screen::new(80, 24, 0);
    screen.feed(b"\x1b G\x1b[5n\x1bP$qr\x1b\\\x1b F\x1b[5n");
    assert_eq!(screen.take_replies(), b"\x9b0n\x901$r1;24r\x9c\x1b[0n");
}

#[test]
fn mode_reports() {
    check_reply("\x1b[4$p\x1b[4h\x1b[4$p", "\x1b[4;2$y\x1b[4;1$y");
    check_reply("\x1b[?2026$p\x1b[?2026h\x1b[?2026$p", "\x1b[?2026;2$y\x1b[?2026;1$y");
    check_reply("\x1b[?2027$p", "\x1b[?2027;2$y");
    check_reply("\x1b[?1049h\x1b[?1049$p", "\x1b[?1049;1$y");
    check_reply("\x1b[?31337$p\x1b[31337$p", "\x1b[?31337;0$y\x1b[31337;0$y");
}

#[test]
fn setting_reports() {
    check_reply("\x1bP$qm\x1b\\", "\x1bP1$r0m\x1b\\");
    check_reply("\x1b[1;4:3;31;48:5:20m\x1bP$qm\x1b\\", "\x1bP1$r0;1;4:3;31;48:5:20m\x1b\\");
    check_reply("\x1b[38;2;1;2;3;58;5;4m\x1bP$qm\x1b\\", "\x1bP1$r0;38:2::1:2:3;58:5:4m\x1b\\");
    check_reply("\x1b[3;9r\x1bP$qr\x1b\\", "\x1bP1$r3;9r\x1b\\");
    check_reply("\x1b[?69h\x1b[3;9s\x1bP$qs\x1b\\", "\x1bP1$r3;9s\x1b\\");
    check_reply("\x1b[5 q\x1bP$q q\x1b\\", "\x1bP1$r5 q\x1b\\");
    check_reply("\x1bP$qBAD\x1b\\", "\x1bP0$r\x1b\\");
}

#[test]
fn colour_and_capability_reports() {
    check_reply("\x1b]4;1;?\x07", "\x1b]4;1;rgb:cdcd/0000/0000\x07");
    check_reply("\x1b]4;1;#102030\x07\x1b]4;1;?\x1b\\", "\x1b]4;1;rgb:1010/2020/3030\x1b\\");
    check_reply("\x1b]4;1;red\x07\x1b]104;1\x07\x1b]4;1;?\x07", "\x1b]4;1;rgb:cdcd/0000/0000\x07");
    check_reply("\x1b]10;?;?\x07", "\x1b]10;rgb:ffff/ffff/ffff\x07\x1b]11;rgb:0000/0000/0000\x07");
    check_reply(
        "\x1b]11;blue\x07\x1b]11;?\x07\x1b]111\x07\x1b]11;?\x07",
        "\x1b]11;rgb:0000/0000/ffff\x07\x1b]11;rgb:0000/0000/0000\x07",
    );
    check_reply(
        "\x1bP+q544e;436F\x1b\\",
        "\x1bP1+r544E=787465726D2D323536636F6C6F72\x1b\\\x1bP1+r436F=323536\x1b\\",
    );
    check_reply("\x1bP+q6e6f7065\x1b\\", "\x1bP0+r\x1b\\");
}

#[test]
fn checksums_are_reported_only_on_request() {
    let asked = b"A\x1b[7;1;1;1;1;1*y\x1bc\x1b[7;1;1;1;1;1*y";
    let mut screen = Screen::new(80, 24, 0);
    screen.feed(asked);
    assert_eq!(screen.take_replies(), b"");
    assert_eq!(screen.unknown().get("CSI *y"), Some(&2), "counted like any unknown sequence");
    screen.set_answers_checksums(true);
    screen.feed(asked);
    let replies = screen.take_replies();
    assert_eq!(replies, b"\x1bP7!~FFBF\x1b\\\x1bP7!~FFE0\x1b\\", "also after a reset");
    screen.set_answers_checksums(false);
    screen.feed(asked);
    assert_eq!(screen.take_replies(), b"");
}

#[test]
fn no_reply_contains_the_programs_own_text() {
    let mut screen = Screen::new(80, 24, 0);
    screen.feed(
        b"evil\x1b]0;evil\x07\x1b]1;evil\x07\x1b]7;file://evil/evil\x07\x1b]8;;http://evil/\x07",
    );
    screen.feed(b"\x1b]4;1;evil\x07\x1b]10;evil\x07\x1bPevil\x1b\\\x1b]52;c;ZXZpbA==\x07\x1b]133;A;evil\x07");
    screen.feed(
        b"\x1b[20t\x1b[21t\x1b]52;c;?\x07\x05\x1b]4;1;?\x07\x1b]10;?\x07\x1bP+q6576696c\x1b\\",
    );
    screen.feed(b"\x1bP$qevil\x1b\\\x1b]50;?\x07\x1b]60;?\x07\x1b[>0q\x1b[c\x1b[6n\x1b]l\x07\x1b]L\x07\x1b[?996n");
    let replies = String::from_utf8(screen.take_replies()).unwrap_or_default();
    assert!(!replies.contains("evil"), "{replies:?}");
    assert!(!replies.contains("ZXZpbA"), "{replies:?}");
    assert!(!replies.to_lowercase().contains("6576696c"), "{replies:?}");
}

#[test]
fn keyboard_and_mouse_modes_are_reported() {
    let screen = lettered(
        "\x1b[?1h\x1b=\x1b[?2004h\x1b[?1004h\x1b[?67h\x1b[20h\x1b[?1002;1006h\x1b[>4;2m\x1b[>3u",
    );
    assert!(screen.has_application_cursor());
    assert!(screen.has_application_keypad());
    assert!(screen.has_bracketed_paste());
    assert!(screen.has_focus_reports());
    assert!(screen.has_backspace_bs());
    assert!(screen.has_newline_mode());
    assert_eq!(screen.mouse_tracking(), MouseTracking::Drag);
    assert_eq!(screen.mouse_encoding(), MouseEncoding::Sgr);
    assert_eq!(screen.modify_other_keys(), 2);
    assert_eq!(screen.keyboard_flags(), 3);
    let screen = lettered("\x1b[>3u\x1b[?1049h");
    assert_eq!(screen.keyboard_flags(), 0, "each screen has its own flags");
}

#[test]
fn titles_directories_and_links() {
    let screen = lettered("\x1b]0;one\x07\x1b[22;0t\x1b]2;two\x1b\\\x1b[23;0t");
    assert_eq!(screen.title(), "one");
    assert_eq!(lettered("\x1b]2;a\tb\x07").title(), "ab", "control characters are removed");
    assert_eq!(lettered("\x1b]7;file://host/a%20b/%e4%b8%96\x07").cwd(), Some("/a b/世"));
    assert_eq!(lettered("\x1b]7;http://host/\x07").cwd(), None);
    let screen =
        lettered("\x1b[H\x1b]8;id=7;http://a/\x07xx\x1b]8;;\x07y\x1b]8;id=7;http://a/\x07z");
    let link = |col: usize| screen.row(0).style_at(col).link;
    assert_eq!(link(0).and_then(|id| screen.link(id)), Some("http://a/"));
    assert_eq!(link(2), None);
    assert_eq!(link(0), link(3), "the same id and address are the same link");
}

#[test]
fn events() {
    let mut screen = Screen::new(10, 4, 0);
    screen.feed(b"\x07\x1b]9;done\x07\x1b]777;notify;build;ok;fine\x07\x1b]9;4;1;50\x07\x1b]9;4\x07ab\r\n$ \x1b]133;B;k=v\x1b\\");
    let (events, lost) = screen.take_events();
    assert_eq!(lost, 0);
    assert_eq!(events[0], Event::Bell);
    let body = |event: &Event| match event {
        Event::Notification { title, body } => format!("{title:?} {body}"),
        Event::Bell | Event::Mark(_) => format!("{event:?}"),
    };
    assert_eq!(body(&events[1]), "None done");
    assert_eq!(body(&events[2]), "Some(\"build\") ok;fine");
    let Event::Mark(mark) = &events[3] else { panic!("{events:?}") };
    assert_eq!((mark.kind, mark.params.as_str(), mark.line.0, mark.col), ('B', "k=v", 2, 2));
    assert_eq!(events.len(), 4);
}

#[test]
fn a_notification_may_start_with_a_number() {
    let mut screen = Screen::new(10, 4, 0);
    screen.feed(b"\x1b]9;3 tests failed\x07");
    let body = "3 tests failed".to_owned();
    assert_eq!(screen.take_events().0, [Event::Notification { title: None, body }]);
}

#[test]
fn widths_match_wcwidth() {
    let width = |text: &str| {
        let mut screen = Screen::new(40, 1, 0);
        screen.feed(text.as_bytes());
        screen.cursor().col
    };
    for (text, expected) in [
        ("a", 1),
        ("é", 1),
        ("e\u{301}", 1),
        ("世", 2),
        ("ｱ", 1),
        ("Ａ", 2),
        ("😀", 2),
        ("\u{ad}", 1),
        ("☀\u{fe0f}", 1),
        ("👩\u{200d}💻", 4),
        ("🇩🇪", 2),
        ("각", 2),
        ("\u{1100}\u{1161}", 2),
        ("─", 1),
    ] {
        assert_eq!(width(text), expected, "{text}");
    }
}

#[test]
fn mode_2027_measures_grapheme_clusters() {
    let width = |text: &str| {
        let mut screen = Screen::new(40, 1, 0);
        screen.feed(format!("\x1b[?2027h{text}").as_bytes());
        assert_eq!(screen.text(), text);
        screen.cursor().col
    };
    for (text, expected) in [
        ("e\u{301}", 1),
        ("☀\u{fe0f}", 2),
        ("👩\u{200d}💻", 2),
        ("🇩🇪", 2),
        ("🇩🇪🇫🇷", 4),
        ("👍🏽x", 3),
        ("ab", 2),
    ] {
        assert_eq!(width(text), expected, "{text}");
    }
}

#[test]
fn a_blank_copied_into_the_only_column_ends_the_line() {
    let mut screen = Screen::new(1, 2, 0);
    screen.feed(b"0A\x1b[P");
    assert!(screen.row(0).is_wrapped());
    screen.feed(b"\x1b[2$v");
    assert!(!screen.row(0).is_wrapped());
}
