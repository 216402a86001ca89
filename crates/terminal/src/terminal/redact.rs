//! Masks the nonces of shells in stored output. A program that reads a nonce there could forge marks.

use std::borrow::Cow;
use std::collections::VecDeque;

use memchr::memmem;

/// Characters of a nonce that stay readable. They do not reveal the rest, and other text hardly ever matches them. So
/// each byte can be kept or masked before the next one arrives.
const PREFIX: usize = 8;

/// The maximum number of masked nonces: more shells than one terminal has at a time.
const NONCES_MAX: usize = 64;

/// The character that replaces those of a nonce.
const MASK: u8 = b'*';

/// Masks nonces in a stream that arrives in chunks.
#[derive(Debug, Default)]
pub(super) struct NonceRedactor {
    nonces: VecDeque<Vec<u8>>,
    /// The end of the last chunk, which may hold the start of a nonce.
    tail: Vec<u8>,
}

impl NonceRedactor {
    /// Adds a nonce to be masked in all further output.
    pub(super) fn add(&mut self, nonce: &str) {
        if self.nonces.iter().any(|known| known == nonce.as_bytes()) {
            return;
        }
        if self.nonces.len() == NONCES_MAX {
            self.nonces.pop_front();
        }
        self.nonces.push_back(nonce.as_bytes().to_vec());
    }

    /// Returns the next chunk with all nonces masked.
    pub(super) fn redact<'b>(&mut self, bytes: &'b [u8]) -> Cow<'b, [u8]> {
        let mut redacted = Cow::Borrowed(bytes);
        for nonce in &self.nonces {
            mask_across(nonce, &self.tail, &mut redacted);
            for at in memmem::find_iter(bytes, &nonce[..PREFIX]) {
                mask(nonce, bytes, at, 0, &mut redacted);
            }
        }
        if let Some(longest) = self.nonces.iter().map(Vec::len).max() {
            self.tail.extend_from_slice(&bytes[bytes.len().saturating_sub(longest)..]);
            self.tail.drain(..self.tail.len().saturating_sub(longest - 1));
        }
        redacted
    }
}

/// Masks the rest of a nonce that started in the previous chunk.
fn mask_across(nonce: &[u8], tail: &[u8], redacted: &mut Cow<'_, [u8]>) {
    let head = &redacted[..redacted.len().min(nonce.len())];
    let joined = [tail, head].concat();
    for at in memmem::find_iter(&joined, &nonce[..PREFIX]).filter(|&at| at < tail.len()) {
        mask(nonce, &joined, at, tail.len(), redacted);
    }
}

/// Masks the rest of a nonce after its readable prefix, which is at `at` in `bytes`. The first `skipped` bytes are not
/// in `redacted`.
fn mask(nonce: &[u8], bytes: &[u8], at: usize, skipped: usize, redacted: &mut Cow<'_, [u8]>) {
    let same =
        bytes[at..].iter().zip(nonce).take_while(|(byte, of_nonce)| byte == of_nonce).count();
    let (from, to) = ((at + PREFIX).max(skipped), at + same);
    if from < to {
        redacted.to_mut()[from - skipped..to - skipped].fill(MASK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONCE: &str = "0123456789abcdef0123456789abcdef";

    fn redacted(pieces: &[&str]) -> String {
        let mut redactor = NonceRedactor::default();
        redactor.add(NONCE);
        pieces
            .iter()
            .map(|piece| {
                let redacted = redactor.redact(piece.as_bytes()).into_owned();
                String::from_utf8(redacted).unwrap()
            })
            .collect()
    }

    #[test]
    fn a_nonce_is_masked_across_chunks() {
        let text = format!("x\x1b]133;D;0;aid={NONCE};cwd=/\x07y\x1b]133;A;aid={NONCE}\x07");
        let masked = text.replace(&NONCE[PREFIX..], &"*".repeat(NONCE.len() - PREFIX));
        assert_eq!(redacted(&[&text]), masked);
        for at in 0..=text.len() {
            assert_eq!(redacted(&[&text[..at], &text[at..]]), masked, "cut at {at}");
        }
        let bytes: Vec<&str> = (0..text.len()).map(|at| &text[at..=at]).collect();
        assert_eq!(redacted(&bytes), masked);
    }

    #[test]
    fn other_text_is_unchanged() {
        for text in ["", "0123456", "01234567", "plain text", "0123456700000000"] {
            assert_eq!(redacted(&[text, text]), format!("{text}{text}"));
        }
    }

    #[test]
    fn the_newest_nonces_are_masked() {
        let mut redactor = NonceRedactor::default();
        let nonces: Vec<String> = (0..=NONCES_MAX).map(|i| format!("{i:032x}f")).collect();
        nonces.iter().for_each(|nonce| redactor.add(nonce));
        let is_masked = |redactor: &mut NonceRedactor, nonce: &str| {
            matches!(redactor.redact(nonce.as_bytes()), Cow::Owned(_))
        };
        assert!(nonces[1..].iter().all(|nonce| is_masked(&mut redactor, nonce)));
        assert_eq!(redactor.nonces.len(), NONCES_MAX);
    }
}
