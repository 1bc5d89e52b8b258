//! What is wrong with a file, where and how often, before the session hears of it.

use std::collections::BTreeMap;

use perfcase_archive::Issue;

/// Issues, one of each kind and detail: further ones of the same are counted.
#[derive(Debug, Default)]
pub struct Problems {
    list: Vec<Issue>,
    known: BTreeMap<(&'static str, u64), usize>,
}

/// Issues told apart at most; beyond, only those already known are counted.
const MOST: usize = 1000;

impl Problems {
    /// Notes one, or counts it where `kind` and `detail` were noted before. `make` is called only the first time.
    pub fn note(&mut self, kind: &'static str, detail: u64, make: impl FnOnce(&'static str) -> Issue) {
        self.note_many(kind, detail, 1, make);
    }

    /// As `note`, for `count` at once.
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

    /// Takes what was noted so far.
    pub fn take(&mut self) -> Vec<Issue> {
        self.known.clear();
        std::mem::take(&mut self.list)
    }

    /// What was noted so far.
    pub fn list(&self) -> &[Issue] {
        &self.list
    }
}
