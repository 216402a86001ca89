//! Colour themes by name. The colours are those that the themes' authors publish.

use super::{Rgb, ThemeColors};

/// Colours as numbers: foreground, background, cursor, and the 16 basic colours.
type Numbers = (u32, u32, u32, [u32; 16]);

const THEMES: [(&str, Numbers); 7] = [
    (
        "Dracula",
        (
            0xf8f8f2,
            0x282a36,
            0xf8f8f2,
            [
                0x21222c, 0xff5555, 0x50fa7b, 0xf1fa8c, 0xbd93f9, 0xff79c6, 0x8be9fd, 0xf8f8f2,
                0x6272a4, 0xff6e6e, 0x69ff94, 0xffffa5, 0xd6acff, 0xff92df, 0xa4ffff, 0xffffff,
            ],
        ),
    ),
    (
        "Nord",
        (
            0xd8dee9,
            0x2e3440,
            0xd8dee9,
            [
                0x3b4252, 0xbf616a, 0xa3be8c, 0xebcb8b, 0x81a1c1, 0xb48ead, 0x88c0d0, 0xe5e9f0,
                0x4c566a, 0xbf616a, 0xa3be8c, 0xebcb8b, 0x81a1c1, 0xb48ead, 0x8fbcbb, 0xeceff4,
            ],
        ),
    ),
    (
        "Catppuccin Mocha",
        (
            0xcdd6f4,
            0x1e1e2e,
            0xf5e0dc,
            [
                0x45475a, 0xf38ba8, 0xa6e3a1, 0xf9e2af, 0x89b4fa, 0xf5c2e7, 0x94e2d5, 0xbac2de,
                0x585b70, 0xf38ba8, 0xa6e3a1, 0xf9e2af, 0x89b4fa, 0xf5c2e7, 0x94e2d5, 0xa6adc8,
            ],
        ),
    ),
    (
        "Catppuccin Latte",
        (
            0x4c4f69,
            0xeff1f5,
            0xdc8a78,
            [
                0x5c5f77, 0xd20f39, 0x40a02b, 0xdf8e1d, 0x1e66f5, 0xea76cb, 0x179299, 0xacb0be,
                0x6c6f85, 0xd20f39, 0x40a02b, 0xdf8e1d, 0x1e66f5, 0xea76cb, 0x179299, 0xbcc0cc,
            ],
        ),
    ),
    (
        "Gruvbox Dark",
        (
            0xebdbb2,
            0x282828,
            0xebdbb2,
            [
                0x282828, 0xcc241d, 0x98971a, 0xd79921, 0x458588, 0xb16286, 0x689d6a, 0xa89984,
                0x928374, 0xfb4934, 0xb8bb26, 0xfabd2f, 0x83a598, 0xd3869b, 0x8ec07c, 0xebdbb2,
            ],
        ),
    ),
    ("Solarized Dark", (0x839496, 0x002b36, 0x839496, SOLARIZED)),
    ("Solarized Light", (0x657b83, 0xfdf6e3, 0x657b83, SOLARIZED)),
];

const SOLARIZED: [u32; 16] = [
    0x073642, 0xdc322f, 0x859900, 0xb58900, 0x268bd2, 0xd33682, 0x2aa198, 0xeee8d5, 0x002b36,
    0xcb4b16, 0x586e75, 0x657b83, 0x839496, 0x6c71c4, 0x93a1a1, 0xfdf6e3,
];

/// Returns the names of the themes.
pub fn names() -> impl Iterator<Item = &'static str> {
    THEMES.iter().map(|(name, _)| *name)
}

/// Returns the colours of a theme by its name, without regard to case.
pub fn named(name: &str) -> Option<ThemeColors> {
    let is_named = |(known, _): &&(&str, Numbers)| known.eq_ignore_ascii_case(name);
    let &(_, (foreground, background, cursor, basic)) = THEMES.iter().find(is_named)?;
    Some(ThemeColors {
        foreground: rgb(foreground),
        background: rgb(background),
        cursor: rgb(cursor),
        basic: basic.map(rgb),
    })
}

fn rgb(number: u32) -> Rgb {
    let [_, rgb @ ..] = number.to_be_bytes();
    rgb
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn themes_are_found_by_name() {
        assert_eq!(named("nord").unwrap().background, [0x2e, 0x34, 0x40]);
        assert!(names().all(|name| named(name).is_some()));
        assert_eq!(named("x"), None);
    }
}
