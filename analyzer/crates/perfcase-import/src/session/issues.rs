//! Issues, as decoders note them.

use perfcase_archive::Issue;

use super::{Session, SourceId};

impl Session {
    /// Notes an issue.
    pub fn issue(&mut self, issue: Issue) {
        self.model.issues.add(issue);
    }

    /// Notes an issue with a source.
    pub fn issue_of(&mut self, source: SourceId, issue: Issue) {
        let source = self.source_name(source);
        self.issue(Issue { source, ..issue });
    }

    /// Gives the issues so far.
    pub fn noted(&self) -> &[Issue] {
        self.model.issues.list()
    }
}
