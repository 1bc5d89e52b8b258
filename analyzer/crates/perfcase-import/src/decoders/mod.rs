//! One folder for each input format.

pub mod ftrace;
pub mod perf_data;
