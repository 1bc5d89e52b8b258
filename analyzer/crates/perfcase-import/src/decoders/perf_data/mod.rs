//! perf.data of every kind: file and pipe mode, either byte order, compressed, cut, damaged.
//!
//! [`scan::scan`] passes over the file once and gives a [`recording::Recording`]: what the file says about itself and
//! an index of its records. The adapter decodes them in the order of time for the session.

pub mod arena;
pub mod attr;
mod behind;
pub mod build_id;
pub mod bytes;
mod chains;
pub mod compressed;
pub mod deferred;
pub mod events;
pub mod features;
mod group;
pub mod header;
pub mod index;
mod loss;
pub mod names;
mod open;
pub mod problem;
pub mod read_format;
pub mod record;
pub mod recording;
mod resync;
pub mod sample;
pub mod sample_parts;
mod sample_rows;
pub mod scan;
mod side_rows;
pub mod simpleperf;
mod source;
mod totals;
pub mod tracing_data;
mod unpack;
mod user_records;

pub use header::HeaderError;
pub use open::{Options, open};
pub use source::PerfSource;
