//! Functions that records name, each at its time: generated code, programs that the kernel loaded.

use std::rc::Rc;

use hashbrown::HashMap;
use perfcase_decode::jitdump::SourceLine;

/// The key of a function that a record names; [`NO_CODE`] for all other addresses.
pub(crate) type CodeId = u32;

/// No record names a function.
pub(crate) const NO_CODE: CodeId = u32::MAX;

/// The most functions of all processes: a bound for hostile input.
const MOST_FUNCTIONS: usize = 1 << 23;

pub(crate) struct Code {
    pub(crate) start: u64,
    pub(crate) name: Rc<str>,
    pub(crate) source: &'static str,
    /// Sorted by offset.
    pub(crate) lines: Rc<[SourceLine]>,
}

impl Code {
    /// Gives the source line of an address.
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

    pub(crate) fn add(&mut self, code: Code) -> CodeId {
        if self.all.len() >= MOST_FUNCTIONS {
            return NO_CODE;
        }
        self.all.push(code);
        (self.all.len() - 1) as CodeId
    }

    /// Gives the key of a function of the kernel. The same name and address always have the same key.
    pub(crate) fn function(&mut self, start: u64, name: &[u8]) -> CodeId {
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
