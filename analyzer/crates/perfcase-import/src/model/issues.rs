//! Everything that was lost, damaged or not understood, as rows of `import_issue`.

use std::path::Path;

use hashbrown::HashMap;
use perfcase_archive::Issue;

use crate::tables::{self, ImportIssueRow, ImportIssueTable, Table};
use crate::writer::{WriteError, Writer};

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

    /// Writes the rows into `folder`, over the file that is there. Gives their number.
    pub(crate) fn write(&self, folder: &Path) -> Result<u64, WriteError> {
        let mut table = ImportIssueTable::default();
        for issue in &self.list {
            table.push(ImportIssueRow {
                severity: issue.severity.as_str(),
                source: issue.source.as_deref(),
                kind: issue.kind,
                byte_offset: issue.byte_offset,
                count: issue.count,
                message: &issue.message,
                hint: issue.hint.as_deref(),
            });
        }
        let (name, columns) = (table.name().to_string(), table.take());
        let mut writer = Writer::start(folder, 0);
        writer.write(&name.clone(), Box::new(move || tables::batch(&name, columns)))?;
        Ok(writer.finish()?.values().sum())
    }
}

#[cfg(test)]
mod tests {
    use parquet::arrow::arrow_reader::ParquetRecordBatchReader;

    use super::*;

    #[test]
    fn what_is_found_after_the_tables_were_closed_is_in_the_table() {
        let folder = tempfile::tempdir().unwrap();
        let mut issues = Issues::default();
        assert_eq!(issues.write(folder.path()).unwrap(), 0);
        issues.add(Issue::warning("first", "one"));
        issues.add(Issue::warning("last", "two").count(3));
        assert_eq!(issues.write(folder.path()).unwrap(), 2);
        let file = std::fs::File::open(folder.path().join("import_issue.parquet")).unwrap();
        let rows = ParquetRecordBatchReader::try_new(file, 10).unwrap().map(|batch| batch.unwrap().num_rows());
        assert_eq!(rows.sum::<usize>(), 2);
    }
}
