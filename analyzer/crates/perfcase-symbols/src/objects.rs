//! Finds the file with the code of a mapped object.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use perfcase_archive::{ArchiveError, Capture, CaptureKind, Content};

use crate::build_id::{self, BuildId};
use crate::code;
use crate::debug_dir::{DebugDir, Unusable};
use crate::generated::Generated;
use crate::listing::{Kind, Listing};
use crate::split::{self, Parts};

/// A file with symbols, unwind tables or both of one mapped object.
pub struct Object {
    /// Its bytes.
    pub bytes: Content,
    /// The place where it was found: the capture's member, or the user's directory.
    pub origin: String,
    /// A file of the same build with the parts that were stripped from this one.
    pub debug: Option<Content>,
    /// The file of the same build with the code, where the capture's own has only the tables.
    pub whole: Option<Content>,
    /// The places where the rest of its debug information may be.
    pub parts: Parts,
}

/// The path of a kernel in recordings.
const KERNEL: &[u8] = b"[kernel.kallsyms]";

/// The text behind the name of a user's file that may be another build.
const BY_PATH: &str = " (by its path: the recording has no build id)";

/// The reason why there is no file for an object.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Missing {
    /// Neither the capture nor a directory of the user has a file.
    NotInCapture,
    /// There is a file at that path, but it is another build.
    BuildIdMismatch,
}

impl Missing {
    /// Gives the word for `frame.missing_reason`.
    pub fn reason(self) -> &'static str {
        match self {
            Missing::NotInCapture => "file not in capture",
            Missing::BuildIdMismatch => "build id mismatch",
        }
    }
}

/// Gives the folder of a recording without a manifest, or the recording itself if it is a folder.
fn folder_of(capture: &Capture) -> Option<PathBuf> {
    let path = capture.path();
    match capture.kind {
        CaptureKind::Bare => path.canonicalize().ok()?.parent().map(PathBuf::from),
        CaptureKind::Folder if capture.manifest.is_none() => Some(path.to_path_buf()),
        _ => None,
    }
}

type Found = Result<Arc<Object>, Missing>;
/// A path and a build ID.
type Key = (Vec<u8>, Option<BuildId>);

/// All object files of one capture: its own members and the files in the user's directories.
///
/// A file is read only when it is needed, and no other files are read.
#[derive(Default)]
pub struct Objects {
    capture: Option<Arc<Capture>>,
    listing: Listing,
    dirs: Vec<DebugDir>,
    /// Files for generated code: first those in the directories, then those beside the recording.
    generated: Vec<Generated>,
    found: Mutex<HashMap<Key, Found>>,
    fault: Mutex<Option<ArchiveError>>,
}

impl Objects {
    /// Opens the objects of a capture, and those below directories (or in files) that the user gave, in this order.
    ///
    /// # Errors
    /// The first of `debug_dirs` that cannot be read, and the reason.
    pub fn new(capture: Option<Arc<Capture>>, debug_dirs: &[PathBuf]) -> Result<Objects, (PathBuf, Unusable)> {
        let (listing, fault) = match capture.as_deref().map(Listing::read).transpose() {
            Ok(listing) => (listing.unwrap_or_default(), None),
            Err(error) => (Listing::default(), Some(error)),
        };
        let open = |path: &PathBuf| DebugDir::open(path).map_err(|error| (path.clone(), error));
        let dirs: Vec<DebugDir> = debug_dirs.iter().map(open).collect::<Result<_, _>>()?;
        let beside = capture.as_deref().and_then(folder_of);
        let folders = dirs.iter().filter_map(DebugDir::folder).chain(beside.as_deref());
        let generated = folders.map(Generated::find).collect();
        Ok(Objects { capture, listing, dirs, generated, found: Mutex::default(), fault: Mutex::new(fault) })
    }

    /// Gives the names that a process's runtime wrote for its generated code, and where they are from.
    ///
    /// # Errors
    /// The reason that the recorder gives for missing names; `None` where it gives none.
    pub fn perf_map(&self, pid: i32) -> Result<(Content, String), Option<&str>> {
        let mut entries = self.listing.entries.iter();
        let listed = entries.find(|entry| entry.kind == Kind::PerfMap && entry.pid == Some(pid));
        let member = listed.and_then(|entry| entry.member.as_deref());
        let own = member.and_then(|member| Some((self.read(member)?, format!("symbols/{member}"))));
        let found = own.or_else(|| self.generated.iter().find_map(|files| files.map(pid)));
        found.ok_or(listed.and_then(|entry| entry.reason.as_deref()))
    }

    /// Gives the jitdumps that are no members of the capture.
    pub fn jitdumps(&self) -> Vec<(Content, String)> {
        self.generated.iter().flat_map(Generated::dumps).collect()
    }

    /// Tells whether no object can be found, because neither the capture nor the user has any.
    pub fn is_empty(&self) -> bool {
        self.listing.entries.is_empty() && self.dirs.is_empty()
    }

    /// Tells whether the user gave directories or files.
    pub fn has_dirs(&self) -> bool {
        !self.dirs.is_empty()
    }

    /// Finds the file of a mapped object by the build ID that the recording states, or by its path if it states none.
    ///
    /// # Errors
    /// [`Missing`] says why there is none.
    pub fn find(&self, path: &[u8], build_id: Option<&[u8]>) -> Found {
        let build_id = build_id.and_then(BuildId::new);
        let key = (path.to_vec(), build_id.clone());
        let found = || self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = found().get(&key) {
            return known.clone();
        }
        let result = self.search(path, build_id.as_ref()).map(Arc::new);
        found().insert(key, result.clone());
        result
    }

    fn search(&self, path: &[u8], build_id: Option<&BuildId>) -> Result<Object, Missing> {
        let mut missing = Missing::NotInCapture;
        let mut object = match self.member_of(path, build_id) {
            Ok(object) => Some(object),
            Err(why) => {
                missing = why;
                None
            }
        };
        for dir in &self.dirs {
            if object.is_some() {
                break;
            }
            let kernel = build_id.filter(|_| path == KERNEL).and_then(|id| dir.kernel(id));
            match kernel.map_or_else(|| dir.object(path, build_id), Ok) {
                Ok((bytes, origin)) => {
                    let origin = if build_id.is_none() { origin + BY_PATH } else { origin };
                    object = Some(Object { bytes, origin, debug: None, whole: None, parts: Parts::default() });
                }
                Err(Missing::BuildIdMismatch) => missing = Missing::BuildIdMismatch,
                Err(Missing::NotInCapture) => {}
            }
        }
        let debug = self.dirs.iter().find_map(|dir| {
            let (main, id) = (object.as_ref().map(|object| &object.bytes), build_id);
            dir.debug_file(path, id, main)
        });
        let debug = debug.or_else(|| self.kept_debug_file(object.as_ref()?, build_id));
        let object = match (object, debug) {
            // A list of the kernel's symbols says less than a kernel file without its code.
            (Some(object), Some((bytes, origin))) if !object.bytes.starts_with(b"\x7fELF") => {
                Object { bytes, origin, debug: None, whole: None, parts: Parts::default() }
            }
            (Some(object), debug) => Object { debug: debug.map(|(bytes, _)| bytes), ..object },
            (None, Some((bytes, origin))) => {
                Object { bytes, origin, debug: None, whole: None, parts: Parts::default() }
            }
            (None, None) => return Err(missing),
        };
        let whole = build_id.filter(|_| path != KERNEL && !self.dirs.is_empty() && code::is_missing(&object.bytes));
        let whole = whole.and_then(|id| self.dirs.iter().find_map(|dir| dir.object(path, Some(id)).ok()));
        let whole = whole.map(|(bytes, _)| bytes);
        Ok(Object { parts: self.parts(&object, path, build_id), whole, ..object })
    }

    /// Finds the parts of an object's debug information. Only the user's directories have them.
    fn parts(&self, object: &Object, path: &[u8], build_id: Option<&BuildId>) -> Parts {
        if self.dirs.is_empty() {
            return Parts::default();
        }
        let link = object.debug.as_ref().and_then(split::link).or_else(|| split::link(&object.bytes));
        let shared = link.and_then(|(link, id)| {
            let id = BuildId::new(&id)?;
            self.dirs.iter().find_map(|dir| dir.shared(&link, &id))
        });
        Parts {
            shared,
            package: self.dirs.iter().find_map(|dir| dir.package(path, build_id)),
            folders: self.dirs.iter().filter_map(|dir| dir.folder().map(PathBuf::from)).collect(),
        }
    }

    /// Finds the capture's own file.
    fn member_of(&self, path: &[u8], build_id: Option<&BuildId>) -> Result<Object, Missing> {
        let entries = &self.listing.entries;
        let is_object = |kind: Kind| matches!(kind, Kind::Elf | Kind::Vdso);
        let of_build = |entry: &&crate::listing::Entry| match build_id {
            Some(id) => entry.build_id.as_ref() == Some(id) || (entry.build_id.is_none() && entry.path == path),
            None => entry.path == path,
        };
        let mut fitting = self.listing.candidates(path, build_id).map(|index| &entries[index]);
        let entry = fitting.find(|entry| is_object(entry.kind) && entry.member.is_some() && of_build(entry));
        let entry = entry.ok_or(Missing::NotInCapture)?;
        if build_id.is_none()
            && fitting.any(|other| of_build(&other) && other.build_id != entry.build_id && other.member.is_some())
        {
            // The capture has two builds with this path, and the recording does not say which one was mapped.
            return Err(Missing::NotInCapture);
        }
        let member = entry.member.as_deref().unwrap_or_default();
        let bytes = self.read(member).ok_or(Missing::NotInCapture)?;
        // The listing is only a hint. The build ID in the file counts.
        match (build_id, build_id::of_file(&bytes)) {
            (Some(wanted), Some(own)) if own != *wanted => Err(Missing::BuildIdMismatch),
            // An object with a build ID and a file without one are not the same build.
            (Some(_), None) => Err(Missing::BuildIdMismatch),
            _ => Ok(Object {
                bytes,
                origin: format!("symbols/{member}"),
                debug: None,
                whole: None,
                parts: Parts::default(),
            }),
        }
    }

    /// Finds the symbols that the host had in a separate file.
    fn kept_debug_file(&self, object: &Object, build_id: Option<&BuildId>) -> Option<(Content, String)> {
        let id = build_id.cloned().or_else(|| build_id::of_file(&object.bytes))?;
        let mut of_build = self.listing.candidates(b"", Some(&id)).map(|index| &self.listing.entries[index]);
        let member = of_build.find(|entry| entry.kind == Kind::Debug)?.member.as_deref()?;
        let bytes = self.read(member).filter(|bytes| build_id::of_file(bytes).as_ref() == Some(&id))?;
        Some((bytes, format!("symbols/{member}")))
    }

    /// Reads a file of the capture's `symbols/`; `None` where it is missing or cannot be read.
    pub fn read(&self, member: &str) -> Option<Content> {
        let capture = self.capture.as_deref()?;
        match capture.read(capture.member(&format!("symbols/{member}"))?) {
            Err(error) if error.is_of_this_machine() => {
                self.fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                None
            }
            read => read.ok(),
        }
    }

    /// Takes the error that kept this machine from reading an existing file of the capture: names that are missing for
    /// this reason are no loss of the capture.
    pub fn fault(&self) -> Option<ArchiveError> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Gives what the recorder says about an object that it did not bundle.
    pub fn left_out(&self, path: &[u8], build_id: Option<&[u8]>) -> Option<&str> {
        let build_id = build_id.and_then(BuildId::new);
        let mut fitting = self.listing.candidates(path, build_id.as_ref()).map(|index| &self.listing.entries[index]);
        fitting.find_map(|entry| entry.reason.as_deref())
    }

    /// Gives the capture's listing of its symbol files.
    pub fn listing(&self) -> &Listing {
        &self.listing
    }
}
