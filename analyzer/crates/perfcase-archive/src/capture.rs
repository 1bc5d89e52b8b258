//! A capture: its form, its manifest, its members and their bytes.

use std::fs::File;
use std::path::{Path, PathBuf};

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::budget::Budget;
use crate::content::{Backing, Content};
use crate::decompress::{self, End, WINDOW_LOG_MAX};
use crate::error::ArchiveError;
use crate::issue::Issue;
use crate::kind::{Compression, Member, MemberKind, Place, is_perf_part, kind_by_content};
use crate::limits::Limits;
use crate::listing::{self, Listing, MANIFEST, STORED_HEAD_BYTES, Stored};
use crate::manifest::Manifest;
use crate::opening::{describe, read_manifest};
use crate::path::without_suffix;
use crate::sniff::Sniffed;
use crate::{folder, tar_walk};

/// The form of a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CaptureKind {
    /// A `.perfcase` (a tar).
    Archive,
    /// A recorder's folder, or any folder of recordings.
    Folder,
    /// One recording alone.
    Bare,
}

/// An open capture.
#[derive(Debug)]
pub struct Capture {
    /// Its form.
    pub kind: CaptureKind,
    /// Its manifest; `None` where it has none that is readable.
    pub manifest: Option<Manifest>,
    /// Its members, in the order of the archive, or by path.
    pub members: Vec<Member>,
    /// What is wrong with its container.
    pub problems: Vec<Issue>,
    path: PathBuf,
    archive: Option<Content>,
    file: Option<Content>,
    limits: Limits,
    budget: Budget,
}

impl Capture {
    /// Opens a capture. Its content decides what it is, never its name.
    pub fn open(path: &Path) -> Result<Capture, ArchiveError> {
        Capture::open_within(path, Limits::default())
    }

    /// Opens a capture as [`Capture::open`] does, with other bounds than the default ones.
    pub fn open_within(path: &Path, limits: Limits) -> Result<Capture, ArchiveError> {
        let metadata = std::fs::metadata(path).map_err(|e| ArchiveError::io(path, "open", e))?;
        if metadata.is_dir() {
            return Capture::open_folder(path, limits);
        }
        if !metadata.is_file() {
            return Err(not_a_capture(path, "not a regular file"));
        }
        // Not read in at once: the caller's threads read it side by side.
        let content = Content::map_file(path).map_err(|e| ArchiveError::io(path, "open", e))?;
        if content.is_empty() {
            return Err(not_a_capture(path, "the file is empty"));
        }
        let compression = listing::compression(&content);
        match listing::sniff_stored(stored_head(&content), compression) {
            Sniffed::Tar => {
                let file = (compression == Compression::None).then(|| content.clone());
                Ok(Capture { file, ..Capture::open_tar(path, content, compression, limits)? })
            }
            Sniffed::Unknown if path.file_name().is_some_and(|name| is_perf_part(&name.to_string_lossy())) => {
                Err(not_a_capture(path, "a part of a folder that perf record --threads wrote: give the folder"))
            }
            Sniffed::Unknown | Sniffed::Zstd | Sniffed::Gzip => Err(not_a_capture(path, describe(&content))),
            found => {
                let bare = Capture::bare(path, &content, compression, found, limits);
                Ok(Capture { file: Some(content), ..bare })
            }
        }
    }

    fn bare(path: &Path, content: &[u8], compression: Compression, found: Sniffed, limits: Limits) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let member_path = match compression {
            Compression::None => name.as_str(),
            _ => without_suffix(&name),
        };
        let stored_bytes = content.len() as u64;
        let member = Member {
            path: member_path.to_owned(),
            // The name of a single file says nothing: it has no folder of the archive format.
            kind: kind_by_content("", found),
            source: None,
            compression,
            size_bytes: (compression == Compression::None).then_some(stored_bytes),
            stored_bytes,
            sha256: None,
            place: Place::File(path.to_path_buf()),
            stored_path: name,
        };
        Capture {
            kind: CaptureKind::Bare,
            manifest: None,
            members: vec![member],
            problems: Vec::new(),
            path: path.to_path_buf(),
            archive: None,
            file: None,
            budget: Budget::new(limits.sum_bytes_max(stored_bytes)),
            limits,
        }
    }

    fn open_tar(path: &Path, content: Content, compression: Compression, limits: Limits) -> Result<Self, ArchiveError> {
        let budget = Budget::new(limits.sum_bytes_max(content.len() as u64));
        let (content, mut problems) = match compression {
            Compression::None => (content, Vec::new()),
            _ => inflate(path, &content, compression, &limits, &budget, None)?,
        };
        let (entries, walked) = tar_walk::walk(&content, &limits);
        problems.extend(walked);
        let slice = |e: &tar_walk::Entry| content.slice(e.offset as usize..(e.offset + e.len) as usize);
        let text = entries.iter().find(|e| without_suffix(&e.path) == MANIFEST).map(slice);
        let manifest = read_manifest(path, text.as_deref(), &limits, &mut problems)?;
        if manifest.is_some() && entries.first().is_some_and(|e| without_suffix(&e.path) != MANIFEST) {
            let message = "manifest.json is not the first member";
            problems.push(Issue::info("member_order", message));
        }
        let mut listing = Listing::new(manifest.as_ref());
        for entry in entries {
            let bytes = slice(&entry);
            listing.add(Stored {
                path: entry.path,
                place: Place::Archive { offset: entry.offset },
                stored_bytes: entry.len,
                head: stored_head(&bytes),
            });
        }
        let (members, listed) = listing.finish();
        problems.extend(listed);
        Ok(Capture {
            kind: CaptureKind::Archive,
            manifest,
            members,
            problems,
            path: path.to_path_buf(),
            archive: Some(content),
            file: None,
            limits,
            budget,
        })
    }

    fn open_folder(path: &Path, limits: Limits) -> Result<Self, ArchiveError> {
        let (files, mut problems) = folder::walk(path, &limits)?;
        let text = match files.iter().find(|f| without_suffix(&f.path) == MANIFEST) {
            Some(found) => Some(map_file(&found.file)?),
            None => None,
        };
        let manifest = read_manifest(path, text.as_deref(), &limits, &mut problems)?;
        let mut listing = Listing::new(manifest.as_ref());
        for found in files {
            match map_file(&found.file) {
                Ok(bytes) => listing.add(Stored {
                    path: found.path,
                    place: Place::File(found.file),
                    stored_bytes: bytes.len() as u64,
                    head: stored_head(&bytes),
                }),
                Err(error) if error.is_of_this_machine() => return Err(error),
                Err(error) => problems
                    .push(Issue::error("unreadable_member", error.to_string()).of(found.path).hint(error.hint())),
            }
        }
        let (members, listed) = listing.finish();
        problems.extend(listed);
        if manifest.is_none() && members.iter().all(|m| m.kind == MemberKind::Unknown) {
            return Err(not_a_capture(path, "a folder without a recording"));
        }
        Ok(Capture {
            kind: CaptureKind::Folder,
            budget: Budget::new(limits.sum_bytes_max(members.iter().map(|member| member.stored_bytes).sum())),
            manifest,
            members,
            problems,
            path: path.to_path_buf(),
            archive: None,
            file: None,
            limits,
        })
    }

    /// Gives the file or folder that was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the bytes of the file that was opened; `None` for a folder, and for a compressed archive, whose members are
    /// read from elsewhere. The members share these bytes: what one reader has read is in memory for all.
    pub fn file(&self) -> Option<&Content> {
        self.file.as_ref()
    }

    /// Gives the member of that path (without `.zst`/`.gz`); `None` where there is none.
    pub fn member(&self, path: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.path == path)
    }

    /// Gives the decompressed bytes of a member. Damage is no error: the readable bytes are there, and
    /// [`Content::problems`] says what is wrong.
    pub fn read(&self, member: &Member) -> Result<Content, ArchiveError> {
        let stored = self.stored(member)?;
        std::thread::scope(|scope| {
            // The hash and the decompression read the same pages. Side by side they take only as long as the slower
            // one.
            let hash = member.sha256.as_ref().map(|_| match stored.len() {
                0..SMALL_BYTES => Hash::Known(hex_sha256(&stored)),
                _ => Hash::Running(scope.spawn(|| hex_sha256(&stored))),
            });
            let (content, mut problems) = match member.compression {
                Compression::None => (stored.clone(), Vec::new()),
                other => inflate(&self.path, &stored, other, &self.limits, &self.budget, Some(member))?,
            };
            let actual = match hash {
                Some(Hash::Known(hash)) => Some(hash),
                Some(Hash::Running(thread)) => thread.join().ok(),
                None => None,
            };
            problems.extend(actual.and_then(|actual| checksum_problem(member, &actual)));
            Ok(content.with_problems(problems))
        })
    }

    /// Gives the bytes of a member as they are stored.
    pub fn stored(&self, member: &Member) -> Result<Content, ArchiveError> {
        match (&member.place, &self.archive) {
            (Place::File(file), _) => self.file.clone().map_or_else(|| map_file(file), Ok),
            (Place::Archive { offset }, Some(archive)) => {
                let start = usize::try_from(*offset).unwrap_or(usize::MAX);
                let len = usize::try_from(member.stored_bytes).unwrap_or(usize::MAX);
                Ok(archive.slice(start..start.saturating_add(len)))
            }
            (Place::Archive { .. }, None) => {
                Err(ArchiveError::NoSuchMember { path: self.path.clone(), member: member.path.clone() })
            }
        }
    }
}

/// Members below this size in bytes are hashed on the same thread: another thread costs more.
const SMALL_BYTES: usize = 64 << 10;

enum Hash<'scope> {
    Known(String),
    Running(std::thread::ScopedJoinHandle<'scope, String>),
}

fn stored_head(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.len().min(STORED_HEAD_BYTES)]
}

fn map_file(path: &Path) -> Result<Content, ArchiveError> {
    let file = File::open(path).map_err(|e| ArchiveError::io(path, "open", e))?;
    let bytes = decompress::map_or_empty(&file).map_err(|e| ArchiveError::io(path, "map", e))?;
    Ok(Content::new(bytes))
}

fn not_a_capture(path: &Path, found: impl Into<String>) -> ArchiveError {
    ArchiveError::NotACapture { path: path.to_path_buf(), found: found.into() }
}

/// Decompresses. Damage and reached bounds become problems.
fn inflate(
    path: &Path,
    stored: &[u8],
    compression: Compression,
    limits: &Limits,
    budget: &Budget,
    member: Option<&Member>,
) -> Result<(Content, Vec<Issue>), ArchiveError> {
    let bytes_max = limits.output_bytes_max(stored.len() as u64);
    let name = member.map_or("", |member| member.path.as_str());
    budget.restart(name);
    let output =
        decompress::decompress(stored, compression, bytes_max, budget).map_err(|e| ArchiveError::no_room(path, e))?;
    budget.note(name, output.len);
    let stored_bytes = stored.len();
    let limit = |what: String| {
        Issue::error("limit", what).hint(
            "if it is no decompression bomb: tar -xf FILE, then zstd -d or gzip -d each member, and import the folder",
        )
    };
    let problem = match output.end {
        End::Complete => None,
        End::Limit => Some(limit(format!(
            "its {stored_bytes} bytes decompress to more than {bytes_max}, the bound; the rest is not read"
        ))),
        End::SumLimit => Some(limit(format!(
            "all members together decompress to more than such a capture may, {} times its size; only {} bytes of this \
             one are read",
            limits.ratio_max, output.len
        ))),
        End::Window => Some(
            Issue::error(
                "limit",
                format!(
                    "its zstd stream needs a window of more than {} MiB, the bound: nothing is damaged, but only {} \
                     bytes are read",
                    (1 << WINDOW_LOG_MAX) >> 20,
                    output.len
                ),
            )
            .hint("pack it again without --long or --ultra: zstd -d --long=31 FILE -o PLAIN, then zstd PLAIN"),
        ),
        End::Damaged(why) => Some(
            Issue::error("damaged_member", format!("its compressed stream ends after {} bytes: {why}", output.len))
                .hint("what came before is read"),
        ),
    };
    let problem = problem.map(|p| p.at(output.len));
    let problem = match member {
        Some(member) => problem.map(|p| p.of(member.path.clone())),
        None => problem,
    };
    Ok((Content::new(output.bytes), problem.into_iter().collect()))
}

pub(crate) fn hex_sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect()
}

pub(crate) fn checksum_problem(member: &Member, actual: &str) -> Option<Issue> {
    let stated = member.sha256.as_deref()?;
    (!stated.eq_ignore_ascii_case(actual)).then(|| {
        Issue::error(
            "checksum",
            format!(
                "{}: SHA-256 of the stored bytes is {actual}, the manifest says {}",
                member.stored_path,
                stated.chars().take(64).collect::<String>()
            ),
        )
        .of(member.path.clone())
        .hint("it was damaged or changed after recording; what decodes is kept")
    })
}

impl std::fmt::Debug for Backing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.bytes().len())
    }
}
