//! The thin Python face of the importer: converts arguments, results and errors, no more.

mod errors;
mod events;

use std::path::PathBuf;

use perfcase_archive::Capture;
use perfcase_import::{Options, Progress};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// Imports a capture into `tables/` below `out_dir`.
///
/// `options` may hold `name`, `kallsyms` (a path) and `debug_dirs` (paths). `progress(phase, records)` is called now and then; an exception
/// that it raises (Ctrl-C, say) ends the import. Gives
/// `{"capture_id", "tables": {name: rows}, "other_columns": {name: [(column, type)]}, "issues": [{…}]}`.
#[pyfunction]
#[pyo3(signature = (path, out_dir, options=None, progress=None))]
fn import_capture<'py>(
    py: Python<'py>,
    path: PathBuf,
    out_dir: PathBuf,
    options: Option<&Bound<'py, PyDict>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let options = options_of(options)?;
    let mut raised: Option<PyErr> = None;
    let result = py.detach(|| {
        let mut report = |now: Progress| {
            if raised.is_some() {
                return false;
            }
            let told = Python::attach(|py| {
                py.check_signals()?;
                progress.as_ref().map(|call| call.call1(py, (now.phase, now.records))).transpose()
            });
            raised = told.err();
            raised.is_none()
        };
        perfcase_import::import(&path, &out_dir, &options, &mut report)
    });
    if let Some(error) = raised {
        return Err(error);
    }
    let summary = result.map_err(|error| errors::import(py, &error))?;
    let answer = PyDict::new(py);
    answer.set_item("capture_id", summary.capture_id)?;
    answer.set_item("tables", summary.tables)?;
    answer.set_item("other_columns", summary.other_columns)?;
    let issues = PyList::empty(py);
    for issue in &summary.issues {
        let row = PyDict::new(py);
        row.set_item("severity", issue.severity.as_str())?;
        row.set_item("source", &issue.source)?;
        row.set_item("kind", issue.kind)?;
        row.set_item("byte_offset", issue.byte_offset)?;
        row.set_item("count", issue.count)?;
        row.set_item("message", &issue.message)?;
        row.set_item("hint", &issue.hint)?;
        issues.append(row)?;
    }
    answer.set_item("issues", issues)?;
    Ok(answer)
}

fn options_of(given: Option<&Bound<'_, PyDict>>) -> PyResult<Options> {
    let mut options = Options::default();
    let Some(given) = given else { return Ok(options) };
    if let Some(name) = given.get_item("name")? {
        options.name = name.extract()?;
    }
    if let Some(kallsyms) = given.get_item("kallsyms")? {
        options.kallsyms = kallsyms.extract()?;
    }
    if let Some(debug_dirs) = given.get_item("debug_dirs")? {
        options.debug_dirs = debug_dirs.extract()?;
    }
    Ok(options)
}

/// What a file is made of, without importing it: JSON of `{"kind", "manifest", "members", "problems"}`.
#[pyfunction]
fn describe(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    let capture = py.detach(|| Capture::open(&path)).map_err(|error| errors::archive(py, &error))?;
    let kind = format!("{:?}", capture.kind).to_lowercase();
    let described = serde_json::json!({
        "kind": kind,
        "manifest": capture.manifest,
        "members": capture.members,
        "problems": capture.problems,
    });
    Ok(described.to_string())
}

/// BLAKE3 of a file or folder, hex: the key of the capture.
#[pyfunction]
fn hash_file(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    py.detach(|| perfcase_import::hash(&path)).map_err(|error| errors::io(py, &path, &error))
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(import_capture, module)?)?;
    module.add_function(wrap_pyfunction!(describe, module)?)?;
    module.add_function(wrap_pyfunction!(hash_file, module)?)?;
    module.add_function(wrap_pyfunction!(events::print_events, module)?)?;
    module.add_function(wrap_pyfunction!(events::run_event_printer, module)?)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    Ok(())
}
