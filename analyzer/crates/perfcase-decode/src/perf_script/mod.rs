//! Lines of `perf script`: the head of a sample, a frame of its callchain, registers, branches and what else follows.

pub mod details;
pub mod frame;
pub mod head;
