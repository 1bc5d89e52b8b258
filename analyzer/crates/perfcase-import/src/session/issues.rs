//! Everything that was lost, damaged or not understood, as rows of `import_issue`.

use hashbrown::HashMap;

use super::{Session, SourceId};
use crate::tables::{ImportIssueRow, Tables};

/// Rows of one kind from one source before further ones are only counted.
const ROWS_OF_A_KIND: usize = 100;

/// How bad it is.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Severity {
    /// Good to know; no figure is wrong.
    Info,
    /// Something is missing; figures may be too small.
    Warning,
    /// Input was damaged; what came before it is kept.
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

/// One kind of trouble at one place.
#[derive(Clone, Debug)]
pub struct Issue {
    /// How bad it is.
    pub severity: Severity,
    /// The source or member that it is about.
    pub source: Option<String>,
    /// What it is, in one word that queries can look for.
    pub kind: &'static str,
    /// Where in the member.
    pub byte_offset: Option<u64>,
    /// How many times.
    pub count: u64,
    /// What happened and what it means.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// A source, and a kind of issue.
type Kind = (Option<String>, &'static str);

#[derive(Default)]
pub(crate) struct Issues {
    list: Vec<Issue>,
    /// How many rows there are of a kind, and which row counts those beyond the limit.
    kinds: HashMap<Kind, (usize, Option<usize>)>,
}

impl Issues {
    pub(crate) fn add(&mut self, issue: Issue) {
        let (rows, overflow) = self.kinds.entry((issue.source.clone(), issue.kind)).or_default();
        if *rows < ROWS_OF_A_KIND {
            *rows += 1;
            self.list.push(issue);
            return;
        }
        match overflow {
            Some(index) => self.list[*index].count = self.list[*index].count.saturating_add(issue.count),
            None => {
                *overflow = Some(self.list.len());
                let message =
                    format!("more of the same ({}); the first {ROWS_OF_A_KIND} have rows of their own", issue.kind);
                self.list.push(Issue { byte_offset: None, message, ..issue });
            }
        }
    }

    pub(crate) fn list(&self) -> &[Issue] {
        &self.list
    }

    pub(crate) fn write(&self, tables: &mut Tables) {
        for issue in &self.list {
            tables.import_issue.push(ImportIssueRow {
                severity: issue.severity.as_str(),
                source: issue.source.as_deref(),
                kind: issue.kind,
                byte_offset: issue.byte_offset,
                count: issue.count,
                message: &issue.message,
                hint: issue.hint.as_deref(),
            });
        }
    }
}

impl Session {
    /// Notes trouble.
    pub fn issue(&mut self, issue: Issue) {
        self.issues.add(issue);
    }

    /// What was noted so far.
    pub fn noted(&self) -> &[Issue] {
        self.issues.list()
    }

    /// Notes trouble with a source, in short.
    pub fn note(&mut self, severity: Severity, source: SourceId, kind: &'static str, at: Option<u64>, message: String) {
        let source = self.source_name(source);
        self.issue(Issue { severity, source, kind, byte_offset: at, count: 1, message, hint: None });
    }
}
