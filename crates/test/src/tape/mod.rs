//! Parses tapes: scripts for terminal programs in the grammar of VHS, with assertions.
