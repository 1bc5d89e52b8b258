//! Text of `perf script`: [`reader`] reads its samples, the others a line: the head of a sample, a frame of its callchain, registers,
//! branches, the printed fields of a tracepoint, a fact of the header.

pub mod details;
pub mod fields;
pub mod frame;
pub mod head;
pub mod header;
pub mod reader;
