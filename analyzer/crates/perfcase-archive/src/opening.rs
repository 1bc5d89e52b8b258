//! What is decided before any member is read: the manifest, and what a file is that is no capture.

use std::borrow::Cow;
use std::path::Path;

use crate::decompress;
use crate::error::ArchiveError;
use crate::issue::Issue;
use crate::kind::Compression;
use crate::limits::Limits;
use crate::listing::{self, MANIFEST};
use crate::manifest::{self, Manifest, Parsed};
use crate::sniff::{Sniffed, sniff};

/// Describes what an unknown file looks like, for the error.
pub(crate) fn describe(bytes: &[u8]) -> &'static str {
    let head = &bytes[..bytes.len().min(4096)];
    match sniff(head) {
        Sniffed::Zstd if decompress::needs_large_window(bytes) => {
            "compressed by zstd with a window of more than 128 MiB, the bound; nothing is damaged: unpack it with zstd -d \
             --long=31, and give what comes out"
        }
        Sniffed::Zstd | Sniffed::Gzip => "compressed, but no recording inside",
        _ if head.starts_with(b"PERFFILE") => "perf.data of the format before 2010",
        _ if head.starts_with(b"\x7fELF") => "an ELF file",
        _ if head.iter().all(|&b| b == 0) => "it starts with zeros only",
        _ if is_ftrace_text(head) => {
            "the text of ftrace's trace or trace_pipe, which is not read; trace-cmd record, or trace-cmd extract after the \
             fact, writes a trace.dat that is"
        }
        _ => "its first bytes are those of no format perfcase reads",
    }
}

/// Tells whether this is the output of `trace` or `trace_pipe`: `# tracer: nop`, or
/// `comm-pid  [cpu] flags  seconds.fraction: event: …`.
fn is_ftrace_text(head: &[u8]) -> bool {
    let is_event = |line: &[u8]| {
        let words: Vec<&[u8]> = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).take(12).collect();
        let is_cpu =
            |word: &&[u8]| word.len() == 5 && word.starts_with(b"[") && word[1..4].iter().all(u8::is_ascii_digit);
        let is_time = |word: &&[u8]| word.ends_with(b":") && word.contains(&b'.') && word[0].is_ascii_digit();
        let (cpu, time) = (words.iter().position(is_cpu), words.iter().position(is_time));
        // The flags of interrupts may be between them.
        matches!((cpu, time), (Some(cpu), Some(time)) if cpu > 0 && (1..=2).contains(&time.saturating_sub(cpu)))
            && words[..cpu.unwrap_or(0)].iter().any(|word| word.contains(&b'-'))
    };
    head.starts_with(b"# tracer: ") || head.split(|&b| b == b'\n').take(20).any(is_event)
}

/// Parses the manifest, if there is one.
pub(crate) fn read_manifest(
    path: &Path,
    text: Option<&[u8]>,
    limits: &Limits,
    problems: &mut Vec<Issue>,
) -> Result<Option<Manifest>, ArchiveError> {
    let Some(text) = text else {
        let message = "there is no manifest.json: host, clocks and losses of the recording are unknown";
        problems.push(Issue::info("no_manifest", message));
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
                problems.push(Issue::info("newer_minor", message).of(MANIFEST));
            }
            let unknown = manifest.unknown_properties();
            if !unknown.is_empty() {
                let shown: Vec<&str> = unknown.iter().take(12).map(String::as_str).collect();
                let message = format!("properties that this version does not know: {}", shown.join(", "));
                problems.push(Issue::info("unknown_property", message).of(MANIFEST));
            }
            Ok(Some(*manifest))
        }
        Parsed::Damaged(why) => {
            problems.push(
                Issue::error("damaged_manifest", format!("manifest.json is unreadable: {why}"))
                    .of(MANIFEST)
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

/// Gives the manifest's text. The recorder never compresses it, but a person may have compressed a whole folder.
fn plain(stored: &[u8], bytes_max: u64) -> Result<Cow<'_, [u8]>, String> {
    let compression = listing::compression(stored);
    if compression != Compression::None {
        // One byte more than allowed shows that the text is too long.
        let head = decompress::head(stored, compression, usize::try_from(bytes_max).unwrap_or(usize::MAX - 1) + 1);
        return if head.len() as u64 > bytes_max { Err(too_long(bytes_max)) } else { Ok(Cow::Owned(head)) };
    }
    if stored.len() as u64 > bytes_max { Err(too_long(bytes_max)) } else { Ok(Cow::Borrowed(stored)) }
}

/// Gives the most values that a JSON text can have: each value except the first follows one of these characters.
fn value_count(text: &[u8]) -> usize {
    text.iter().filter(|byte| matches!(byte, b',' | b'[' | b'{' | b':')).count()
}

fn too_long(bytes_max: u64) -> String {
    format!("longer than {bytes_max} bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_ftrace_is_told_by_its_name() {
        for text in [
            "# tracer: nop\n#\n# entries-in-buffer/entries-written: 0/0   #P:2\n",
            "      sched-pipe-27306   [001] .....  5228.561616: sys_enter: NR 0 (3, 0)\n",
            "CPU:0 [LOST 7 EVENTS]\n          <idle>-0     [000]  1.000001: sched_switch: prev_comm=x\n",
        ] {
            assert!(describe(text.as_bytes()).contains("trace_pipe"), "{text}");
        }
        for text in ["hello\n", "Nov 21 10:00:00 host kernel: [001] 1.5: x\n", "a-b [abc] 1.0: x\n"] {
            assert!(!describe(text.as_bytes()).contains("trace_pipe"), "{text}");
        }
    }
}
