//! The absolute line numbers of the rows on the screen.
//!
//! They increase by one from row to row until a change of columns joins or splits rows. Then a line keeps its number,
//! joined rows leave a gap, and the additional rows of a split line take the numbers below the next line's, which may
//! repeat. Numbers never decrease from row to row.

use crate::Line;

/// The line numbers of the rows of a screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LineNumbers {
    first: u64,
    /// The numbers of all rows, if they do not increase by one each.
    irregular: Option<Box<[u64]>>,
}

impl Default for LineNumbers {
    fn default() -> Self {
        LineNumbers { first: 1, irregular: None }
    }
}

impl LineNumbers {
    /// Creates the given numbers.
    pub(crate) fn new(numbers: &[u64]) -> LineNumbers {
        debug_assert!(numbers.is_sorted());
        let first = numbers.first().copied().unwrap_or(1);
        let regular = numbers.iter().zip(first..).all(|(&number, expected)| number == expected);
        LineNumbers { first, irregular: (!regular).then(|| numbers.into()) }
    }

    /// Returns the number of a row.
    pub(crate) fn number(&self, row: usize) -> Line {
        Line(match &self.irregular {
            None => self.first + row as u64,
            Some(numbers) => match numbers.get(row) {
                Some(&number) => number,
                // Rows added below the numbered ones.
                None => {
                    numbers.last().map_or(self.first, |last| last + 1)
                        + (row - numbers.len()) as u64
                }
            },
        })
    }

    /// Advances the numbers by one row: the first row left the screen and another was added at the bottom.
    pub(crate) fn advance(&mut self) {
        match &self.irregular {
            None => self.first += 1,
            Some(numbers) => {
                let mut rest = numbers[1..].to_vec();
                rest.push(numbers[numbers.len() - 1] + 1);
                *self = LineNumbers::new(&rest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn irregular_numbers_become_regular_again_as_they_leave() {
        let mut lines = LineNumbers::new(&[1, 1, 4, 5]);
        let numbers =
            |lines: &LineNumbers| (0..4).map(|row| lines.number(row).0).collect::<Vec<_>>();
        assert_eq!(numbers(&lines), [1, 1, 4, 5]);
        lines.advance();
        assert_eq!(numbers(&lines), [1, 4, 5, 6]);
        lines.advance();
        assert_eq!(lines, LineNumbers { first: 4, irregular: None });
        assert_eq!(numbers(&lines), [4, 5, 6, 7]);
    }
}
