//! Tests of animations.
