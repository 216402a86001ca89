//! Tests of the emulator that reach into it.
