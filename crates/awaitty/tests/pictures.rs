//! Screenshots, compared with reference pictures. `UPDATE_PICTURES=1` rewrites the references; review the difference.
#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use awaitty::render::{self, Colors, Font, Options, Theme};
use awaitty_core::{Session, Time};

/// The largest accepted difference of a colour channel: CPUs round differently.
const CHANNEL_DIFFERENCE_MAX: u8 = 24;

/// How many of 1 000 pixels may differ by more than that.
const DIFFERING_PIXELS_MAX: usize = 2;

struct Drawn {
    png: Vec<u8>,
    svg: String,
}

fn draw(cols: usize, rows: usize, printed: &str, scale: f32, theme: Theme) -> Drawn {
    let now = Time::from_ms(0);
    let mut session = Session::new(now, cols, rows, 0);
    session.handle_output(now, printed.as_bytes());
    session.handle_drained(now);
    let options = Options {
        scale,
        cursor: Some(session.screen().cursor()),
        colors: Colors::new(theme, session.screen()),
        font: Font::default(),
    };
    let png = render::png(session.frame(), &options).unwrap();
    let again = render::png(session.frame(), &options).unwrap();
    assert!(png.bytes == again.bytes, "the same frame gives the same bytes");
    let svg = render::svg(session.frame(), &options).unwrap();
    assert_eq!((svg.width, svg.height), (png.width, png.height));
    Drawn { png: png.bytes, svg: String::from_utf8(svg.bytes).unwrap() }
}

fn pixels(png: impl std::io::BufRead + std::io::Seek) -> (u32, u32, Vec<u8>) {
    let mut reader = png::Decoder::new(png).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    (info.width, info.height, pixels)
}

fn reference(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pictures").join(name)
}

/// Compares a picture with the reference of that name.
fn check(name: &str, png: &[u8]) {
    let path = reference(&format!("{name}.png"));
    if std::env::var_os("UPDATE_PICTURES").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, png).unwrap();
    }
    let (width, height, drawn) = pixels(std::io::Cursor::new(png));
    let file = File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let (expected_width, expected_height, expected) = pixels(BufReader::new(file));
    assert_eq!((width, height), (expected_width, expected_height), "{name}");
    let differs = |(a, b): &(&[u8], &[u8])| {
        a.iter().zip(*b).any(|(a, b)| a.abs_diff(*b) > CHANNEL_DIFFERENCE_MAX)
    };
    let differing = drawn.chunks(3).zip(expected.chunks(3)).filter(differs).count();
    let most = drawn.len() / 3 * DIFFERING_PIXELS_MAX / 1000;
    assert!(differing <= most, "{name}: {differing} pixels differ, at most {most} may");
}

/// Returns all characters of a range in rows of `per_row`, joined by `separator`.
fn range(from: u32, to: u32, per_row: usize, separator: &str) -> String {
    let all: Vec<char> = (from..=to).filter_map(char::from_u32).collect();
    let rows = all.chunks(per_row).map(|row| {
        let row: Vec<String> = row.iter().map(char::to_string).collect();
        row.join(separator)
    });
    rows.collect::<Vec<_>>().join("\r\n")
}

#[test]
fn colours() {
    let mut printed = String::new();
    for base in [30, 40, 90, 100] {
        (base..base + 8).for_each(|n| printed += &format!("\x1b[{n}m {n:3} \x1b[m"));
        printed += "\r\n";
    }
    for row in 0..8 {
        (row * 32..row * 32 + 32).for_each(|n| printed += &format!("\x1b[48;5;{n}m  "));
        printed += "\x1b[m\r\n";
    }
    for i in 0..64 {
        printed += &format!("\x1b[48;2;{};{};{}m ", i * 4, 255 - i * 4, 128);
    }
    printed += "\x1b[m\r\n\x1b]4;1;#00ff00\x07\x1b[31mchosen\x1b[m";
    check("colours-dark", &draw(66, 15, &printed, 1.0, Theme::Dark).png);
    check("colours-light", &draw(66, 15, &printed, 1.0, Theme::Light).png);
}

#[test]
fn attributes() {
    let styles = [
        ("0", "plain"),
        ("1", "bold"),
        ("1;30;47", "bold black"),
        ("2", "dim"),
        ("3", "italic"),
        ("1;3", "bold italic"),
        ("4", "underline"),
        ("4:2", "double"),
        ("4:3;58;5;1", "curly"),
        ("4:4", "dotted"),
        ("4:5", "dashed"),
        ("7", "inverse"),
        ("8", "concealed"),
        ("9", "strike"),
        ("53", "overline"),
        ("7;2;32", "all of it"),
    ];
    let rows = styles.iter().map(|(sgr, name)| format!("\x1b[{sgr}m{name} Agjy|\x1b[m\r\n"));
    let printed: String = rows.collect();
    check("attributes", &draw(24, 17, &printed, 2.0, Theme::Dark).png);
    let reversed = format!("\x1b[?5h{printed}");
    check("attributes-reversed", &draw(24, 17, &reversed, 1.0, Theme::Dark).png);
}

#[test]
fn lines_join() {
    let table = "┌─┬┐ ╔═╦╗ ┏━┳┓ ╭─╮ ╒═╤╕ ╓─╥╖\r\n│ ││ ║ ║║ ┃ ┃┃ │╱│ │ ││ ║ ║║\r\n├─┼┤ ╠═╬╣ ┣━╋┫ │╲│ ╞═╪╡ ╟─╫╢\r\n└─┴┘ ╚═╩╝ ┗━┻┛ ╰─╯ ╘═╧╛ ╙─╨╜\r\n";
    let printed = format!("{table}{}", range(0x2500, 0x257f, 16, " "));
    check("lines", &draw(32, 13, &printed, 1.0, Theme::Dark).png);
    check("lines-large", &draw(32, 13, &printed, 2.5, Theme::Light).png);
}

#[test]
fn blocks_and_symbols() {
    let parts = [
        range(0x2580, 0x259f, 32, ""),
        "████▓▓▓▓▒▒▒▒░░░░\r\n████▓▓▓▓▒▒▒▒░░░░".to_owned(),
        range(0x2800, 0x28ff, 64, ""),
        range(0x1fb00, 0x1fb3b, 60, ""),
        range(0xe0b0, 0xe0bf, 16, " "),
        "\x1b[44m main \x1b[34;42m\u{e0b0}\x1b[30m ok \x1b[32;49m\u{e0b0}\x1b[m \u{e0a0} \u{e0b2}"
            .to_owned(),
    ];
    check("blocks", &draw(64, 13, &parts.join("\r\n"), 1.0, Theme::Dark).png);
}

#[test]
fn emoji_and_missing_glyphs() {
    let printed =
        "e\u{301}a\u{308}o\u{302} 🚀🎉✅❌⚠️ 👍🏽 ❤️ 👩‍💻|\r\n\u{10ffff}\u{f0000}| →←↑↓ ✓✗ ●○ λ ∑ ≤ Ж";
    check("emoji", &draw(32, 3, printed, 2.0, Theme::Dark).png);
}

#[test]
fn cursors() {
    for (name, shape) in [("block", 2), ("underline", 4), ("bar", 6)] {
        let printed = format!("\x1b[{shape} qab🚀d\x1b[1;3H");
        check(&format!("cursor-{name}"), &draw(6, 1, &printed, 1.0, Theme::Dark).png);
    }
    let hidden = draw(6, 1, "ab\x1b[?25l", 1.0, Theme::Dark).png;
    let (_, _, shown) = pixels(std::io::Cursor::new(&hidden));
    assert!(!shown.chunks(3).any(|pixel| pixel == [0xf0, 0xf0, 0xf0]), "no cursor");
}

#[test]
fn program_output_is_escaped_in_svg() {
    let hostile = "<script>alert(1)</script>&amp;\"'\x1b]0;<b>\x07\x1b]8;;javascript:x\x07link\x1b]8;;\x07\u{202e}abc\u{e0041}";
    let all: String = (0u8..=255).map(char::from).collect();
    let svg = draw(60, 12, &format!("{hostile}\r\n{all}"), 1.0, Theme::Dark).svg;
    assert!(svg.contains("&lt;script&gt;alert(1)&lt;/script&gt;&amp;amp;"), "{svg}");
    assert!(!svg.contains("<script") && !svg.contains("javascript"), "{svg}");
    assert!(!svg.chars().any(|c| c.is_control() && c != '\n' || c == '\u{202e}'), "{svg}");
    assert!(svg.contains("&lt;U+202E&gt;"), "{svg}");
    let forbidden = draw(9, 1, "a\u{fffe}\u{ffff}b", 1.0, Theme::Dark).svg;
    assert!(!forbidden.contains(['\u{fffe}', '\u{ffff}']), "XML forbids these: {forbidden}");
}

#[test]
fn too_large_pictures_are_refused_with_a_scale_that_fits() {
    let now = Time::from_ms(0);
    let session = Session::new(now, 1000, 500, 0);
    let options =
        |scale| Options { scale, cursor: None, colors: Colors::default(), font: Font::default() };
    let wrong = render::png(session.frame(), &options(1.0)).unwrap_err();
    assert!(wrong.contains("scale: 1 gives") && wrong.contains("give at most 0.6"), "{wrong}");
    assert!(render::svg(session.frame(), &options(0.6)).is_ok());
}

#[test]
fn fonts_load_from_files() {
    let fonts = Path::new(env!("CARGO_MANIFEST_DIR")).join("fonts");
    assert!(Font::from_file(&fonts.join("DejaVuSansMono-Bold.ttf")).is_ok());
    for (path, wanted) in
        [("README.md", "not a font"), ("none.ttf", "No such file"), ("", "not a file")]
    {
        let wrong = Font::from_file(&fonts.join(path)).unwrap_err();
        assert!(wrong.contains(wanted), "{wrong}");
    }
}
