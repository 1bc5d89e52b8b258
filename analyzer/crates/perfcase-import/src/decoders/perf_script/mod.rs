//! `perf script` text: samples, callchains and the printed fields of tracepoints.
//!
//! The text has less than its perf.data: times in microseconds without `--ns`, names instead of mappings, and only the
//! printed fields of a tracepoint. The rest is treated like records of a perf.data: the fields of a tracepoint become a
//! record again, which the session gets.

mod detail_rows;
mod layout;
mod source;

pub use source::open;

#[cfg(test)]
mod tests;
