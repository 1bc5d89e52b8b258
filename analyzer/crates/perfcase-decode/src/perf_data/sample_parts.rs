//! The structured parts of samples: branch stacks, registers, user stacks.

use super::bytes::{ByteOrder, Cursor, U64s};

/// PERF_SAMPLE_BRANCH_HW_INDEX.
const BRANCH_HW_INDEX: u64 = 1 << 17;
/// PERF_SAMPLE_BRANCH_COUNTERS (6.8).
const BRANCH_COUNTERS: u64 = 1 << 19;

/// The last branches taken, newest first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BranchStack<'a> {
    /// The hardware's index of the newest entry; `None` where it is not recorded or unknown (-1).
    pub hw_index: Option<u64>,
    words: U64s<'a>,
    counters: Option<U64s<'a>>,
    order: ByteOrder,
}

/// One branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Branch {
    /// Address branched from.
    pub from: u64,
    /// Address branched to.
    pub to: u64,
    /// The word of flags. The first field is in the lowest bits in both byte orders (see `mispredicted` and the
    /// others).
    pub flags: u64,
    /// Event counts since the branch before, in the packing of the PMU.
    pub counters: Option<u64>,
}

impl Branch {
    /// The target was mispredicted.
    #[inline]
    pub fn mispredicted(&self) -> bool {
        self.flags & 1 != 0
    }
    /// The target was predicted.
    #[inline]
    pub fn predicted(&self) -> bool {
        self.flags & 2 != 0
    }
    /// Cycles since the branch before; 0 where the CPU does not count them.
    #[inline]
    pub fn cycles(&self) -> u16 {
        (self.flags >> 4) as u16
    }
    /// Branch type (PERF_BR_*).
    #[inline]
    pub fn kind(&self) -> u8 {
        (self.flags >> 20 & 15) as u8
    }
}

impl<'a> BranchStack<'a> {
    /// Reads a branch stack; `None` when it does not fit.
    pub fn parse(c: &mut Cursor<'a>, branch_sample_type: u64) -> Option<BranchStack<'a>> {
        let count = c.u64()?;
        let hw_index = if branch_sample_type & BRANCH_HW_INDEX != 0 {
            Some(c.u64()?).filter(|&index| index != u64::MAX)
        } else {
            None
        };
        let words = c.u64s(count.checked_mul(3)?)?;
        let counters = if branch_sample_type & BRANCH_COUNTERS != 0 { Some(c.u64s(count)?) } else { None };
        Some(BranchStack { hw_index, words, counters, order: c.order() })
    }

    /// Entries.
    #[inline]
    pub fn len(&self) -> usize {
        self.words.len() / 3
    }

    /// Tells whether there are no entries.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Gives the branches, the newest first.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = Branch> + 'a {
        (0..self.len()).filter_map(move |index| {
            let flags = self.words.get(index * 3 + 2)?;
            Some(Branch {
                from: self.words.get(index * 3)?,
                to: self.words.get(index * 3 + 1)?,
                flags: branch_flags(flags, self.order),
                counters: self.counters.and_then(|counters| counters.get(index)),
            })
        })
    }
}

/// Moves the flags of a big-endian machine, where bit fields start at the highest bit, to their little-endian places:
/// mispred 1, predicted 1, in_tx 1, abort 1, cycles 16, type 4, spec 2, new_type 4, priv 3 bits.
fn branch_flags(word: u64, order: ByteOrder) -> u64 {
    if order == ByteOrder::Little {
        return word;
    }
    let mut flags = 0;
    let mut at = 0;
    for width in [1u32, 1, 1, 1, 16, 4, 2, 4, 3] {
        let value = word >> (64 - at - width) & ((1 << width) - 1);
        flags |= value << at;
        at += width;
    }
    flags
}

/// Registers: a value for each bit of the mask, the lowest bit first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Registers<'a> {
    /// PERF_SAMPLE_REGS_ABI_*: 1 a 32-bit task, 2 a 64-bit task.
    pub abi: u64,
    /// The mask of the registers, with the numbers of the architecture's asm/perf_regs.h.
    pub mask: u64,
    /// Their values.
    pub values: U64s<'a>,
}

impl<'a> Registers<'a> {
    /// Reads registers: `Some(None)` where the task has none (ABI 0), `None` when they do not fit.
    pub fn parse(c: &mut Cursor<'a>, mask: u64) -> Option<Option<Registers<'a>>> {
        let abi = c.u64()?;
        if abi == 0 {
            return Some(None);
        }
        let values = c.u64s(mask.count_ones().into())?;
        Some(Some(Registers { abi, mask, values }))
    }

    /// Gives the value of register `number`; `None` where it was not recorded.
    #[inline]
    pub fn get(&self, number: u32) -> Option<u64> {
        if number > 63 || self.mask >> number & 1 == 0 {
            return None;
        }
        let below = self.mask & ((1u64 << number) - 1);
        self.values.get(below.count_ones() as usize)
    }
}

/// A copy of the top of the user stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserStack<'a> {
    /// The copied bytes from the stack pointer upwards.
    pub bytes: &'a [u8],
    /// Bytes that were asked for.
    pub requested_bytes: u64,
}

impl<'a> UserStack<'a> {
    /// Reads the copy of a stack: `Some(None)` where there is none, `None` when it does not fit.
    pub fn parse(c: &mut Cursor<'a>) -> Option<Option<UserStack<'a>>> {
        let requested_bytes = c.u64()?;
        if requested_bytes == 0 {
            return Some(None);
        }
        let bytes = c.take(requested_bytes)?;
        let copied = usize::try_from(c.u64()?).ok()?;
        Some(Some(UserStack { bytes: bytes.get(..copied)?, requested_bytes }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branch_flags_are_the_same_of_either_order() {
        // mispredicted, 0x1234 cycles, type 3
        let little = 1u64 | 0x1234 << 4 | 3 << 20;
        let big = 1u64 << 63 | 0x1234 << (64 - 20) | 3 << (64 - 24);
        assert_eq!(branch_flags(big, ByteOrder::Big), little);
        let branch = Branch { from: 0, to: 0, flags: little, counters: None };
        assert!(branch.mispredicted() && !branch.predicted());
        assert_eq!((branch.cycles(), branch.kind()), (0x1234, 3));
    }

    #[test]
    fn registers_are_found_by_number() {
        let words: Vec<u8> = [2u64, 11, 22, 33].iter().flat_map(|w| w.to_le_bytes()).collect();
        let mut cursor = Cursor::new(&words, ByteOrder::Little);
        let registers = Registers::parse(&mut cursor, 0b1010_0001).unwrap().unwrap();
        assert_eq!(registers.get(0), Some(11));
        assert_eq!(registers.get(5), Some(22));
        assert_eq!(registers.get(7), Some(33));
        assert_eq!(registers.get(1), None);
        assert_eq!(registers.get(64), None);
    }

    #[test]
    fn a_stack_longer_than_its_copy_is_refused() {
        let mut bytes = 16u64.to_le_bytes().to_vec();
        bytes.extend([1; 16]);
        bytes.extend(24u64.to_le_bytes());
        let mut cursor = Cursor::new(&bytes, ByteOrder::Little);
        assert!(UserStack::parse(&mut cursor).is_none());
    }
}
