//! The one place where an error of the importer becomes a `perfcase.errors.PerfcaseError(kind, message, hint)`.

use std::io::{Error, ErrorKind};
use std::path::Path;

use perfcase_archive::ArchiveError;
use perfcase_import::{ImportError, SymbolizeError, Unusable};
use pyo3::prelude::*;

fn debug_dir(why: &Unusable) -> (&'static str, &'static str) {
    match why.is_of_this_machine {
        true => ("environment", "is there space in TMPDIR, and may this user read it?"),
        false => ("input", "give a folder, an ELF file, or what perf archive writes"),
    }
}

/// Any error, by its kind.
pub fn raise(py: Python<'_>, kind: &str, message: String, hint: Option<String>) -> PyErr {
    let made = py
        .import("perfcase.errors")
        .and_then(|module| module.getattr("PerfcaseError"))
        .and_then(|class| class.call1((kind, message, hint)));
    match made {
        Ok(error) => PyErr::from_value(error),
        Err(error) => error,
    }
}

fn io_kind(error: &Error) -> &'static str {
    match error.kind() {
        ErrorKind::NotFound => "not_found",
        ErrorKind::PermissionDenied => "not_permitted",
        _ => "environment",
    }
}

/// An error of the file system.
pub fn io(py: Python<'_>, path: &Path, error: &Error) -> PyErr {
    raise(py, io_kind(error), format!("{}: {error}", path.display()), None)
}

/// An error of the archive reader.
pub fn archive(py: Python<'_>, error: &ArchiveError) -> PyErr {
    let kind = match error {
        _ if error.is_of_this_machine() => "environment",
        ArchiveError::Io { error, .. } => io_kind(error),
        ArchiveError::UnsupportedVersion { .. } => "version",
        _ => "input",
    };
    raise(py, kind, error.to_string(), Some(error.hint()))
}

/// An error of the importer.
pub fn import(py: Python<'_>, error: &ImportError) -> PyErr {
    match error {
        ImportError::Archive(error) => archive(py, error),
        ImportError::Write(_) => {
            let hint = "is there space, and may this user write there?".to_string();
            raise(py, "environment", error.to_string(), Some(hint))
        }
        ImportError::Stopped => raise(py, "interrupted", "the import was stopped".to_string(), None),
        ImportError::Io { path, source } => io(py, path, source),
        ImportError::DebugDir { why, .. } => {
            let (kind, hint) = debug_dir(why);
            raise(py, kind, error.to_string(), Some(hint.to_string()))
        }
        ImportError::Nothing { .. } => {
            let hint = "give a .perfcase archive, a recorder's folder, a perf.data or a trace.dat".to_string();
            raise(py, "input", error.to_string(), Some(hint))
        }
    }
}

/// An error of naming a case.
pub fn symbolize(py: Python<'_>, error: &SymbolizeError) -> PyErr {
    let (kind, hint) = match error {
        SymbolizeError::DebugDir { why, .. } => debug_dir(why),
        SymbolizeError::Table { .. } => ("input", "import the capture again"),
        SymbolizeError::Write(_) => ("environment", "is there space, and may this user write there?"),
    };
    raise(py, kind, error.to_string(), Some(hint.to_string()))
}
