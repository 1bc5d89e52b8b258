//! The bytes of a redaction.

use std::collections::HashMap;
use std::path::PathBuf;

use perfcase_archive::Capture;
use perfcase_redact::{Changes, Packed, Pair, Refused, Visitor};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors;

/// Writes the decompressed bytes of each member below `folder`; JSON of what is wrong with them.
#[pyfunction]
pub fn unpack(py: Python<'_>, path: PathBuf, folder: PathBuf) -> PyResult<String> {
    let problems = py.detach(|| perfcase_redact::unpack(&Capture::open(&path)?, &folder));
    let problems = problems.map_err(|error| errors::archive(py, &error))?;
    Ok(serde_json::json!(problems).to_string())
}

/// Packs members of `folder`, pairs of path and source, as the archive `out`.
#[pyfunction]
pub fn pack(
    py: Python<'_>,
    folder: PathBuf,
    members: Vec<(String, Option<String>)>,
    manifest: &str,
    out: PathBuf,
) -> PyResult<()> {
    let members: Vec<Packed> = members.into_iter().map(|(path, source)| Packed { path, source }).collect();
    let packed = py.detach(|| {
        let manifest = serde_json::from_str(manifest).map_err(std::io::Error::from)?;
        perfcase_redact::pack(&folder, &members, manifest, &out)
    });
    packed.map_err(|error| errors::io(py, &out, &error))
}

/// Writes the events of a member again without compression, if they have one. Tells whether they had.
#[pyfunction]
pub fn decompress_events(py: Python<'_>, folder: PathBuf, member: String) -> PyResult<bool> {
    let done = py.detach(|| perfcase_redact::decompress_events(&folder.join(&member)));
    done.map_err(|refused| raise(py, &[member], refused))
}

/// The values in events, and what stands for them.
#[pyclass]
#[derive(Default)]
pub struct Events(Visitor);

#[pymethods]
impl Events {
    #[new]
    fn new() -> Self {
        Events::default()
    }

    /// Reads the events of the members of one source below `folder`; rewrites them in place after `change`.
    fn visit(&mut self, py: Python<'_>, folder: PathBuf, members: Vec<String>) -> PyResult<()> {
        let visited = py.detach(|| perfcase_redact::visit_events(&folder, &members, &mut self.0));
        visited.map_err(|refused| raise(py, &members, refused))
    }

    /// Imports the capture, and keeps the callers that it finds in copies of stacks. `folder` gets tables that nobody needs.
    fn unwind(&mut self, py: Python<'_>, path: PathBuf, folder: PathBuf) -> PyResult<usize> {
        let options = perfcase_import::Options { keeps_unwound: true, ..Default::default() };
        let summary = py.detach(|| perfcase_import::import(&path, &folder, &options, &mut |_| true));
        let found = summary.map_err(|error| errors::import(py, &error))?.unwound;
        self.0.unwound = found.into_iter().map(|each| (each.place, (each.addresses, each.mark))).collect();
        Ok(self.0.unwound.len())
    }

    /// The texts so far: table, column, values.
    fn texts<'py>(&self, py: Python<'py>) -> Vec<(String, String, Vec<Bound<'py, PyBytes>>)> {
        let values = |of: &std::collections::HashSet<Vec<u8>>| of.iter().map(|value| PyBytes::new(py, value)).collect();
        let all = self.0.keys().iter().zip(&self.0.texts);
        all.map(|((table, column), of)| (table.clone(), column.clone(), values(of))).collect()
    }

    /// The bytes of addresses so far.
    fn addresses<'py>(&self, py: Python<'py>) -> Vec<Bound<'py, PyBytes>> {
        self.0.addresses.iter().map(|value| PyBytes::new(py, value)).collect()
    }

    /// Sets what stands for them: of each of `texts` a map, and of the addresses; what is added to addresses of the kernel.
    fn change(&mut self, texts: Vec<HashMap<Vec<u8>, Vec<u8>>>, addresses: HashMap<Vec<u8>, Vec<u8>>, shift: u64) {
        self.0.changes = Some(Changes { texts, addresses, shift });
    }

    /// How many samples lost a copy of a stack, how many events were emptied, how many addresses were moved.
    fn removed(&self) -> (u64, u64, u64) {
        (self.0.removed.memory, self.0.removed.unknown, self.0.removed.moved)
    }
}

/// A name as the file has it, as people see it, and whether its code is in this file.
type Named<'py> = (Bound<'py, PyBytes>, String, bool);

fn named(py: Python<'_>, names: Vec<perfcase_redact::SymbolName>) -> Vec<Named<'_>> {
    names.into_iter().map(|name| (PyBytes::new(py, &name.raw), name.shown, name.is_defined)).collect()
}

/// The names of functions in a file of tables; None where it is more than tables.
#[pyfunction]
pub fn symbol_names(py: Python<'_>, path: PathBuf) -> PyResult<Option<Vec<Named<'_>>>> {
    let found = py.detach(|| perfcase_redact::names_in_file(&path)).map_err(|error| errors::io(py, &path, &error))?;
    Ok(found.map(|names| named(py, names)))
}

/// The names of functions in any file that can be read, whatever else it has.
#[pyfunction]
pub fn some_symbol_names(py: Python<'_>, path: PathBuf) -> PyResult<Vec<Named<'_>>> {
    let found = py.detach(|| perfcase_redact::some_names_in_file(&path));
    Ok(named(py, found.map_err(|error| errors::io(py, &path, &error))?))
}

/// Writes a file of tables with other names of functions. A function whose name is not among them has none.
#[pyfunction]
pub fn rename_symbols(py: Python<'_>, path: PathBuf, names: HashMap<Vec<u8>, Vec<u8>>) -> PyResult<()> {
    py.detach(|| perfcase_redact::rename_in_file(&path, &names)).map_err(|error| errors::io(py, &path, &error))
}

fn raise(py: Python<'_>, members: &[String], refused: Refused) -> PyErr {
    let name = members.first().map_or("", |path| if path.starts_with("ftrace/raw/") { "ftrace/raw" } else { path });
    if let Some(error) = &refused.error {
        return errors::io(py, name.as_ref(), error);
    }
    errors::raise(
        py,
        "input",
        format!("{name} cannot be redacted: {}", refused.why),
        refused.hint.map(ToString::to_string),
    )
}

/// Values that are replaced or found together: triples of the value, what stands for it, and whether it must be a word.
#[pyclass(frozen)]
pub struct Substitution(perfcase_redact::Substitution);

#[pymethods]
impl Substitution {
    #[new]
    fn new(py: Python<'_>, pairs: Vec<(Vec<u8>, Vec<u8>, bool)>) -> PyResult<Self> {
        let pairs = pairs.into_iter().map(|(from, to, is_word)| Pair { from, to, is_word }).collect();
        let made = perfcase_redact::Substitution::new(pairs);
        made.map(Substitution).map_err(|error| errors::raise(py, "environment", error.to_string(), None))
    }

    /// The bytes with every value replaced.
    fn apply<'py>(&self, py: Python<'py>, bytes: &[u8]) -> Bound<'py, PyBytes> {
        let replaced = py.detach(|| self.0.apply(bytes));
        PyBytes::new(py, &replaced)
    }

    /// Does so with a file.
    fn apply_file(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.0.apply_file(&path)).map_err(|error| errors::io(py, &path, &error))
    }

    /// The first value that stands in the bytes, and where; None where none does.
    fn find<'py>(&self, py: Python<'py>, bytes: &[u8]) -> Option<(Bound<'py, PyBytes>, usize)> {
        let found = py.detach(|| self.0.find(bytes));
        found.map(|(pair, at)| (PyBytes::new(py, &pair.from), at))
    }

    /// The same of a file.
    fn find_file<'py>(&self, py: Python<'py>, path: PathBuf) -> PyResult<Option<(Bound<'py, PyBytes>, usize)>> {
        let found = py.detach(|| self.0.find_file(&path)).map_err(|error| errors::io(py, &path, &error))?;
        Ok(found.map(|(pair, at)| (PyBytes::new(py, &pair.from), at)))
    }
}
