//! The look of a tape's pictures, from its settings.

use awaitty_test::tape::{self, Action, Setting, Tape};

use crate::render::animation::{Look, WindowBar};
use crate::render::{Theme, ThemeColors, themes};

/// Width and height of the picture of a tape in pixels if it sets only one of them, as in VHS.
const SIZE: (usize, usize) = (1200, 600);

/// Font size of a tape that does not set it, as in VHS.
const FONT_SIZE: f32 = 22.0;

/// Padding of a tape that does not set it, as in VHS.
const PADDING: usize = 60;

/// Returns the look of a tape, and warnings about settings that have no effect.
pub(super) fn look(tape: &Tape) -> (Look, Vec<String>) {
    let mut look =
        Look { font_size: FONT_SIZE, padding: PADDING, cursor_blink: true, ..Look::default() };
    let mut warnings = Vec::new();
    let (mut width, mut height) = (None, None);
    // Later settings of looks have no effect, as in VHS. The parser warns about them.
    let preamble = tape.flat().take_while(|command| command.action.is_preamble());
    for command in preamble {
        let Action::Set(setting) = &command.action else { continue };
        match setting {
            Setting::Width(pixels) => width = Some(*pixels as usize),
            Setting::Height(pixels) => height = Some(*pixels as usize),
            Setting::Theme(theme) => match theme_of(theme) {
                Ok(theme) => look.theme = theme,
                Err(warning) => warnings.push(format!("{}: {warning}", command.position)),
            },
            Setting::MarginFill(fill) => match color(fill) {
                Some(color) => look.margin_fill = color,
                None => warnings.push(format!(
                    "{}: MarginFill {fill:?} is not a colour such as \"#674EFF\": it is ignored",
                    command.position
                )),
            },
            setting => set(&mut look, setting),
        }
    }
    if width.or(height).is_some() {
        look.size = Some((width.unwrap_or(SIZE.0), height.unwrap_or(SIZE.1)));
    }
    (look, warnings)
}

fn set(look: &mut Look, setting: &Setting) {
    match setting {
        Setting::FontSize(size) => look.font_size = *size as f32,
        Setting::LetterSpacing(spacing) => look.letter_spacing = *spacing as f32,
        Setting::LineHeight(height) => look.line_height = *height as f32,
        Setting::Framerate(rate) => look.framerate = *rate as f32,
        Setting::PlaybackSpeed(speed) => look.playback_speed = *speed as f32,
        Setting::LoopOffset(percent) => look.loop_offset = *percent as f32 / 100.0,
        Setting::Padding(pixels) => look.padding = *pixels as usize,
        Setting::Margin(pixels) => look.margin = *pixels as usize,
        Setting::BorderRadius(pixels) => look.border_radius = *pixels as usize,
        Setting::WindowBar(bar) => look.bar = bar.map(window_bar),
        Setting::WindowBarSize(pixels) => look.bar_size = *pixels as usize,
        Setting::CursorBlink(blinks) => look.cursor_blink = *blinks,
        // The parser warns about the font family. The others concern the terminal.
        Setting::FontFamily(_)
        | Setting::Shell(_)
        | Setting::Width(_)
        | Setting::Height(_)
        | Setting::Columns(_)
        | Setting::Rows(_)
        | Setting::TypingSpeed(_)
        | Setting::WaitTimeout(_)
        | Setting::WaitPattern(_)
        | Setting::Theme(_)
        | Setting::MarginFill(_) => {}
    }
}

/// Returns the columns and rows of a tape that does not set them: those that fit into its picture.
pub(super) fn cells(look: &Look) -> (usize, usize) {
    match look.size {
        Some((width, height)) => {
            let (cols, rows) = look.cells_within(width, height);
            (cols.min(awaitty_core::COLS_MAX), rows.min(awaitty_core::ROWS_MAX))
        }
        None => awaitty_test::SIZE,
    }
}

fn window_bar(bar: tape::WindowBar) -> WindowBar {
    match bar {
        tape::WindowBar::Colorful => WindowBar::Colorful,
        tape::WindowBar::ColorfulRight => WindowBar::ColorfulRight,
        tape::WindowBar::Rings => WindowBar::Rings,
        tape::WindowBar::RingsRight => WindowBar::RingsRight,
    }
}

fn theme_of(theme: &tape::Theme) -> Result<Theme, String> {
    match theme {
        tape::Theme::Named(name) => themes::named(name).map(Theme::Custom).ok_or_else(|| {
            let known = themes::names().collect::<Vec<_>>().join(", ");
            format!("Theme {name:?} is not known, so it is ignored. Known are: {known}. JSON with colours works as well")
        }),
        tape::Theme::Colors(colors) => {
            let mut chosen = *Theme::Dark.colors();
            let set = |to: &mut [u8; 3], from: Option<tape::Rgb>| {
                if let Some((r, g, b)) = from {
                    *to = [r, g, b];
                }
            };
            let ThemeColors { foreground, background, cursor, basic } = &mut chosen;
            set(foreground, colors.foreground);
            set(background, colors.background);
            set(cursor, colors.cursor);
            for (to, from) in basic.iter_mut().zip(colors.palette) {
                set(to, from);
            }
            Ok(Theme::Custom(chosen))
        }
    }
}

/// Returns a colour written as `#674EFF`.
fn color(text: &str) -> Option<[u8; 3]> {
    let digits = text.strip_prefix('#').filter(|digits| digits.len() == 6)?;
    let [_, rgb @ ..] = u32::from_str_radix(digits, 16).ok()?.to_be_bytes();
    Some(rgb)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> (Look, Vec<String>) {
        let text = format!("{text}\nEnter");
        let tape = tape::parse(&text, &|_| Err(std::io::ErrorKind::NotFound.into())).unwrap();
        look(&tape)
    }

    #[test]
    fn settings_of_a_tape_become_a_look() {
        let (look, warnings) = of(
            "Set FontSize 30\nSet Padding 7\nSet LoopOffset 50%\nSet Width 900\n\
             Set WindowBar Rings\nSet MarginFill \"#674EFF\"\nSet CursorBlink false\nSet Theme \"Nord\"",
        );
        assert!(warnings.is_empty(), "{warnings:?}");
        assert_eq!((look.font_size, look.padding, look.loop_offset), (30.0, 7, 0.5));
        assert_eq!((look.size, look.bar), (Some((900, 600)), Some(WindowBar::Rings)));
        assert_eq!((look.margin_fill, look.cursor_blink), ([0x67, 0x4e, 0xff], false));
        assert!(matches!(look.theme, Theme::Custom(_)));
    }

    #[test]
    fn a_theme_may_be_json_and_an_unknown_name_is_a_warning() {
        let (look, warnings) = of("Set Theme {\"background\": \"#010203\", \"red\": \"#040506\"}");
        let Theme::Custom(colors) = look.theme else { panic!("{look:?}") };
        assert_eq!((colors.background, colors.basic[1]), ([1, 2, 3], [4, 5, 6]));
        assert!(warnings.is_empty());
        let (look, warnings) = of("Set Theme \"No Such\"\nSet MarginFill \"a.png\"");
        assert_eq!(look.theme, Theme::default());
        assert!(warnings[0].starts_with("1:1: Theme \"No Such\"") && warnings[0].contains("Nord"));
        assert!(warnings[1].starts_with("2:1: MarginFill"), "{warnings:?}");
    }

    #[test]
    fn the_cells_follow_from_the_pixels() {
        assert_eq!(cells(&of("").0), awaitty_test::SIZE);
        let (cols, rows) = cells(&of("Set Width 1200\nSet FontSize 20\nSet Padding 0").0);
        assert!((98..=102).contains(&cols) && (23..=26).contains(&rows), "{cols}x{rows}");
    }
}
