//! `manifest.json`. `schema/manifest.schema.json` is the authority on its content. Here every field is optional and
//! unknown fields are kept, so that a newer minor version can be read.

use serde::{Deserialize, Serialize};

/// Properties that this version does not know. They are kept and reported.
pub type Unknown = serde_json::Map<String, serde_json::Value>;

/// The whole manifest.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Manifest {
    /// Always "perfcase".
    pub format: String,
    /// "major.minor".
    pub format_version: String,
    /// The program that recorded, and how.
    pub recorder: Recorder,
    /// The ticket given with `--ticket`.
    pub ticket: Option<String>,
    /// The note given with `--note`.
    pub note: Option<String>,
    /// The labels given with `--label`.
    pub labels: Vec<String>,
    /// The recorded machine.
    pub host: Host,
    /// The capture's clock and its anchors.
    pub clock: Clock,
    /// The sources of data, the missing ones too.
    pub sources: Vec<Source>,
    /// Every other member of the archive.
    pub members: Vec<ManifestMember>,
    /// The cost of the recording, for each process.
    pub overhead: Vec<Overhead>,
    /// Kernel settings that were changed while recording.
    pub knobs: Vec<Knob>,
    /// What `perfcase redact` says: its version, and the classes of private data that are replaced, left and removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redacted: Option<serde_json::Value>,
    /// Properties that this version does not know.
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// The program that recorded.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Recorder {
    /// Its version.
    pub version: Option<String>,
    /// Its command line.
    pub command: Vec<String>,
    /// What was recorded.
    pub target: Target,
    /// The signal that ended the recording early.
    pub interrupted_by: Option<String>,
    /// The time between two snapshots, and between two counter readings.
    pub interval_ns: Option<u64>,
    /// The planned time of the recording; `None` means until the command ended or a signal came.
    pub duration_ns: Option<u64>,
    /// The most bytes that the recording was allowed to take.
    pub budget_bytes: Option<u64>,
    /// "duration", "target_exit", "budget", "disk_space", "signal", "trigger" or "unfinished".
    pub stopped_by: Option<String>,
    /// The limit of what a flight kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flight_ns: Option<u64>,
    /// The condition that ended a flight.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trigger: Option<String>,
    /// Properties that this version does not know.
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// What was recorded.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Target {
    /// "system", "command", "pid" or "cgroup".
    pub mode: Option<String>,
    /// The command that was run.
    pub command: Vec<String>,
    /// The processes that the user selected.
    pub pids: Vec<i64>,
    /// The cgroup that the user selected.
    pub cgroup: Option<String>,
    /// When the recorder let the command run, on CLOCK_MONOTONIC.
    pub started_monotonic_ns: Option<i64>,
    /// How the command ended.
    pub exit_status: Option<i64>,
    /// Properties that this version does not know.
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// The recorded machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Host {
    /// `uname -n`.
    pub hostname: Option<String>,
    /// `uname -r`.
    pub kernel_release: Option<String>,
    /// `uname -v`.
    pub kernel_version: Option<String>,
    /// `uname -m`.
    pub machine: Option<String>,
    /// PRETTY_NAME of os-release.
    pub os: Option<String>,
    /// /proc/sys/kernel/random/boot_id.
    pub boot_id: Option<String>,
    /// CPUs online.
    pub cpu_count: Option<u64>,
    /// Model of the first CPU.
    pub cpu_model: Option<String>,
    /// `getconf PAGESIZE`.
    pub page_size_bytes: Option<u64>,
    /// `getconf CLK_TCK`: the unit of times in /proc.
    pub clock_ticks_per_s: Option<u64>,
    /// MemTotal.
    pub memory_bytes: Option<u64>,
    /// "little" or "big".
    pub byte_order: Option<String>,
    /// Properties that this version does not know.
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// The clock of all times in the capture.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Clock {
    /// "CLOCK_MONOTONIC".
    pub name: Option<String>,
    /// The same moment on several clocks.
    pub anchors: Vec<Anchor>,
    /// Properties that this version does not know.
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// One moment on several clocks.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Anchor {
    /// "start" or "end".
    pub at: Option<String>,
    /// CLOCK_MONOTONIC.
    pub monotonic_ns: Option<i64>,
    /// CLOCK_REALTIME.
    pub realtime_ns: Option<i64>,
    /// CLOCK_BOOTTIME.
    pub boottime_ns: Option<i64>,
    /// Properties that this version does not know.
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// A source of data.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Source {
    /// Its name, unique in the capture.
    pub name: String,
    /// The kind of its members: "perf_data", "trace_dat", "ftrace_raw", "perf_stat", "proc_snapshots", …
    pub kind: String,
    /// "available", "degraded" or "missing".
    pub status: Option<String>,
    /// Why it is not available.
    pub reason: Option<String>,
    /// The command that would enable it.
    pub remedy: Option<String>,
    /// The program that recorded it.
    pub tool: Option<String>,
    /// That program's version.
    pub tool_version: Option<String>,
    /// That program's command line.
    pub command: Vec<String>,
    /// The clock of its times.
    pub clock: Option<String>,
    /// When it was started, on CLOCK_MONOTONIC.
    pub started_monotonic_ns: Option<i64>,
    /// When it ended, on CLOCK_MONOTONIC.
    pub ended_monotonic_ns: Option<i64>,
    /// The events that it knows it lost.
    pub lost_events: Option<u64>,
    /// The records that it wrote, by the recorder's count.
    pub event_count: Option<u64>,
    /// Properties that this version does not know.
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// A member as the manifest describes it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ManifestMember {
    /// Its path in the archive, `.zst`/`.gz` included.
    pub path: String,
    /// The name of its source.
    pub source: Option<String>,
    /// "zstd", "gzip" or "none".
    pub compression: Option<String>,
    /// Bytes before compression.
    pub size_bytes: Option<u64>,
    /// Bytes in the archive.
    pub stored_bytes: Option<u64>,
    /// SHA-256 of the stored bytes, hexadecimal.
    pub sha256: Option<String>,
    /// Properties that this version does not know.
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// The cost of one of the recorder's processes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Overhead {
    /// The role of the process.
    pub process: String,
    /// Its pid.
    pub pid: Option<i64>,
    /// CPU time in user mode.
    pub user_ns: Option<u64>,
    /// CPU time in the kernel.
    pub system_ns: Option<u64>,
    /// Its largest resident set.
    pub max_rss_bytes: Option<u64>,
    /// Bytes read from storage.
    pub read_bytes: Option<u64>,
    /// Bytes written to storage.
    pub write_bytes: Option<u64>,
    /// Bytes of its output.
    pub output_bytes: Option<u64>,
    /// The events that it recorded.
    pub event_count: Option<u64>,
    /// The source that it recorded.
    pub source: Option<String>,
    /// `before`, `recording` or `after`.
    pub phase: Option<String>,
    /// Properties that this version does not know.
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// A kernel setting that was changed while recording.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Knob {
    /// Its file.
    pub path: String,
    /// Its value before.
    pub before: Option<String>,
    /// Its value while recording.
    pub during: Option<String>,
    /// Whether the recorder restored it.
    pub restored: Option<bool>,
    /// Properties that this version does not know.
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// The result of parsing a manifest.
pub(crate) enum Parsed {
    /// Readable.
    Manifest(Box<Manifest>),
    /// It is not JSON, or has other types than documented; why.
    Damaged(String),
    /// The major version is not the one of this reader; the version.
    UnsupportedVersion(String),
    /// The format is not perfcase's; its name.
    OtherFormat(String),
}

/// The major version that this reader knows.
const MAJOR: u64 = 1;
/// The highest minor version of it that this reader knows.
const MINOR: u64 = 1;

/// Reads a manifest. Format and version are checked first, because a later version may have changed the types of the
/// rest.
pub(crate) fn parse(text: &[u8]) -> Parsed {
    let value: serde_json::Value = match serde_json::from_slice(text) {
        Ok(value) => value,
        Err(error) => return Parsed::Damaged(format!("not JSON: {error}")),
    };
    if let Some(format) = value.get("format").and_then(|v| v.as_str())
        && format != "perfcase"
    {
        return Parsed::OtherFormat(format.chars().take(64).collect());
    }
    let version = value.get("format_version").and_then(|v| v.as_str());
    if let Some(version) = version
        && major_minor(version).is_none_or(|(major, _)| major != MAJOR)
    {
        return Parsed::UnsupportedVersion(version.chars().take(64).collect());
    }
    match serde_json::from_value::<Manifest>(value) {
        Ok(manifest) => Parsed::Manifest(Box::new(manifest)),
        Err(error) => Parsed::Damaged(error.to_string()),
    }
}

impl Manifest {
    /// Tells whether it states a later minor version than this reader knows.
    pub(crate) fn is_newer_minor(&self) -> bool {
        major_minor(&self.format_version).is_some_and(|(_, minor)| minor > MINOR)
    }

    /// Gives the properties that this version does not know, each once, as `recorder.colour` or `sources[].colour`.
    pub(crate) fn unknown_properties(&self) -> std::collections::BTreeSet<String> {
        let mut found = std::collections::BTreeSet::new();
        let mut note = |prefix: &str, unknown: &Unknown| {
            found.extend(unknown.keys().map(|key| format!("{prefix}{}", key.escape_debug())));
        };
        note("", &self.unknown);
        note("recorder.", &self.recorder.unknown);
        note("recorder.target.", &self.recorder.target.unknown);
        note("host.", &self.host.unknown);
        note("clock.", &self.clock.unknown);
        self.clock.anchors.iter().for_each(|anchor| note("clock.anchors[].", &anchor.unknown));
        self.sources.iter().for_each(|source| note("sources[].", &source.unknown));
        self.members.iter().for_each(|member| note("members[].", &member.unknown));
        self.overhead.iter().for_each(|overhead| note("overhead[].", &overhead.unknown));
        self.knobs.iter().for_each(|knob| note("knobs[].", &knob.unknown));
        found
    }

    /// Gives the source of that name; `None` where there is none.
    pub fn source(&self, name: &str) -> Option<&Source> {
        self.sources.iter().find(|source| source.name == name)
    }
}

fn major_minor(version: &str) -> Option<(u64, u64)> {
    let (major, minor) = version.split_once('.').unwrap_or((version, "0"));
    let minor = minor.split('.').next().unwrap_or("0");
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_minor_is_read_and_a_newer_major_is_not() {
        let newer = br#"{"format":"perfcase","format_version":"1.7","sources":[{"name":"a","new":1}]}"#;
        match parse(newer) {
            Parsed::Manifest(m) => {
                assert!(m.is_newer_minor());
                assert_eq!(m.source("a").map(|s| s.kind.as_str()), Some(""));
                assert_eq!(m.unknown_properties().into_iter().collect::<Vec<_>>(), ["sources[].new"]);
            }
            _ => panic!("1.7 must be read"),
        }
        let major = br#"{"format":"perfcase","format_version":"2.0","sources":"changed"}"#;
        assert!(matches!(parse(major), Parsed::UnsupportedVersion(v) if v == "2.0"));
        let odd = br#"{"format":"perfcase","format_version":"one"}"#;
        assert!(matches!(parse(odd), Parsed::UnsupportedVersion(_)));
    }

    #[test]
    fn other_formats_and_damage_are_told_apart() {
        assert!(matches!(parse(br#"{"format":"oci"}"#), Parsed::OtherFormat(f) if f == "oci"));
        assert!(matches!(parse(b"{\"format\":\"perf"), Parsed::Damaged(_)));
        assert!(matches!(parse(br#"{"members":3}"#), Parsed::Damaged(_)));
    }
}
