//! `perf script` text: samples, callchains and the printed fields of tracepoints.
//!
//! The text holds less than the perf.data it was made from: times in microseconds unless `--ns` was given, names instead
//! of mappings, and of a tracepoint only what its print format shows. What it does hold goes the same way as the
//! perf.data's records: a tracepoint's fields are laid out as a record again and handed to the session.

mod detail_rows;
mod layout;
mod source;

pub use source::open;

#[cfg(test)]
mod tests;
