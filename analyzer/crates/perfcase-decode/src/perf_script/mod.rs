//! Lines of `perf script`: the head of a sample, a frame of its callchain, registers, branches, the printed fields of a tracepoint.

pub mod details;
pub mod fields;
pub mod frame;
pub mod head;
