//! The head of a sequence: parameters, private marker, intermediates and final byte, all bounded.

/// The maximum number of parameters. Further ones are ignored. The longest sequences in use, SGR with several true
/// colours, need about 30.
pub(crate) const PARAMS_MAX: usize = 64;

/// The maximum number of intermediates. No sequence in use has more than two.
const INTERMEDIATES_MAX: usize = 2;

/// The head of an escape, control or device control sequence.
#[derive(Clone, Debug)]
pub(crate) struct Sequence {
    values: [u16; PARAMS_MAX],
    /// Bit i: parameter i follows a colon, so it is a subparameter.
    colons: u64,
    /// Bit i: parameter i had no digit.
    missing: u64,
    len: usize,
    /// The private marker, one of `< = > ?`, or 0.
    pub(crate) private_marker: u8,
    intermediates: [u8; INTERMEDIATES_MAX],
    intermediates_len: usize,
    /// The final byte.
    pub(crate) final_byte: u8,
    /// Parameters beyond [`PARAMS_MAX`] are being skipped.
    full: bool,
    /// The sequence contains an invalid byte: it is parsed to its end and then ignored.
    malformed: bool,
}

impl Default for Sequence {
    fn default() -> Self {
        Sequence {
            values: [0; PARAMS_MAX],
            colons: 0,
            missing: 1,
            len: 1,
            private_marker: 0,
            intermediates: [0; INTERMEDIATES_MAX],
            intermediates_len: 0,
            final_byte: 0,
            full: false,
            malformed: false,
        }
    }
}

impl Sequence {
    /// Returns the number of parameters, including subparameters. An empty list counts as one missing parameter.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Returns parameter `i`, or 0 if it is missing.
    pub(crate) fn value(&self, i: usize) -> u16 {
        if i < self.len { self.values[i] } else { 0 }
    }

    /// Returns parameter `i`, or `default` if it is missing or 0, as most sequences require.
    pub(crate) fn value_or(&self, i: usize, default: u16) -> usize {
        let value = self.value(i);
        usize::from(if value == 0 { default } else { value })
    }

    /// Returns whether parameter `i` was given.
    pub(crate) fn is_given(&self, i: usize) -> bool {
        i < self.len && self.missing >> i & 1 == 0
    }

    /// Returns whether parameter `i` is a subparameter of the previous one.
    pub(crate) fn is_sub(&self, i: usize) -> bool {
        i < self.len && self.colons >> i & 1 == 1
    }

    /// Returns the parameters without subparameters.
    pub(crate) fn values(&self) -> impl Iterator<Item = u16> + '_ {
        (0..self.len).filter(|&i| !self.is_sub(i)).map(|i| self.values[i])
    }

    /// Returns the intermediate bytes.
    pub(crate) fn intermediates(&self) -> &[u8] {
        &self.intermediates[..self.intermediates_len]
    }

    /// Returns whether the sequence must be ignored.
    pub(crate) fn is_malformed(&self) -> bool {
        self.malformed
    }

    /// Marks the sequence as malformed because of an invalid byte.
    pub(crate) fn mark_malformed(&mut self) {
        self.malformed = true;
    }

    /// Starts another sequence.
    pub(crate) fn clear(&mut self) {
        self.values[0] = 0;
        self.colons = 0;
        self.missing = 1;
        self.len = 1;
        self.private_marker = 0;
        self.intermediates_len = 0;
        self.full = false;
        self.malformed = false;
    }

    /// Handles a byte of the parameters or intermediates (0x20 to 0x3f).
    #[inline]
    pub(crate) fn param(&mut self, byte: u8) {
        match byte {
            b'0'..=b'9' if self.intermediates_len == 0 && !self.full => self.digit(byte),
            0x20..=0x2f => self.intermediate(byte),
            // A parameter after an intermediate is invalid.
            _ if self.intermediates_len > 0 => self.malformed = true,
            b':' | b';' if self.len == PARAMS_MAX => self.full = true,
            b':' | b';' => self.separator(byte == b':'),
            b'<'..=b'?' if self.len == 1 && self.missing == 1 && self.private_marker == 0 => {
                self.private_marker = byte;
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
