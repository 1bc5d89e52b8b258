//! From bytes to events and problems: what each input format says, without a session behind it.
//!
//! | module | reads |
//! |---|---|
//! | [`perf_data`] | perf.data: headers, the index of its records, each record and sample |
//! | [`ftrace`] | trace.dat and folders of raw ring-buffer pages: each CPU's events, and all by time |
//! | [`format`] | event formats of tracefs, by which the bytes of a tracepoint are read |
//! | [`proc`] | the sampler's stream of snapshots, and the texts of /proc and /sys in it |
//! | [`perf_stat`], [`perf_script`] | lines of what perf prints |
//! | [`host`] | the host's files: facts about the host, the kernel's log |
//! | [`jitdump`] | what a runtime recorded of the code that it generated |
//! | [`symbol_list`] | the recorder's list of object files |
//! | [`plain`] | what is compressed inside a perf.data or a trace.dat, written without that |
//!
//! Nothing here panics on damaged input, or allocates memory by an unchecked number of the input. A problem is an
//! [`Issue`](perfcase_archive::Issue), next to everything that could be read. perfcase-import makes tables of both.

#[cfg(test)]
#[path = "../../../testing/fixture.rs"]
#[allow(dead_code)]
mod fixture;
pub mod format;
pub mod ftrace;
pub mod host;
pub mod jitdump;
#[cfg(test)]
#[path = "../../../testing/jitdump.rs"]
mod jitdump_file;
pub mod perf_data;
pub mod perf_script;
pub mod perf_stat;
pub mod plain;
pub mod proc;
#[cfg(test)]
#[path = "../../../testing/scale.rs"]
mod scale;
pub mod symbol_list;

/// A time that a record does not have. It sorts before every other.
pub const NO_TIME: i64 = i64::MIN;
