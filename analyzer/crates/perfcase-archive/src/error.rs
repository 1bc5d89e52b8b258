//! Why a capture could not be opened at all.

use std::path::{Path, PathBuf};

/// The reason why nothing of a file could be read. Each error names the file, the place and what to do.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The operating system reported an error.
    #[error("cannot {action} {}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// The error of the operating system.
        error: std::io::Error,
    },
    /// The content has none of the formats that perfcase reads.
    #[error("{}: not a capture: {found}", path.display())]
    NotACapture {
        /// The file.
        path: PathBuf,
        /// What it looks like instead.
        found: String,
    },
    /// The archive's format has a later major version.
    #[error("{}: manifest.json says format_version {version:?}, this perfcase reads 1.x", path.display())]
    UnsupportedVersion {
        /// The file.
        path: PathBuf,
        /// The version it states.
        version: String,
    },
    /// The manifest has another format.
    #[error("{}: manifest.json says format {format:?}, not \"perfcase\"", path.display())]
    OtherFormat {
        /// The file.
        path: PathBuf,
        /// The format it states.
        format: String,
    },
    /// The caller asked for a member that this capture does not have.
    #[error("{}: no member {member}", path.display())]
    NoSuchMember {
        /// The file.
        path: PathBuf,
        /// The path that the caller asked for.
        member: String,
    },
}

/// The action while the temporary folder is written.
const DECOMPRESS: &str = "decompress";
/// "Too many open files", for which std has no kind.
const EMFILE: i32 = 24;

/// Gives the hint for the case that the decompressed bytes of a capture need more room than there is.
fn full_hint() -> String {
    let folder = std::env::temp_dir();
    format!(
        "captures are decompressed into {}: free space there, or point TMPDIR to a folder that has some",
        folder.display()
    )
}

impl ArchiveError {
    /// Gives a fixed word for programs.
    pub fn kind(&self) -> &'static str {
        match self {
            ArchiveError::Io { error, .. } if error.kind() == std::io::ErrorKind::NotFound => "not_found",
            ArchiveError::Io { .. } => "io",
            ArchiveError::NotACapture { .. } | ArchiveError::OtherFormat { .. } => "not_a_capture",
            ArchiveError::UnsupportedVersion { .. } => "unsupported_version",
            ArchiveError::NoSuchMember { .. } => "no_such_member",
        }
    }

    /// Tells whether this machine failed and not the input: the same file can be read on another machine, or when the
    /// cause is gone.
    pub fn is_of_this_machine(&self) -> bool {
        use std::io::ErrorKind::{NotFound, PermissionDenied};
        let ArchiveError::Io { action, error, .. } = self else { return false };
        *action == DECOMPRESS || !matches!(error.kind(), NotFound | PermissionDenied)
    }

    /// Gives what the user can do about it.
    pub fn hint(&self) -> String {
        use std::io::ErrorKind;
        match self {
            ArchiveError::Io { action, error, .. } => match error.kind() {
                _ if *action == DECOMPRESS => full_hint(),
                ErrorKind::NotFound => "check the path".into(),
                ErrorKind::PermissionDenied => {
                    "perf and trace-cmd write files only root can read: chown it, or run as its owner".into()
                }
                _ if error.raw_os_error() == Some(EMFILE) => "raise the limit of open files: ulimit -n".into(),
                _ => "check the file and the disk it is on".into(),
            },
            ArchiveError::NotACapture { .. } | ArchiveError::OtherFormat { .. } => {
                "give a .perfcase, a perf.data, a trace.dat, `perf stat -I … -x,` output or a recorder's folder".into()
            }
            ArchiveError::UnsupportedVersion { .. } => "upgrade perfcase to a version that reads this format".into(),
            ArchiveError::NoSuchMember { .. } => "list the members with `perfcase info`".into(),
        }
    }

    /// Makes the error for the case that the decompressed bytes of a capture cannot be kept.
    pub fn no_room(path: &Path, error: std::io::Error) -> Self {
        ArchiveError::io(path, DECOMPRESS, error)
    }

    pub(crate) fn io(path: &Path, action: &'static str, error: std::io::Error) -> Self {
        ArchiveError::Io { path: path.to_path_buf(), action, error }
    }
}
