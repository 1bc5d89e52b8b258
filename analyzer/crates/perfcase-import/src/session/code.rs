//! Functions that records told of, each at its time: generated code, programs that the kernel loaded.

use std::rc::Rc;

use hashbrown::HashMap;

use super::Session;
use super::regions::Region;

/// A function that a record told; [`NO_CODE`] for all other addresses.
pub(crate) type CodeId = u32;

/// No record told a function.
pub(crate) const NO_CODE: CodeId = u32::MAX;

/// Functions that are kept, of all processes: a bound for hostile input.
const MOST_FUNCTIONS: usize = 1 << 23;

/// Where generated code comes from.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SourceLine {
    /// Distance from the function's start in bytes.
    pub offset_bytes: u64,
    /// Source file.
    pub file: Rc<str>,
    /// Line.
    pub line: u32,
}

pub(crate) struct Code {
    pub(crate) start: u64,
    pub(crate) name: Rc<str>,
    pub(crate) source: &'static str,
    /// Sorted by offset.
    lines: Rc<[SourceLine]>,
}

impl Code {
    /// The line that an address comes from.
    pub(crate) fn line(&self, address: u64) -> Option<&SourceLine> {
        let offset = address.checked_sub(self.start)?;
        let after = self.lines.partition_point(|line| line.offset_bytes <= offset);
        self.lines.get(after.checked_sub(1)?)
    }
}

#[derive(Default)]
pub(crate) struct Codes {
    all: Vec<Code>,
    functions: HashMap<(u64, Box<[u8]>), CodeId>,
}

impl Codes {
    pub(crate) fn get(&self, id: CodeId) -> Option<&Code> {
        self.all.get(id as usize)
    }

    fn add(&mut self, code: Code) -> CodeId {
        if self.all.len() >= MOST_FUNCTIONS {
            return NO_CODE;
        }
        self.all.push(code);
        (self.all.len() - 1) as CodeId
    }

    /// A function of the kernel: the same one each time that the same name is said of the same address.
    pub(super) fn function(&mut self, start: u64, name: &[u8]) -> CodeId {
        let key = (start, Box::from(name));
        if let Some(&id) = self.functions.get(&key) {
            return id;
        }
        let text = String::from_utf8_lossy(name);
        let id = self.add(Code { start, name: Rc::from(&*text), source: "bpf", lines: Rc::from([]) });
        self.functions.insert(key, id);
        id
    }
}

impl Session {
    /// A runtime generated a function. `lines` are sorted by their offsets.
    pub fn code_loaded(&mut self, pid: i32, start: u64, size_bytes: u64, name: &str, lines: Vec<SourceLine>) {
        let code = Code { start, name: name.into(), source: "jitdump", lines: lines.into() };
        self.place_code(pid, size_bytes, code);
    }

    /// A runtime moved a function. False when there is none at the old address.
    pub fn code_moved(&mut self, pid: i32, old_start: u64, start: u64, size_bytes: u64) -> bool {
        let upid = self.threads.process(pid);
        let old = self.maps.spaces.get(&upid).and_then(|space| space.code.before(old_start));
        let old = old.filter(|(start, _)| *start == old_start).map(|(_, region)| region.code);
        let Some(old) = old.and_then(|id| self.maps.codes.get(id)) else { return false };
        let code = Code { start, name: old.name.clone(), source: old.source, lines: old.lines.clone() };
        self.place_code(pid, size_bytes, code);
        true
    }

    fn place_code(&mut self, pid: i32, size_bytes: u64, code: Code) {
        let start = code.start;
        let Some(end) = start.checked_add(size_bytes).filter(|end| *end > start) else { return };
        let upid = self.threads.process(pid);
        let maps = &mut self.maps;
        let dso = maps.dso_of(format!("[JIT] tid {pid}").as_bytes(), None, Some(pid), Some("anon"));
        let code = maps.codes.add(code);
        if code == NO_CODE {
            return;
        }
        maps.next_generation += 1;
        let space = Rc::make_mut(maps.spaces.entry(upid).or_insert_with(|| maps.empty.clone()));
        space.generation = maps.next_generation;
        space.code.insert(start, Region { end, page_offset: 0, dso, is_identity: true, is_data: false, code });
    }
}
