//! What is wrong with a capture, as data: the same from the container up to the rows of `import_issue`.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;

/// How much an issue matters to who reads the results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Good to know; no figure is wrong.
    Info,
    /// Something is missing; figures may be too small.
    Warning,
    /// Input was damaged or lost; what came before it is kept.
    Error,
}

impl Severity {
    /// The word in `import_issue.severity`.
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// One kind of trouble at one place. Made by [`Issue::info`], [`Issue::warning`] or [`Issue::error`]; what else is known is added:
///
/// ```
/// # use perfcase_archive::Issue;
/// let issue = Issue::error("truncated", "the file ends inside a record").of("perf/perf.data").at(4096).hint("record again");
/// assert_eq!((issue.count, issue.byte_offset), (1, Some(4096)));
/// ```
///
/// Its JSON is that of `perfcase info`, whose issues are of members and each told once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Issue {
    /// How much it matters.
    pub severity: Severity,
    /// The source or member that it is about (a member's path without `.zst`/`.gz`); `None` for the capture as a whole.
    #[serde(rename = "member")]
    pub source: Option<String>,
    /// A fixed word to group by: `truncated`, `checksum`, `unsafe_path`, `limit`, …
    pub kind: &'static str,
    /// Where: bytes into the container file, or into the decompressed member.
    pub byte_offset: Option<u64>,
    /// How many times.
    #[serde(skip)]
    pub count: u64,
    /// What happened and what it means, for a person.
    pub message: String,
    /// What to do about it.
    pub hint: Option<Cow<'static, str>>,
}

impl Issue {
    /// An issue that happened once, of nothing in particular.
    pub fn new(severity: Severity, kind: &'static str, message: impl Into<String>) -> Issue {
        Issue { severity, source: None, kind, byte_offset: None, count: 1, message: message.into(), hint: None }
    }

    /// The same, good to know.
    pub fn info(kind: &'static str, message: impl Into<String>) -> Issue {
        Issue::new(Severity::Info, kind, message)
    }

    /// The same, for something that is missing.
    pub fn warning(kind: &'static str, message: impl Into<String>) -> Issue {
        Issue::new(Severity::Warning, kind, message)
    }

    /// The same, for what was damaged or lost.
    pub fn error(kind: &'static str, message: impl Into<String>) -> Issue {
        Issue::new(Severity::Error, kind, message)
    }

    /// What it is about: a source's name or a member's path.
    pub fn of(self, source: impl Into<String>) -> Issue {
        Issue { source: Some(source.into()), ..self }
    }

    /// Where it is, in bytes; `None` where that is not known.
    pub fn at(self, byte_offset: impl Into<Option<u64>>) -> Issue {
        Issue { byte_offset: byte_offset.into(), ..self }
    }

    /// How many times it happened.
    pub fn count(self, count: u64) -> Issue {
        Issue { count, ..self }
    }

    /// What to do about it.
    pub fn hint(self, hint: impl Into<Cow<'static, str>>) -> Issue {
        Issue { hint: Some(hint.into()), ..self }
    }
}

impl fmt::Display for Issue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Issue {}
