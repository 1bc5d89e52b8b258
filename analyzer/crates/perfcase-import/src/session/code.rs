//! Code that runtimes generate and move.

use std::rc::Rc;

use perfcase_decode::jitdump::SourceLine;

use super::Session;
use crate::model::code::{Code, NO_CODE};
use crate::model::regions::Region;

impl Session {
    /// Notes a function that a runtime generated. `lines` are sorted by their offsets.
    pub fn code_loaded(&mut self, pid: i32, start: u64, size_bytes: u64, name: &str, lines: Vec<SourceLine>) {
        let code = Code { start, name: name.into(), source: "jitdump", lines: lines.into() };
        self.place_code(pid, size_bytes, code);
    }

    /// Notes that a runtime moved a function. False when there is no function at the old address.
    pub fn code_moved(&mut self, pid: i32, old_start: u64, start: u64, size_bytes: u64) -> bool {
        let upid = self.model.threads.process(pid);
        let old = self.model.maps.spaces.get(&upid).and_then(|space| space.code.before(old_start));
        let old = old.filter(|(start, _)| *start == old_start).map(|(_, region)| region.code);
        let Some(old) = old.and_then(|id| self.model.maps.codes.get(id)) else { return false };
        let code = Code { start, name: old.name.clone(), source: old.source, lines: old.lines.clone() };
        self.place_code(pid, size_bytes, code);
        true
    }

    fn place_code(&mut self, pid: i32, size_bytes: u64, code: Code) {
        let start = code.start;
        let Some(end) = start.checked_add(size_bytes).filter(|end| *end > start) else { return };
        let upid = self.model.threads.process(pid);
        let maps = &mut self.model.maps;
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
