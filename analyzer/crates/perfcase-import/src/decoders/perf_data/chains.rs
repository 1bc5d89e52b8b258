//! The user part of a callchain, if the recording has a better source than the kernel's frame pointers: branch records
//! of calls (--call-graph lbr), or registers and a copy of the stack (--call-graph dwarf).

use perfcase_decode::perf_data::attr::Attr;
use perfcase_decode::perf_data::bytes::ByteOrder;
use perfcase_decode::perf_data::recording::Recording;
use perfcase_decode::perf_data::sample::{More, field};
use perfcase_symbols::unwind::{Machine, Registers};

use crate::model::stacks::{CONTEXT_MAX, context_is_kernel};
use crate::session::{Callers, EndReason, Session, UserState};

/// PERF_CONTEXT_USER of perf_event.h.
pub(super) const USER: u64 = -512i64 as u64;
/// PERF_SAMPLE_BRANCH_CALL_STACK.
const BRANCH_CALL_STACK: u64 = 1 << 11;
/// PERF_SAMPLE_REGS_ABI_32.
const ABI_32: u64 = 1;
/// The default of kernel.perf_event_max_stack.
const USUAL_MAX_STACK: usize = 127;

/// Tells whether a callchain has a marker of no known kind: what stands behind it is left out.
pub fn has_odd_marker(chain: &[u64]) -> bool {
    chain.iter().any(|&entry| entry >= CONTEXT_MAX && context_is_kernel(entry).is_none())
}

/// Puts the best user part into a callchain. Gives the reason why it ends, where that is known, and the kind of its
/// addresses.
pub fn complete(
    chain: &mut Vec<u64>,
    more: Option<&More>,
    attr: &Attr,
    recording: &Recording,
    pid: Option<i32>,
    session: &mut Session,
) -> (EndReason, Callers) {
    let Some(more) = more else { return (kernels_limit(chain, attr, session), Callers::Returns) };
    let is_dwarf = attr.sample_type & (field::REGS_USER | field::STACK_USER) == field::REGS_USER | field::STACK_USER;
    if is_dwarf && let Some(registers) = more.regs_user {
        let user_part = chain.iter().position(|&address| address == USER).unwrap_or(chain.len());
        chain.truncate(user_part);
        chain.push(USER);
        let machine = recording.features.arch.as_deref().or(session.model.host.machine.as_deref());
        let machine = machine.map_or_else(|| machine_of_mask(registers.mask), Machine::of_name);
        let reason = match (machine, registers.abi) {
            (_, ABI_32) => "32-bit process: not unwound",
            (None, _) => "not unwound on this architecture",
            _ if recording.order == ByteOrder::Big => "not unwound on this architecture",
            (Some(machine), _) => match Registers::from_perf(machine, registers.mask, registers.values.iter()) {
                Some(registers) => {
                    let stack = more.stack_user.map_or(&[][..], |stack| stack.bytes);
                    let user = UserState { machine, registers, stack };
                    return (session.unwind(pid, &user, chain), Callers::Calls);
                }
                None => "program counter or stack pointer were not recorded",
            },
        };
        // The program counter has the same number in tasks of 32 and of 64 bits.
        let pc = if machine == Some(Machine::X86_64) { registers.get(8) } else { registers.get(32) };
        chain.extend(pc);
        let reason = session.end_reason(reason);
        session.count_unwound(reason);
        return (reason, Callers::Calls);
    }
    // `perfcase redact` keeps the user frames, and removes the registers and the copy.
    if is_dwarf
        && let Some(stack) = more.stack_user
        && let Some(reason) = session.unwound_before(pid, stack.bytes, chain)
    {
        return (reason, Callers::Calls);
    }
    let branches = more.branch_stack.filter(|_| attr.branch_sample_type & BRANCH_CALL_STACK != 0);
    if let Some(branches) = branches
        && let Some(newest) = branches.iter().next()
        && let Some(user_part) = chain.iter().position(|&address| address == USER)
    {
        // As in perf's resolve_lbr_callchain_sample: the target of the latest call, then the origin of each call.
        chain.truncate(user_part + 1);
        chain.push(newest.to);
        chain.extend(branches.iter().map(|branch| branch.from));
        return (EndReason::NONE, Callers::Calls);
    }
    (kernels_limit(chain, attr, session), Callers::Returns)
}

/// Tells whether the kernel stopped at its limit of addresses, which the event may set. Markers do not count.
fn kernels_limit(chain: &[u64], attr: &Attr, session: &mut Session) -> EndReason {
    let limit = if attr.max_stack > 0 { usize::from(attr.max_stack) } else { USUAL_MAX_STACK };
    if chain.len() < limit || chain.iter().filter(|&&address| address < CONTEXT_MAX).count() != limit {
        return EndReason::NONE;
    }
    session.end_reason("the kernel's limit of frames")
}

/// Gives the architecture of a file that does not name it, by the registers: by default perf records all registers of
/// the machine.
fn machine_of_mask(mask: u64) -> Option<Machine> {
    match mask & 0xff_ffff_ffff {
        0xff_0fff | 0xff_ffff => Some(Machine::X86_64),
        all if all & 0x1_ffff_ffff == 0x1_ffff_ffff => Some(Machine::Aarch64),
        _ => None,
    }
}
