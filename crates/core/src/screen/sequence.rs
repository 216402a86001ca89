//! The head of a sequence: parameters, marker, intermediates and last byte, all bounded.

/// Parameters kept per sequence; more are read and dropped. The longest sequences in use, SGR with
/// several true colours, need about 30.
pub(crate) const PARAMS_MAX: usize = 64;

/// Intermediates kept; no sequence in use has more than two.
const INTERMEDIATES_MAX: usize = 2;

/// The head of an escape, control or device control sequence.
#[derive(Clone, Debug)]
pub(crate) struct Sequence {
    values: [u16; PARAMS_MAX],
    /// Bit i: parameter i follows a colon, so it belongs to the one before it.
    colons: u64,
    /// Bit i: parameter i had no digit at all.
    missing: u64,
    len: usize,
    /// The private marker, one of `< = > ?`, or 0.
    pub(crate) private: u8,
    intermediates: [u8; INTERMEDIATES_MAX],
    intermediates_len: usize,
    /// The byte that ended it.
    pub(crate) last: u8,
    /// Parameters past [`PARAMS_MAX`] are being skipped.
    full: bool,
    /// Something was out of place: the sequence is read to its end and not acted upon.
    malformed: bool,
}

impl Default for Sequence {
    fn default() -> Self {
        Sequence {
            values: [0; PARAMS_MAX],
            colons: 0,
            missing: 1,
            len: 1,
            private: 0,
            intermediates: [0; INTERMEDIATES_MAX],
            intermediates_len: 0,
            last: 0,
            full: false,
            malformed: false,
        }
    }
}

impl Sequence {
    /// The number of parameters, subparameters included; an absent list is one missing parameter.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Parameter `i`, or 0 if it is missing.
    pub(crate) fn value(&self, i: usize) -> u16 {
        if i < self.len { self.values[i] } else { 0 }
    }

    /// Parameter `i`, or `default` if it is missing or 0, as most sequences want it.
    pub(crate) fn or(&self, i: usize, default: u16) -> usize {
        let value = self.value(i);
        usize::from(if value == 0 { default } else { value })
    }

    /// Tells whether parameter `i` was given.
    pub(crate) fn given(&self, i: usize) -> bool {
        i < self.len && self.missing >> i & 1 == 0
    }

    /// Tells whether parameter `i` is a subparameter of the one before it.
    pub(crate) fn is_sub(&self, i: usize) -> bool {
        i < self.len && self.colons >> i & 1 == 1
    }

    /// The parameters that begin a group, without subparameters.
    pub(crate) fn values(&self) -> impl Iterator<Item = u16> + '_ {
        (0..self.len).filter(|&i| !self.is_sub(i)).map(|i| self.values[i])
    }

    /// The intermediate bytes.
    pub(crate) fn intermediates(&self) -> &[u8] {
        &self.intermediates[..self.intermediates_len]
    }

    /// Tells whether it is to be ignored.
    pub(crate) fn is_malformed(&self) -> bool {
        self.malformed
    }

    /// Says that there was a byte in it that belongs into no sequence.
    pub(crate) fn spoil(&mut self) {
        self.malformed = true;
    }

    /// Begins a new one.
    pub(crate) fn clear(&mut self) {
        self.values[0] = 0;
        self.colons = 0;
        self.missing = 1;
        self.len = 1;
        self.private = 0;
        self.intermediates_len = 0;
        self.full = false;
        self.malformed = false;
    }

    /// Takes a byte of the parameters or intermediates (0x20 to 0x3f).
    #[inline]
    pub(crate) fn param(&mut self, byte: u8) {
        match byte {
            b'0'..=b'9' if self.intermediates_len == 0 && !self.full => self.digit(byte),
            0x20..=0x2f => self.intermediate(byte),
            // Parameters after an intermediate are out of place.
            _ if self.intermediates_len > 0 => self.malformed = true,
            b':' | b';' if self.len == PARAMS_MAX => self.full = true,
            b':' | b';' => self.separator(byte == b':'),
            b'<'..=b'?' if self.len == 1 && self.missing == 1 && self.private == 0 => {
                self.private = byte;
            }
            b'<'..=b'?' => self.malformed = true,
            _ => {}
        }
    }

    fn digit(&mut self, byte: u8) {
        let i = self.len - 1;
        let value = u32::from(self.values[i]) * 10 + u32::from(byte - b'0');
        self.values[i] = value.min(u32::from(u16::MAX)) as u16;
        self.missing &= !(1 << i);
    }

    fn separator(&mut self, colon: bool) {
        self.values[self.len] = 0;
        self.missing |= 1 << self.len;
        self.colons |= u64::from(colon) << self.len;
        self.len += 1;
    }

    pub(crate) fn intermediate(&mut self, byte: u8) {
        if self.intermediates_len < INTERMEDIATES_MAX {
            self.intermediates[self.intermediates_len] = byte;
            self.intermediates_len += 1;
        } else {
            self.malformed = true;
        }
    }
}
