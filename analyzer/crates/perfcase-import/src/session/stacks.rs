//! Callchains and frames, each stored once.

use std::hash::BuildHasher;

use hashbrown::DefaultHashBuilder;
use hashbrown::{HashMap, HashTable};

use super::Session;
use super::code::{CodeId, NO_CODE};
use super::maps::DsoId;
use super::threads::Upid;

/// The capture's own key of a callchain.
pub type StackId = u32;
/// The capture's own key of a frame.
pub type FrameId = u32;

/// Why a callchain has no further caller, as `stack.end_reason` says it.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct EndReason(u32);

impl EndReason {
    /// It ends with the thread's first function, or nothing is known.
    pub const NONE: EndReason = EndReason(0);
}

/// The frames of a callchain in `members`, and how it ends.
#[derive(Clone, Copy)]
pub(super) struct Stack {
    start: usize,
    depth: u32,
    pub(super) kernel_depth: u32,
    pub(super) end: EndReason,
}

impl Stack {
    pub(super) fn of<'a>(&self, members: &'a [FrameId]) -> (&'a [FrameId], EndReason) {
        (&members[self.start..self.start + self.depth as usize], self.end)
    }
}

/// Entries of a callchain from here on are markers, not addresses (PERF_CONTEXT_MAX of perf_event.h).
const CONTEXT_MAX: u64 = -4095i64 as u64;

/// Whether the entries after a marker are kernel addresses (PERF_CONTEXT_HV, _KERNEL, _GUEST_KERNEL) or user
/// addresses (_USER, _GUEST, _GUEST_USER). `None` for a marker whose meaning is not known: what follows it may be no
/// address at all (a cookie, after _USER_DEFERRED).
fn context_is_kernel(marker: u64) -> Option<bool> {
    match marker as i64 {
        -32 | -128 | -2176 => Some(true),
        -512 | -2048 | -2560 => Some(false),
        _ => None,
    }
}

/// perf's cpu modes that are not user mode: kernel, hypervisor, guest kernel.
fn is_kernel_mode(cpu_mode: u8) -> bool {
    matches!(cpu_mode, 1 | 3 | 4)
}

/// A raw callchain that was seen before, under mappings that have not changed since.
struct Seen {
    generation: (u32, u32),
    kernel_first: bool,
    end: EndReason,
    callers: Callers,
    start: usize,
    length: u32,
    stack: StackId,
}

#[derive(Clone, Copy, Eq, Hash, PartialEq)]
pub(super) struct Frame {
    pub(super) dso: Option<DsoId>,
    pub(super) address: u64,
    pub(super) is_kernel: bool,
    /// The function, where records told it.
    pub(super) code: CodeId,
    /// It is where a call returns to: the frame is that of the byte before it.
    pub(super) is_return: bool,
}

impl Frame {
    /// A byte of the instruction that the frame is at.
    pub(super) fn place(&self) -> u64 {
        self.address.wrapping_sub(u64::from(self.is_return))
    }
}

/// What the user addresses of a callchain are, except the first, which is where the thread was.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum Callers {
    /// Where calls return to, as the kernel finds it on the stack.
    #[default]
    Returns,
    /// The calls themselves, or the byte before where they return to.
    Calls,
}

/// A frame that the input itself names: its place, its function and the distance from the function's start.
type NamedFrame = (Frame, Option<Box<str>>, Option<u64>);

pub(crate) struct Stacks {
    hasher: DefaultHashBuilder,
    seen: HashTable<Seen>,
    /// The addresses of all `seen` callchains, one after the other.
    addresses: Vec<u64>,
    pub(super) frames: Vec<Frame>,
    by_frame: HashMap<Frame, FrameId>,
    pub(super) stacks: Vec<Stack>,
    end_reasons: Vec<Box<str>>,
    by_frames: HashTable<StackId>,
    /// The frames of all stacks, one after the other.
    pub(super) members: Vec<FrameId>,
    scratch: Vec<FrameId>,
    /// Frames of sampled addresses: those of tracepoints are always the same few.
    recent: Vec<Option<(SampledAt, FrameId)>>,
    /// The frames that the input itself names.
    named_frames: HashMap<NamedFrame, FrameId>,
    /// Their names and offsets.
    pub(super) recorded_names: HashMap<FrameId, (Option<Box<str>>, Option<u64>)>,
    last_space: LastSpace,
}

/// What a process id meant last, valid as long as no process and no mapping was added.
#[derive(Default)]
struct LastSpace {
    pid: Option<i32>,
    state: (usize, u32),
    upid: Option<Upid>,
    generation: (u32, u32),
}

/// A sampled address, under mappings that have not changed since.
#[derive(Clone, Copy, PartialEq)]
struct SampledAt {
    generation: (u32, u32),
    is_kernel: bool,
    address: u64,
}

const RECENT: usize = 1024;

impl Stacks {
    pub(crate) fn new() -> Stacks {
        Stacks {
            hasher: DefaultHashBuilder::default(),
            seen: HashTable::new(),
            addresses: Vec::new(),
            frames: Vec::new(),
            by_frame: HashMap::new(),
            stacks: Vec::new(),
            end_reasons: vec![Box::default()],
            by_frames: HashTable::new(),
            members: Vec::new(),
            scratch: Vec::new(),
            recent: vec![None; RECENT],
            named_frames: HashMap::new(),
            recorded_names: HashMap::new(),
            last_space: LastSpace::default(),
        }
    }

    fn intern_frame(&mut self, frame: Frame) -> FrameId {
        let next = self.frames.len() as FrameId;
        let id = *self.by_frame.entry(frame).or_insert(next);
        if id == next {
            self.frames.push(frame);
        }
        id
    }

    /// The key of a reason. There are few: one an object and kind.
    pub(crate) fn end_reason(&mut self, text: &str) -> EndReason {
        let known = self.end_reasons.iter().position(|known| **known == *text);
        let at = known.unwrap_or_else(|| {
            self.end_reasons.push(text.into());
            self.end_reasons.len() - 1
        });
        EndReason(at as u32)
    }

    pub(crate) fn reason(&self, end: EndReason) -> &str {
        &self.end_reasons[end.0 as usize]
    }

    fn intern_stack(&mut self, end: EndReason) -> StackId {
        let frames = std::mem::take(&mut self.scratch);
        let hash = self.hasher.hash_one((&frames[..], end));
        let (stacks, members) = (&self.stacks, &self.members);
        let found = self.by_frames.find(hash, |id| stacks[*id as usize].of(members) == (&frames[..], end)).copied();
        let id = found.unwrap_or_else(|| {
            let id = self.stacks.len() as StackId;
            let is_kernel = |frame: &&FrameId| self.frames[**frame as usize].is_kernel;
            let kernel_depth = frames.iter().take_while(is_kernel).count() as u32;
            let start = self.members.len();
            self.members.extend_from_slice(&frames);
            self.stacks.push(Stack { start, depth: frames.len() as u32, kernel_depth, end });
            let (stacks, members, hasher) = (&self.stacks, &self.members, &self.hasher);
            self.by_frames.insert_unique(hash, id, |id| hasher.hash_one(stacks[*id as usize].of(members)));
            id
        });
        self.scratch = frames;
        id
    }
}

impl Session {
    /// The frame of one address of a process.
    pub fn frame(&mut self, pid: Option<i32>, cpu_mode: u8, address: u64) -> FrameId {
        let (upid, generation) = self.space_of(pid);
        let is_kernel = is_kernel_mode(cpu_mode);
        let at = SampledAt { generation, is_kernel, address };
        let slot = (address ^ (address >> 10) ^ u64::from(at.generation.0)) as usize % RECENT;
        match self.stacks.recent[slot] {
            Some((seen, frame)) if seen == at => frame,
            _ => {
                let frame = self.resolve(upid, is_kernel, address, false);
                self.stacks.recent[slot] = Some((at, frame));
                frame
            }
        }
    }

    /// The object that an address of a process's data lies in; `None` for what no mapping covers and for the kernel's.
    pub fn data_object(&mut self, pid: Option<i32>, address: u64) -> Option<DsoId> {
        let (upid, _) = self.space_of(pid);
        self.maps.user_address(upid, address).dso
    }

    /// The process that has an id now, and the generation of its mappings. Samples come in runs of one process.
    #[inline]
    pub(super) fn space_of(&mut self, pid: Option<i32>) -> (Option<Upid>, (u32, u32)) {
        let state = (self.threads.processes.len(), self.maps.changes());
        let last = &self.stacks.last_space;
        if last.pid != pid || last.state != state {
            let upid = pid.and_then(|pid| self.threads.find_process(pid));
            let generation = self.maps.generation(upid);
            self.stacks.last_space = LastSpace { pid, state, upid, generation };
        }
        (self.stacks.last_space.upid, self.stacks.last_space.generation)
    }

    fn resolve(&mut self, upid: Option<Upid>, is_kernel: bool, address: u64, is_return: bool) -> FrameId {
        let before = u64::from(is_return);
        let place = match is_kernel {
            true => self.maps.kernel_address(address),
            false => self.maps.user_address(upid, address.wrapping_sub(before)),
        };
        let address = place.address.wrapping_add(before);
        self.stacks.intern_frame(Frame { dso: place.dso, address, is_kernel, code: place.code, is_return })
    }

    /// A frame that the input names itself: the object by its path, the address as it was printed.
    pub fn named_frame(
        &mut self,
        object: Option<&str>,
        address: u64,
        is_kernel: bool,
        symbol: Option<&str>,
        offset: Option<u64>,
    ) -> FrameId {
        let dso = object.map(|path| self.maps.named(path));
        let key = (Frame { dso, address, is_kernel, code: NO_CODE, is_return: false }, symbol.map(Box::from), offset);
        if let Some(&id) = self.stacks.named_frames.get(&key) {
            return id;
        }
        let id = self.stacks.frames.len() as FrameId;
        self.stacks.frames.push(key.0);
        self.stacks.recorded_names.insert(id, (key.1.clone(), offset));
        self.stacks.named_frames.insert(key, id);
        id
    }

    /// True for code of the kernel.
    pub fn is_kernel_frame(&self, frame: FrameId) -> bool {
        self.stacks.frames.get(frame as usize).is_some_and(|frame| frame.is_kernel)
    }

    /// The callchain of these frames, leaf first; `None` for none.
    pub fn named_stack(&mut self, frames: &[FrameId]) -> Option<StackId> {
        if frames.is_empty() {
            return None;
        }
        self.stacks.scratch.clear();
        self.stacks.scratch.extend_from_slice(frames);
        Some(self.stacks.intern_stack(EndReason::NONE))
    }

    /// The key of a reason for `stack.end_reason`.
    pub fn end_reason(&mut self, text: &str) -> EndReason {
        self.stacks.end_reason(text)
    }

    /// A callchain as perf records it: addresses, leaf first, with PERF_CONTEXT markers between kernel and user.
    ///
    /// `None` when it holds no address.
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
        let hash = self.stacks.hasher.hash_one((generation, kernel_first, end, callers, chain));
        let addresses = &self.stacks.addresses;
        let seen = self.stacks.seen.find(hash, |seen| {
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
        self.stacks.scratch.clear();
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
            self.stacks.scratch.push(frame);
        }
        if self.stacks.scratch.is_empty() {
            return None;
        }
        let stacks = &mut self.stacks;
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
