//! Callchains of records.

use std::hash::BuildHasher;

use super::{Callers, EndReason, Session, Upid};
use crate::model::code::NO_CODE;
use crate::model::maps::DsoId;
use crate::model::stacks::{
    CONTEXT_MAX, Frame, FrameId, LastSpace, RECENT, SampledAt, Seen, StackId, context_is_kernel, is_kernel_mode,
};

impl Session {
    /// Gives the frame of an address of a process.
    pub fn frame(&mut self, pid: Option<i32>, cpu_mode: u8, address: u64) -> FrameId {
        let (upid, generation) = self.space_of(pid);
        let is_kernel = is_kernel_mode(cpu_mode);
        let at = SampledAt { generation, is_kernel, address };
        let slot = (address ^ (address >> 10) ^ u64::from(at.generation.0)) as usize % RECENT;
        match self.model.stacks.recent[slot] {
            Some((seen, frame)) if seen == at => frame,
            _ => {
                let frame = self.resolve(upid, is_kernel, address, false);
                self.model.stacks.recent[slot] = Some((at, frame));
                frame
            }
        }
    }

    /// Gives the object of a data address of a process; `None` for an address without a mapping, and for the kernel's.
    pub fn data_object(&mut self, pid: Option<i32>, address: u64) -> Option<DsoId> {
        let (upid, _) = self.space_of(pid);
        self.model.maps.user_address(upid, address).dso
    }

    /// Gives the current process of an id, and the generation of its mappings. Often several samples in a row have the
    /// same process.
    #[inline]
    pub(super) fn space_of(&mut self, pid: Option<i32>) -> (Option<Upid>, (u32, u32)) {
        let state = (self.model.threads.processes.len(), self.model.maps.changes());
        let last = &self.model.stacks.last_space;
        if last.pid != pid || last.state != state {
            let upid = pid.and_then(|pid| self.model.threads.find_process(pid));
            let generation = self.model.maps.generation(upid);
            self.model.stacks.last_space = LastSpace { pid, state, upid, generation };
        }
        (self.model.stacks.last_space.upid, self.model.stacks.last_space.generation)
    }

    fn resolve(&mut self, upid: Option<Upid>, is_kernel: bool, address: u64, is_return: bool) -> FrameId {
        let before = u64::from(is_return);
        let place = match is_kernel {
            true => self.model.maps.kernel_address(address),
            false => self.model.maps.user_address(upid, address.wrapping_sub(before)),
        };
        let address = place.address.wrapping_add(before);
        self.model.stacks.intern_frame(Frame { dso: place.dso, address, is_kernel, code: place.code, is_return })
    }

    /// Gives a frame that the input names: the object by its path, the address as it was printed.
    pub fn named_frame(
        &mut self,
        object: Option<&str>,
        address: u64,
        is_kernel: bool,
        symbol: Option<&str>,
        offset: Option<u64>,
    ) -> FrameId {
        let dso = object.map(|path| self.model.maps.named(path));
        let key = (Frame { dso, address, is_kernel, code: NO_CODE, is_return: false }, symbol.map(Box::from), offset);
        if let Some(&id) = self.model.stacks.named_frames.get(&key) {
            return id;
        }
        let id = self.model.stacks.frames.len() as FrameId;
        self.model.stacks.frames.push(key.0);
        self.model.stacks.recorded_names.insert(id, (key.1.clone(), offset));
        self.model.stacks.named_frames.insert(key, id);
        id
    }

    /// Tells whether a frame is code of the kernel.
    pub fn is_kernel_frame(&self, frame: FrameId) -> bool {
        self.model.stacks.frames.get(frame as usize).is_some_and(|frame| frame.is_kernel)
    }

    /// Gives the callchain of these frames, the leaf first; `None` without frames.
    pub fn named_stack(&mut self, frames: &[FrameId]) -> Option<StackId> {
        if frames.is_empty() {
            return None;
        }
        self.model.stacks.scratch.clear();
        self.model.stacks.scratch.extend_from_slice(frames);
        Some(self.model.stacks.intern_stack(EndReason::NONE))
    }

    /// Gives the key of a reason for `stack.end_reason`.
    pub fn end_reason(&mut self, text: &str) -> EndReason {
        self.model.stacks.end_reason(text)
    }

    /// Gives the key of a callchain as perf records it: addresses, the leaf first, with PERF_CONTEXT markers between
    /// kernel and user.
    ///
    /// `None` when it has no address.
    #[inline]
    pub fn stack(
        &mut self,
        pid: Option<i32>,
        cpu_mode: u8,
        chain: &[u64],
        (end, callers): (EndReason, Callers),
    ) -> Option<StackId> {
        let (upid, generation) = self.space_of(pid);
        let kernel_first = is_kernel_mode(cpu_mode);
        let hash = self.model.stacks.hasher.hash_one((generation, kernel_first, end, callers, chain));
        let addresses = &self.model.stacks.addresses;
        let seen = self.model.stacks.seen.find(hash, |seen| {
            seen.generation == generation
                && seen.kernel_first == kernel_first
                && (seen.end, seen.callers) == (end, callers)
                && addresses[seen.start..seen.start + seen.length as usize] == *chain
        });
        match seen {
            Some(seen) => Some(seen.stack),
            None => self.new_stack(upid, generation, (kernel_first, end, callers), hash, chain),
        }
    }

    #[cold]
    fn new_stack(
        &mut self,
        upid: Option<Upid>,
        generation: (u32, u32),
        (kernel_first, end, callers): (bool, EndReason, Callers),
        hash: u64,
        chain: &[u64],
    ) -> Option<StackId> {
        let mut is_kernel = kernel_first;
        let mut is_caller = false;
        self.model.stacks.scratch.clear();
        for &address in chain {
            if address >= CONTEXT_MAX {
                match context_is_kernel(address) {
                    Some(kernel) => is_kernel = kernel,
                    None => break,
                }
                continue;
            }
            let is_return = !is_kernel && is_caller && callers == Callers::Returns;
            is_caller = !is_kernel;
            let frame = self.resolve(upid, is_kernel, address, is_return);
            self.model.stacks.scratch.push(frame);
        }
        if self.model.stacks.scratch.is_empty() {
            return None;
        }
        let stacks = &mut self.model.stacks;
        let stack = stacks.intern_stack(end);
        let start = stacks.addresses.len();
        stacks.addresses.extend_from_slice(chain);
        let seen = Seen { generation, kernel_first, end, callers, start, length: chain.len() as u32, stack };
        let (addresses, hasher) = (&stacks.addresses, &stacks.hasher);
        stacks.seen.insert_unique(hash, seen, |seen| {
            let chain = &addresses[seen.start..seen.start + seen.length as usize];
            hasher.hash_one((seen.generation, seen.kernel_first, seen.end, seen.callers, chain))
        });
        Some(stack)
    }
}
