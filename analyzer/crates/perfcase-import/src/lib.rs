//! From a capture's members to typed tables: decoders, the timeline, the writer.
//!
//! Data flow one way: `decoders/` hand the records that perfcase-decode reads, in the order of time, to the
//! [`session`], which keeps what is known in a `model/`. `tracepoint/` makes columns of event payloads, `timeline/`
//! makes thread states, system calls and requests of pairs of events. A `sink` collects rows, and `writer` writes them
//! to Parquet files.

mod blame;
mod bound;
mod columns;
pub mod decoders;
#[cfg(test)]
#[path = "../../../testing/fixture.rs"]
#[allow(dead_code)]
mod fixture;
mod import;
#[cfg(test)]
#[path = "../../../testing/jitdump.rs"]
mod jitdump_file;
mod model;
mod order;
mod ports;
#[cfg(test)]
#[path = "../../../testing/scale.rs"]
mod scale;
pub mod session;
pub mod sink;
pub mod source;
mod symbolize;
mod syscall_arguments;
pub mod syscall_names;
pub mod tables;
mod timeline;
pub mod traceevent;
pub mod tracepoint;
pub mod writer;

pub use import::{ImportError, Options, Progress, Summary, hash, import};
pub use perfcase_symbols::Unusable;
pub use symbolize::{ObjectSummary, SymbolizeError, symbolize};
