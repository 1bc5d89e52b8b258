//! Directories of object and debug files that the user gave, in the known layouts.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use object::Object as _;
use perfcase_archive::{ArchiveError, Capture, Content};

use crate::build_id::{self, BuildId};
use crate::compressed;
use crate::objects::Missing;

/// The most bytes that a compressed archive of debug files may unpack to.
const MOST_ARCHIVE_BYTES: u64 = 8 << 30;

/// The most entries of a user's folder that are read.
const MOST_ENTRIES: usize = 10_000;

/// A file and its name in messages.
pub(crate) type Found = (Content, String);

/// The reason why a place for object files cannot be used.
#[derive(Debug)]
pub struct Unusable {
    /// What is wrong, for people.
    pub message: String,
    /// Whether this machine failed and not the file: it has no room to unpack the file, or no right to read it.
    pub is_of_this_machine: bool,
}

impl Unusable {
    fn file(message: &str) -> Unusable {
        Unusable { message: message.to_string(), is_of_this_machine: false }
    }
}

impl From<std::io::Error> for Unusable {
    /// An error about damage has no error number of the system.
    fn from(error: std::io::Error) -> Unusable {
        let is_of_this_machine = error.raw_os_error().is_some() && error.kind() != std::io::ErrorKind::NotFound;
        Unusable { message: error.to_string(), is_of_this_machine }
    }
}

/// One `--debug-dir`.
pub(crate) enum DebugDir {
    /// A folder. It is searched when a file is needed.
    Folder(PathBuf),
    /// A file, or the files of an archive, by their own build IDs. Lists of kernels' symbols are kept by the build IDs
    /// in their paths.
    Files { by_build_id: HashMap<BuildId, Vec<Found>>, kernels: HashMap<BuildId, Found> },
}

impl DebugDir {
    /// Opens a directory, an ELF file or an archive of ELF files (`perf archive`).
    pub(crate) fn open(path: &Path) -> Result<DebugDir, Unusable> {
        let metadata = std::fs::metadata(path)?;
        if metadata.is_dir() {
            return Ok(DebugDir::Folder(path.to_path_buf()));
        }
        let content = Content::map_file(path)?;
        let (mut by_build_id, mut kernels) = (HashMap::new(), HashMap::new());
        let mut add = |content: Content, name: String| {
            if let Some(id) = build_id::of_file(&content) {
                by_build_id.entry(id).or_insert_with(Vec::new).push((content, name));
            }
        };
        if content.starts_with(b"\x7fELF") {
            add(content, path.display().to_string());
        } else {
            let unpacked;
            let tar = match content.starts_with(b"BZh") {
                false => path,
                true => {
                    unpacked = unpack_bzip2(&content)?;
                    unpacked.path()
                }
            };
            let fault = |error: &ArchiveError| {
                let message = || format!("{error} ({})", error.hint());
                error.is_of_this_machine().then(|| Unusable { message: message(), is_of_this_machine: true })
            };
            let no_archive = || Unusable::file("neither a folder, an ELF file nor an archive");
            let archive = Capture::open(tar).map_err(|error| fault(&error).unwrap_or_else(no_archive))?;
            for member in &archive.members {
                let content = match archive.read(member) {
                    Ok(content) => content,
                    // A file that this machine has no room for is not missing in the archive.
                    Err(error) => match fault(&error) {
                        Some(why) => return Err(why),
                        None => continue,
                    },
                };
                let name = format!("{}: {}", path.display(), member.path);
                if content.starts_with(b"\x7fELF") {
                    add(content, name);
                } else if let Some(id) = of_kernel_list(&member.path) {
                    kernels.insert(id, (content, name));
                }
            }
        }
        match by_build_id.is_empty() && kernels.is_empty() {
            true => Err(Unusable::file("holds no ELF file with a build id")),
            false => Ok(DebugDir::Files { by_build_id, kernels }),
        }
    }

    /// Finds the object itself.
    pub(crate) fn object(&self, path: &[u8], build_id: Option<&BuildId>) -> Result<Found, Missing> {
        let folder = match self {
            DebugDir::Folder(folder) => folder,
            DebugDir::Files { by_build_id, .. } => {
                let files = build_id.and_then(|id| by_build_id.get(id)).map_or(&[][..], Vec::as_slice);
                return files.iter().find(|(file, _)| has_code(file)).cloned().ok_or(Missing::NotInCapture);
            }
        };
        if let Some(id) = build_id {
            for hex in id.hex_forms() {
                let (first, rest) = hex.split_at(2.min(hex.len()));
                for place in [
                    format!(".build-id/{first}/{rest}"),
                    format!(".build-id/{first}/{rest}/elf"),
                    format!("{hex}/executable"),
                    format!(".debug/.build-id/{first}/{rest}/elf"),
                    format!("usr/lib/debug/.build-id/{first}/{rest}"),
                ] {
                    if let Some(found) = of_build(&folder.join(place), id).filter(|(file, _)| has_code(file)) {
                        return Ok(found);
                    }
                }
            }
        }
        let file = below(folder, path).ok_or(Missing::NotInCapture)?;
        let content = Content::map_file(&file).map_err(|_| Missing::NotInCapture)?;
        let content = compressed::unpacked(content).ok_or(Missing::NotInCapture)?;
        let own = build_id::of_file(&content);
        match build_id {
            Some(_) if own.as_ref() != build_id => Err(Missing::BuildIdMismatch),
            _ if !content.starts_with(b"\x7fELF") => Err(Missing::NotInCapture),
            _ => Ok((content, file.display().to_string())),
        }
    }

    /// Finds a kernel: its `vmlinux` at the places of the distributions, or the copy of its symbol list that
    /// `perf buildid-cache` and `perf archive` keep. That list states no build ID, but its path has it.
    pub(crate) fn kernel(&self, id: &BuildId) -> Option<Found> {
        let folder = match self {
            DebugDir::Folder(folder) => folder,
            DebugDir::Files { by_build_id, kernels } => {
                return by_build_id.get(id).and_then(|files| files.first()).or_else(|| kernels.get(id)).cloned();
            }
        };
        let named = |place: &str| files_named(&folder.join(place), "vmlinux");
        let mut images = ["", "boot", "usr/lib/debug", "usr/lib/debug/boot"]
            .iter()
            .flat_map(|place| named(place))
            .chain(["lib/modules", "usr/lib/debug/lib/modules"].iter().flat_map(|place| {
                let releases = files_named(&folder.join(place), "");
                releases.into_iter().flat_map(|release| [release.join("vmlinux"), release.join("build/vmlinux")])
            }));
        let lists = id.hex_forms().into_iter().flat_map(|hex| {
            let (first, rest) = (&hex[..2], &hex[2..]);
            [
                format!(".build-id/{first}/{rest}/kallsyms"),
                format!(".debug/.build-id/{first}/{rest}/kallsyms"),
                format!("[kernel.kallsyms]/{hex}/kallsyms"),
                format!(".debug/[kernel.kallsyms]/{hex}/kallsyms"),
            ]
        });
        images.find_map(|image| of_build(&image, id)).or_else(|| {
            let mut files = lists.map(|place| folder.join(place));
            files.find_map(|file| Some((Content::map_file(&file).ok()?, file.display().to_string())))
        })
    }

    /// Finds the debug file with the parts that were stripped from the object. `main` is the object, where there is
    /// one.
    pub(crate) fn debug_file(&self, path: &[u8], build_id: Option<&BuildId>, main: Option<&Content>) -> Option<Found> {
        let own = main.and_then(|main| build_id::of_file(main));
        let build_id = build_id.or(own.as_ref());
        let folder = match self {
            DebugDir::Folder(folder) => folder,
            DebugDir::Files { by_build_id, .. } => {
                return by_build_id.get(build_id?)?.iter().find(|(file, _)| !has_code(file)).cloned();
            }
        };
        for (id, hex) in build_id.iter().flat_map(|id| id.hex_forms().into_iter().map(move |hex| (id, hex))) {
            let (first, rest) = hex.split_at(2.min(hex.len()));
            for place in [
                format!(".build-id/{first}/{rest}.debug"),
                format!(".build-id/{first}/{rest}/debug"),
                format!("{hex}/debuginfo"),
                format!("usr/lib/debug/.build-id/{first}/{rest}.debug"),
                format!(".debug/.build-id/{first}/{rest}/debug"),
            ] {
                if let Some(found) = of_build(&folder.join(place), id) {
                    return Some(found);
                }
            }
        }
        // Debian stores the debug files of kernel modules only by their paths.
        for suffix in [&b""[..], b".debug"] {
            let place = below(folder, &[b"usr/lib/debug/", path, suffix].concat());
            if let Some(found) = place.zip(build_id).and_then(|(place, id)| of_build(&place, id)) {
                return Some(found);
            }
        }
        linked(folder, path, main?, build_id)
    }
}

impl DebugDir {
    /// Finds the debug information that several objects share (dwz), by its build ID. It is where debug files are, or
    /// at the path in the link, which may be relative to the debug file.
    pub(crate) fn shared(&self, link: &[u8], id: &BuildId) -> Option<Content> {
        let folder = match self {
            DebugDir::Folder(folder) => folder,
            DebugDir::Files { by_build_id, .. } => {
                return by_build_id.get(id)?.first().map(|(content, _)| content.clone());
            }
        };
        let by_id = self.debug_file(b"", Some(id), None);
        let by_path = || {
            let from = link.windows(3).rposition(|part| part == b"../").map_or(0, |at| at + 3);
            let places = [link[from..].to_vec(), [b"usr/lib/debug/", &link[from..]].concat()];
            places.iter().find_map(|path| of_build(&below(folder, path)?, id))
        };
        by_id.or_else(by_path).map(|(content, _)| content)
    }

    /// Finds the package with all .dwo files of an object. It has no build ID, but its units have ids.
    pub(crate) fn package(&self, path: &[u8], build_id: Option<&BuildId>) -> Option<Content> {
        let DebugDir::Folder(folder) = self else { return None };
        let name = [path, b".dwp"].concat();
        let last = path.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
        let ids = build_id.map_or(Vec::new(), BuildId::hex_forms);
        let by_id = ids.iter().map(|hex| format!(".build-id/{}/{}.dwp", &hex[..2], &hex[2..]).into_bytes());
        let mut places = by_id.chain([name.clone(), [b"usr/lib/debug/", &name[..]].concat(), name[last..].to_vec()]);
        places.find_map(|place| Content::map_file(&below(folder, &place)?).ok())
    }

    /// Gives the folder; `None` where this is no folder.
    pub(crate) fn folder(&self) -> Option<&Path> {
        match self {
            DebugDir::Folder(folder) => Some(folder),
            DebugDir::Files { .. } => None,
        }
    }
}

/// Finds the file that the object's .gnu_debuglink names: beside the object, in `.debug` or below `usr/lib/debug`. It
/// must have the object's build ID, or, where the object has none, the checksum that the link states.
fn linked(folder: &Path, path: &[u8], main: &Content, build_id: Option<&BuildId>) -> Option<Found> {
    let file = object::File::parse(&main[..]).ok()?;
    let (name, checksum) = file.gnu_debuglink().ok()??;
    if name.is_empty() || name.contains(&b'/') {
        return None;
    }
    let at = path.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
    let place = |prefix: &[u8], infix: &[u8]| [prefix, &path[..at], infix, name].concat();
    [place(b"", b""), place(b"", b".debug/"), place(b"/usr/lib/debug", b""), name.to_vec()].iter().find_map(|path| {
        let file = below(folder, path)?;
        let content = Content::map_file(&file).ok()?;
        let is_same = match (build_id, build_id::of_file(&content)) {
            (Some(wanted), Some(own)) => own == *wanted,
            _ => crc32fast::hash(&content) == checksum,
        };
        is_same.then(|| (content, file.display().to_string()))
    })
}

/// Gives the entries of a folder whose names begin with `start`, in the order of their names.
pub(crate) fn files_named(folder: &Path, start: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().take(MOST_ENTRIES).flatten();
    let fits = |entry: &std::fs::DirEntry| entry.file_name().as_bytes().starts_with(start.as_bytes());
    let mut found: Vec<PathBuf> = entries.filter(fits).map(|entry| entry.path()).collect();
    found.sort();
    found
}

/// Gives the build ID of the kernel that a list belongs to, by the path of the list in a cache:
/// `…/<build id>/kallsyms`.
fn of_kernel_list(path: &str) -> Option<BuildId> {
    let mut parts = path.rsplit('/');
    let (name, id, above) = (parts.next()?, parts.next()?, parts.next()?);
    let is_link = above.len() == 2; // .build-id/ab/cdef…
    match name {
        "kallsyms" if is_link => BuildId::from_hex(format!("{above}{id}").as_bytes()),
        "kallsyms" => BuildId::from_hex(id.as_bytes()),
        _ => None,
    }
}

/// Gives the file at `path` if it has that build ID.
fn of_build(path: &Path, build_id: &BuildId) -> Option<Found> {
    let content = Content::map_file(path).ok()?;
    (build_id::of_file(&content).as_ref() == Some(build_id)).then(|| (content, path.display().to_string()))
}

/// Gives a recorded path below a folder, if it stays there: it has no `..`, and no link leads out of the folder.
pub(crate) fn below(folder: &Path, recorded: &[u8]) -> Option<PathBuf> {
    let recorded = Path::new(OsStr::from_bytes(recorded));
    let mut file = folder.to_path_buf();
    for part in recorded.components() {
        match part {
            Component::Normal(name) => file.push(name),
            Component::RootDir | Component::CurDir => {}
            Component::ParentDir | Component::Prefix(_) => return None,
        }
    }
    let (real, root) = (file.canonicalize().ok()?, folder.canonicalize().ok()?);
    (real.starts_with(root) && real.is_file()).then_some(file)
}

/// Tells whether a file has the code of its program. Files with only debug information do not have it.
pub(crate) fn has_code(bytes: &[u8]) -> bool {
    use object::ObjectSection as _;
    let Ok(file) = object::File::parse(bytes) else { return false };
    file.section_by_name(".text").is_none_or(|text| text.file_range().is_some())
}

fn unpack_bzip2(content: &[u8]) -> Result<tempfile::NamedTempFile, Unusable> {
    let no_place = |error: std::io::Error| Unusable { message: error.to_string(), is_of_this_machine: true };
    let mut file = tempfile::NamedTempFile::new().map_err(no_place)?;
    let mut reader = bzip2::read::MultiBzDecoder::new(content).take(MOST_ARCHIVE_BYTES);
    let out: &mut File = file.as_file_mut();
    std::io::copy(&mut reader, out)?;
    Ok(file)
}
