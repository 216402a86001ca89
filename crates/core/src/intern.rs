//! A table that assigns a small number to each distinct value, so that a cell can store the value in 4 bytes.
//!
//! Uses are not counted. When the table grows past its limit, its owner marks the used values, and [`Interner::sweep`]
//! removes the rest.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};

/// The minimum number of values for a sweep. A sweep of a smaller table saves too little memory.
const SWEEP_MIN: usize = 1024;

/// A two-way mapping between values and numbers. Number 0 is always the default value.
#[derive(Clone, Debug)]
pub(crate) struct Interner<T> {
    values: Vec<T>,
    numbers: HashMap<T, u32, BuildHasherDefault<FastHasher>>,
    sweep_at: usize,
}

impl<T: Clone + Default + Eq + Hash> Default for Interner<T> {
    fn default() -> Self {
        Interner { values: vec![T::default()], numbers: HashMap::default(), sweep_at: SWEEP_MIN }
    }
}

impl<T: Clone + Default + Eq + Hash> Interner<T> {
    /// Returns the number of `value`, adding the value if it is new.
    #[inline]
    pub(crate) fn number(&mut self, value: &T) -> u32 {
        if *value == self.values[0] { 0 } else { self.other_number(value) }
    }

    fn other_number(&mut self, value: &T) -> u32 {
        if let Some(&number) = self.numbers.get(value) {
            return number;
        }
        let number = self.values.len() as u32;
        self.values.push(value.clone());
        self.numbers.insert(value.clone(), number);
        number
    }

    /// Returns whether `value` has a number.
    pub(crate) fn contains(&self, value: &T) -> bool {
        *value == self.values[0] || self.numbers.contains_key(value)
    }

    /// Returns the value with that number.
    pub(crate) fn value(&self, number: u32) -> &T {
        &self.values[number as usize]
    }

    /// Returns whether a sweep is due.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.values.len() >= self.sweep_at
    }

    /// Keeps the values that `used` marks. Returns the new number for each old one.
    pub(crate) fn sweep(&mut self, used: &[bool]) -> Vec<u32> {
        let old = std::mem::take(&mut self.values);
        self.numbers.clear();
        let mut moved = vec![0; old.len()];
        for (i, value) in old.into_iter().enumerate() {
            if i == 0 || used[i] {
                moved[i] = self.values.len() as u32;
                if i > 0 {
                    self.numbers.insert(value.clone(), moved[i]);
                }
                self.values.push(value);
            }
        }
        self.values.shrink_to_fit();
        self.numbers.shrink_to_fit();
        self.sweep_at = (2 * self.values.len()).max(SWEEP_MIN);
        moved
    }

    /// Returns the number of values.
    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }
}

/// A multiplicative hash. A hostile program could cause collisions, but only slow itself down. The standard hasher
/// costs more than drawing the cell.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FastHasher(u64);

const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

impl FastHasher {
    fn add(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(MULTIPLIER);
    }
}

impl Hasher for FastHasher {
    fn write(&mut self, bytes: &[u8]) {
        let mut chunks = bytes.chunks_exact(8);
        for chunk in &mut chunks {
            let mut word = [0; 8];
            word.copy_from_slice(chunk);
            self.add(u64::from_le_bytes(word));
        }
        let mut word = [0; 8];
        word[..chunks.remainder().len()].copy_from_slice(chunks.remainder());
        self.add(u64::from_le_bytes(word));
    }

    fn write_u8(&mut self, n: u8) {
        self.add(u64::from(n));
    }

    fn write_u32(&mut self, n: u32) {
        self.add(u64::from(n));
    }

    fn write_u64(&mut self, n: u64) {
        self.add(n);
    }

    fn write_usize(&mut self, n: usize) {
        self.add(n as u64);
    }

    fn finish(&self) -> u64 {
        // The hash map uses the highest and lowest bits, and multiplication mixes the lowest ones poorly.
        self.0 ^ (self.0 >> 32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_removes_only_unused_values() {
        let mut table = Interner::<String>::default();
        let numbers: Vec<u32> = (1..2000).map(|i| table.number(&i.to_string())).collect();
        assert!(table.is_full());
        let mut used = vec![false; table.len()];
        used[numbers[41] as usize] = true;
        let moved = table.sweep(&used);
        assert_eq!(table.len(), 2);
        assert!(!table.is_full());
        assert_eq!(table.value(moved[numbers[41] as usize]), "42");
        assert_eq!(table.number(&"42".to_owned()), moved[numbers[41] as usize]);
    }

    #[test]
    fn the_default_is_number_zero() {
        let mut table = Interner::<String>::default();
        assert_eq!(table.number(&String::new()), 0);
        assert_eq!(table.number(&"x".to_owned()), 1);
        assert_eq!(table.number(&"x".to_owned()), 1);
    }
}
