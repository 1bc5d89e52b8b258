//! Everything that was lost, damaged or not understood, as rows of `import_issue`.

use hashbrown::HashMap;
use perfcase_archive::Issue;

use crate::tables::{ImportIssueRow, Tables};

/// The most rows of one kind from one source. Further issues are only counted.
const ROWS_OF_A_KIND: usize = 100;

/// A source, and a kind of issue.
type Kind = (Option<String>, &'static str);

#[derive(Default)]
pub(crate) struct Issues {
    list: Vec<Issue>,
    /// The number of rows of a kind, and the row that counts the issues above the limit.
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
                self.list.push(Issue { message, ..issue.at(None) });
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
