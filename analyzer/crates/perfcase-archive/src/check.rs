//! Checks whether an archive is what its manifest says, also while it still arrives.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::Serialize;

use crate::capture::{Capture, checksum_problem, hex_sha256};
use crate::error::ArchiveError;
use crate::issue::{Issue, Severity};
use crate::kind::Place;
use crate::tar_walk;

/// The result of one check of an archive.
#[derive(Debug, Serialize)]
pub struct Checked {
    /// The manifest's ticket, as soon as the manifest is complete.
    pub ticket: Option<String>,
    /// The next check begins here: the members before this offset of the file were compared with their checksums.
    pub checked_bytes: u64,
    /// What does not agree.
    pub problems: Vec<Issue>,
}

/// Compares the members that begin at `from` or later with the manifest's checksums. `is_whole` means that nothing will
/// be added to the file, so a cut or missing member is a problem. `None` means that no checksums can be compared, as
/// for a perf.data or a compressed tar.
///
/// # Errors
/// The file cannot be read. A file that is no capture is no error here: its import says why.
pub fn check(path: &Path, from: u64, is_whole: bool) -> Result<Option<Checked>, ArchiveError> {
    let capture = match starts_as_tar(path)? {
        true => Capture::open(path),
        false => return Ok(None),
    };
    let capture = match capture {
        Ok(capture) => capture,
        Err(error @ ArchiveError::Io { .. }) => return Err(error),
        Err(_) => return Ok(None),
    };
    let is_damaged = capture.problems.iter().any(|problem| problem.kind == "damaged_manifest");
    if capture.manifest.is_none() && !is_damaged {
        return Ok(None);
    }
    // The manifest comes first. It is complete when something follows it.
    if !is_whole && capture.members.is_empty() {
        return Ok(Some(Checked { ticket: None, checked_bytes: 0, problems: Vec::new() }));
    }
    let is_ours = |problem: &&Issue| {
        problem.severity == Severity::Error && (is_whole || !matches!(problem.kind, "truncated" | "missing_member"))
    };
    let mut problems: Vec<Issue> = capture.problems.iter().filter(is_ours).cloned().collect();
    let there = std::fs::metadata(path).map_err(|error| ArchiveError::io(path, "open", error))?.len();
    let mut checked_bytes = from;
    for member in &capture.members {
        let Place::Archive { offset } = member.place else { continue };
        let end = offset.saturating_add(member.stored_bytes);
        if offset < from || (end >= there && !is_whole) {
            continue;
        }
        checked_bytes = checked_bytes.max(end);
        if member.sha256.is_some() {
            let actual = hex_sha256(&capture.stored(member)?);
            problems.extend(checksum_problem(member, &actual).map(|problem| problem.at(offset)));
        }
    }
    let ticket = capture.manifest.and_then(|manifest| manifest.ticket);
    Ok(Some(Checked { ticket, checked_bytes, problems }))
}

fn starts_as_tar(path: &Path) -> Result<bool, ArchiveError> {
    let file = File::open(path).map_err(|error| ArchiveError::io(path, "open", error))?;
    let mut head = Vec::new();
    file.take(tar_walk::BLOCK).read_to_end(&mut head).map_err(|error| ArchiveError::io(path, "read", error))?;
    Ok(head.len() as u64 == tar_walk::BLOCK && tar_walk::is_header(&head))
}
