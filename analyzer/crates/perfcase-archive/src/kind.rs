//! The members of a capture and what they are.

use std::path::PathBuf;

use serde::Serialize;

use crate::sniff::Sniffed;

/// What a member is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MemberKind {
    /// `perf record` output.
    PerfData,
    /// A further file of a directory of `perf record --threads` (`data.0` beside `data`): records without a header.
    PerfDataPart,
    /// `trace-cmd record` output.
    TraceDat,
    /// A file of `ftrace/raw/`: the folder is one source.
    FtraceRaw,
    /// `perf stat` output: CSV, JSON or text.
    PerfStat,
    /// `perf script` text.
    PerfScript,
    /// The sampler's stream of /proc files.
    ProcSnapshots,
    /// A copy of a file of /proc, in a folder that a person made by hand: the folder is one source.
    ProcFile,
    /// A file about the host.
    HostFile,
    /// A file that gives names to addresses: an object file's tables, a perf map, a jitdump, or the list of them.
    SymbolFile,
    /// A file about the recording.
    RecorderFile,
    /// A member that this version does not know: it is kept and reported.
    Unknown,
}

/// How a member is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Compression {
    /// Uncompressed.
    None,
    /// zstd frames.
    Zstd,
    /// gzip members.
    Gzip,
}

/// One member of a capture.
#[derive(Debug, Clone, Serialize)]
pub struct Member {
    /// Its path without `.zst`/`.gz`; unique in a capture.
    pub path: String,
    /// Its path as stored.
    pub stored_path: String,
    /// What it is, by its content first.
    pub kind: MemberKind,
    /// The name of its source; `None` where the manifest does not say it.
    pub source: Option<String>,
    /// How it is stored, by its content.
    pub compression: Compression,
    /// The size in bytes before compression; `None` where nothing states it.
    pub size_bytes: Option<u64>,
    /// The size in bytes as stored. In a truncated archive, the bytes that are there.
    pub stored_bytes: u64,
    /// SHA-256 of the stored bytes as the manifest states it, hexadecimal.
    pub sha256: Option<String>,
    #[serde(skip)]
    pub(crate) place: Place,
}

/// The place of a member's stored bytes.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    /// In the bytes of the archive.
    Archive { offset: u64 },
    /// In its own file.
    File(PathBuf),
}

/// Gives the kind of a member by its folder in the archive format, whatever its content; `None` where the folder does
/// not decide.
pub(crate) fn kind_by_folder(path: &str) -> Option<MemberKind> {
    match path.split_once('/')? {
        ("host", _) => Some(MemberKind::HostFile),
        ("recorder", _) => Some(MemberKind::RecorderFile),
        ("symbols", _) => Some(MemberKind::SymbolFile),
        ("ftrace", rest) if rest.starts_with("raw/") => Some(MemberKind::FtraceRaw),
        _ => None,
    }
}

/// Gives the kind of a member by its first (decompressed) bytes. If they do not show it, the path in the archive format
/// decides.
pub(crate) fn kind_by_content(path: &str, sniffed: Sniffed) -> MemberKind {
    match (sniffed, path) {
        (Sniffed::PerfData, _) => MemberKind::PerfData,
        (Sniffed::TraceDat, _) => MemberKind::TraceDat,
        (Sniffed::PerfStat, _) => MemberKind::PerfStat,
        (Sniffed::PerfScript, _) => MemberKind::PerfScript,
        (Sniffed::ProcSnapshots, _) => MemberKind::ProcSnapshots,
        (Sniffed::ProcStat, _) => MemberKind::ProcFile,
        // Damaged from its first byte on: its decoder will say how.
        (_, "perf/perf.data") => MemberKind::PerfData,
        (_, "ftrace/trace.dat") => MemberKind::TraceDat,
        (_, "pmc/perf-stat.csv" | "pmc/perf-stat.json") => MemberKind::PerfStat,
        (_, "proc/snapshots") => MemberKind::ProcSnapshots,
        (_, path) if is_perf_part(path) => MemberKind::PerfDataPart,
        _ => MemberKind::Unknown,
    }
}

/// `data.0`, `data.1`, … in a directory that perf made, one for each of its threads. It has at most one for each CPU, and Linux has
/// 8,192 CPUs at most (its Kconfig): a longer number is not perf's, and would count as many files as missing.
pub(crate) fn is_perf_part(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.strip_prefix("data.").is_some_and(|number| {
        (1..=4).contains(&number.len())
            && number.bytes().all(|b| b.is_ascii_digit())
            && (number == "0" || !number.starts_with('0'))
    })
}
