//! Callers that were found in the copy of a stack stay when the copy goes: as the user part of the callchain.
//!
//! The sample is as long as before. It has no registers then, and a mark in place of the copy says how the callchain ends.

use perfcase_decode::perf_data::bytes::ByteOrder;
use perfcase_decode::perf_data::sample::Sample;

use crate::visit::Visitor;

/// PERF_CONTEXT_USER of perf_event.h.
const USER: u64 = -512i64 as u64;
const WORD: usize = 8;

/// Gives the bytes of a sample with the user frames that were found in its copy of the stack; `None` where none were, or where there is no
/// room. `body` is in `file`; `made` is what stands for it so far.
pub fn with_callers(
    (file, body): (&[u8], &[u8]),
    sample: &Sample<'_>,
    made: &[u8],
    order: ByteOrder,
    visitor: &Visitor,
) -> Option<Vec<u8>> {
    let more = sample.more.as_ref()?;
    let (stack, registers, chain) = (more.stack_user?, more.regs_user?, sample.callchain?);
    let at = |part: &[u8]| part.as_ptr() as usize - body.as_ptr() as usize;
    let in_file = stack.bytes.as_ptr() as usize - file.as_ptr() as usize;
    let (addresses, mark) = visitor.unwound.get(&(file.len(), in_file))?;
    let (chain_at, registers_at, stack_at) = (at(chain.bytes()), at(registers.values.bytes()), at(stack.bytes));
    let requested = usize::try_from(stack.requested_bytes).ok()?;
    // The kernel's part, which ends where the user part begins.
    let kept = (0..chain.len()).position(|index| chain.get(index) == Some(USER)).unwrap_or(chain.len());
    let count = kept + 1 + addresses.len();
    // The registers and the copy go: the callers, and the mark, take their room.
    let room = chain.len() * WORD + registers.values.bytes().len() + requested;
    let left = room.checked_sub(count * WORD).filter(|left| *left >= mark.len())?;
    let mut out = Vec::with_capacity(made.len());
    let put = |out: &mut Vec<u8>, value: usize| word(out, value as u64, order);
    out.extend_from_slice(made.get(..chain_at - WORD)?);
    put(&mut out, count);
    out.extend_from_slice(made.get(chain_at..chain_at + kept * WORD)?);
    word(&mut out, USER, order);
    addresses.iter().for_each(|&address| word(&mut out, address, order));
    out.extend_from_slice(made.get(chain_at + chain.bytes().len()..registers_at - WORD)?);
    // No registers: their ABI is none.
    put(&mut out, 0);
    put(&mut out, left);
    out.extend_from_slice(mark);
    out.resize(out.len() + left - mark.len(), 0);
    put(&mut out, mark.len());
    out.extend_from_slice(made.get(stack_at + requested + WORD..)?);
    (out.len() == made.len()).then_some(out)
}

fn word(out: &mut Vec<u8>, value: u64, order: ByteOrder) {
    out.extend_from_slice(&match order {
        ByteOrder::Little => value.to_le_bytes(),
        ByteOrder::Big => value.to_be_bytes(),
    });
}
