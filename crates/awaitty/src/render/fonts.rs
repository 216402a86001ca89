//! Fonts: embedded ones, one from a file, and those of the system as a fallback.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{LazyLock, Mutex, PoisonError};

use ttf_parser::{Face, GlyphId, OutlineBuilder};

static REGULAR: &[u8] = include_bytes!("../../fonts/DejaVuSansMono.ttf");
static BOLD: &[u8] = include_bytes!("../../fonts/DejaVuSansMono-Bold.ttf");
static EMOJI: &[u8] = include_bytes!("../../fonts/NotoEmoji-Regular.ttf");

/// Horizontal shift per height of synthetic italics, the same as in DejaVu Oblique.
const SLANT: f32 = 0.2;

/// Bytes of a font file. The largest CJK fonts have 20 MB.
const FONT_MAX: u64 = 64 << 20;

/// The font of an image: embedded, or the bytes of a file.
#[derive(Clone, Debug, Default)]
pub struct Font(Option<Vec<u8>>);

/// Parsed font faces.
#[derive(Clone, Debug)]
pub(super) struct FontFaces<'f> {
    regular: Face<'f>,
    bold: Face<'f>,
    /// Bold is synthesized by drawing the outline twice.
    is_bold_synthetic: bool,
}

/// A segment of an outline.
#[derive(Clone, Copy, Debug)]
pub(super) enum Segment {
    Line([f32; 2], [f32; 2]),
    Quad([f32; 2], [f32; 2], [f32; 2]),
    Cubic([f32; 2], [f32; 2], [f32; 2], [f32; 2]),
}

/// The outline of a glyph in pixels, relative to the left end of its baseline. Y points down.
#[derive(Clone, Debug, Default)]
pub(super) struct Outline {
    pub(super) steps: Vec<Segment>,
    /// Width of the glyph.
    pub(super) advance: f32,
}

impl Font {
    /// Loads a font file.
    ///
    /// # Errors
    /// If the file does not exist or is not a usable font. The message contains the path.
    pub fn from_file(path: &Path) -> Result<Font, String> {
        let wrong = |what: String| format!("font: {}: {what}", path.display());
        let found = path.metadata().map_err(|error| wrong(error.to_string()))?;
        if !found.is_file() || found.len() > FONT_MAX {
            return Err(wrong(format!("not a file of at most {} MiB", FONT_MAX >> 20)));
        }
        let data = std::fs::read(path).map_err(|error| wrong(error.to_string()))?;
        let is_fit = Face::parse(&data, 0).is_ok_and(|face| {
            let letter = face.glyph_index('M').and_then(|glyph| face.glyph_hor_advance(glyph));
            letter.is_some_and(|advance| advance > 0)
        });
        if !is_fit {
            let what = "not a font with Latin glyphs: give a .ttf or .otf file";
            return Err(wrong(what.to_owned()));
        }
        Ok(Font(Some(data)))
    }

    pub(super) fn faces(&self) -> FontFaces<'_> {
        match self.0.as_deref().and_then(|data| Face::parse(data, 0).ok()) {
            Some(face) => FontFaces { regular: face.clone(), bold: face, is_bold_synthetic: true },
            None => FontFaces {
                regular: embedded(REGULAR),
                bold: embedded(BOLD),
                is_bold_synthetic: false,
            },
        }
    }
}

fn embedded(data: &'static [u8]) -> Face<'static> {
    Face::parse(data, 0).expect("an embedded font is valid")
}

impl FontFaces<'_> {
    /// Returns the width of a cell, and its height above and below the baseline, for a font size of one pixel.
    pub(super) fn cell(&self) -> (f32, f32, f32) {
        let face = &self.regular;
        let unit = f32::from(face.units_per_em());
        let letter = face.glyph_index('M').and_then(|glyph| face.glyph_hor_advance(glyph));
        let width = f32::from(letter.unwrap_or(face.units_per_em())) / unit;
        (width, f32::from(face.ascender()) / unit, -f32::from(face.descender()) / unit)
    }

    /// Returns the outline of a character; `None` if no font has it.
    pub(super) fn outline(
        &self,
        character: char,
        is_bold: bool,
        is_italic: bool,
        size: f32,
    ) -> Option<Outline> {
        let face = if is_bold { &self.bold } else { &self.regular };
        let slant = if is_italic { SLANT } else { 0.0 };
        let bold_offset = if is_bold && self.is_bold_synthetic { size / 24.0 } else { 0.0 };
        let with = |face: &Face<'_>| outline_of(face, character, size, slant, bold_offset);
        with(face).or_else(|| with(&embedded(REGULAR))).or_else(|| with(&embedded(EMOJI))).or_else(
            || SYSTEM.with_face_of(character, |face| outline_of(face, character, size, slant, 0.0)),
        )
    }
}

fn outline_of(
    face: &Face<'_>,
    character: char,
    size: f32,
    slant: f32,
    bold_offset: f32,
) -> Option<Outline> {
    let glyph = face.glyph_index(character).filter(|&glyph| glyph != GlyphId(0))?;
    let scale = size / f32::from(face.units_per_em());
    let mut pen =
        OutlinePen { scale, slant, shift: 0.0, steps: Vec::new(), first: [0.0; 2], at: [0.0; 2] };
    let drawn = face.outline_glyph(glyph, &mut pen);
    // Bitmap glyphs are not supported. A blank has no outline.
    if drawn.is_none() && !character.is_whitespace() {
        return None;
    }
    if bold_offset > 0.0 {
        pen.shift = bold_offset;
        face.outline_glyph(glyph, &mut pen);
    }
    let advance = f32::from(face.glyph_hor_advance(glyph).unwrap_or(0)) * scale;
    Some(Outline { steps: pen.steps, advance })
}

/// Collects an outline in pixels.
struct OutlinePen {
    scale: f32,
    slant: f32,
    shift: f32,
    steps: Vec<Segment>,
    first: [f32; 2],
    at: [f32; 2],
}

impl OutlinePen {
    fn point(&self, x: f32, y: f32) -> [f32; 2] {
        [(x + y * self.slant) * self.scale + self.shift, -y * self.scale]
    }
}

impl OutlineBuilder for OutlinePen {
    fn move_to(&mut self, x: f32, y: f32) {
        self.at = self.point(x, y);
        self.first = self.at;
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let to = self.point(x, y);
        self.steps.push(Segment::Line(self.at, to));
        self.at = to;
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let (by, to) = (self.point(x1, y1), self.point(x, y));
        self.steps.push(Segment::Quad(self.at, by, to));
        self.at = to;
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let (first, second, to) = (self.point(x1, y1), self.point(x2, y2), self.point(x, y));
        self.steps.push(Segment::Cubic(self.at, first, second, to));
        self.at = to;
    }

    fn close(&mut self) {
        self.steps.push(Segment::Line(self.at, self.first));
        self.at = self.first;
    }
}

/// The fonts of the system, used for characters that the embedded fonts lack.
static SYSTEM: LazyLock<SystemFonts> = LazyLock::new(SystemFonts::load);

struct SystemFonts {
    fonts: fontdb::Database,
    /// Font IDs by priority.
    order: Vec<fontdb::ID>,
    /// The font of each character that was looked up.
    found: Mutex<HashMap<char, Option<fontdb::ID>>>,
}

impl SystemFonts {
    fn load() -> SystemFonts {
        let mut fonts = fontdb::Database::new();
        fonts.load_system_fonts();
        let mut faces: Vec<&fontdb::FaceInfo> =
            fonts.faces().filter(|face| face.style == fontdb::Style::Normal).collect();
        // Upright fonts by spacing and weight, monospaced and regular first. Sorting by name makes the image
        // reproducible.
        faces.sort_by_key(|face| {
            (!face.monospaced, face.weight.0.abs_diff(400), face.post_script_name.clone())
        });
        let order = faces.iter().map(|face| face.id).collect();
        SystemFonts { fonts, order, found: Mutex::default() }
    }

    fn with_face_of<T>(&self, character: char, draw: impl Fn(&Face<'_>) -> Option<T>) -> Option<T> {
        let with = |id: fontdb::ID| {
            self.fonts
                .with_face_data(id, |data, index| draw(&Face::parse(data, index).ok()?))
                .flatten()
        };
        let known = self.lock().get(&character).copied();
        match known {
            Some(known) => with(known?),
            None => {
                let drawn = self.order.iter().find_map(|&id| Some((id, with(id)?)));
                self.lock().insert(character, drawn.as_ref().map(|(id, _)| *id));
                drawn.map(|(_, drawn)| drawn)
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<char, Option<fontdb::ID>>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_font_file_has_a_size_limit() {
        let path = std::env::temp_dir().join(format!("awaitty-font-{}", std::process::id()));
        let file = std::fs::File::create(&path).unwrap();
        for (bytes, why) in [(FONT_MAX, "not a font"), (FONT_MAX + 1, "at most 64 MiB")] {
            file.set_len(bytes).unwrap();
            let wrong = Font::from_file(&path).unwrap_err();
            assert!(wrong.contains(why), "{wrong}");
        }
        std::fs::remove_file(path).unwrap();
    }
}
