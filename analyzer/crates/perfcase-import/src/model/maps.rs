//! The objects and where they are mapped: address spaces of processes and of the kernel.

use std::rc::Rc;

use hashbrown::HashMap;
use perfcase_symbols::Placement;

use super::code::{CodeId, Codes, NO_CODE};
use super::load::{Load, placement};
use super::regions::{Region, Regions};
use super::threads::Upid;
use crate::tables::{DsoRow, Tables};

/// The capture's own key of an object.
pub type DsoId = u32;

/// The most mappings of one process. Further ones are only counted: a bound for hostile input.
const MAPPINGS_OF_A_PROCESS: usize = 1 << 20;

/// A mapping, from an MMAP or MMAP2 record or a kernel symbol record.
#[derive(Clone, Debug, Default)]
pub struct Mapping<'a> {
    /// The process; `None` for the kernel.
    pub pid: Option<i32>,
    /// First address.
    pub start: u64,
    /// Length in bytes.
    pub length: u64,
    /// Offset of the first byte in the file.
    pub page_offset: u64,
    /// Build id of the file, where the record has it.
    pub build_id: Option<&'a [u8]>,
    /// Inode of the file and the inode's generation, which may be 0 for unknown, where the record has them instead.
    pub inode: Option<(u64, u64)>,
    /// The file's path.
    pub path: &'a [u8],
    /// Its kind, if the path does not show it: `bpf`.
    pub kind: Option<&'static str>,
    /// No code runs from it.
    pub is_data: bool,
    /// It is a single function, and the path is its name: a kernel symbol record.
    pub is_function: bool,
}

#[derive(Clone)]
pub(crate) struct Space {
    pub(crate) generation: u32,
    pub(crate) regions: Regions,
    /// Generated functions. They are separate from the mappings, because a runtime that changes the protection of its
    /// memory maps it again.
    pub(crate) code: Regions,
}

/// The object and function of an address.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Place {
    /// The object.
    pub dso: Option<DsoId>,
    /// The address within it.
    pub address: u64,
    /// The function, if a record names it.
    pub code: CodeId,
}

/// An object. Two builds of one path are two objects, and the generated code of two processes is two objects.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
struct DsoKey {
    path: Box<[u8]>,
    build_id: Option<Box<[u8]>>,
    pid: Option<i32>,
}

pub(crate) struct Dso {
    pub(crate) path: Box<[u8]>,
    name: String,
    pub(crate) kind: &'static str,
    pub(crate) build_id: Option<Vec<u8>>,
    /// The process whose memory it is; `None` for files.
    pub(crate) pid: Option<i32>,
    /// The file of mappings without a build id: device and inode.
    inode: Option<(u64, u64)>,
    /// Mappings have different files of one path.
    is_several: bool,
    /// A mapping has the build id.
    is_proven: bool,
    /// Where the kernel or a module was loaded.
    pub(crate) load: Load,
}

/// Why an object without a known file has no names.
pub(crate) const SEVERAL_FILES: &str = "several files had this path";

/// Where the names of an object's functions come from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origin {
    /// The origin of the names.
    pub(crate) symbols: Option<String>,
    /// Why there are no names.
    pub(crate) missing_reason: Option<String>,
}

/// Address spaces and objects.
pub(crate) struct Maps {
    pub(crate) spaces: HashMap<Upid, Rc<Space>>,
    pub(crate) kernel: Space,
    pub(crate) empty: Rc<Space>,
    pub(crate) next_generation: u32,
    pub(crate) dsos: Vec<Dso>,
    by_key: HashMap<DsoKey, DsoId>,
    /// The object of each path that was mapped last.
    latest: HashMap<DsoKey, DsoId>,
    pub(crate) codes: Codes,
    kernel_dso: Option<DsoId>,
    /// From where on kernel code is in modules; the end of all addresses where that is not known, or modules are not recorded.
    pub(crate) module_space: u64,
    pub(crate) refused: u64,
}

impl Maps {
    pub(crate) fn new() -> Maps {
        let space = Space { generation: 0, regions: Regions::default(), code: Regions::default() };
        Maps {
            spaces: HashMap::new(),
            kernel: space.clone(),
            empty: Rc::new(space),
            next_generation: 1,
            dsos: Vec::new(),
            by_key: HashMap::new(),
            latest: HashMap::new(),
            codes: Codes::default(),
            kernel_dso: None,
            module_space: u64::MAX,
            refused: 0,
        }
    }

    /// Gives two numbers that change when the frames of a callchain of this process could change.
    #[inline]
    pub(crate) fn generation(&self, upid: Option<Upid>) -> (u32, u32) {
        let space = upid.and_then(|upid| self.spaces.get(&upid)).unwrap_or(&self.empty);
        (space.generation, self.kernel.generation)
    }

    /// Gives a number that changes with every change of a mapping.
    #[inline]
    pub(crate) fn changes(&self) -> u32 {
        self.next_generation
    }

    /// Gives a child process the mappings of its parent.
    pub(crate) fn copy(&mut self, parent: Upid, child: Upid) {
        if let Some(space) = self.spaces.get(&parent) {
            let space = space.clone();
            self.spaces.insert(child, space);
            self.next_generation += 1;
        }
    }

    /// Gives the object of a kernel address, and the address in it.
    pub(crate) fn kernel_address(&mut self, address: u64) -> Place {
        if let Some((_, region)) = self.kernel.regions.at(address) {
            return Place { dso: Some(region.dso), address, code: region.code };
        }
        // What is where modules are, but in none of those recorded, the kernel generated: a seccomp filter, say. Elsewhere
        // what is in no module is the kernel itself.
        let dso = if address >= self.module_space { None } else { Some(self.kernel_dso()) };
        Place { dso, address, code: NO_CODE }
    }

    /// Gives the kind of an object's addresses, for its file; `None` where nothing proves that a file is this object.
    pub(crate) fn placement(&self, dso: DsoId) -> Option<Placement> {
        let dso = self.dsos.get(dso as usize)?;
        let (symbol, address) = dso.load.at().unzip();
        placement(dso.kind, dso.build_id.is_some(), symbol, address)
    }

    /// Gives the object of a user address, and the address in it (the offset in its file).
    pub(crate) fn user_address(&self, upid: Option<Upid>, address: u64) -> Place {
        let space = upid.and_then(|upid| self.spaces.get(&upid)).unwrap_or(&self.empty);
        match space.regions.at(address) {
            Some((start, region)) if !region.is_identity => {
                let address = (address - start).wrapping_add(region.page_offset);
                Place { dso: Some(region.dso), address, code: region.code }
            }
            anonymous => {
                let code = space.code.at(address).map(|(_, code)| code);
                let dso = anonymous.map(|(_, region)| region.dso).or(code.map(|code| code.dso));
                Place { dso, address, code: code.map_or(NO_CODE, |code| code.code) }
            }
        }
    }

    /// Gives the path and build id of an object; `None` for memory without a file.
    pub(crate) fn file_of(&self, dso: DsoId) -> Option<(&[u8], Option<&[u8]>)> {
        let dso = self.dsos.get(dso as usize).filter(|dso| dso.kind != "anon")?;
        Some((&dso.path, dso.build_id.as_deref()))
    }

    /// Tells whether an object is known only by a path that several files had, one after the other or in different
    /// containers.
    pub(crate) fn is_several(&self, dso: DsoId) -> bool {
        self.dsos.get(dso as usize).is_some_and(|dso| dso.is_several && !dso.is_proven)
    }

    pub(crate) fn saw_file(&mut self, dso: DsoId, build_id: Option<&[u8]>, inode: Option<(u64, u64)>) {
        let Some(dso) = self.dsos.get_mut(dso as usize) else { return };
        dso.is_proven |= build_id.is_some();
        let Some(now) = inode.filter(|(number, _)| *number != 0) else { return };
        let before = *dso.inode.get_or_insert(now);
        // Records that perf makes of mappings before the recording have no generation.
        let is_unknown = before.1 == 0 || now.1 == 0;
        dso.is_several |= before.0 != now.0 || (before.1 != now.1 && !is_unknown);
        if before.1 == 0 {
            dso.inode = Some(now);
        }
    }

    /// Gives the short name of an object.
    pub(crate) fn name_of(&self, dso: DsoId) -> &str {
        self.dsos.get(dso as usize).map_or("?", |dso| &dso.name)
    }

    /// Tells whether code of a process may be in an object.
    pub(crate) fn is_code(&self, upid: Option<Upid>, address: u64) -> bool {
        let space = upid.and_then(|upid| self.spaces.get(&upid)).unwrap_or(&self.empty);
        space.regions.at(address).is_some_and(|(_, region)| !region.is_data)
    }

    pub(crate) fn kernel_dso(&mut self) -> DsoId {
        match self.kernel_dso {
            Some(dso) => dso,
            None => {
                let dso = self.dso(b"[kernel.kallsyms]", Some("kernel"));
                self.kernel_dso = Some(dso);
                dso
            }
        }
    }

    /// Gives the object of a path. Without a build id it is the object that was mapped last: records of a page that was
    /// not in memory have no build id.
    fn dso(&mut self, path: &[u8], kind: Option<&'static str>) -> DsoId {
        self.dso_of(path, None, None, kind)
    }

    pub(crate) fn dso_of(
        &mut self,
        path: &[u8],
        build_id: Option<&[u8]>,
        pid: Option<i32>,
        kind: Option<&'static str>,
    ) -> DsoId {
        let any = DsoKey { path: path.into(), build_id: None, pid };
        let latest = self.latest.get(&any).copied();
        let Some(build_id) = build_id else {
            return latest.unwrap_or_else(|| self.new_dso(any, kind));
        };
        let key = DsoKey { build_id: Some(build_id.into()), ..any.clone() };
        if let Some(&dso) = self.by_key.get(&key) {
            self.latest.insert(any, dso);
            return dso;
        }
        match latest.and_then(|dso| Some((dso, &mut self.dsos.get_mut(dso as usize)?.build_id))) {
            // It was mapped before, without its build id.
            Some((dso, known @ None)) => {
                *known = Some(build_id.to_vec());
                self.by_key.insert(key, dso);
                dso
            }
            _ => self.new_dso(key, kind),
        }
    }

    fn new_dso(&mut self, key: DsoKey, kind: Option<&'static str>) -> DsoId {
        let (name, guessed) = describe(&key.path);
        let dso = self.dsos.len() as DsoId;
        self.dsos.push(Dso {
            path: key.path.clone(),
            name,
            kind: kind.unwrap_or(guessed),
            build_id: key.build_id.as_deref().map(<[u8]>::to_vec),
            pid: key.pid,
            inode: None,
            is_several: false,
            is_proven: false,
            load: Load::Unknown,
        });
        self.latest.insert(DsoKey { build_id: None, ..key.clone() }, dso);
        self.by_key.insert(key, dso);
        dso
    }

    /// Gives the object of a path that has no mapping.
    pub(crate) fn named(&mut self, path: &str) -> DsoId {
        if path.starts_with("[kernel.kallsyms]") { self.kernel_dso() } else { self.dso(path.as_bytes(), None) }
    }

    pub(crate) fn insert(&mut self, upid: Option<Upid>, start: u64, region: Region) {
        self.next_generation += 1;
        let space = match upid {
            None => &mut self.kernel,
            Some(upid) => Rc::make_mut(self.spaces.entry(upid).or_insert_with(|| self.empty.clone())),
        };
        space.generation = self.next_generation;
        if space.regions.len() >= MAPPINGS_OF_A_PROCESS {
            self.refused += 1;
            return;
        }
        space.regions.insert(start, region);
    }

    pub(crate) fn set_build_id(&mut self, path: &[u8], build_id: Option<&[u8]>) {
        let Some(build_id) = build_id else { return };
        // perf uses the name [kernel.kallsyms] for the kernel's build id, and [kernel.kallsyms]_text for its mapping.
        if path.starts_with(b"[kernel.kallsyms]") {
            let dso = self.kernel_dso();
            self.dsos[dso as usize].build_id.get_or_insert_with(|| build_id.to_vec());
        } else {
            self.dso_of(path, Some(build_id), None, None);
        }
    }

    pub(crate) fn write(&self, tables: &mut Tables, origins: &[Origin]) {
        for (id, dso) in self.dsos.iter().enumerate() {
            let hex = dso.build_id.as_ref().map(|id| id.iter().map(|b| format!("{b:02x}")).collect::<String>());
            let origin = origins.get(id);
            tables.dso.push(DsoRow {
                dso_id: id as DsoId,
                name: &dso.name,
                path: &String::from_utf8_lossy(&dso.path),
                kind: dso.kind,
                build_id: hex.as_deref(),
                load_symbol: dso.load.at().map(|(symbol, _)| symbol),
                load_address: dso.load.at().map(|(_, address)| address),
                symbols: origin.and_then(|origin| origin.symbols.as_deref()),
                missing_reason: origin.and_then(|origin| origin.missing_reason.as_deref()),
            });
        }
    }
}

/// Gives the short name and the kind of an object by its path. The names are those of perf report.
fn describe(path: &[u8]) -> (String, &'static str) {
    let text = String::from_utf8_lossy(path);
    let base = text.rsplit('/').next().unwrap_or(&text);
    if text.starts_with("[kernel.") || text.starts_with("[guest.kernel.") {
        return (text.split(']').next().unwrap_or("[kernel.kallsyms").to_string() + "]", "kernel");
    }
    if text == "[vdso]" || text == "[vdso32]" || text == "[vsyscall]" {
        return (text.into_owned(), "vdso");
    }
    if let Some(module) = module_name(base) {
        return (format!("[{module}]"), "module");
    }
    if text.starts_with('[') && text.ends_with(']') {
        let kind = if matches!(&*text, "[heap]" | "[stack]" | "[uprobes]") { "anon" } else { "module" };
        return (text.into_owned(), kind);
    }
    if is_anonymous(path) {
        return (text.into_owned(), "anon");
    }
    (base.to_string(), "user")
}

fn module_name(base: &str) -> Option<String> {
    let stem = ["", ".gz", ".xz", ".zst"].iter().find_map(|c| base.strip_suffix(&format!(".ko{c}")))?;
    Some(stem.replace('-', "_"))
}

/// Tells whether a path means memory without a file that may contain code.
pub(crate) fn is_anonymous(path: &[u8]) -> bool {
    let starts: [&[u8]; 6] = [b"//anon", b"/dev/zero", b"/anon_hugepage", b"[heap]", b"[stack", b"/SYSV"];
    starts.iter().any(|start| path.starts_with(start))
}

/// Tells whether a path means named memory: runtimes map generated code from it, once to write and once to run.
pub(crate) fn is_memfd(path: &[u8]) -> bool {
    path.starts_with(b"/memfd:")
}

/// Tells whether a path is a loader of programs. Its address shows whether a program has 32 or 64 bits.
pub(crate) fn is_loader(path: &[u8]) -> bool {
    let base = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    [&b"ld-linux"[..], b"ld-musl", b"ld-2.", b"ld.so.1", b"ld64.so"].iter().any(|start| base.starts_with(start))
}
