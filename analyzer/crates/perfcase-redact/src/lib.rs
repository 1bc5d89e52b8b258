//! What `perfcase redact` does with bytes: it takes an archive apart, replaces values in its members, and packs it again.
//!
//! Which values are private, and what stands for each, is not known here: Python decides it from the tables' classes.
//!
//! | module | does |
//! |---|---|
//! | `pack` | an archive taken apart, and packed again |
//! | `substitute` | values that are found wherever they stand |
//! | `visit`, `layout` | values that stand where the format of an event says it |
//! | `perf_data`, `ftrace` | the events of both |
//! | `unwound` | callers that were found in copies of stacks, as callchains |
//! | `names` | names of functions in the tables of an object |
//! | `elf` | where an object has them |

mod elf;
mod ftrace;
mod layout;
mod names;
mod pack;
mod perf_data;
mod substitute;
mod unwound;
mod visit;

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use perfcase_archive::{Content, Issue, Severity};
use perfcase_decode::ftrace::trace_dat;
use perfcase_decode::perf_data::plain as perf_plain;
use perfcase_decode::plain::Failure;

pub use names::{SymbolName, renamed, some_names, symbol_names};
pub use pack::{Packed, pack, unpack};
pub use substitute::{Pair, Substitution};
pub use visit::{Changes, Key, Removed, Unwound, Visitor};

/// Why a member cannot be redacted.
#[derive(Debug)]
pub struct Refused {
    /// What it is.
    pub why: String,
    /// What to do about it.
    pub hint: Option<&'static str>,
    /// An error of the file system: then it is not the member's fault.
    pub error: Option<io::Error>,
}

impl Refused {
    fn new(why: impl Into<String>) -> Refused {
        Refused { why: why.into(), hint: None, error: None }
    }

    fn hint(self, hint: &'static str) -> Refused {
        Refused { hint: Some(hint), ..self }
    }
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Refused {
        Refused { why: error.to_string(), hint: None, error: Some(error) }
    }
}

/// Refuses what is damaged: nobody knows what its bytes hold.
fn damage(problems: &[Issue]) -> Result<(), Refused> {
    match problems.iter().find(|problem| problem.severity == Severity::Error) {
        Some(problem) => Err(Refused::new(problem.message.clone())),
        None => Ok(()),
    }
}

/// Visits the events of one source below `folder`: a perf.data, a trace.dat, or all members of `ftrace/raw/`. They are rewritten in
/// place where the visitor has changes.
pub fn visit_events(folder: &Path, members: &[String], visitor: &mut Visitor) -> Result<(), Refused> {
    let is_raw = members.iter().any(|path| path.starts_with("ftrace/raw/"));
    let mut read = Vec::new();
    let mut outs = HashMap::new();
    for path in members {
        let from = folder.join(path);
        if visitor.changes.is_some() && (!is_raw || is_pages(path)) {
            // What is read must not change while it is read.
            let copy = hidden(&from);
            fs::rename(&from, &copy)?;
            fs::copy(&copy, &from)?;
            read.push((path.clone(), Content::map_file(&copy)?));
            fs::remove_file(&copy)?;
            outs.insert(path.clone(), OpenOptions::new().write(true).open(&from)?);
        } else {
            read.push((path.clone(), Content::map_file(&from)?));
        }
    }
    if is_raw {
        return ftrace::visit_folder(&read, &outs, visitor);
    }
    for (path, content) in &read {
        match content.get(..8) {
            Some(b"PERFILE2" | b"2ELIFREP") => perf_data::visit(content, outs.get(path), visitor)?,
            _ => ftrace::visit_file(content, outs.get(path), visitor)?,
        }
    }
    Ok(())
}

/// Writes the events of a file again without compression, if they have one. Tells whether they had.
pub fn decompress_events(path: &Path) -> Result<bool, Refused> {
    let content = Content::map_file(path)?;
    let is_trace = content.starts_with(trace_dat::MAGIC);
    if !(if is_trace { trace_dat::plain::is_compressed(&content) } else { perf_plain::is_compressed(&content) }) {
        return Ok(false);
    }
    let copy = hidden(path);
    let mut out = BufWriter::new(File::create(&copy)?);
    let written =
        if is_trace { trace_dat::plain::write(&content, &mut out) } else { perf_plain::write(&content, &mut out) };
    match written.and_then(|()| Ok(out.flush()?)) {
        Ok(()) => fs::rename(&copy, path)?,
        Err(failure) => {
            fs::remove_file(&copy)?;
            return Err(match failure {
                Failure::Input(issue) => Refused::new(issue.message),
                Failure::Output(error) => error.into(),
            });
        }
    }
    Ok(true)
}

/// Gives the names of functions in a file of tables; `None` where it is more than tables.
pub fn names_in_file(path: &Path) -> io::Result<Option<Vec<SymbolName>>> {
    Ok(symbol_names(&Content::map_file(path)?))
}

/// Gives those of any file that can be read.
pub fn some_names_in_file(path: &Path) -> io::Result<Vec<SymbolName>> {
    Ok(some_names(&Content::map_file(path)?))
}

/// Writes a file of tables with other names of functions.
pub fn rename_in_file(path: &Path, names: &HashMap<Vec<u8>, Vec<u8>>) -> io::Result<()> {
    let made = renamed(&Content::map_file(path)?, names);
    let copy = hidden(path);
    fs::write(&copy, made.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))?)?;
    fs::rename(copy, path)
}

/// A name beside a file that no member has: those begin with no dot.
fn hidden(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}"))
}

fn is_pages(path: &str) -> bool {
    path.rsplit('/').next().and_then(|name| name.strip_prefix("cpu")).is_some_and(|rest| rest.parse::<u32>().is_ok())
        && !path.contains("/stats/")
}
