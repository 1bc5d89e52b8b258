//! Finds the callers of a sampled thread, from its registers and a copy of its stack.
//!
//! The call frame information of DWARF 5 (section 6.4) and of the LSB (.eh_frame, .eh_frame_hdr) says for every
//! instruction where the caller's registers are. The object's code is not read, so tables without the code are enough.

mod machine;
mod rule;
mod tables;
#[cfg(test)]
mod tests;

use hashbrown::HashMap;

pub use machine::{Machine, Registers};
use rule::{Rule, Rules};
pub use tables::Tables;

/// The key of an object. The caller assigns it.
pub type ObjectId = u32;

/// The most frames of one stack. Deeper ones are cut. perf prints 127 by default.
pub const MAX_FRAMES: usize = 1024;
/// The most rules that are kept. When there are more, all are forgotten. A profile needs some thousands.
const MAX_RULES: usize = 1 << 16;

/// There are no mappings below this address (vm.mmap_min_addr): a return address below it is another number.
const FIRST_PAGE_BYTES: u64 = 4096;

/// The reason why a stack has no further frame.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum End {
    /// The frame is the first function of the thread.
    Complete,
    /// The copy of the stack does not reach further.
    StackCopyEnded,
    /// There is no file for this object.
    NoFile(ObjectId),
    /// The file of this object has no unwind information for the address.
    NoInformation(ObjectId),
    /// The unwind information of this object is damaged, or needs a value that is not known.
    Damaged(ObjectId),
    /// No mapping of the process covers the address.
    NotMapped,
    /// The caller would be further down the stack, or be the same frame again.
    NoProgress,
    /// There are more frames than [`MAX_FRAMES`].
    TooDeep,
}

/// What stands in a sample in place of a copy of the stack whose callers were found before: the outcome, in so many bytes.
pub type Mark = [u8; 8];
const MARK: &[u8; 7] = b"unwound";
const GUESSED: u8 = 0x80;

/// The mappings of the process, and the unwind tables of the mapped objects.
pub trait Space {
    /// Gives the object at an address, and the offset of the address in the object's file.
    fn place(&self, address: u64) -> Option<(ObjectId, u64)>;
    /// Tells whether code may run at an address.
    fn is_code(&self, address: u64) -> bool;
    /// Gives the tables of an object; `None` without a file. It is called once for each object.
    fn tables(&self, object: ObjectId) -> Option<Tables>;
}

/// A copy of the stack.
#[derive(Clone, Copy, Debug)]
pub struct StackCopy<'a> {
    /// The address of the first byte.
    pub start: u64,
    /// The bytes, at rising addresses.
    pub bytes: &'a [u8],
}

impl StackCopy<'_> {
    /// Gives the word at an address; `None` where the copy does not have it.
    pub(crate) fn word(&self, address: u64) -> Option<u64> {
        let at = usize::try_from(address.checked_sub(self.start)?).ok()?;
        let bytes = self.bytes.get(at..at.checked_add(8)?)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    }
}

/// The result of unwinding one stack.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Outcome {
    /// The reason why the stack ends.
    pub end: End,
    /// The number of callers that were found by frame pointers, in code that no table describes. They are likely, but
    /// not certain.
    pub guessed_count: u32,
}

impl Outcome {
    /// Gives it as bytes. An object is not in them: it is that of the last frame.
    pub fn mark(self) -> Mark {
        let end = match self.end {
            End::Complete => 0,
            End::StackCopyEnded => 1,
            End::NoFile(_) => 2,
            End::NoInformation(_) => 3,
            End::Damaged(_) => 4,
            End::NotMapped => 5,
            End::NoProgress => 6,
            End::TooDeep => 7,
        };
        let mut mark = [0; 8];
        mark[..7].copy_from_slice(MARK);
        mark[7] = end | if self.guessed_count > 0 { GUESSED } else { 0 };
        mark
    }

    /// Reads it. `object` is that of the last frame; `None` for other bytes.
    pub fn of_mark(bytes: &[u8], object: Option<ObjectId>) -> Option<Outcome> {
        let (&last, mark) = bytes.split_last()?;
        if mark != MARK {
            return None;
        }
        let end = match (last & !GUESSED, object) {
            (0, _) => End::Complete,
            (1, _) => End::StackCopyEnded,
            (2, Some(object)) => End::NoFile(object),
            (3, Some(object)) => End::NoInformation(object),
            (4, Some(object)) => End::Damaged(object),
            (6, _) => End::NoProgress,
            (7, _) => End::TooDeep,
            (2..=5, _) => End::NotMapped,
            _ => return None,
        };
        Some(Outcome { end, guessed_count: u32::from(last & GUESSED != 0) })
    }
}

enum Loaded {
    NoFile,
    Tables(Box<Tables>),
}

/// Unwinds stacks. Keeps what it learned about objects and instructions.
#[derive(Default)]
pub struct Unwinder {
    objects: HashMap<ObjectId, Loaded>,
    by_place: HashMap<(ObjectId, u64), Result<Rule, End>>,
    rules: Rules,
}

/// A frame whose caller is to be found.
#[derive(Clone, Copy)]
struct Frame {
    /// An address within the instruction that runs or calls.
    address: u64,
    /// The instruction at the address itself comes next, as in the sampled frame: registers may not be saved yet.
    is_exact: bool,
}

impl Unwinder {
    /// Adds the addresses of the frames to `frames`, the innermost first: the sampled address, and for every caller the
    /// last byte of its call instruction, as perf prints them. For a function that a handler returns to, it is the
    /// first byte, because there is no call before it.
    pub fn unwind(
        &mut self,
        machine: Machine,
        mut registers: Registers,
        stack: StackCopy<'_>,
        space: &impl Space,
        frames: &mut Vec<u64>,
    ) -> Outcome {
        let mut guessed_count = 0;
        let mut frame = Frame { address: registers.pc(), is_exact: true };
        frames.push(frame.address);
        for _ in 1..MAX_FRAMES {
            let caller = match self.caller(machine, &mut registers, frame, stack, space, &mut guessed_count) {
                Ok(caller) => caller,
                Err(end) => return Outcome { end, guessed_count },
            };
            if caller.is_exact
                && !frame.is_exact
                && let Some(trampoline) = frames.last_mut()
            {
                *trampoline = trampoline.wrapping_add(1);
            }
            frame = caller;
            frames.push(frame.address);
        }
        Outcome { end: End::TooDeep, guessed_count }
    }

    fn caller(
        &mut self,
        machine: Machine,
        registers: &mut Registers,
        frame: Frame,
        stack: StackCopy<'_>,
        space: &impl Space,
        guessed_count: &mut u32,
    ) -> Result<Frame, End> {
        let below = registers.stack_pointer(machine);
        let by_table = match space.place(frame.address) {
            Some((object, offset)) => self.by_table(machine, registers, (object, offset), stack, space),
            None => Err(End::NotMapped),
        };
        let (caller, is_signal) = match by_table {
            Ok(found) => found,
            Err(end @ (End::Complete | End::StackCopyEnded)) => return Err(end),
            Err(end) => {
                let has_tables = matches!(end, End::NoInformation(_));
                let caller = rule::without_table(machine, registers, stack, frame.is_exact && has_tables).ok_or(end)?;
                if !space.is_code(strip(machine, caller, space).wrapping_sub(1)) {
                    return Err(end);
                }
                *guessed_count += 1;
                (caller, false)
            }
        };
        if caller == 0 {
            return Err(End::Complete);
        }
        if caller < FIRST_PAGE_BYTES {
            return Err(End::NotMapped);
        }
        let caller = strip(machine, caller, space);
        let above = registers.stack_pointer(machine);
        // A handler may run on its own stack: only there the caller may be anywhere. A function that has saved nothing
        // yet has the same place as its caller.
        let has_advanced = above > below || (frame.is_exact && above == below && caller != frame.address);
        if !is_signal && !has_advanced {
            return Err(End::NoProgress);
        }
        let address = if is_signal { caller } else { caller.wrapping_sub(1) };
        Ok(Frame { address, is_exact: is_signal })
    }

    /// Gives the return address of a frame, and whether the frame is that of a signal.
    fn by_table(
        &mut self,
        machine: Machine,
        registers: &mut Registers,
        (object, offset): (ObjectId, u64),
        stack: StackCopy<'_>,
        space: &impl Space,
    ) -> Result<(u64, bool), End> {
        let rule = match self.rule(machine, object, offset, space) {
            Err(End::NoInformation(_)) if machine == Machine::Aarch64 && self.is_sigreturn(object, offset) => {
                let (interrupted, of_interrupted) =
                    rule::interrupted_aarch64(registers, stack).ok_or(End::StackCopyEnded)?;
                *registers = of_interrupted;
                return Ok((interrupted, true));
            }
            rule => rule?,
        };
        let Some(Loaded::Tables(tables)) = self.objects.get(&object) else { return Err(End::NoFile(object)) };
        let (caller, of_caller) = self.rules.apply(&rule, (tables, object), *registers, stack)?;
        *registers = of_caller;
        Ok((caller, rule.is_signal))
    }

    /// Tells whether this is the byte before the code that handlers return to, or the first byte of that code.
    fn is_sigreturn(&self, object: ObjectId, offset: u64) -> bool {
        let Some(Loaded::Tables(tables)) = self.objects.get(&object) else { return false };
        [offset, offset.wrapping_add(1)].iter().any(|offset| tables.has_code(*offset, &rule::SIGRETURN_AARCH64))
    }

    fn rule(&mut self, machine: Machine, object: ObjectId, offset: u64, space: &impl Space) -> Result<Rule, End> {
        if let Some(rule) = self.by_place.get(&(object, offset)) {
            return *rule;
        }
        if self.by_place.len() >= MAX_RULES {
            self.by_place.clear();
            self.rules.clear();
        }
        let loaded = self.objects.entry(object).or_insert_with(|| match space.tables(object) {
            Some(tables) => Loaded::Tables(Box::new(tables)),
            None => Loaded::NoFile,
        });
        let rule = match loaded {
            Loaded::NoFile => Err(End::NoFile(object)),
            Loaded::Tables(tables) if tables.machine() != machine => Err(End::NoInformation(object)),
            Loaded::Tables(tables) => match tables.address_of(offset) {
                Some(address) => self.rules.find(tables, object, address),
                None => Err(End::NoInformation(object)),
            },
        };
        self.by_place.insert((object, offset), rule);
        rule
    }
}

/// Gives a return address without the signature that pointer authentication puts into its upper bits. The number of
/// bits of an address depends on the kernel: it is the largest number under which the address is mapped.
fn strip(machine: Machine, address: u64, space: &impl Space) -> u64 {
    let is_mapped = |address: u64| space.is_code(address.wrapping_sub(1));
    if machine != Machine::Aarch64 || address >> 36 == 0 || is_mapped(address) {
        return address;
    }
    let address_of = |bits: u32| address & ((1 << bits) - 1);
    [52, 48, 47, 42, 39, 36].into_iter().map(address_of).find(|&address| is_mapped(address)).unwrap_or(address)
}
