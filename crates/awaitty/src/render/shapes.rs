//! Characters drawn as shapes instead of glyphs, so that they join seamlessly: boxes, blocks, braille and Powerline
//! symbols.

use super::boxes;

/// A shape in pixels.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shape {
    /// A rectangle.
    Rect {
        /// Left edge.
        x: f32,
        /// Upper edge.
        y: f32,
        /// Width.
        width: f32,
        /// Height.
        height: f32,
        /// Opacity.
        coverage: f32,
    },
    /// A filled polygon.
    Polygon(Vec<[f32; 2]>),
}

pub(super) fn rect(x: f32, y: f32, width: f32, height: f32) -> Shape {
    Shape::Rect { x, y, width, height, coverage: 1.0 }
}

pub(super) fn polygon(corners: Vec<[f32; 2]>) -> Shape {
    Shape::Polygon(corners)
}

/// The size of a cell and the thickness of its light lines, in pixels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pen {
    /// Width of the cell.
    pub(super) width: f32,
    /// Height of the cell.
    pub(super) height: f32,
    /// Thickness of a light line.
    pub(super) light: f32,
}

impl Pen {
    pub(super) fn new(width: f32, height: f32) -> Pen {
        Pen { width, height, light: (width / 8.0).round().max(1.0) }
    }

    pub(super) fn weight(&self, weight: u8) -> f32 {
        match weight {
            0 => 0.0,
            2 => self.light * 2.0 + 1.0,
            _ => self.light,
        }
    }

    /// Returns the distance of each line of a double line from the centre.
    pub(super) fn gap(&self) -> f32 {
        (self.light * 1.5).ceil()
    }

    /// Returns the left edge of a centred vertical line on whole pixels.
    pub(super) fn middle_x(&self, thick: f32) -> f32 {
        ((self.width - thick) / 2.0).floor()
    }

    pub(super) fn middle_y(&self, thick: f32) -> f32 {
        ((self.height - thick) / 2.0).floor()
    }

    /// Returns a line from a side (0 is up, then clockwise) to `beyond` the centre, shifted by `across`.
    pub(super) fn turned(&self, side: usize, across: f32, thick: f32, beyond: f32) -> Shape {
        // Left and right swap when the direction is reversed.
        let across = if matches!(side, 0 | 1) { across } else { -across };
        let (x, y) = (self.middle_x(thick), self.middle_y(thick));
        let centre = |middle: f32| middle + thick / 2.0;
        let beyond = beyond.max(-centre(x).min(centre(y)));
        match side {
            0 => rect(x + across, 0.0, thick, (centre(y) + beyond).ceil()),
            2 => {
                let from = (centre(y) - beyond).floor();
                rect(x + across, from, thick, self.height - from)
            }
            1 => {
                let from = (centre(x) - beyond).floor();
                rect(from, y + across, self.width - from, thick)
            }
            _ => rect(0.0, y + across, (centre(x) + beyond).ceil(), thick),
        }
    }
}

/// Returns the shapes of a character; `None` if it is drawn from a font.
pub(super) fn shapes(character: char, pen: &Pen) -> Option<Vec<Shape>> {
    let code = u32::from(character);
    Some(match code {
        0x2500..=0x257f => boxes::shapes(code, pen),
        0x2580..=0x259f => blocks(code, pen),
        0x2800..=0x28ff => braille(code, pen),
        0xe0a0 => branch(pen),
        0xe0a2 => lock(pen),
        0xe0b0..=0xe0bf => powerline(code, pen)?,
        0x1fb00..=0x1fb3b => sextant(code, pen),
        _ => return None,
    })
}

/// Returns the selected parts of a cell divided into columns and rows, from the upper left.
fn parts(columns: u32, rows: u32, is_set: impl Fn(u32, u32) -> bool, pen: &Pen) -> Vec<Shape> {
    let edge = |length: f32, i: u32, of: u32| (length * i as f32 / of as f32).round();
    let mut shapes = Vec::new();
    for row in 0..rows {
        for column in (0..columns).filter(|&column| is_set(column, row)) {
            let (x, y) = (edge(pen.width, column, columns), edge(pen.height, row, rows));
            let right = edge(pen.width, column + 1, columns);
            let bottom = edge(pen.height, row + 1, rows);
            shapes.push(rect(x, y, right - x, bottom - y));
        }
    }
    shapes
}

fn blocks(code: u32, pen: &Pen) -> Vec<Shape> {
    let Pen { width, height, .. } = *pen;
    let eighths = |length: f32, n: u32| (length * n as f32 / 8.0).round().max(1.0);
    let lower = |n: u32| {
        let coverage = eighths(height, n);
        rect(0.0, height - coverage, width, coverage)
    };
    let left = |n: u32| rect(0.0, 0.0, eighths(width, n), height);
    // Bits: upper left, upper right, lower left, lower right.
    let quarters = |set: u32| parts(2, 2, |column, row| set >> (row * 2 + column) & 1 == 1, pen);
    match code {
        0x2580 => vec![rect(0.0, 0.0, width, (height / 2.0).round())],
        0x2581..=0x2588 => vec![lower(code - 0x2580)],
        0x2589..=0x258f => vec![left(0x2590 - code)],
        0x2590 => {
            let half = (width / 2.0).round();
            vec![rect(half, 0.0, width - half, height)]
        }
        0x2591..=0x2593 => {
            let coverage = (code - 0x2590) as f32 / 4.0;
            vec![Shape::Rect { x: 0.0, y: 0.0, width, height, coverage }]
        }
        0x2594 => vec![rect(0.0, 0.0, width, eighths(height, 1))],
        0x2595 => {
            let thin = eighths(width, 1);
            vec![rect(width - thin, 0.0, thin, height)]
        }
        0x2596 => quarters(0b0100),
        0x2597 => quarters(0b1000),
        0x2598 => quarters(0b0001),
        0x2599 => quarters(0b1101),
        0x259a => quarters(0b1001),
        0x259b => quarters(0b0111),
        0x259c => quarters(0b1011),
        0x259d => quarters(0b0010),
        0x259e => quarters(0b0110),
        _ => quarters(0b1110),
    }
}

/// Returns a sextant. The numbering skips the two halves, which are block elements.
fn sextant(code: u32, pen: &Pen) -> Vec<Shape> {
    let number = code - 0x1fb00 + 1;
    let set = number + u32::from(number >= 0b01_0101) + u32::from(number >= 0b10_1010 - 1);
    parts(2, 3, |column, row| set >> (row * 2 + column) & 1 == 1, pen)
}

fn braille(code: u32, pen: &Pen) -> Vec<Shape> {
    // Bit numbers of the dots by row, left and right.
    const DOTS: [[u32; 2]; 4] = [[0, 3], [1, 4], [2, 5], [6, 7]];
    let size = (pen.width / 4.0).min(pen.height / 8.0).round().max(1.0);
    let mut shapes = Vec::new();
    for (row, bits) in DOTS.iter().enumerate() {
        for (column, bit) in bits.iter().enumerate() {
            if code >> bit & 1 == 1 {
                let x = (pen.width * (1 + 2 * column) as f32 / 4.0 - size / 2.0).round();
                let y = (pen.height * (1 + 2 * row) as f32 / 8.0 - size / 2.0).round();
                shapes.push(rect(x, y, size, size));
            }
        }
    }
    shapes
}

/// Returns the Powerline symbol for a branch.
fn branch(pen: &Pen) -> Vec<Shape> {
    let Pen { width: w, height: h, light } = *pen;
    let thick = light * 1.5;
    let (trunk, twig) = ((w * 0.2).round(), (w * 0.75 - thick / 2.0).round());
    vec![
        rect(trunk, h * 0.12, thick, h * 0.76),
        rect(twig, h * 0.24, thick, h * 0.22),
        polygon(vec![
            [twig, h * 0.45],
            [twig + thick, h * 0.45],
            [trunk + thick, h * 0.74],
            [trunk, h * 0.68],
        ]),
    ]
}

/// Returns the Powerline symbol for read-only.
fn lock(pen: &Pen) -> Vec<Shape> {
    let Pen { width: w, height: h, light } = *pen;
    let (left, right, top) = ((w * 0.25).round(), (w * 0.75).round(), (h * 0.22).round());
    let body = (h * 0.45).round();
    vec![
        rect(left, top, light, body - top),
        rect(right - light, top, light, body - top),
        rect(left, top, right - left, light),
        rect((w * 0.1).round(), body, (w * 0.8).round(), (h * 0.35).round()),
    ]
}

fn powerline(code: u32, pen: &Pen) -> Option<Vec<Shape>> {
    let Pen { width: w, height: h, light } = *pen;
    let middle = h / 2.0;
    // Half an ellipse on the left edge; mirrored for the other side.
    let half = |radius_x: f32, radius_y: f32| {
        (0..=32u8).map(move |i| {
            let turn = std::f32::consts::PI * f32::from(i) / 32.0;
            [radius_x * turn.sin(), middle - radius_y * turn.cos()]
        })
    };
    let mirrored = |corners: Vec<[f32; 2]>| corners.into_iter().map(|[x, y]| [w - x, y]).collect();
    let triangle = vec![[0.0, 0.0], [w, middle], [0.0, h]];
    let chevron = vec![
        [0.0, 0.0],
        [light, 0.0],
        [w, middle],
        [light, h],
        [0.0, h],
        [w - light * 1.5, middle],
    ];
    let disc: Vec<[f32; 2]> = half(w, middle).collect();
    let mut ring: Vec<[f32; 2]> = half(w - light, middle - light).collect();
    ring.reverse();
    let ring: Vec<[f32; 2]> = half(w, middle).chain(ring).collect();
    let corners = match code {
        0xe0b0 => triangle,
        0xe0b1 => chevron,
        0xe0b2 => mirrored(triangle),
        0xe0b3 => mirrored(chevron),
        0xe0b4 => disc,
        0xe0b5 => ring,
        0xe0b6 => mirrored(disc),
        0xe0b7 => mirrored(ring),
        0xe0b8 => vec![[0.0, 0.0], [w, h], [0.0, h]],
        0xe0ba => vec![[w, 0.0], [w, h], [0.0, h]],
        0xe0bc => vec![[0.0, 0.0], [w, 0.0], [0.0, h]],
        0xe0be => vec![[0.0, 0.0], [w, 0.0], [w, h]],
        0xe0b9 | 0xe0bf => return Some(boxes::shapes(0x2572, pen)),
        0xe0bb | 0xe0bd => return Some(boxes::shapes(0x2571, pen)),
        _ => return None,
    };
    Some(vec![polygon(corners)])
}
