//! Box-drawing characters, drawn as shapes: glyphs of a font leave gaps if the cell is larger than the font expects.

use super::shapes::{Pen, Shape, polygon, rect};

/// The arms of U+2500 to U+257F: up, right, down, left, each 0 (none), 1 (light), 2 (heavy) or 3 (double), as in their
/// Unicode names. Dashes, arcs and diagonals are drawn separately.
const ARMS: &str = "\
0101 0202 1010 2020 ---- ---- ---- ---- ---- ---- ---- ---- 0110 0210 0120 0220 \
0011 0012 0021 0022 1100 1200 2100 2200 1001 1002 2001 2002 1110 1210 2110 1120 \
2120 2210 1220 2220 1011 1012 2011 1021 2021 2012 1022 2022 0111 0112 0211 0212 \
0121 0122 0221 0222 1101 1102 1201 1202 2101 2102 2201 2202 1111 1112 1211 1212 \
2111 1121 2121 2112 2211 1122 1221 2212 1222 2122 2221 2222 ---- ---- ---- ---- \
0303 3030 0310 0130 0330 0013 0031 0033 1300 3100 3300 1003 3001 3003 1310 3130 \
3330 1013 3031 3033 0313 0131 0333 1303 3101 3303 1313 3131 3333 ---- ---- ---- \
---- ---- ---- ---- 0001 1000 0100 0010 0002 2000 0200 0020 0201 1020 0102 2010";

const NONE: u8 = 0;
const HEAVY: u8 = 2;
const DOUBLE: u8 = 3;

/// Line segments per curve: enough to look round at the size of a cell.
const CURVE_STEPS: usize = 16;

/// Returns the shapes of a character in U+2500 to U+257F.
pub(super) fn shapes(code: u32, pen: &Pen) -> Vec<Shape> {
    match code {
        0x2504..=0x250b | 0x254c..=0x254f => dashes(code, pen),
        0x256d..=0x2570 => vec![arc(code, pen)],
        0x2571..=0x2573 => diagonals(code, pen),
        _ => {
            let at = (code - 0x2500) as usize * 5;
            let arms: Vec<u8> = ARMS.as_bytes()[at..at + 4].iter().map(|arm| arm - b'0').collect();
            (0..4).flat_map(|side| arm(side, &arms, pen)).collect()
        }
    }
}

/// Returns one arm. It is computed as if it pointed up, then rotated to its side.
fn arm(side: usize, arms: &[u8], pen: &Pen) -> Vec<Shape> {
    let of = |turn: usize| arms[(side + turn) % 4];
    let (own, right, opposite, left) = (of(0), of(1), of(2), of(3));
    let gap = pen.gap();
    // Distance beyond the centre, to meet the crossing line.
    let reach = |weight: u8| match weight {
        DOUBLE => gap + pen.light / 2.0,
        weight => pen.weight(weight) / 2.0,
    };
    let line = |across: f32, thick: f32, beyond: f32| pen.turned(side, across, thick, beyond);
    match own {
        NONE => Vec::new(),
        DOUBLE => {
            // Each line stops at the near line of a double arm on its own side. If its side is empty and the other side
            // is double, it runs on to the far line. It covers a light arm, and otherwise ends at the centre.
            let beyond = |near: u8, far: u8| match (near, far) {
                (DOUBLE, _) => -gap + pen.light / 2.0,
                (NONE, DOUBLE) => gap + pen.light / 2.0,
                (NONE, NONE) => 0.0,
                _ => pen.light / 2.0,
            };
            vec![
                line(-gap, pen.light, beyond(left, right)),
                line(gap, pen.light, beyond(right, left)),
            ]
        }
        weight => {
            let is_double = [left, right].map(|side| side == DOUBLE);
            let beyond = match (opposite, is_double) {
                (NONE, [true, true]) => -gap + pen.light / 2.0,
                (1.., [true, _] | [_, true]) => 0.0,
                _ => reach(left).max(reach(right)),
            };
            vec![line(0.0, pen.weight(weight), beyond)]
        }
    }
}

fn dashes(code: u32, pen: &Pen) -> Vec<Shape> {
    let (count, first) = match code {
        0x2504..=0x2507 => (3, 0x2504),
        0x2508..=0x250b => (4, 0x2508),
        _ => (2, 0x254c),
    };
    let (is_heavy, is_vertical) = ((code - first) % 2 == 1, (code - first) >= 2);
    let thick = pen.weight(if is_heavy { HEAVY } else { 1 });
    let length = if is_vertical { pen.height } else { pen.width };
    let step = length / count as f32;
    let dash = (step * 0.6).max(1.0);
    (0..count)
        .map(|i| {
            let from = (i as f32 * step + (step - dash) / 2.0).round();
            if is_vertical {
                rect(pen.middle_x(thick), from, thick, dash.round())
            } else {
                rect(from, pen.middle_y(thick), dash.round(), thick)
            }
        })
        .collect()
}

/// Returns a rounded corner between the middles of two sides: a quarter circle that straight lines extend, as thick as
/// a light line.
fn arc(code: u32, pen: &Pen) -> Shape {
    let (to_right, to_bottom) = match code {
        0x256d => (true, true),
        0x256e => (false, true),
        0x256f => (false, false),
        _ => (true, false),
    };
    let thick = pen.light;
    let (x, y) = (pen.middle_x(thick), pen.middle_y(thick));
    // The corner of the cell around which the arc goes, and the distance of the outer edge from it.
    let (corner_x, outer_x) = if to_right { (pen.width, pen.width - x) } else { (0.0, x + thick) };
    let (corner_y, outer_y) =
        if to_bottom { (pen.height, pen.height - y) } else { (0.0, y + thick) };
    let (sign_x, sign_y) = (if to_right { -1.0 } else { 1.0 }, if to_bottom { -1.0 } else { 1.0 });
    // A round corner with the smaller of the two radii, extended by straight lines.
    let radius = outer_x.min(outer_y);
    let edge = |inset: f32| {
        let (far_x, far_y) = (outer_x - radius, outer_y - radius);
        (0..=CURVE_STEPS).map(move |i| {
            let turn = std::f32::consts::FRAC_PI_2 * i as f32 / CURVE_STEPS as f32;
            let (sin, cos) = turn.sin_cos();
            [
                corner_x + sign_x * (far_x + (radius - inset) * cos),
                corner_y + sign_y * (far_y + (radius - inset) * sin),
            ]
        })
    };
    let outer_begin = [corner_x + sign_x * outer_x, corner_y];
    let outer_end = [corner_x, corner_y + sign_y * outer_y];
    let inner_begin = [corner_x + sign_x * (outer_x - thick), corner_y];
    let inner_end = [corner_x, corner_y + sign_y * (outer_y - thick)];
    let mut inner: Vec<[f32; 2]> = edge(thick).collect();
    inner.reverse();
    let outline = [outer_begin].into_iter().chain(edge(0.0)).chain([outer_end, inner_end]);
    polygon(outline.chain(inner).chain([inner_begin]).collect())
}

fn diagonals(code: u32, pen: &Pen) -> Vec<Shape> {
    let (w, h) = (pen.width, pen.height);
    let half = pen.light / 2.0;
    let rising =
        polygon(vec![[0.0, h - half], [w - half, 0.0], [w, 0.0], [w, half], [half, h], [0.0, h]]);
    let falling =
        polygon(vec![[0.0, 0.0], [half, 0.0], [w, h - half], [w, h], [w - half, h], [0.0, half]]);
    match code {
        0x2571 => vec![rising],
        0x2572 => vec![falling],
        _ => vec![rising, falling],
    }
}
