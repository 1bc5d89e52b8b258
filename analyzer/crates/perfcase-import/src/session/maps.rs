//! Which object is mapped where: address spaces of processes and of the kernel.

use std::collections::BTreeMap;
use std::rc::Rc;

use hashbrown::HashMap;

use super::Session;
use super::threads::Upid;
use crate::tables::{DsoRow, Tables};

/// The capture's own key of an object.
pub type DsoId = u32;

/// Mappings of one process before further ones are only counted: a bound for hostile input.
const MAPPINGS_OF_A_PROCESS: usize = 1 << 20;

/// A mapping, as an MMAP or MMAP2 record or a kernel symbol record tells it.
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
    /// Build id of the file, where the record carries it.
    pub build_id: Option<&'a [u8]>,
    /// The file's path.
    pub path: &'a [u8],
    /// What it is, where that does not follow from the path: `bpf`.
    pub kind: Option<&'static str>,
    /// No code runs from it.
    pub is_data: bool,
}

#[derive(Clone)]
struct Region {
    end: u64,
    page_offset: u64,
    dso: DsoId,
    /// Generated code and heaps: their addresses stay as they are.
    is_identity: bool,
    is_data: bool,
}

#[derive(Clone)]
struct Space {
    generation: u32,
    regions: BTreeMap<u64, Region>,
}

struct Dso {
    path: Box<[u8]>,
    name: String,
    kind: &'static str,
    build_id: Option<Vec<u8>>,
}

/// Address spaces and objects.
pub(crate) struct Maps {
    spaces: HashMap<Upid, Rc<Space>>,
    kernel: Space,
    empty: Rc<Space>,
    next_generation: u32,
    dsos: Vec<Dso>,
    by_path: HashMap<Box<[u8]>, DsoId>,
    kernel_dso: Option<DsoId>,
    pub(crate) refused: u64,
}

impl Maps {
    pub(crate) fn new() -> Maps {
        let space = Space { generation: 0, regions: BTreeMap::new() };
        Maps {
            spaces: HashMap::new(),
            kernel: space.clone(),
            empty: Rc::new(space),
            next_generation: 1,
            dsos: Vec::new(),
            by_path: HashMap::new(),
            kernel_dso: None,
            refused: 0,
        }
    }

    /// Two numbers that change whenever a callchain of this process could resolve differently.
    #[inline]
    pub(crate) fn generation(&self, upid: Option<Upid>) -> (u32, u32) {
        let space = upid.and_then(|upid| self.spaces.get(&upid)).unwrap_or(&self.empty);
        (space.generation, self.kernel.generation)
    }

    /// A number that changes with every change of any process's mappings.
    #[inline]
    pub(crate) fn changes(&self) -> u32 {
        self.next_generation
    }

    /// A child process starts with its parent's mappings.
    pub(crate) fn copy(&mut self, parent: Upid, child: Upid) {
        if let Some(space) = self.spaces.get(&parent) {
            let space = space.clone();
            self.spaces.insert(child, space);
            self.next_generation += 1;
        }
    }

    /// Object and address within it of a kernel address.
    pub(crate) fn kernel_address(&mut self, address: u64) -> (Option<DsoId>, u64) {
        if let Some((_, region)) = self.kernel.regions.range(..=address).next_back()
            && address < region.end
        {
            return (Some(region.dso), address);
        }
        // Whatever ran in kernel mode outside every module is the kernel itself.
        (Some(self.kernel_dso()), address)
    }

    /// Object and address within it (its file offset) of a user address.
    pub(crate) fn user_address(&self, upid: Option<Upid>, address: u64) -> (Option<DsoId>, u64) {
        let space = upid.and_then(|upid| self.spaces.get(&upid)).unwrap_or(&self.empty);
        match space.regions.range(..=address).next_back() {
            Some((start, region)) if address < region.end => {
                let offset = (address - start).wrapping_add(region.page_offset);
                (Some(region.dso), if region.is_identity { address } else { offset })
            }
            _ => (None, address),
        }
    }

    /// Path and build id of an object; `None` for memory without a file.
    pub(crate) fn file_of(&self, dso: DsoId) -> Option<(&[u8], Option<&[u8]>)> {
        let dso = self.dsos.get(dso as usize).filter(|dso| dso.kind != "anon")?;
        Some((&dso.path, dso.build_id.as_deref()))
    }

    /// The short name of an object.
    pub(crate) fn name_of(&self, dso: DsoId) -> &str {
        self.dsos.get(dso as usize).map_or("?", |dso| &dso.name)
    }

    /// True where code of a process may be.
    pub(crate) fn is_code(&self, upid: Option<Upid>, address: u64) -> bool {
        let space = upid.and_then(|upid| self.spaces.get(&upid)).unwrap_or(&self.empty);
        let region = space.regions.range(..=address).next_back();
        region.is_some_and(|(_, region)| address < region.end && !region.is_data)
    }

    fn kernel_dso(&mut self) -> DsoId {
        match self.kernel_dso {
            Some(dso) => dso,
            None => {
                let dso = self.dso(b"[kernel.kallsyms]", Some("kernel"));
                self.kernel_dso = Some(dso);
                dso
            }
        }
    }

    fn dso(&mut self, path: &[u8], kind: Option<&'static str>) -> DsoId {
        if let Some(&dso) = self.by_path.get(path) {
            return dso;
        }
        let (name, guessed) = describe(path);
        let dso = self.dsos.len() as DsoId;
        self.dsos.push(Dso { path: path.into(), name, kind: kind.unwrap_or(guessed), build_id: None });
        self.by_path.insert(path.into(), dso);
        dso
    }

    /// The object of that path, which no mapping told.
    pub(crate) fn named(&mut self, path: &str) -> DsoId {
        if path.starts_with("[kernel.kallsyms]") { self.kernel_dso() } else { self.dso(path.as_bytes(), None) }
    }

    fn insert(&mut self, upid: Option<Upid>, start: u64, region: Region) {
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
        carve(&mut space.regions, start, region.end);
        space.regions.insert(start, region);
    }

    pub(crate) fn set_build_id(&mut self, path: &[u8], build_id: &[u8]) {
        // perf names the kernel's build id [kernel.kallsyms], its mapping [kernel.kallsyms]_text.
        let dso = if path.starts_with(b"[kernel.kallsyms]") { self.kernel_dso() } else { self.dso(path, None) };
        self.dsos[dso as usize].build_id.get_or_insert_with(|| build_id.to_vec());
    }

    pub(crate) fn write(&self, tables: &mut Tables) {
        for (id, dso) in self.dsos.iter().enumerate() {
            let hex = dso.build_id.as_ref().map(|id| id.iter().map(|b| format!("{b:02x}")).collect::<String>());
            tables.dso.push(DsoRow {
                dso_id: id as DsoId,
                name: &dso.name,
                path: &String::from_utf8_lossy(&dso.path),
                kind: dso.kind,
                build_id: hex.as_deref(),
            });
        }
    }
}

/// Makes room for a mapping of `start..end`: what it covers is gone, what it cuts is shortened or split.
fn carve(regions: &mut BTreeMap<u64, Region>, start: u64, end: u64) {
    let covered: Vec<u64> = regions.range(..end).rev().take_while(|(_, r)| r.end > start).map(|(s, _)| *s).collect();
    for old_start in covered {
        let Some(old) = regions.remove(&old_start) else { continue };
        if old_start < start {
            regions.insert(old_start, Region { end: start, ..old.clone() });
        }
        if old.end > end {
            let page_offset = old.page_offset.wrapping_add(end - old_start);
            regions.insert(end, Region { page_offset, ..old });
        }
    }
}

/// Short name and kind of an object by its path: the names are those that perf report prints.
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

/// Memory without a file that code may run from.
fn is_anonymous(path: &[u8]) -> bool {
    let starts: [&[u8]; 6] = [b"//anon", b"/dev/zero", b"/anon_hugepage", b"[heap]", b"[stack", b"/SYSV"];
    starts.iter().any(|start| path.starts_with(start))
}

/// The loader of programs: where it lies tells of how many bits they are.
fn is_loader(path: &[u8]) -> bool {
    let base = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    [&b"ld-linux"[..], b"ld-musl", b"ld-2.", b"ld.so.1", b"ld64.so"].iter().any(|start| base.starts_with(start))
}

impl Session {
    /// A mapping appeared. It replaces whatever was mapped there.
    pub fn map(&mut self, mapping: &Mapping<'_>) {
        let Some(end) = mapping.start.checked_add(mapping.length) else { return };
        if mapping.length == 0 {
            return;
        }
        let upid = mapping.pid.map(|pid| self.threads.process(pid));
        let is_kernel_text = upid.is_none() && mapping.path.starts_with(b"[kernel.kallsyms]");
        let name;
        let path = if let (Some(pid), true) = (mapping.pid, is_anonymous(mapping.path)) {
            // One name a process, as generated code of two processes has nothing in common.
            name = match mapping.path {
                [b'[', ..] => String::from_utf8_lossy(mapping.path).into_owned(),
                _ => format!("[JIT] tid {pid}"),
            };
            name.as_bytes()
        } else {
            mapping.path
        };
        let dso = if is_kernel_text { self.maps.kernel_dso() } else { self.maps.dso(path, mapping.kind) };
        let is_identity = is_anonymous(mapping.path);
        if is_identity {
            self.maps.dsos[dso as usize].kind = "anon";
        }
        if let Some(build_id) = mapping.build_id {
            self.maps.dsos[dso as usize].build_id.get_or_insert_with(|| build_id.to_vec());
        }
        if let (Some(upid), true) = (upid, mapping.path == b"[vdso]" || is_loader(mapping.path)) {
            self.set_process_compat(upid, mapping.start < 1 << 32);
        }
        let region = Region { end, page_offset: mapping.page_offset, dso, is_identity, is_data: mapping.is_data };
        self.maps.insert(upid, mapping.start, region);
    }

    /// The build id of an object, from a build-id table.
    pub fn build_id(&mut self, path: &[u8], build_id: &[u8]) {
        self.maps.set_build_id(path, build_id);
    }
}
