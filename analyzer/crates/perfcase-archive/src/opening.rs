//! What is decided before any member is looked at: the manifest, and what a file is that is no capture.

use std::borrow::Cow;
use std::path::Path;

use crate::decompress;
use crate::error::ArchiveError;
use crate::kind::Compression;
use crate::limits::Limits;
use crate::listing::{self, MANIFEST};
use crate::manifest::{self, Manifest, Parsed};
use crate::problem::{Problem, Severity};
use crate::sniff::{Sniffed, sniff};

/// What an unknown file looks like, for the error.
pub(crate) fn describe(bytes: &[u8]) -> &'static str {
    let head = &bytes[..bytes.len().min(4096)];
    match sniff(head) {
        Sniffed::Zstd | Sniffed::Gzip => "compressed, but no recording inside",
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
    let parsed = match plain(text, limits.manifest_bytes_max) {
        Ok(text) if value_count(&text) > limits.manifest_value_count_max => {
            Parsed::Damaged(format!("it has more than {} values", limits.manifest_value_count_max))
        }
        Ok(text) => manifest::parse(&text),
        Err(why) => Parsed::Damaged(why),
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

/// The manifest's text. It is never compressed, but someone may have compressed a whole folder.
fn plain(stored: &[u8], bytes_max: u64) -> Result<Cow<'_, [u8]>, String> {
    let compression = listing::compression(stored);
    if compression != Compression::None {
        // One byte more than allowed tells what is too long.
        let head = decompress::head(stored, compression, usize::try_from(bytes_max).unwrap_or(usize::MAX - 1) + 1);
        return if head.len() as u64 > bytes_max { Err(too_long(bytes_max)) } else { Ok(Cow::Owned(head)) };
    }
    if stored.len() as u64 > bytes_max { Err(too_long(bytes_max)) } else { Ok(Cow::Borrowed(stored)) }
}

/// Values in a JSON text at most: each but the first follows one of these characters.
fn value_count(text: &[u8]) -> usize {
    text.iter().filter(|byte| matches!(byte, b',' | b'[' | b'{' | b':')).count()
}

fn too_long(bytes_max: u64) -> String {
    format!("longer than {bytes_max} bytes")
}
