//! perf.data: its records in the order of time, handed to the session as rows, callchains and mappings.

mod chains;
mod group;
mod open;
mod sample_rows;
mod side_rows;
mod source;
mod totals;

pub use open::{Options, open};
pub use source::PerfSource;
