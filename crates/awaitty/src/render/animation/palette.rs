//! One palette for all frames of a GIF: at most 255 colours, and one index for pixels that do not change.
//!
//! Most animations have fewer colours than that, and keep all. Otherwise the colours of the theme and the most frequent
//! colours stay exact. The other colours, mainly the edges of glyphs, are divided into groups: the group with the
//! largest error is split until all places are taken.

use std::collections::HashMap;

use crate::render::Rgb;

/// Colours of a palette. One of the 256 indices is [`Palette::unchanged`].
pub(super) const COLORS_MAX: usize = 255;

/// Colours that stay exact because they are the most frequent.
const FREQUENT: usize = 64;

/// Distinct colours that are counted. Above that the counted colours are made coarser.
const COUNTED_MAX: usize = 1 << 16;

/// Importance of red, green and blue for the perceived difference.
const WEIGHTS: [i64; 3] = [2, 4, 3];

/// Counts colours.
#[derive(Debug, Default)]
pub(super) struct Histogram {
    counts: HashMap<Rgb, u64>,
    /// Low bits of a channel that are not counted.
    dropped_bits: u32,
}

impl Histogram {
    /// Counts the pixels of a picture.
    pub(super) fn add(&mut self, pixels: &[u8]) {
        for run in pixels.as_chunks::<3>().0.chunk_by(|a, b| a == b) {
            *self.counts.entry(coarse(run[0], self.dropped_bits)).or_default() += run.len() as u64;
        }
        while self.counts.len() > COUNTED_MAX {
            self.dropped_bits += 1;
            for (color, count) in std::mem::take(&mut self.counts) {
                *self.counts.entry(coarse(color, self.dropped_bits)).or_default() += count;
            }
        }
    }
}

/// Returns the colour in the middle of all that have the same high bits.
fn coarse(color: Rgb, dropped_bits: u32) -> Rgb {
    color.map(|channel| {
        let middle = 1_u8.checked_shl(dropped_bits).unwrap_or(0) >> 1;
        channel >> dropped_bits << dropped_bits | middle
    })
}

/// A colour and its frequency.
type Weighted = (Rgb, f64);

/// The colours of an animation.
#[derive(Debug)]
pub(super) struct Palette {
    colors: Vec<Rgb>,
    /// Indices of colours that were looked up, by a hash of the colour.
    known: Vec<(u32, u8)>,
}

/// Entries of the table of known colours, as a power of two.
const KNOWN_BITS: u32 = 14;

impl Palette {
    /// Chooses the colours. Those of `exact` that occur stay exact.
    pub(super) fn new(histogram: Histogram, exact: &[Rgb]) -> Palette {
        let mut counts: Vec<(Rgb, u64)> = histogram.counts.into_iter().collect();
        counts.sort_unstable_by_key(|(color, count)| (std::cmp::Reverse(*count), *color));
        let (mut colors, mut rest) = (Vec::new(), Vec::new());
        for (i, (color, count)) in counts.iter().enumerate() {
            let is_exact = i < FREQUENT || exact.contains(color) || counts.len() <= COLORS_MAX;
            match is_exact {
                true => colors.push(*color),
                false => rest.push((*color, *count as f64)),
            }
        }
        // Coarse counts do not contain the exact colours.
        colors.extend(exact.iter().filter(|_| histogram.dropped_bits > 0));
        colors.sort_unstable();
        colors.dedup();
        let free = COLORS_MAX - colors.len();
        colors.extend(groups(&mut rest, free));
        Palette { colors, known: vec![(u32::MAX, 0); 1 << KNOWN_BITS] }
    }

    /// Returns the bytes of all colours, with one for [`Palette::unchanged`].
    pub(super) fn bytes(&self) -> Vec<u8> {
        self.colors.iter().copied().chain([[0; 3]]).flatten().collect()
    }

    /// Returns the index of a pixel that does not change.
    pub(super) fn unchanged(&self) -> u8 {
        self.colors.len() as u8
    }

    /// Returns the index of the nearest colour.
    pub(super) fn index(&mut self, color: Rgb) -> u8 {
        let number = u32::from_be_bytes([0, color[0], color[1], color[2]]);
        let at = number.wrapping_mul(0x9e37_79b1) >> (32 - KNOWN_BITS);
        let known = &mut self.known[at as usize];
        if known.0 != number {
            let nearest =
                self.colors.iter().enumerate().min_by_key(|(_, other)| distance(color, **other));
            *known = (number, nearest.map_or(0, |(index, _)| index as u8));
        }
        known.1
    }

    /// Returns the indices of pixels.
    pub(super) fn indices(&mut self, pixels: &[u8]) -> Vec<u8> {
        let mut indices = Vec::with_capacity(pixels.len() / 3);
        for run in pixels.as_chunks::<3>().0.chunk_by(|a, b| a == b) {
            let index = self.index(run[0]);
            indices.resize(indices.len() + run.len(), index);
        }
        indices
    }
}

fn distance(a: Rgb, b: Rgb) -> i64 {
    (0..3).map(|i| (i64::from(a[i]) - i64::from(b[i])).pow(2) * WEIGHTS[i]).sum()
}

/// Returns the means of at most `count` groups of colours.
fn groups(colors: &mut [Weighted], count: usize) -> Vec<Rgb> {
    if colors.is_empty() || count == 0 {
        return Vec::new();
    }
    // Ranges of `colors` with their error.
    let mut found = vec![(0..colors.len(), Spread::new(colors))];
    while found.len() < count {
        let worst =
            found.iter().enumerate().max_by(|(_, a), (_, b)| a.1.error.total_cmp(&b.1.error));
        let Some((at, (range, spread))) = worst.filter(|(_, (_, spread))| spread.error > 0.0)
        else {
            break;
        };
        let (range, axis, mean) = (range.clone(), spread.axis, spread.mean[spread.axis]);
        let group = &mut colors[range.clone()];
        group.sort_by_key(|(color, _)| (color[axis], *color));
        let split = group.partition_point(|(color, _)| f64::from(color[axis]) <= mean);
        let (low, high) = group.split_at(split);
        let middle = range.start + split;
        found[at] = (range.start..middle, Spread::new(low));
        found.push((middle..range.end, Spread::new(high)));
    }
    found.iter().map(|(_, spread)| spread.mean.map(|channel| channel.round() as u8)).collect()
}

/// The mean of a group of colours, and their differences from it.
struct Spread {
    mean: [f64; 3],
    error: f64,
    /// The channel with the largest error.
    axis: usize,
}

impl Spread {
    fn new(colors: &[Weighted]) -> Spread {
        let sum: f64 = colors.iter().map(|(_, weight)| weight).sum();
        let mean = [0, 1, 2].map(|i| {
            colors.iter().map(|(color, weight)| f64::from(color[i]) * weight).sum::<f64>() / sum
        });
        let errors = [0, 1, 2].map(|i| {
            let error =
                |(color, weight): &Weighted| (f64::from(color[i]) - mean[i]).powi(2) * weight;
            colors.iter().map(error).sum::<f64>() * WEIGHTS[i] as f64
        });
        let axis = (0..3).max_by(|a, b| errors[*a].total_cmp(&errors[*b])).unwrap_or(0);
        Spread { mean, error: errors.iter().sum(), axis }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn palette(colors: &[(Rgb, usize)], exact: &[Rgb]) -> Palette {
        let mut histogram = Histogram::default();
        colors.iter().for_each(|(color, count)| histogram.add(&color.repeat(*count)));
        Palette::new(histogram, exact)
    }

    /// Returns distinct colours.
    fn distinct(count: usize) -> Vec<(Rgb, usize)> {
        (0..count).map(|i| ([(i % 251) as u8, (i / 251) as u8, (i * 7 % 256) as u8], 1)).collect()
    }

    fn worst(palette: &mut Palette, colors: &[(Rgb, usize)]) -> u8 {
        let difference = |(color, _): &(Rgb, usize)| {
            let index = palette.index(*color);
            let nearest = palette.colors[usize::from(index)];
            (0..3).map(|i| color[i].abs_diff(nearest[i])).max().unwrap()
        };
        colors.iter().map(difference).max().unwrap()
    }

    #[test]
    fn as_many_colours_as_fit_are_exact() {
        let colors = distinct(COLORS_MAX);
        let mut palette = palette(&colors, &[]);
        assert_eq!(worst(&mut palette, &colors), 0);
        assert_eq!((palette.unchanged(), palette.bytes().len()), (255, 768));
    }

    #[test]
    fn one_colour_more_keeps_the_exact_and_the_frequent_ones() {
        let mut colors = distinct(COLORS_MAX + 1);
        for frequent in &mut colors[100..150] {
            frequent.1 = 1000;
        }
        let exact = [colors[0].0, colors[255].0, [1, 2, 3]];
        let mut palette = palette(&colors, &exact);
        assert!(palette.colors.len() <= COLORS_MAX);
        for color in [&colors[..1], &colors[255..], &colors[100..150]].concat() {
            assert_eq!(worst(&mut palette, &[color]), 0, "{color:?}");
        }
        assert!(worst(&mut palette, &colors) < 32);
        assert!(
            !palette.colors.contains(&[1, 2, 3]),
            "a colour that does not occur takes no place"
        );
    }

    #[test]
    fn the_exact_colours_of_many_are_exact_although_they_are_rare() {
        let mut colors = distinct(5000);
        colors.iter_mut().for_each(|(_, count)| *count = 9);
        let exact: Vec<Rgb> = (0..20).map(|i| [200 + i, 99, 7 * i]).collect();
        colors.extend(exact.iter().map(|color| (*color, 1)));
        let mut palette = palette(&colors, &exact);
        assert_eq!(palette.colors.len(), COLORS_MAX);
        assert_eq!(worst(&mut palette, &colors[5000..]), 0);
    }

    #[test]
    fn too_many_colours_to_count_are_counted_coarsely() {
        let side = 0..=255_u8;
        let colors: Vec<(Rgb, usize)> =
            side.clone().flat_map(|r| side.clone().map(move |g| ([r, g, 7], 1))).collect();
        assert_eq!(colors.len(), COUNTED_MAX);
        let mut histogram = Histogram::default();
        colors.iter().for_each(|(color, _)| histogram.add(color));
        assert_eq!(histogram.dropped_bits, 0);
        histogram.add(&[1, 2, 200]);
        assert_eq!(histogram.dropped_bits, 1);
        let exact = [[1, 2, 200]];
        let mut palette = Palette::new(histogram, &exact);
        assert_eq!(worst(&mut palette, &[(exact[0], 1)]), 0);
        assert!(worst(&mut palette, &colors) < 24);
    }

    #[test]
    fn the_same_colours_give_the_same_palette() {
        let colors = distinct(5000);
        let reversed: Vec<_> = colors.iter().rev().copied().collect();
        assert_eq!(palette(&colors, &[]).colors, palette(&reversed, &[]).colors);
    }
}
