//! Disturbs the timing of a terminal on purpose, to show that a test does not depend on it: splits output at random
//! bytes, delays the pieces, and delays input.
//!
//! The order and the bytes stay the same, so a program and a caller cannot tell a disturbed terminal from a slow
//! machine. The same seed gives the same lengths and delays.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// Maximum bytes of output that are held back. The program blocks when the kernel's buffer is full as well.
pub const HELD_MAX: usize = 64 << 10;

/// Maximum delay of a piece of output or of a write. A machine that stalls for longer is overloaded.
pub const DELAY_MAX: Duration = Duration::from_millis(20);

/// The maximum bytes of a piece, by how often: most pieces cut an escape sequence or a word, and some are whole reads,
/// so that a redraw of a large screen takes tens of milliseconds and not seconds.
const PIECES: [usize; 4] = [16, 16, 256, 4096];

/// Every n-th piece is delayed. Pieces without a delay arrive together, as from a fast program.
const DELAYED_EVERY: u32 = 3;

/// A random disturbance of one terminal.
#[derive(Debug)]
pub struct Disturbance {
    random: fastrand::Rng,
    /// Output that was read from the kernel and not released yet.
    held: VecDeque<u8>,
    /// The time at which the next piece of output is released.
    release_at: Instant,
    /// The time at which input is accepted again.
    writable_at: Instant,
}

impl Disturbance {
    /// Creates a disturbance from a seed.
    pub fn new(seed: u64) -> Disturbance {
        let now = Instant::now();
        Disturbance {
            random: fastrand::Rng::with_seed(seed),
            held: VecDeque::new(),
            release_at: now,
            writable_at: now,
        }
    }

    /// Returns the number of bytes that may be held back in addition.
    pub fn room(&self) -> usize {
        HELD_MAX.saturating_sub(self.held.len())
    }

    /// Returns whether output is held back.
    pub fn holds_output(&self) -> bool {
        !self.held.is_empty()
    }

    /// Holds output back.
    pub fn hold(&mut self, bytes: &[u8]) {
        if self.held.is_empty() {
            self.release_at = Instant::now() + self.delay();
        }
        self.held.extend(bytes);
    }

    /// Releases the next piece of output, if it is due. Returns its length.
    pub fn release(&mut self, buffer: &mut [u8]) -> usize {
        if self.held.is_empty() || Instant::now() < self.release_at {
            return 0;
        }
        let most = PIECES[self.random.usize(..PIECES.len())];
        let count = self.random.usize(1..=most).min(buffer.len());
        let count = self.release_all(&mut buffer[..count]);
        self.release_at = Instant::now() + self.delay();
        count
    }

    /// Releases all output that fits, without a delay. Returns its length.
    pub fn release_all(&mut self, buffer: &mut [u8]) -> usize {
        let count = buffer.len().min(self.held.len());
        for (to, from) in buffer.iter_mut().zip(self.held.drain(..count)) {
            *to = from;
        }
        count
    }

    /// Returns the time at which output is released, if some is held back.
    pub fn release_at(&self) -> Option<Instant> {
        self.holds_output().then_some(self.release_at)
    }

    /// Returns the time at which input is accepted, if it is not accepted now.
    pub fn writable_at(&self) -> Option<Instant> {
        Some(self.writable_at).filter(|at| *at > Instant::now())
    }

    /// Delays the next input, after some was written.
    pub fn note_written(&mut self) {
        self.writable_at = Instant::now() + self.delay();
    }

    fn delay(&mut self) -> Duration {
        if self.random.u32(..DELAYED_EVERY) > 0 {
            return Duration::ZERO;
        }
        DELAY_MAX.mul_f32(self.random.f32())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the pieces in which `output` is released, and the longest delay between two of them.
    async fn pieces(seed: u64, output: &[u8]) -> (Vec<Vec<u8>>, Duration) {
        let mut disturbance = Disturbance::new(seed);
        disturbance.hold(output);
        let (mut pieces, mut longest) = (Vec::new(), Duration::ZERO);
        while let Some(at) = disturbance.release_at() {
            longest = longest.max(at.saturating_duration_since(Instant::now()));
            tokio::time::sleep_until(at).await;
            let mut buffer = [0; 4096];
            let count = disturbance.release(&mut buffer);
            pieces.push(buffer[..count].to_vec());
        }
        (pieces, longest)
    }

    #[tokio::test(start_paused = true)]
    async fn output_is_split_and_delayed_but_stays_the_same() {
        let output: Vec<u8> = (0..HELD_MAX).map(|i| (i % 251) as u8).collect();
        for seed in 0..20 {
            let (pieces, longest) = pieces(seed, &output).await;
            assert!(pieces.len() > 10 && pieces.iter().any(|piece| piece.len() <= 16), "{seed}");
            assert!(longest > Duration::ZERO && longest <= DELAY_MAX, "{seed}: {longest:?}");
            assert!(pieces.concat() == output, "{seed}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_same_seed_gives_the_same_pieces() {
        let output = vec![b'x'; 5_000];
        assert_eq!(pieces(7, &output).await, pieces(7, &output).await);
        assert_ne!(pieces(7, &output).await, pieces(8, &output).await);
    }

    #[tokio::test(start_paused = true)]
    async fn input_is_delayed_after_a_write() {
        let mut disturbance = Disturbance::new(3);
        assert_eq!(disturbance.writable_at(), None);
        let delays = (0..100).filter(|_| {
            disturbance.note_written();
            disturbance.writable_at().is_some()
        });
        assert!((10..90).contains(&delays.count()));
    }

    #[test]
    fn held_output_has_a_limit() {
        let mut disturbance = Disturbance::new(0);
        disturbance.hold(&vec![b'x'; HELD_MAX - 1]);
        assert_eq!(disturbance.room(), 1);
        disturbance.hold(b"x");
        assert_eq!(disturbance.room(), 0);
    }
}
