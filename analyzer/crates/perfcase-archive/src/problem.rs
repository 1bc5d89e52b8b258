//! What is wrong with a capture, as data.

use serde::Serialize;

/// How much a problem matters to who reads the results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; no result is less true for it.
    Info,
    /// Something is missing that a result may need.
    Warning,
    /// Data is damaged or was lost.
    Error,
}

/// One thing wrong with a capture's container or one of its members.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// How much it matters.
    pub severity: Severity,
    /// The member it concerns (path without `.zst`/`.gz`); `None` for the container itself.
    pub member: Option<String>,
    /// Where: an offset in the container file, or in the decompressed member for `damaged_member`.
    pub byte_offset: Option<u64>,
    /// A fixed word to group by: `truncated`, `checksum`, `unsafe_path`, `limit`, …
    pub kind: &'static str,
    /// What is wrong, for a person.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Problem {
    pub(crate) fn new(severity: Severity, kind: &'static str, message: impl Into<String>) -> Self {
        Problem { severity, member: None, byte_offset: None, kind, message: message.into(), hint: None }
    }

    pub(crate) fn member(mut self, path: impl Into<String>) -> Self {
        self.member = Some(path.into());
        self
    }

    pub(crate) fn at(mut self, byte_offset: u64) -> Self {
        self.byte_offset = Some(byte_offset);
        self
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}
