//! One folder for each input format.

pub mod ftrace;
