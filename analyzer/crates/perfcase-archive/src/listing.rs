//! Turns stored files into the members of a capture: duplicates, compression, kinds, and what the manifest says.

use std::collections::{HashMap, HashSet};

use crate::decompress;
use crate::issue::Issue;
use crate::kind::{Compression, Member, MemberKind, Place, kind_by_content, kind_by_folder};
use crate::manifest::{Manifest, ManifestMember};
use crate::path::without_suffix;
use crate::sniff::{HEAD_BYTES, Sniffed, sniff};

/// The name of the member that describes the others.
pub(crate) const MANIFEST: &str = "manifest.json";

/// A stored file whose kind is not known yet. `head` has its first stored bytes, as many as its compression needs to
/// give [`HEAD_BYTES`].
pub(crate) struct Stored<'a> {
    pub path: String,
    pub place: Place,
    pub stored_bytes: u64,
    pub head: &'a [u8],
}

/// The bytes of a stored file that decide its kind: a zstd block has at most 128 KiB.
pub(crate) const STORED_HEAD_BYTES: usize = 256 << 10;

/// Gathers members. A second member of the same path is refused.
pub(crate) struct Listing<'m> {
    /// What the manifest says about each member, by path without `.zst`/`.gz`.
    manifest: HashMap<&'m str, &'m ManifestMember>,
    /// Whether the manifest lists the members. Those of a recording that was killed are not listed yet.
    is_listed: bool,
    seen: HashSet<String>,
    unlisted: Vec<String>,
    pub members: Vec<Member>,
    pub problems: Vec<Issue>,
}

impl<'m> Listing<'m> {
    pub fn new(manifest: Option<&'m Manifest>) -> Self {
        let members = manifest.map(|m| m.members.as_slice()).unwrap_or_default();
        Listing {
            manifest: members.iter().map(|m| (without_suffix(&m.path), m)).collect(),
            is_listed: !members.is_empty(),
            seen: HashSet::new(),
            unlisted: Vec::new(),
            members: Vec::new(),
            problems: Vec::new(),
        }
    }

    /// Adds a stored file.
    pub fn add(&mut self, stored: Stored<'_>) {
        let compression = compression(stored.head);
        let path = match compression {
            Compression::None => stored.path.as_str(),
            _ => without_suffix(&stored.path),
        };
        if !self.seen.insert(path.to_owned()) {
            let message = format!("a second member {path} is not read");
            self.problems.push(
                Issue::error("duplicate_member", message)
                    .of(path)
                    .hint("an archive has each path once; the first one counts"),
            );
            return;
        }
        if path == MANIFEST {
            return;
        }
        let said = self.manifest.remove(path);
        if said.is_none() && self.is_listed {
            self.unlisted.push(path.to_owned());
        }
        // A person who unpacked the archive may have decompressed the file too: then the checksum is that of other
        // bytes.
        let as_stored = said.filter(|m| m.path == stored.path);
        let kind =
            kind_by_folder(path).unwrap_or_else(|| kind_by_content(path, sniff_stored(stored.head, compression)));
        use MemberKind::{FtraceRaw, HostFile, PerfDataPart, ProcFile, RecorderFile, SymbolFile, Unknown};
        let is_recording =
            !matches!(kind, FtraceRaw | HostFile | PerfDataPart | ProcFile | RecorderFile | SymbolFile | Unknown);
        let kind = if is_recording && stored.stored_bytes == 0 { self.empty(path) } else { kind };
        self.members.push(Member {
            path: path.to_owned(),
            kind,
            source: said.and_then(|m| m.source.clone()),
            compression,
            size_bytes: match compression {
                Compression::None => Some(stored.stored_bytes),
                _ => said.and_then(|m| m.size_bytes),
            },
            stored_bytes: stored.stored_bytes,
            sha256: as_stored.and_then(|m| m.sha256.clone()),
            place: stored.place,
            stored_path: stored.path,
        });
    }

    /// Reports an empty recording, which has nothing to decode: a tool that was refused or killed leaves one.
    fn empty(&mut self, path: &str) -> MemberKind {
        self.problems.push(
            Issue::warning("empty_member", format!("{path} is empty"))
                .of(path)
                .hint("the tool that should have written it was refused or killed: see recorder/log"),
        );
        MemberKind::Unknown
    }

    /// Reports members that the manifest lists and that are missing, and members that are unknown.
    pub fn finish(mut self) -> (Vec<Member>, Vec<Issue>) {
        let mut missing: Vec<&str> = self.manifest.values().map(|m| m.path.as_str()).collect();
        missing.sort_unstable();
        for path in missing {
            let shown: String = path.escape_debug().take(200).collect();
            self.problems.push(
                Issue::error("missing_member", format!("{shown} is in the manifest but not in the archive"))
                    .of(without_suffix(&shown))
                    .hint("the archive was cut or repacked: get the whole file if there is one"),
            );
        }
        self.mark_proc_files();
        self.report_unlisted();
        self.report_unknown();
        (self.members, self.problems)
    }

    /// Marks the files beside or below a copy of /proc/stat: they are files of /proc too. The recorder's captures have
    /// none.
    fn mark_proc_files(&mut self) {
        let is_root = |m: &&Member| m.kind == MemberKind::ProcFile;
        let roots: HashSet<String> =
            self.members.iter().filter(is_root).map(|m| folder_of(&m.path).to_string()).collect();
        if roots.is_empty() || self.is_listed {
            return;
        }
        for member in self.members.iter_mut().filter(|m| m.kind == MemberKind::Unknown) {
            let mut folder = folder_of(&member.path);
            while !roots.contains(folder) && !folder.is_empty() {
                folder = folder_of(folder);
            }
            if roots.contains(folder) {
                member.kind = MemberKind::ProcFile;
            }
        }
    }

    fn report_unlisted(&mut self) {
        if self.unlisted.is_empty() {
            return;
        }
        let message = format!(
            "{} members are not in the manifest, nobody vouches for them: {}",
            self.unlisted.len(),
            some_of(&self.unlisted)
        );
        self.problems
            .push(Issue::info("unlisted_member", message).hint("they were added after recording, and are read"));
    }

    fn report_unknown(&mut self) {
        let reported: HashSet<&str> = self.problems.iter().filter_map(|p| p.source.as_deref()).collect();
        let is_unknown = |m: &&Member| m.kind == MemberKind::Unknown && !reported.contains(m.path.as_str());
        let unknown: Vec<&str> = self.members.iter().filter(is_unknown).map(|m| m.path.as_str()).collect();
        if unknown.is_empty() {
            return;
        }
        let message = format!(
            "{} files are of no kind this version knows and are left as they are: {}",
            unknown.len(),
            some_of(&unknown)
        );
        self.problems.push(
            Issue::info("unknown_member", message).hint("a newer perfcase may read them; they stay in the archive"),
        );
    }
}

/// Gives the first few paths of a list.
fn some_of<S: AsRef<str>>(paths: &[S]) -> String {
    let shown: Vec<&str> = paths.iter().take(5).map(AsRef::as_ref).collect();
    let more = if paths.len() > shown.len() { ", …" } else { "" };
    shown.join(", ") + more
}

pub(crate) fn compression(head: &[u8]) -> Compression {
    match sniff(head) {
        Sniffed::Zstd => Compression::Zstd,
        Sniffed::Gzip => Compression::Gzip,
        _ => Compression::None,
    }
}

/// Says what a stored file is after decompression.
pub(crate) fn sniff_stored(head: &[u8], compression: Compression) -> Sniffed {
    match compression {
        Compression::None => sniff(head),
        _ => sniff(&decompress::head(head, compression, HEAD_BYTES)),
    }
}

/// Gives the folder of a path; empty at the top.
fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}
