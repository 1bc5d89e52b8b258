//! Callchains and frames, each stored once.

use std::hash::BuildHasher;

use hashbrown::DefaultHashBuilder;
use hashbrown::{HashMap, HashTable};

use super::code::CodeId;
use super::maps::DsoId;
use super::threads::Upid;

/// The capture's own key of a callchain.
pub type StackId = u32;
/// The capture's own key of a frame.
pub type FrameId = u32;

/// Why a callchain has no further caller: the text of `stack.end_reason`.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct EndReason(u32);

impl EndReason {
    /// It ends with the thread's first function, or the reason is unknown.
    pub const NONE: EndReason = EndReason(0);
}

/// The frames of a callchain in `members`, and how it ends.
#[derive(Clone, Copy)]
pub(crate) struct Stack {
    start: usize,
    depth: u32,
    pub(crate) kernel_depth: u32,
    pub(crate) end: EndReason,
}

impl Stack {
    pub(crate) fn of<'a>(&self, members: &'a [FrameId]) -> (&'a [FrameId], EndReason) {
        (&members[self.start..self.start + self.depth as usize], self.end)
    }
}

/// The smallest entry of a callchain that is a marker and no address (PERF_CONTEXT_MAX of perf_event.h).
pub(crate) const CONTEXT_MAX: u64 = -4095i64 as u64;

/// Tells whether the entries after a marker are kernel addresses (PERF_CONTEXT_HV, _KERNEL, _GUEST_KERNEL) or user
/// addresses (_USER, _GUEST, _GUEST_USER). `None` for an unknown marker: the entries after it may not be addresses (a
/// cookie, after _USER_DEFERRED).
pub(crate) fn context_is_kernel(marker: u64) -> Option<bool> {
    match marker as i64 {
        -32 | -128 | -2176 => Some(true),
        -512 | -2048 | -2560 => Some(false),
        _ => None,
    }
}

/// Tells whether a CPU mode of perf is not user mode: kernel, hypervisor, guest kernel.
pub(crate) fn is_kernel_mode(cpu_mode: u8) -> bool {
    matches!(cpu_mode, 1 | 3 | 4)
}

/// A known raw callchain, if the mappings have not changed since.
pub(crate) struct Seen {
    pub(crate) generation: (u32, u32),
    pub(crate) kernel_first: bool,
    pub(crate) end: EndReason,
    pub(crate) callers: Callers,
    pub(crate) start: usize,
    pub(crate) length: u32,
    pub(crate) stack: StackId,
}

#[derive(Clone, Copy, Eq, Hash, PartialEq)]
pub(crate) struct Frame {
    pub(crate) dso: Option<DsoId>,
    pub(crate) address: u64,
    pub(crate) is_kernel: bool,
    /// The function, if a record names it.
    pub(crate) code: CodeId,
    /// It is a return address: the frame is that of the byte before it.
    pub(crate) is_return: bool,
}

impl Frame {
    /// Gives the address of a byte of the frame's instruction.
    pub(crate) fn place(&self) -> u64 {
        self.address.wrapping_sub(u64::from(self.is_return))
    }
}

/// The kind of a callchain's user addresses. The first is always the place of the thread.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum Callers {
    /// Return addresses, as the kernel finds them on the stack.
    #[default]
    Returns,
    /// Addresses of the calls, or of the byte before the return address.
    Calls,
}

/// What the input says about a frame: its object, its function and the distance from the function's start.
type NamedFrame = (Frame, Option<Box<str>>, Option<u64>);

pub(crate) struct Stacks {
    pub(crate) hasher: DefaultHashBuilder,
    pub(crate) seen: HashTable<Seen>,
    /// The addresses of all `seen` callchains, one after the other.
    pub(crate) addresses: Vec<u64>,
    pub(crate) frames: Vec<Frame>,
    by_frame: HashMap<Frame, FrameId>,
    pub(crate) stacks: Vec<Stack>,
    end_reasons: Vec<Box<str>>,
    by_frames: HashTable<StackId>,
    /// The frames of all stacks, one after the other.
    pub(crate) members: Vec<FrameId>,
    pub(crate) scratch: Vec<FrameId>,
    /// Frames of sampled addresses. Tracepoints have few different ones.
    pub(crate) recent: Vec<Option<(SampledAt, FrameId)>>,
    /// Frames with functions that the input names, by what it says about them.
    pub(crate) named_frames: HashMap<NamedFrame, FrameId>,
    /// Their names and offsets.
    pub(crate) recorded_names: HashMap<FrameId, (Option<Box<str>>, Option<u64>)>,
    pub(crate) last_space: LastSpace,
}

/// The last process by its id, valid until a process or a mapping is added.
#[derive(Default)]
pub(crate) struct LastSpace {
    pub(crate) pid: Option<i32>,
    pub(crate) state: (usize, u32),
    pub(crate) upid: Option<Upid>,
    pub(crate) generation: (u32, u32),
}

/// A known sampled address, if the mappings have not changed since.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct SampledAt {
    pub(crate) generation: (u32, u32),
    pub(crate) is_kernel: bool,
    pub(crate) address: u64,
}

pub(crate) const RECENT: usize = 1024;

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

    pub(crate) fn intern_frame(&mut self, frame: Frame) -> FrameId {
        let next = self.frames.len() as FrameId;
        let id = *self.by_frame.entry(frame).or_insert(next);
        if id == next {
            self.frames.push(frame);
        }
        id
    }

    /// Gives the key of a reason. There are few: one for each object and kind.
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

    pub(crate) fn intern_stack(&mut self, end: EndReason) -> StackId {
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
