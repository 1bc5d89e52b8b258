//! What is wrong with a capture, as data. It has the same form from the container to the rows of `import_issue`.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;

/// How much an issue matters to a reader of the results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The reader may want to know it. No figure is wrong.
    Info,
    /// Something is missing. Figures may be too small.
    Warning,
    /// Input was damaged or lost. What came before it is kept.
    Error,
}

impl Severity {
    /// Gives the word in `import_issue.severity`.
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// One kind of trouble at one place. [`Issue::info`], [`Issue::warning`] and [`Issue::error`] make it, and other
/// methods add what else is known:
///
/// ```
/// # use perfcase_archive::Issue;
/// let issue = Issue::error("truncated", "the file ends inside a record").of("perf/perf.data").at(4096).hint("record again");
/// assert_eq!((issue.count, issue.byte_offset), (1, Some(4096)));
/// ```
///
/// Its JSON is that of `perfcase info`, whose issues concern members. Each is reported once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Issue {
    /// How much it matters.
    pub severity: Severity,
    /// The source or member that it is about (a member's path without `.zst`/`.gz`); `None` for the capture as a whole.
    #[serde(rename = "member")]
    pub source: Option<String>,
    /// A fixed word by which issues are grouped: `truncated`, `checksum`, `unsafe_path`, `limit`, …
    pub kind: &'static str,
    /// The offset in bytes in the container file, or in the decompressed member.
    pub byte_offset: Option<u64>,
    /// How many times it happened.
    #[serde(skip)]
    pub count: u64,
    /// What happened and what it means, for a person.
    pub message: String,
    /// What the user can do about it.
    pub hint: Option<Cow<'static, str>>,
}

impl Issue {
    /// Makes an issue that happened once and concerns nothing in particular.
    pub fn new(severity: Severity, kind: &'static str, message: impl Into<String>) -> Issue {
        Issue { severity, source: None, kind, byte_offset: None, count: 1, message: message.into(), hint: None }
    }

    /// Makes such an issue for something that a reader may want to know.
    pub fn info(kind: &'static str, message: impl Into<String>) -> Issue {
        Issue::new(Severity::Info, kind, message)
    }

    /// Makes such an issue for something that is missing.
    pub fn warning(kind: &'static str, message: impl Into<String>) -> Issue {
        Issue::new(Severity::Warning, kind, message)
    }

    /// Makes such an issue for something that was damaged or lost.
    pub fn error(kind: &'static str, message: impl Into<String>) -> Issue {
        Issue::new(Severity::Error, kind, message)
    }

    /// Sets what it is about: a source's name or a member's path.
    pub fn of(self, source: impl Into<String>) -> Issue {
        Issue { source: Some(source.into()), ..self }
    }

    /// Sets its place, in bytes; `None` where that is not known.
    pub fn at(self, byte_offset: impl Into<Option<u64>>) -> Issue {
        Issue { byte_offset: byte_offset.into(), ..self }
    }

    /// Sets how many times it happened.
    pub fn count(self, count: u64) -> Issue {
        Issue { count, ..self }
    }

    /// Sets what the user can do about it.
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
