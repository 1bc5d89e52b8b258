//! What is decided before any member is looked at: the manifest, and what a file is that is no capture.

use std::path::Path;

use crate::error::ArchiveError;
use crate::limits::Limits;
use crate::listing::MANIFEST;
use crate::manifest::{self, Manifest, Parsed};
use crate::problem::{Problem, Severity};
use crate::sniff::{Sniffed, sniff};

/// What an unknown file looks like, for the error.
pub(crate) fn describe(bytes: &[u8]) -> &'static str {
    let head = &bytes[..bytes.len().min(4096)];
    let has = |text: &[u8]| head.windows(text.len()).any(|w| w == text);
    match sniff(head) {
        Sniffed::Zstd | Sniffed::Gzip => "compressed, but no recording inside",
        _ if has(b"Performance counter stats for") => "`perf stat` output for people; record it with -x, or -j",
        _ if has(b"counts") && has(b"unit") && has(b"events") && head.starts_with(b"#") => {
            "`perf stat -I` output for people; record it with -x, or -j"
        }
        _ if head.starts_with(b"PERFFILE") => "perf.data of the format before 2010",
        _ if head.starts_with(b"\x7fELF") => "an ELF file",
        _ if head.iter().all(|&b| b == 0) => "it starts with zeros only",
        _ => "its first bytes are those of no format perfcase reads",
    }
}

/// Parses the manifest, if there is one.
pub(crate) fn read_manifest(
    path: &Path,
    text: Option<&[u8]>,
    limits: &Limits,
    problems: &mut Vec<Problem>,
) -> Result<Option<Manifest>, ArchiveError> {
    let Some(text) = text else {
        let message = "there is no manifest.json: host, clocks and losses of the recording are unknown";
        problems.push(Problem::new(Severity::Info, "no_manifest", message));
        return Ok(None);
    };
    let too_long = text.len() as u64 > limits.manifest_bytes_max;
    let parsed = if too_long {
        Parsed::Damaged(format!("longer than {} bytes", limits.manifest_bytes_max))
    } else {
        manifest::parse(text)
    };
    match parsed {
        Parsed::Manifest(manifest) => {
            if manifest.is_newer_minor() {
                let version = &manifest.format_version;
                let message =
                    format!("format_version {version} is newer than this perfcase knows; what it knows is read");
                problems.push(Problem::new(Severity::Info, "newer_minor", message).member(MANIFEST));
            }
            let unknown = manifest.unknown_properties();
            if !unknown.is_empty() {
                let shown: Vec<&str> = unknown.iter().take(12).map(String::as_str).collect();
                let message = format!("properties that this version does not know: {}", shown.join(", "));
                problems.push(Problem::new(Severity::Info, "unknown_property", message).member(MANIFEST));
            }
            Ok(Some(*manifest))
        }
        Parsed::Damaged(why) => {
            problems.push(
                Problem::new(Severity::Error, "damaged_manifest", format!("manifest.json is unreadable: {why}"))
                    .member(MANIFEST)
                    .hint("members are read by their content; host, clocks and checksums are unknown"),
            );
            Ok(None)
        }
        Parsed::UnsupportedVersion(version) => {
            Err(ArchiveError::UnsupportedVersion { path: path.to_path_buf(), version })
        }
        Parsed::OtherFormat(format) => Err(ArchiveError::OtherFormat { path: path.to_path_buf(), format }),
    }
}
