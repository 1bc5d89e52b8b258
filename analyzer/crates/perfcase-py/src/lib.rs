//! The thin Python face of the importer: converts arguments, results and errors, no more.

mod errors;
mod events;
mod redact;

use std::path::PathBuf;

use perfcase_archive::Capture;
use perfcase_import::{Options, Progress};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// Imports a capture into `tables/` below `out_dir`.
///
/// `options` may hold `name`, `kallsyms` (a path), `debug_dirs` (paths) and `capture_id`. `progress(phase, records, read_ns)` is called now and then, where
/// `read_ns` is how much of the recording's time is read and of how much, or None; an exception that it raises (Ctrl-C, say) ends the import. Gives
/// `{"capture_id", "capture": {fact: value}, "tables": {name: rows}, "other_columns": {name: [(column, type)]}, "issues": [{…}]}`.
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
                progress.as_ref().map(|call| call.call1(py, (now.phase, now.records, now.read_ns))).transpose()
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
    let facts = PyDict::new(py);
    facts.set_item("capture_id", &summary.capture_id)?;
    facts.set_item("started_realtime_ns", summary.facts.started_realtime_ns)?;
    facts.set_item("duration_ns", summary.facts.duration_ns)?;
    facts.set_item("host", summary.facts.host)?;
    facts.set_item("ticket", summary.facts.ticket)?;
    facts.set_item("note", summary.facts.note)?;
    facts.set_item("labels", summary.facts.labels.unwrap_or_default())?;
    facts.set_item("kernel", summary.facts.kernel)?;
    facts.set_item("cpu_count", summary.facts.cpu_count)?;
    facts.set_item("cpu_model", summary.facts.cpu_model)?;
    answer.set_item("capture", facts)?;
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
        row.set_item("hint", issue.hint.as_deref())?;
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
    if let Some(capture_id) = given.get_item("capture_id")? {
        options.capture_id = capture_id.extract()?;
    }
    Ok(options)
}

/// Names the frames of the tables in `tables` by object files below `debug_dirs`; writes the tables that change to `out`.
///
/// Gives a list of `{"name", "path", "build_id", "frame_count", "named_before_count", "named_count", "symbols",
/// "missing_reason"}`.
#[pyfunction]
fn symbolize<'py>(
    py: Python<'py>,
    tables: PathBuf,
    out: PathBuf,
    debug_dirs: Vec<PathBuf>,
) -> PyResult<Bound<'py, PyList>> {
    let result = py.detach(|| perfcase_import::symbolize(&tables, &out, &debug_dirs));
    let list = PyList::empty(py);
    for object in result.map_err(|error| errors::symbolize(py, &error))? {
        let row = PyDict::new(py);
        row.set_item("name", object.name)?;
        row.set_item("path", object.path)?;
        row.set_item("build_id", object.build_id)?;
        row.set_item("frame_count", object.frame_count)?;
        row.set_item("named_before_count", object.named_before_count)?;
        row.set_item("named_count", object.named_count)?;
        row.set_item("symbols", object.symbols)?;
        row.set_item("missing_reason", object.missing_reason)?;
        list.append(row)?;
    }
    Ok(list)
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

/// Compares an archive's members from an offset on with the manifest's checksums: JSON of `{"ticket", "checked_bytes", "problems"}`,
/// or None where nothing vouches for the file.
#[pyfunction]
fn check(py: Python<'_>, path: PathBuf, begin: u64, is_whole: bool) -> PyResult<Option<String>> {
    let checked = py.detach(|| perfcase_archive::check(&path, begin, is_whole));
    let checked = checked.map_err(|error| errors::archive(py, &error))?;
    Ok(checked.map(|checked| serde_json::json!(checked).to_string()))
}

/// BLAKE3 of a file or folder, hex: the key of the capture.
#[pyfunction]
fn hash_file(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    py.detach(|| perfcase_import::hash(&path)).map_err(|error| errors::io(py, &path, &error))
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(import_capture, module)?)?;
    module.add_function(wrap_pyfunction!(symbolize, module)?)?;
    module.add_function(wrap_pyfunction!(describe, module)?)?;
    module.add_function(wrap_pyfunction!(check, module)?)?;
    module.add_function(wrap_pyfunction!(hash_file, module)?)?;
    module.add_function(wrap_pyfunction!(events::print_events, module)?)?;
    module.add_function(wrap_pyfunction!(events::run_event_printer, module)?)?;
    module.add_function(wrap_pyfunction!(redact::unpack, module)?)?;
    module.add_function(wrap_pyfunction!(redact::decompress_events, module)?)?;
    module.add_function(wrap_pyfunction!(redact::pack, module)?)?;
    module.add_function(wrap_pyfunction!(redact::symbol_names, module)?)?;
    module.add_function(wrap_pyfunction!(redact::some_symbol_names, module)?)?;
    module.add_function(wrap_pyfunction!(redact::rename_symbols, module)?)?;
    module.add_class::<redact::Events>()?;
    module.add_class::<redact::Substitution>()?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    Ok(())
}
