//! Animated SVG.

use super::*;

#[test]
fn svg_has_text_and_no_script() {
    let hostile = "</style><script>alert(1)</script> two  blanks, &amp; \u{202e}x \x1b]8;;javascript:x\x07link";
    let svg = svg_of(&animation(plain(), &shots(90, 2, &[(0, hostile), (500, "\r\nmore")])));
    assert!(
        svg.contains(">&lt;/style&gt;&lt;script&gt;alert(1)&lt;/script&gt; two</text>"),
        "{svg}"
    );
    assert!(!svg.contains("<script") && !svg.contains("javascript") && !svg.contains('\u{202e}'));
    assert_eq!(svg.matches("</style>").count(), 1);
    assert!(svg.contains(">more</text>"), "{svg}");
    let forbidden = svg_of(&animation(plain(), &shots(9, 1, &[(0, "a\u{fffe}\u{ffff}b")])));
    assert!(!forbidden.contains(['\u{fffe}', '\u{ffff}']), "XML forbids these: {forbidden}");
}

#[test]
fn svg_animates_only_rows_that_change() {
    let parts = [(0, "\x1b[?25lstays\r\na"), (100, "\rb"), (200, "\ra"), (300, "\rc")];
    let mut animation = animation(plain(), &shots(20, 3, &parts));
    animation.set_end(ms(400));
    let svg = svg_of(&animation);
    let width = animation.size().0;
    let expected = format!(
        ".r1{{animation:r1 0.400s steps(1,end) infinite}}\n@keyframes r1{{0%{{transform:translate(0,0)}}\
         25%{{transform:translate(-{width}px,0)}}50%{{transform:translate(0,0)}}\
         75%{{transform:translate(-{}px,0)}}}}",
        2 * width
    );
    assert!(svg.contains(&expected), "{svg}");
    assert_eq!(svg.matches("@keyframes").count(), 1);
    assert_eq!(svg.matches("<text").count(), 4, "one for each distinct content");
}

#[test]
fn svg_shares_equal_rows_and_draws_the_cursor_over_them() {
    let line = "the same text";
    let parts = [(0, line), (100, "\r\n"), (200, line), (300, "\x1b[2;1H"), (400, "\x1b[?5h")];
    let svg = svg_of(&animation(plain(), &shots(20, 2, &parts)));
    // In each of the two colours once, and the letter under the cursor.
    assert_eq!(svg.matches(&format!(">{line}</text>")).count(), 2, "{svg}");
    assert_eq!(svg.matches(">t</text>").count(), 2, "{svg}");
    let uses = svg.matches("<use href=\"#c0\"/>").count();
    assert!(uses >= 3 && svg.contains("<g id=\"c0\">"), "{uses} {svg}");
    assert!(svg.contains("@keyframes b{0%{fill:#16181d}"), "{svg}");
}

#[test]
fn svg_joins_words_and_lines() {
    let printed = "\x1b[?25la few  words or \x1b[1mbold\x1b[m\r\n├──────┼───┤ → 世界";
    let svg = svg_of(&animation(plain(), &shots(30, 2, &[(0, printed)])));
    assert!(
        svg.contains(">a few</text>")
            && svg.contains(">words or</text>")
            && svg.contains(">bold</text>"),
        "{svg}"
    );
    assert!(svg.contains("font-weight:bold"), "{svg}");
    for width in [6 * 9, 3 * 9] {
        assert!(svg.contains(&format!("y=\"8\" width=\"{width}\" height=\"1\"")), "{width} {svg}");
    }
    assert!(!svg.contains("> </text>"), "{svg}");
    assert_eq!(svg.matches("spacingAndGlyphs").count(), 3, "wide characters are stretched: {svg}");
}
