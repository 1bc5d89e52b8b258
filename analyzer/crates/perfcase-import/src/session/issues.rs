//! Trouble, as decoders note it.

use perfcase_archive::Issue;

use super::{Session, SourceId};

impl Session {
    /// Notes trouble.
    pub fn issue(&mut self, issue: Issue) {
        self.model.issues.add(issue);
    }

    /// Notes trouble with a source.
    pub fn issue_of(&mut self, source: SourceId, issue: Issue) {
        let source = self.source_name(source);
        self.issue(Issue { source, ..issue });
    }

    /// What was noted so far.
    pub fn noted(&self) -> &[Issue] {
        self.model.issues.list()
    }
}
