//! User stacks of samples with registers and a copy of the stack (perf record --call-graph dwarf).

use std::borrow::Cow;

use hashbrown::HashMap;
use perfcase_archive::{Issue, Severity};
use perfcase_symbols::Objects;
use perfcase_symbols::unwind::{End, Machine, Mark, ObjectId, Outcome, Registers, Space, StackCopy, Tables, Unwinder};

use super::Session;
use crate::model::maps::{Maps, SEVERAL_FILES};
use crate::model::stacks::EndReason;
use crate::model::threads::Upid;

/// The most reasons in an issue, the most frequent first.
const REASONS_NAMED: usize = 3;

/// What the kernel copied of a thread in user mode.
#[derive(Clone, Copy, Debug)]
pub struct UserState<'a> {
    /// The recorded machine.
    pub machine: Machine,
    /// Its registers.
    pub registers: Registers,
    /// Bytes from the stack pointer upwards.
    pub stack: &'a [u8],
}

/// What was found in the copy of a stack.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Unwound {
    /// The bytes of the file that has the copy, and where the copy begins in it.
    pub place: (usize, usize),
    /// The user frames, the innermost first.
    pub addresses: Vec<u64>,
    /// How it ended.
    pub mark: Mark,
}

#[derive(Default)]
pub(crate) struct Unwinding {
    /// What was found in each copy, if the caller wants it.
    pub kept: Option<Vec<Unwound>>,
    unwinder: Unwinder,
    latest: Option<Outcome>,
    reasons: HashMap<End, EndReason>,
    total: u64,
    guessed: u64,
    cut: HashMap<EndReason, u64>,
}

struct Mapped<'a> {
    maps: &'a Maps,
    upid: Option<Upid>,
    objects: &'a Objects,
}

impl Space for Mapped<'_> {
    fn place(&self, address: u64) -> Option<(ObjectId, u64)> {
        let place = self.maps.user_address(self.upid, address);
        Some((place.dso?, place.address))
    }

    fn is_code(&self, address: u64) -> bool {
        self.maps.is_code(self.upid, address)
    }

    fn tables(&self, object: ObjectId) -> Option<Tables> {
        let (path, build_id) = self.maps.file_of(object).filter(|_| !self.maps.is_several(object))?;
        let found = self.objects.find(path, build_id).ok()?;
        Tables::parse(&found.bytes, found.debug.as_ref())
    }
}

impl Session {
    /// Adds the addresses of a process's user frames to a callchain, the innermost first. Gives the reason why they
    /// end.
    pub fn unwind(&mut self, pid: Option<i32>, user: &UserState<'_>, chain: &mut Vec<u64>) -> EndReason {
        let (upid, _) = self.space_of(pid);
        let Session { model, objects, unwinding, .. } = self;
        let stack = StackCopy { start: user.registers.stack_pointer(user.machine), bytes: user.stack };
        let space = Mapped { maps: &model.maps, upid, objects };
        let outcome = unwinding.unwinder.unwind(user.machine, user.registers, stack, &space, chain);
        unwinding.latest = Some(outcome);
        self.count_outcome(outcome)
    }

    /// Counts a callchain whose user frames were found by another import: its copy of the stack is a mark. `None`: it is none.
    pub fn unwound_before(&mut self, pid: Option<i32>, mark: &[u8], chain: &[u64]) -> Option<EndReason> {
        let (upid, _) = self.space_of(pid);
        let object = chain.last().and_then(|&address| self.model.maps.user_address(upid, address).dso);
        Some(self.count_outcome(Outcome::of_mark(mark, object)?))
    }

    /// Keeps the user frames of the callchain that was unwound last, if the caller wants them.
    pub fn keep_unwound(&mut self, place: (usize, usize), chain: &[u64], user: u64) {
        let outcome = self.unwinding.latest.take();
        if let (Some(kept), Some(outcome)) = (&mut self.unwinding.kept, outcome) {
            let begin = chain.iter().rposition(|&address| address == user).map_or(0, |at| at + 1);
            kept.push(Unwound { place, addresses: chain[begin..].to_vec(), mark: outcome.mark() });
        }
    }

    fn count_outcome(&mut self, outcome: Outcome) -> EndReason {
        let unwinding = &mut self.unwinding;
        unwinding.guessed += u64::from(outcome.guessed_count > 0);
        let reason = match self.unwinding.reasons.get(&outcome.end) {
            Some(reason) => *reason,
            None => {
                let text = self.reason_of(outcome.end);
                let reason = text.map_or(EndReason::NONE, |text| self.model.stacks.end_reason(&text));
                self.unwinding.reasons.insert(outcome.end, reason);
                reason
            }
        };
        self.count_unwound(reason);
        reason
    }

    /// Counts a user stack, and the reason why it has no further caller.
    pub fn count_unwound(&mut self, reason: EndReason) {
        self.unwinding.total += 1;
        if reason != EndReason::NONE {
            *self.unwinding.cut.entry(reason).or_default() += 1;
        }
    }

    fn reason_of(&self, end: End) -> Option<Cow<'static, str>> {
        let name = |object| self.model.maps.name_of(object);
        Some(match end {
            End::Complete => return None,
            End::StackCopyEnded => "stack copy ended".into(),
            End::NoFile(object) => match self.model.maps.file_of(object) {
                None => "no unwind information for generated code".into(),
                Some(_) if self.model.maps.is_several(object) => {
                    format!("no unwind information for {}: {SEVERAL_FILES}", name(object)).into()
                }
                Some((path, build_id)) => match self.objects.find(path, build_id) {
                    Ok(_) => format!("no unwind information in {}: not a 64-bit ELF file", name(object)).into(),
                    Err(missing) => format!("no unwind information for {}: {}", name(object), missing.reason()).into(),
                },
            },
            End::NoInformation(object) => format!("no unwind information in {}", name(object)).into(),
            End::Damaged(object) => format!("unwind information of {} cannot be followed", name(object)).into(),
            End::NotMapped => "no mapping covers the address".into(),
            End::NoProgress => "unwinding did not advance".into(),
            End::TooDeep => "more than 1024 frames".into(),
        })
    }

    /// Reports the number of stacks that reached their first function.
    pub(crate) fn report_unwinding(&mut self) {
        let Unwinding { total, guessed, cut, .. } = &self.unwinding;
        let (total, guessed, cut_count) = (*total, *guessed, cut.values().sum::<u64>());
        let mut reasons: Vec<(u64, &str)> =
            cut.iter().map(|(id, count)| (*count, self.model.stacks.reason(*id))).collect();
        reasons.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
        if cut_count == 0 && guessed == 0 {
            return;
        }
        let named = reasons.iter().take(REASONS_NAMED).map(|(count, reason)| format!("; {count}: {reason}"));
        let named: String = named.collect();
        let others = cut_count - reasons.iter().take(REASONS_NAMED).map(|(count, _)| count).sum::<u64>();
        let others =
            if others > 0 { format!("; {others} for other reasons (stack.end_reason)") } else { String::new() };
        let guesses = match guessed {
            0 => String::new(),
            _ => format!("; {guessed} pass code without unwind information by its frame pointers"),
        };
        let whole = total - cut_count;
        let message =
            format!("{whole} of {total} user stacks were unwound to their first function{named}{others}{guesses}");
        let hint = "object files: perfcase-record --symbols table, or --debug-dir; a larger copy of the stack: \
                    perf record --call-graph dwarf,65528";
        let severity = if cut_count * 2 > total { Severity::Warning } else { Severity::Info };
        let issue = Issue::new(severity, "unwinding", message).count(cut_count.max(guessed));
        self.issue(if cut_count > 0 { issue.hint(hint) } else { issue });
    }
}
