//! The files of a recorder's folder. Links are not followed: a folder from another machine must not make perfcase read
//! this machine's files.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::ArchiveError;
use crate::issue::{Issue, Severity};
use crate::limits::Limits;
use crate::path;

/// A regular file below a folder.
pub(crate) struct Found {
    /// Its path relative to the folder, which is checked.
    pub path: String,
    /// Where it is.
    pub file: PathBuf,
}

/// Lists the regular files below `root`, sorted by path.
pub(crate) fn walk(root: &Path, limits: &Limits) -> Result<(Vec<Found>, Vec<Issue>), ArchiveError> {
    let mut found = Vec::new();
    let mut problems = Vec::new();
    let mut links = Vec::new();
    let mut folders = vec![(root.to_path_buf(), String::new(), 0usize)];
    while let Some((folder, prefix, depth)) = folders.pop() {
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if depth == 0 => return Err(ArchiveError::io(&folder, "list", error)),
            Err(error) => {
                problems.push(unread(&prefix, &error.to_string()));
                continue;
            }
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            if name.as_encoded_bytes().starts_with(b".") {
                continue; // the recorder's own state, an editor's: no members
            }
            let relative = [prefix.as_bytes(), name.as_encoded_bytes()].concat();
            let shown = String::from_utf8_lossy(&relative).into_owned();
            let relative = match path::check(&relative) {
                Ok(relative) => relative,
                Err(why) => {
                    problems.push(unread(&shown, why));
                    continue;
                }
            };
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && depth < limits.folder_depth_max => {
                    folders.push((entry.path(), format!("{relative}/"), depth + 1));
                }
                Ok(kind) if kind.is_file() => {
                    found.push(Found { path: relative, file: entry.path() });
                }
                Ok(kind) if kind.is_dir() => problems.push(unread(&relative, "it is too deep")),
                Ok(kind) if kind.is_symlink() => links.push(relative),
                Ok(_) => problems.push(unread(&relative, "it is not a regular file")),
                Err(error) => problems.push(unread(&relative, &error.to_string())),
            }
            if found.len() + problems.len() + links.len() >= limits.member_count_max {
                let message = format!("more than {} files; the rest is not read", limits.member_count_max);
                problems.push(Issue::error("limit", message));
                folders.clear();
                break;
            }
        }
    }
    if let Some(problem) = unfollowed(&links) {
        problems.push(problem);
    }
    found.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    Ok((found, problems))
}

fn unread(path: &str, why: &str) -> Issue {
    let message = format!("{} is not read: {why}", path.escape_debug());
    Issue::warning("unsafe_member", message).of(path)
}

/// Makes one issue for all links. A copy of /proc has many of them.
fn unfollowed(links: &[String]) -> Option<Issue> {
    let (of_proc, others): (Vec<&String>, Vec<&String>) = links.iter().partition(|path| is_proc_link(path));
    let (severity, first) = match (others.iter().min(), of_proc.iter().min()) {
        (Some(first), _) => (Severity::Warning, first),
        (None, first) => (Severity::Info, first?),
    };
    let first = first.escape_debug();
    let message = match links.len() {
        1 => format!("{first} is a link: it is not followed"),
        count => format!("{count} links are not followed: {first} and others"),
    };
    Some(
        Issue::new(severity, "links", message)
            .hint("copy what a link leads to in its place, where that is a recording"),
    )
}

/// Tells whether /proc itself has this link.
fn is_proc_link(path: &str) -> bool {
    let mut parts = path.rsplit('/');
    let (name, folder) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    matches!(name, "exe" | "cwd" | "root" | "self" | "thread-self" | "mounts" | "net")
        || matches!(folder, "fd" | "ns" | "map_files")
}
