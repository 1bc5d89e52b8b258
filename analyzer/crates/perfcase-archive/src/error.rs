//! Why a capture could not be opened at all.

use std::path::{Path, PathBuf};

/// Why nothing of a file could be read. Each names the file, the place and what to do.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The operating system refused.
    #[error("cannot {action} {}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// What the operating system said.
        error: std::io::Error,
    },
    /// The content is none of the formats perfcase reads.
    #[error("{}: not a capture: {found}", path.display())]
    NotACapture {
        /// The file.
        path: PathBuf,
        /// What it looks like instead.
        found: String,
    },
    /// The archive's format is of a later major version.
    #[error("{}: manifest.json says format_version {version:?}, this perfcase reads 1.x", path.display())]
    UnsupportedVersion {
        /// The file.
        path: PathBuf,
        /// The version it states.
        version: String,
    },
    /// The manifest is of some other format.
    #[error("{}: manifest.json says format {format:?}, not \"perfcase\"", path.display())]
    OtherFormat {
        /// The file.
        path: PathBuf,
        /// The format it states.
        format: String,
    },
    /// A member that is not of this capture was asked for.
    #[error("{}: no member {member}", path.display())]
    NoSuchMember {
        /// The file.
        path: PathBuf,
        /// What was asked for.
        member: String,
    },
}

impl ArchiveError {
    /// A fixed word for programs.
    pub fn kind(&self) -> &'static str {
        match self {
            ArchiveError::Io { error, .. } if error.kind() == std::io::ErrorKind::NotFound => "not_found",
            ArchiveError::Io { .. } => "io",
            ArchiveError::NotACapture { .. } | ArchiveError::OtherFormat { .. } => "not_a_capture",
            ArchiveError::UnsupportedVersion { .. } => "unsupported_version",
            ArchiveError::NoSuchMember { .. } => "no_such_member",
        }
    }

    /// What the user can do about it.
    pub fn hint(&self) -> String {
        use std::io::ErrorKind;
        match self {
            ArchiveError::Io { error, .. } => match error.kind() {
                ErrorKind::NotFound => "check the path".into(),
                ErrorKind::PermissionDenied => {
                    "perf and trace-cmd write files only root can read: chown it, or run as its owner".into()
                }
                ErrorKind::StorageFull => {
                    "members are decompressed into the temporary folder: point TMPDIR to one with more room".into()
                }
                _ => "check the file and the disk it is on".into(),
            },
            ArchiveError::NotACapture { .. } | ArchiveError::OtherFormat { .. } => {
                "give a .perfcase, a perf.data, a trace.dat, `perf stat -I … -x,` output or a recorder's folder".into()
            }
            ArchiveError::UnsupportedVersion { .. } => "upgrade perfcase to a version that reads this format".into(),
            ArchiveError::NoSuchMember { .. } => "list the members with `perfcase info`".into(),
        }
    }

    pub(crate) fn io(path: &Path, action: &'static str, error: std::io::Error) -> Self {
        ArchiveError::Io { path: path.to_path_buf(), action, error }
    }
}
