//! `symbols/objects.tsv`: what the recorder bundled, and what it left out and why.

use std::collections::HashMap;

use perfcase_archive::{ArchiveError, Capture, MemberKind};

use crate::build_id::BuildId;

/// The most lines that are read: a bound for hostile input.
const MOST_LINES: usize = 1 << 20;

/// The kind of a file in `symbols/`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// An ELF file, complete or only its tables.
    Elf,
    /// The tables of an ELF file's separate debug file.
    Debug,
    /// The image of the vDSO.
    Vdso,
    /// Names of generated code (`/tmp/perf-<pid>.map`).
    PerfMap,
    /// Names of generated code with their times.
    Jitdump,
    /// Anything else.
    Other,
}

/// A line of the listing.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its name below `symbols/`; `None` where the recorder did not bundle it.
    pub member: Option<String>,
    /// What it is.
    pub kind: Kind,
    /// Its build ID.
    pub build_id: Option<BuildId>,
    /// Its path as perf recorded it.
    pub path: Vec<u8>,
    /// The process that it belongs to.
    pub pid: Option<i32>,
    /// The reason why it was not bundled.
    pub reason: Option<String>,
}

/// All lines of the listing.
#[derive(Default)]
pub struct Listing {
    /// The lines in the order of the file.
    pub entries: Vec<Entry>,
    by_path: HashMap<Vec<u8>, Vec<usize>>,
    by_build_id: HashMap<BuildId, Vec<usize>>,
}

impl Listing {
    /// Reads the listing of a capture. For a capture without a listing, the names of its members say what they are.
    ///
    /// # Errors
    /// When this machine cannot read it. A listing that is missing, or that this user may not read, counts as no
    /// listing.
    pub fn read(capture: &Capture) -> Result<Listing, ArchiveError> {
        let mut listing = Listing::default();
        let listed = match capture.member("symbols/objects.tsv").map(|member| capture.read(member)).transpose() {
            Err(error) if error.is_of_this_machine() => return Err(error),
            read => read.ok().flatten(),
        };
        for line in listed.iter().flat_map(|content| content.split(|&byte| byte == b'\n')).take(MOST_LINES) {
            if let Some(entry) = parse_line(line) {
                listing.add(entry);
            }
        }
        if listed.is_none() {
            for member in capture.members.iter().filter(|member| member.kind == MemberKind::SymbolFile) {
                if let Some(entry) = member.path.strip_prefix("symbols/").and_then(by_name) {
                    listing.add(entry);
                }
            }
        }
        Ok(listing)
    }

    fn add(&mut self, entry: Entry) {
        let index = self.entries.len();
        if let Some(id) = &entry.build_id {
            self.by_build_id.entry(id.clone()).or_default().push(index);
        }
        if !entry.path.is_empty() {
            self.by_path.entry(entry.path.clone()).or_default().push(index);
        }
        self.entries.push(entry);
    }

    /// Gives the numbers of the entries that may belong to an object: those with its build ID first, then those with
    /// its path.
    pub fn candidates(&self, path: &[u8], build_id: Option<&BuildId>) -> impl Iterator<Item = usize> + '_ {
        let same_build = build_id.and_then(|id| self.by_build_id.get(id)).into_iter().flatten();
        same_build.chain(self.by_path.get(path).into_iter().flatten()).copied()
    }
}

fn parse_line(line: &[u8]) -> Option<Entry> {
    let mut fields = line.split(|&byte| byte == b'\t');
    let mut next = || fields.next();
    let (member, kind, build_id, path, pid) = (next()?, next()?, next()?, next()?, next()?);
    let reason = fields.nth(3);
    if member == b"member" {
        return None;
    }
    let text = |field: &[u8]| (field != b"-").then(|| String::from_utf8_lossy(field).into_owned());
    Some(Entry {
        member: text(member),
        kind: kind_of(kind),
        build_id: BuildId::from_hex(build_id),
        path: unescape(path),
        pid: std::str::from_utf8(pid).ok().and_then(|pid| pid.parse().ok()),
        reason: reason.and_then(text),
    })
}

fn kind_of(name: &[u8]) -> Kind {
    match name {
        b"elf" | b"elf-table" => Kind::Elf,
        b"debug-table" => Kind::Debug,
        b"vdso" => Kind::Vdso,
        b"perf-map" => Kind::PerfMap,
        b"jitdump" => Kind::Jitdump,
        _ => Kind::Other,
    }
}

/// Describes a member by its name, for a capture whose listing is lost.
fn by_name(member: &str) -> Option<Entry> {
    let (folder, name) = member.split_once('/').unwrap_or((member, ""));
    let pid = name.split('-').next().and_then(|pid| pid.parse().ok());
    let (kind, path) = match folder {
        "elf" => (Kind::Elf, Vec::new()),
        "debug" => (Kind::Debug, Vec::new()),
        "vdso" => (Kind::Vdso, b"[vdso]".to_vec()),
        "vdso32" => (Kind::Vdso, b"[vdso32]".to_vec()),
        "perf-map" => (Kind::PerfMap, Vec::new()),
        "jitdump" => (Kind::Jitdump, Vec::new()),
        _ => return None,
    };
    let build_id = BuildId::from_hex(name.as_bytes()).filter(|_| matches!(kind, Kind::Elf | Kind::Debug));
    Some(Entry { member: Some(member.to_string()), kind, build_id, path, pid, reason: None })
}

/// Replaces `\011`, `\012` and `\134` by their characters.
fn unescape(field: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(field.len());
    let mut rest = field;
    while let [byte, tail @ ..] = rest {
        let octal = tail.get(..3).filter(|digits| *byte == b'\\' && digits.iter().all(|d| (b'0'..=b'7').contains(d)));
        match octal {
            Some(digits) => {
                out.push(digits.iter().fold(0u8, |sum, digit| (sum << 3) | (digit - b'0')));
                rest = &tail[3..];
            }
            None => {
                out.push(*byte);
                rest = tail;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_and_what_is_none() {
        let entry = parse_line(b"elf/abcd01\telf-table\tabcd01\t/a\\011b\\134\t-\t-\t10\t20\t-").unwrap();
        assert_eq!((entry.member.as_deref(), entry.kind), (Some("elf/abcd01"), Kind::Elf));
        assert_eq!((entry.path.as_slice(), entry.pid, entry.reason), (&b"/a\tb\\"[..], None, None));
        assert_eq!(entry.build_id, BuildId::new(&[0xab, 0xcd, 1]));
        let map = parse_line(b"-\tperf-map\t-\t/tmp/perf-7.map\t4711\t7\t-\t-\ttoo large: 9 bytes").unwrap();
        assert_eq!((map.member, map.pid), (None, Some(4711)));
        assert_eq!(map.reason.as_deref(), Some("too large: 9 bytes"));
        assert!(parse_line(b"member\tkind\tbuild_id\tpath\tpid\tnspid").is_none());
        assert!(parse_line(b"\t\t").is_none());
        assert!(parse_line(b"").is_none());
    }
}
