//! Events as text: both sides of the process that prints them.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use perfcase_archive::Capture;
use perfcase_import::traceevent::capture_text::{self, CaptureTextError};
use perfcase_import::traceevent::child;
use perfcase_import::traceevent::client::CommandLine;
use perfcase_import::traceevent::output::{PrintOptions, Printed};
use pyo3::prelude::*;

use crate::errors;

/// Text is handed to Python in pieces of about this size.
const PIECE_BYTES: usize = 32 << 10;

/// Prints a capture's events: `on_text(text)` gets whole lines with their ends, `on_problem(offset, message)` what could
/// not be printed. `command` starts the process that prints; each event may take `deadline_s` seconds. An exception
/// that a callback raises ends the printing and is raised again.
#[pyfunction]
#[pyo3(signature = (path, command, on_text, on_problem, event=None, limit=None, deadline_s=20.0))]
#[allow(clippy::too_many_arguments)]
pub fn print_events(
    py: Python<'_>,
    path: PathBuf,
    command: Vec<OsString>,
    on_text: Py<PyAny>,
    on_problem: Py<PyAny>,
    event: Option<String>,
    limit: Option<u64>,
    deadline_s: f64,
) -> PyResult<()> {
    let deadline = Duration::try_from_secs_f64(deadline_s).unwrap_or(PrintOptions::default().deadline);
    let options = PrintOptions { event, limit, deadline };
    let mut spawn = CommandLine(command);
    let mut writer = Writer { on_text, on_problem, waiting: String::new(), raised: None };
    let result = py.detach(|| {
        let capture = Capture::open(&path)?;
        capture_text::print(&capture, &options, &mut spawn, &mut |printed| writer.take(printed))
    });
    writer.flush();
    match (writer.raised, result) {
        (Some(error), _) => Err(error),
        (None, Ok(())) => Ok(()),
        (None, Err(error)) => Err(raised(py, &error)),
    }
}

fn raised(py: Python<'_>, error: &CaptureTextError) -> PyErr {
    match error {
        CaptureTextError::Archive(error) => errors::archive(py, error),
        CaptureTextError::Print(_) => errors::raise(py, "environment", error.to_string(), None),
        CaptureTextError::NoEvents => {
            let hint = "perfcase info shows what it holds".to_string();
            errors::raise(py, "input", error.to_string(), Some(hint))
        }
    }
}

/// Gathers lines and hands them on.
struct Writer {
    on_text: Py<PyAny>,
    on_problem: Py<PyAny>,
    waiting: String,
    raised: Option<PyErr>,
}

impl Writer {
    fn take(&mut self, printed: Printed) -> bool {
        match printed {
            Printed::Line(line) => {
                self.waiting.push_str(&line);
                self.waiting.push('\n');
                if self.waiting.len() >= PIECE_BYTES {
                    self.flush();
                }
            }
            Printed::Problem { offset, message } => {
                self.flush();
                self.call(|writer, py| writer.on_problem.call1(py, (offset, message)).map(drop));
            }
        }
        self.raised.is_none()
    }

    fn flush(&mut self) {
        let text = std::mem::take(&mut self.waiting);
        if !text.is_empty() {
            self.call(|writer, py| writer.on_text.call1(py, (text,)).map(drop));
        }
    }

    fn call(&mut self, callback: impl FnOnce(&Writer, Python<'_>) -> PyResult<()>) {
        if self.raised.is_none() {
            self.raised = Python::attach(|py| py.check_signals().and_then(|()| callback(self, py))).err();
        }
    }
}

/// The process that prints: answers requests on standard input until it ends. Only for `perfcase.case.eventprinter`, which
/// limits itself first: libtraceevent crashes on some damaged input.
#[pyfunction]
pub fn run_event_printer(py: Python<'_>) -> PyResult<()> {
    py.detach(|| child::run(&mut std::io::stdin().lock(), &mut std::io::stdout().lock()))?;
    Ok(())
}
