//! What is wrong with a file, where and how often, before it becomes an issue of the session.

use std::collections::BTreeMap;

use crate::session::Severity;

/// One kind of damage or loss.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// How bad it is.
    pub severity: Severity,
    /// The kind, a fixed word.
    pub kind: &'static str,
    /// Where in the file the first one is.
    pub byte_offset: Option<u64>,
    /// How many there are.
    pub count: u64,
    /// What it means.
    pub message: String,
    /// What to do about it.
    pub hint: Option<&'static str>,
}

/// Problems, one of each kind and detail: further ones of the same are counted.
#[derive(Debug, Default)]
pub struct Problems {
    list: Vec<Problem>,
    known: BTreeMap<(&'static str, u64), usize>,
}

/// Problems told apart at most; beyond, only those already known are counted.
const MOST: usize = 1000;

impl Problems {
    /// Notes one, or counts it where `kind` and `detail` were noted before. The message is made only once.
    pub fn note(
        &mut self,
        severity: Severity,
        kind: &'static str,
        detail: u64,
        byte_offset: Option<u64>,
        message: impl FnOnce() -> String,
        hint: Option<&'static str>,
    ) {
        self.note_many(severity, kind, detail, byte_offset, 1, message, hint);
    }

    /// As `note`, for `count` at once.
    #[allow(clippy::too_many_arguments)]
    pub fn note_many(
        &mut self,
        severity: Severity,
        kind: &'static str,
        detail: u64,
        byte_offset: Option<u64>,
        count: u64,
        message: impl FnOnce() -> String,
        hint: Option<&'static str>,
    ) {
        if let Some(&index) = self.known.get(&(kind, detail)) {
            let count = self.list[index].count.saturating_add(count);
            self.list[index].count = count;
            return;
        }
        if self.list.len() >= MOST {
            return;
        }
        self.known.insert((kind, detail), self.list.len());
        self.list.push(Problem { severity, kind, byte_offset, count, message: message(), hint });
    }

    /// Takes what was noted so far.
    pub fn take(&mut self) -> Vec<Problem> {
        self.known.clear();
        std::mem::take(&mut self.list)
    }

    /// What was noted so far.
    pub fn list(&self) -> &[Problem] {
        &self.list
    }
}
