//! What the modules that write a file again without its compression share: [`perf_data::plain`](crate::perf_data::plain) and
//! [`ftrace::trace_dat::plain`](crate::ftrace::trace_dat::plain).

use std::io;

use perfcase_archive::Issue;

/// The most unpacked bytes: this many times the file's size, and at least the second figure.
const GROWTH_LIMIT: u64 = 200;
const GROWTH_FREE_BYTES: u64 = 256 << 20;

/// Gives how many bytes a file of so many may have without its compression.
pub fn limit(bytes: usize) -> u64 {
    (bytes as u64).saturating_mul(GROWTH_LIMIT).max(GROWTH_FREE_BYTES)
}

/// Why a file was not written.
#[derive(Debug)]
pub enum Failure {
    /// It is damaged, or of a kind that is not written.
    Input(Issue),
    /// The new file cannot be written.
    Output(io::Error),
}

impl From<Issue> for Failure {
    fn from(issue: Issue) -> Failure {
        Failure::Input(issue)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Output(error)
    }
}
