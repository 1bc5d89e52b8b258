//! perf.data of every kind: file and pipe mode, both byte orders, compressed, cut, damaged.
//!
//! [`scan::scan`] reads the file once and gives a [`recording::Recording`]: what the file says about itself, an index
//! of its records, and problems with them. [`record::parse`] and [`sample::SamplePlan`] read what the index points to.

pub mod arena;
pub mod attr;
pub mod behind;
pub mod build_id;
pub mod bytes;
pub mod compressed;
pub mod deferred;
pub mod events;
pub mod features;
pub mod file_symbols;
pub mod header;
pub mod index;
pub mod loss;
pub mod names;
pub mod plain;
pub mod problem;
pub mod read_format;
pub mod record;
pub mod recording;
mod resync;
pub mod sample;
pub mod sample_parts;
pub mod scan;
pub mod simpleperf;
pub mod tracing_data;
mod unpack;
mod user_records;

pub use file_symbols::FileSymbols;
pub use header::HeaderError;
