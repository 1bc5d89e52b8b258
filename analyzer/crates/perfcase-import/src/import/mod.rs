//! One capture in, one folder of Parquet tables out.

mod about;
mod flush;
mod inputs;
mod perf;
mod proc_folder;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use perfcase_archive::{ArchiveError, Capture, Issue, Member, MemberKind};
use perfcase_symbols::{Objects, Unusable};

use self::inputs::Inputs;
use crate::columns::{Bounded, QUANTITY_MAX};
use crate::session::{Session, SourceId, SourceInfo, Unwound};
use crate::source::{self, Source};
use crate::tables::CaptureRow;
use crate::writer::{WriteError, memory};
use perfcase_symbols::Kallsyms;

/// The caller's options.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The capture's name; the file's name without it.
    pub name: Option<String>,
    /// A copy of the recorded host's /proc/kallsyms, for a capture without one.
    pub kallsyms: Option<PathBuf>,
    /// Further places of object files: folders, ELF files, archives of them.
    pub debug_dirs: Vec<PathBuf>,
    /// The capture's id, if the caller has one; otherwise a hash of the file.
    pub capture_id: Option<String>,
    /// Give what was found in copies of stacks in [`Summary::unwound`].
    pub keeps_unwound: bool,
}

/// The progress of the import.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// The current step.
    pub phase: &'static str,
    /// The number of records so far.
    pub records: u64,
    /// How much of the recording's time is read, and of how much, in ns; `None` where that is not known.
    pub read_ns: Option<(u64, u64)>,
}

impl Progress {
    /// The beginning of a step of which only its name is known.
    fn step(phase: &'static str) -> Self {
        Self { phase, records: 0, read_ns: None }
    }
}

/// The result of an import.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The key of the capture: BLAKE3 of the file, in hexadecimal digits.
    pub capture_id: String,
    /// What its table `capture` says.
    pub facts: Facts,
    /// Rows of each table.
    pub tables: BTreeMap<String, u64>,
    /// Columns with their types in SQL, of tables that `schema/` does not describe or describes with other columns.
    pub other_columns: BTreeMap<String, Vec<(String, &'static str)>>,
    /// Everything that was lost, damaged or doubtful.
    pub issues: Vec<Issue>,
    /// What was found in copies of stacks, if the caller wants it.
    pub unwound: Vec<Unwound>,
}

/// What a list of captures shows of each, as the table `capture` has it.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// When its recording began, in ns since 1970, UTC.
    pub started_realtime_ns: Option<i64>,
    /// How long it lasted, in ns.
    pub duration_ns: i64,
    /// The recorded host's name.
    pub host: Option<String>,
    /// The ticket that it belongs to.
    pub ticket: Option<String>,
    /// What its user wrote.
    pub note: Option<String>,
    /// Labels, separated by commas.
    pub labels: Option<String>,
    /// The kernel's release.
    pub kernel: Option<String>,
    /// The number of CPUs.
    pub cpu_count: Option<u32>,
    /// The model of the CPUs.
    pub cpu_model: Option<String>,
}

impl Facts {
    fn of(row: &CaptureRow<'_>) -> Self {
        let text = |text: Option<&str>| text.map(str::to_string);
        // As the table bounds them, which counts them.
        let bounded = |ns: i64| ns.bounded(&mut 0);
        Self {
            started_realtime_ns: row.start_realtime_ns.map(bounded),
            duration_ns: bounded(row.duration_ns),
            host: text(row.hostname),
            ticket: text(row.ticket),
            note: text(row.note),
            labels: text(row.labels),
            kernel: text(row.kernel_release),
            cpu_count: row.cpu_count,
            cpu_model: text(row.cpu_model),
        }
    }
}

/// Why nothing could be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The input could not be opened.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The tables could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The output folder could not be made, or the input could not be read.
    #[error("{path}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A place for object files that the user gave cannot be used.
    #[error("{path}: {message}", message = why.message)]
    DebugDir {
        /// The folder or file.
        path: PathBuf,
        /// Why.
        why: Unusable,
    },
    /// The caller's progress function ended the import.
    #[error("stopped")]
    Stopped,
    /// The input has nothing that perfcase reads.
    #[error("{path} holds no recording that perfcase reads")]
    Nothing {
        /// The input.
        path: PathBuf,
    },
}

/// Imports the capture at `path` into `tables/` below `out`, which exists.
///
/// `progress` gets the progress. If it returns false, the import ends with [`ImportError::Stopped`].
///
/// # Errors
/// Only when nothing can be imported or written. Damage of the input is in [`Summary::issues`] and `import_issue`, and
/// the readable rows are kept.
pub fn import(
    path: &Path,
    out: &Path,
    options: &Options,
    progress: &mut dyn FnMut(Progress) -> bool,
) -> Result<Summary, ImportError> {
    let _memory = memory::OfImport::begin();
    let capture = Arc::new(Capture::open(path)?);
    let objects = Objects::new(Some(capture.clone()), &options.debug_dirs);
    let objects = objects.map_err(|(path, why)| ImportError::DebugDir { path, why })?;
    let tables = out.join("tables");
    std::fs::create_dir_all(&tables).map_err(|source| ImportError::Io { path: tables.clone(), source })?;
    // The hash reads the whole file once, while the decoders wait for the disk.
    let hashed = std::thread::spawn({
        let (capture, given) = (capture.clone(), options.capture_id.clone());
        move || given.map_or_else(|| hash_capture(&capture), Ok)
    });
    let mut session = Session::new(&tables, about::start_anchor(&capture).and_then(|anchor| anchor.monotonic_ns));
    session.objects = objects;
    session.unwinding.kept = options.keeps_unwound.then(Vec::new);
    note_problems(&mut session, None, &capture.problems);
    let host = about::host(&mut session, &capture)?;
    let Inputs { opened: mut sources, with_events } = inputs::open(&mut session, &capture, progress)?;
    if sources.is_empty() && capture.manifest.is_none() {
        return Err(ImportError::Nothing { path: path.to_path_buf() });
    }
    session.stream_from_only_source(&with_events);
    // Records come in the order of time, so their time says how far the import is.
    let span = about::span(&capture);
    let mut counted = |records, at: i64| {
        let read_ns = span.map(|(start, end)| (at.clamp(start, end).abs_diff(start), end.abs_diff(start)));
        progress(Progress { phase: "events", records, read_ns })
    };
    if !source::run(&mut sources, &mut session, &mut counted) {
        return Err(ImportError::Stopped);
    }
    drop(sources);
    memory::give_back();
    let capture_id = match hashed.join() {
        Ok(Ok(id)) => id,
        Ok(Err(source)) => return Err(ImportError::Io { path: path.to_path_buf(), source }),
        Err(_) => String::new(),
    };
    progress(Progress::step("threads, stacks and calls"));
    let kallsyms = find_kallsyms(&mut session, options, host.kallsyms)?;
    finish(&mut session, &kallsyms);
    if let Some(fault) = session.objects.fault() {
        return Err(fault.into());
    }
    about::write_facts(&mut session, &capture, host.facts);
    let facts = about::write_capture(&mut session, &capture, &capture_id, path, options);
    report_bounded(&mut session);
    session.tracepoints.complete();
    let other_columns = session.tracepoints.other_columns();
    let mut issues = std::mem::take(&mut session.model.issues);
    let unwound = session.unwinding.kept.take().unwrap_or_default();
    let folder = tables;
    let mut tables = session.close()?;
    memory::give_back();
    let flushed = flush::Flush::begin(&folder);
    if let Some(written) = crate::blame::write(&folder)? {
        tables.insert("blame".into(), written.rows);
        written.issues.into_iter().for_each(|issue| issues.add(issue));
    }
    flushed.end()?;
    // Last: every step before may have found something.
    tables.insert("import_issue".into(), issues.write(&folder)?);
    let issues = issues.list().to_vec();
    Ok(Summary { capture_id, facts, tables, other_columns, issues, unwound })
}

/// Writes what is known only at the end.
fn finish(session: &mut Session, kallsyms: &Option<Kallsyms>) {
    session.report_short_records();
    session.report_unwinding();
    session.write_events();
    session.write_timelines();
    session.write_threads();
    session.write_stacks(kallsyms.as_ref());
    if session.model.maps.refused > 0 {
        let message = "mappings beyond the limit of one process were left out";
        session.issue(Issue::warning("too_many_mappings", message).count(session.model.maps.refused));
    }
}

/// Reports tables with quantities above the bound.
fn report_bounded(session: &mut Session) {
    let mut found = Vec::new();
    session.sink.tables.each(|table| found.push((table.name().to_string(), table.bounded_count())));
    for (table, count) in found.into_iter().filter(|(_, count)| *count > 0) {
        let message =
            format!("quantities beyond {QUANTITY_MAX} are shown as that: damage, or a counter's word for no limit");
        session.issue(Issue::info("number_too_large", message).of(table).count(count));
    }
}

fn find_kallsyms(
    session: &mut Session,
    options: &Options,
    captured: Option<Kallsyms>,
) -> Result<Option<Kallsyms>, ImportError> {
    let captured = captured.or(session.model.kernel_symbols.take());
    let Some(path) = &options.kallsyms else { return Ok(captured) };
    let text = std::fs::read(path).map_err(|source| ImportError::Io { path: path.clone(), source })?;
    let given = Kallsyms::parse(&String::from_utf8_lossy(&text));
    if given.is_none() {
        let message = format!("{} has no addresses: kernel functions stay without names", path.display());
        let hint = "copy /proc/kallsyms as root, with kernel.kptr_restrict = 0 or 1";
        session.issue(Issue::warning("no_kallsyms", message).hint(hint));
    }
    Ok(given.or(captured))
}

/// Notes the problems that the container found, with a member or with the whole.
fn note_problems(session: &mut Session, member: Option<&Member>, problems: &[Issue]) {
    for problem in problems.iter().cloned() {
        session.issue(match (&problem.source, member) {
            (None, Some(member)) => problem.of(&member.path),
            _ => problem,
        });
    }
}

/// The largest file in bytes of which all may be mapped at once.
const MAPPED_BYTES: usize = 512 << 20;

/// Gives the [`hash`] of an open capture. It uses the bytes that the decoders also read, unless they are too many: a
/// mapped file counts as memory of this process, and decoders free what they have read.
fn hash_capture(capture: &Capture) -> std::io::Result<String> {
    match capture.file().filter(|file| file.len() <= MAPPED_BYTES) {
        Some(file) => Ok(blake3::hash(file).to_hex().to_string()),
        None => hash(capture.path()),
    }
}

/// Gives BLAKE3 of a file in hexadecimal digits; of a folder, that of the names and contents of its files, in the order
/// of their names.
pub fn hash(path: &Path) -> std::io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    if path.is_dir() {
        let mut files = Vec::new();
        list_files(path, &mut files)?;
        files.sort();
        for file in files {
            hasher.update(file.strip_prefix(path).unwrap_or(&file).as_os_str().as_encoded_bytes());
            hasher.update(&[0]);
            hasher.update(hash(&file)?.as_bytes());
        }
    } else {
        hasher.update_reader(std::fs::File::open(path)?)?;
    }
    Ok(hasher.finalize().to_hex().to_string())
}

/// Gives the files of a folder. The bound of a million prevents a hash of the whole disk if the path is wrong.
fn list_files(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            list_files(&entry.path(), files)?;
        } else if kind.is_file() && files.len() < 1_000_000 {
            files.push(entry.path());
        }
    }
    Ok(())
}

/// Gives the source of a member that no manifest describes.
fn bare_source(member: &Member) -> SourceInfo {
    let (name, kind) = match member.kind {
        MemberKind::PerfData | MemberKind::PerfDataPart => ("perf", "perf_data"),
        MemberKind::TraceDat => ("ftrace", "trace_dat"),
        MemberKind::FtraceRaw => ("ftrace", "ftrace_raw"),
        MemberKind::PerfScript => ("perf", "perf_script"),
        MemberKind::PerfStat => ("pmc", "perf_stat"),
        MemberKind::ProcSnapshots | MemberKind::ProcFile => ("proc", "proc_snapshots"),
        MemberKind::HostFile => ("host", "host_file"),
        MemberKind::RecorderFile => ("recorder", "recorder_file"),
        MemberKind::SymbolFile => ("symbols", "symbol_file"),
        MemberKind::Unknown => ("unknown", "unknown"),
    };
    SourceInfo {
        name: name.to_string(),
        kind: kind.to_string(),
        member: Some(member.path.clone()),
        status: "available".to_string(),
        size_bytes: member.size_bytes,
        ..SourceInfo::default()
    }
}

/// A decoder that is ready to run.
type Opened = Box<dyn Source>;

/// What the registry of decoders needs about a member.
struct Input<'a> {
    member: &'a Member,
    source: SourceId,
    /// The start of the tool on the capture's clock, in ns.
    started_ns: Option<i64>,
    /// The end of the tool on the capture's clock, in ns.
    ended_ns: Option<i64>,
    /// USER_HZ of the recorded host.
    clock_ticks_per_s: Option<u64>,
}
