//! The problems with a file: what, where and how often.

use std::collections::BTreeMap;

use perfcase_archive::Issue;

/// Issues: one of each kind and detail, with the number of further ones.
#[derive(Debug, Default)]
pub struct Problems {
    list: Vec<Issue>,
    known: BTreeMap<(&'static str, u64), usize>,
}

/// The most different issues. After that, only known ones are counted.
const MOST: usize = 1000;

impl Problems {
    /// Notes a problem, or counts it if `kind` and `detail` were noted before. Only the first time calls `make`.
    pub fn note(&mut self, kind: &'static str, detail: u64, make: impl FnOnce(&'static str) -> Issue) {
        self.note_many(kind, detail, 1, make);
    }

    /// Does what `note` does, for `count` problems at once.
    pub fn note_many(&mut self, kind: &'static str, detail: u64, count: u64, make: impl FnOnce(&'static str) -> Issue) {
        if let Some(&index) = self.known.get(&(kind, detail)) {
            let count = self.list[index].count.saturating_add(count);
            self.list[index].count = count;
            return;
        }
        if self.list.len() >= MOST {
            return;
        }
        self.known.insert((kind, detail), self.list.len());
        self.list.push(make(kind).count(count));
    }

    /// Takes the problems so far.
    pub fn take(&mut self) -> Vec<Issue> {
        self.known.clear();
        std::mem::take(&mut self.list)
    }

    /// Gives the problems so far.
    pub fn list(&self) -> &[Issue] {
        &self.list
    }
}
