//! Decoders, pairing and tables of a capture.

pub mod format;
