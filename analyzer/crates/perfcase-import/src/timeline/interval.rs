//! An interval of a thread.

use super::aside::Stored;
use crate::model::{NO_TIME, NameId, Utid};

/// The value of a number that is not known.
pub(super) const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum State {
    Running,
    Idle,
    Runnable,
    Preempted,
    Sleeping,
    DiskSleep,
    Stopped,
    Traced,
    Parked,
    IdleSleep,
    Dead,
}

impl State {
    const ALL: [State; 11] = [
        State::Running,
        State::Idle,
        State::Runnable,
        State::Preempted,
        State::Sleeping,
        State::DiskSleep,
        State::Stopped,
        State::Traced,
        State::Parked,
        State::IdleSleep,
        State::Dead,
    ];

    /// Gives the state by the kernel's bits (fs/proc/array.c, include/linux/sched.h since 4.14): the lowest set bit of
    /// TASK_REPORT counts. Without such a bit the thread could have run on. This counts as an involuntary switch,
    /// whether the kernel took the CPU in the middle (0x100) or at a point where the thread offered it (0:
    /// cond_resched, sched_yield).
    pub(super) fn of(bits: i64) -> State {
        match bits & 0xff {
            0 => State::Preempted,
            low => match low & low.wrapping_neg() {
                0x01 => State::Sleeping,
                0x02 => State::DiskSleep,
                0x04 => State::Stopped,
                0x08 => State::Traced,
                0x10 | 0x20 => State::Dead,
                0x40 => State::Parked,
                _ => State::IdleSleep,
            },
        }
    }

    fn is_run(self) -> bool {
        matches!(self, State::Running | State::Idle)
    }

    pub(super) fn is_sleep(self) -> bool {
        !self.is_run() && !matches!(self, State::Runnable | State::Preempted | State::Dead)
    }

    pub(super) fn name(self) -> &'static [u8] {
        match self {
            State::Running => b"running",
            State::Idle => b"idle",
            State::Runnable => b"runnable",
            State::Preempted => b"runnable_preempted",
            State::Sleeping => b"sleeping",
            State::DiskSleep => b"disk_sleep",
            State::Stopped => b"stopped",
            State::Traced => b"traced",
            State::Parked => b"parked",
            State::IdleSleep => b"idle_sleep",
            State::Dead => b"dead",
        }
    }
}

/// Where the code ran that woke a thread.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum Context {
    #[default]
    Unknown,
    /// In the waker's own time.
    Task,
    /// While the waker's CPU worked off soft interrupts: a received packet, a timer; also what a sender delivers over loopback.
    Softirq,
    /// In an interrupt: the waker only happened to be on the CPU.
    Hardirq,
}

impl Context {
    const ALL: [Context; 4] = [Context::Unknown, Context::Task, Context::Softirq, Context::Hardirq];

    /// Gives the context by an event's `common_flags` (TRACE_FLAG_HARDIRQ, _SOFTIRQ, _NMI of include/linux/trace_events.h).
    pub(crate) fn of(flags: i64) -> Context {
        match flags {
            flags if flags & 0x48 != 0 => Context::Hardirq,
            flags if flags & 0x10 != 0 => Context::Softirq,
            _ => Context::Task,
        }
    }

    pub(super) fn name(self) -> Option<&'static [u8]> {
        match self {
            Context::Unknown => None,
            Context::Task => Some(b"task"),
            Context::Softirq => Some(b"softirq"),
            Context::Hardirq => Some(b"hardirq"),
        }
    }
}

/// A row of `thread_state`. It is small, because there are millions.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Interval {
    pub(super) start: i64,
    pub(super) end: i64,
    /// When the thread got a CPU, for a sleep that a wakeup ended; otherwise [`NO_TIME`].
    pub(super) ran: i64,
    /// From the end of the thread's interval before to the beginning of this one; [`NO_TIME`] where it follows at once.
    pub(super) gap: i64,
    pub(super) utid: Utid,
    /// The thread's name when it left the CPU: at the end of a run, or at the beginning of a wait.
    pub(super) name: NameId,
    pub(super) cpu: u32,
    pub(super) stack: u32,
    pub(super) waker: u32,
    pub(super) waker_name: NameId,
    pub(super) waker_cpu: u32,
    pub(super) waker_stack: u32,
    pub(super) waker_context: Context,
    /// For a wait for a CPU: the thread that woke it, the CPU in whose run queue it began, and the CPU that it got.
    pub(super) woken_by: u32,
    pub(super) queue_cpu: u32,
    pub(super) ran_cpu: u32,
    /// The thread's burst; for a sleep that a thread ended: its burst in which the sleep began, and over how many it lasted.
    pub(super) burst: u32,
    pub(super) waker_burst: u32,
    pub(super) waker_bursts: u32,
    pub(super) state: State,
    pub(super) next_state: State,
    pub(super) is_ambiguous: bool,
    pub(super) is_open: bool,
}

impl Interval {
    /// An interval about which nothing is known but its thread.
    pub(super) const UNKNOWN: Interval = Interval {
        start: 0,
        end: 0,
        ran: NO_TIME,
        gap: NO_TIME,
        utid: NONE,
        name: NONE,
        cpu: NONE,
        stack: NONE,
        waker: NONE,
        waker_name: NONE,
        waker_cpu: NONE,
        waker_stack: NONE,
        waker_context: Context::Unknown,
        woken_by: NONE,
        queue_cpu: NONE,
        ran_cpu: NONE,
        burst: NONE,
        waker_burst: NONE,
        waker_bursts: NONE,
        state: State::Running,
        next_state: State::Running,
        is_ambiguous: false,
        is_open: false,
    };

    pub(super) fn is_run(&self) -> bool {
        self.state.is_run()
    }

    /// Tells whether the thread waited for something else than a CPU.
    pub(super) fn is_sleep(&self) -> bool {
        self.state.is_sleep()
    }

    /// Gives the time when the thread was woken, for an interval that has a waker.
    pub(super) fn woken(&self) -> i64 {
        if self.state == State::Runnable { self.start } else { self.end }
    }
}

/// The bytes of the times and numbers of an interval in a file.
const NUMBERS_AT: usize = 4 * 8;
const STATES_AT: usize = NUMBERS_AT + 14 * 4;

impl Stored for Interval {
    const BYTES: usize = STATES_AT + 5;

    fn put(&self, bytes: &mut [u8]) {
        for (place, time) in bytes.chunks_exact_mut(8).zip([self.start, self.end, self.ran, self.gap]) {
            place.copy_from_slice(&time.to_le_bytes());
        }
        let numbers = [
            self.utid,
            self.name,
            self.cpu,
            self.stack,
            self.waker,
            self.waker_name,
            self.waker_cpu,
            self.waker_stack,
            self.woken_by,
            self.queue_cpu,
            self.ran_cpu,
            self.burst,
            self.waker_burst,
            self.waker_bursts,
        ];
        for (place, number) in bytes[NUMBERS_AT..].chunks_exact_mut(4).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        bytes[STATES_AT..].copy_from_slice(&[
            self.state as u8,
            self.next_state as u8,
            self.is_ambiguous.into(),
            self.is_open.into(),
            self.waker_context as u8,
        ]);
    }

    fn of(bytes: &[u8]) -> Option<Interval> {
        let time = |index: usize| bytes[8 * index..][..8].try_into().map(i64::from_le_bytes);
        let number = |index: usize| bytes[NUMBERS_AT + 4 * index..][..4].try_into().map(u32::from_le_bytes);
        let state = |at: usize| State::ALL.get(usize::from(bytes[STATES_AT + at])).copied();
        Some(Interval {
            start: time(0).ok()?,
            end: time(1).ok()?,
            ran: time(2).ok()?,
            gap: time(3).ok()?,
            utid: number(0).ok()?,
            name: number(1).ok()?,
            cpu: number(2).ok()?,
            stack: number(3).ok()?,
            waker: number(4).ok()?,
            waker_name: number(5).ok()?,
            waker_cpu: number(6).ok()?,
            waker_stack: number(7).ok()?,
            waker_context: Context::ALL.get(usize::from(bytes[STATES_AT + 4])).copied()?,
            woken_by: number(8).ok()?,
            queue_cpu: number(9).ok()?,
            ran_cpu: number(10).ok()?,
            burst: number(11).ok()?,
            waker_burst: number(12).ok()?,
            waker_bursts: number(13).ok()?,
            state: state(0)?,
            next_state: state(1)?,
            is_ambiguous: bytes[STATES_AT + 2] != 0,
            is_open: bytes[STATES_AT + 3] != 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::aside::Aside;
    use super::*;

    #[test]
    fn what_is_put_aside_comes_back() {
        let of = |seed: u32| Interval {
            start: -i64::from(seed),
            end: i64::MAX,
            ran: i64::MIN,
            gap: -7,
            utid: seed,
            name: 2,
            cpu: 3,
            stack: NONE,
            waker: 5,
            waker_name: 6,
            waker_cpu: 7,
            waker_stack: u32::MAX - 1,
            waker_context: Context::ALL[seed as usize % Context::ALL.len()],
            woken_by: 8,
            queue_cpu: 9,
            ran_cpu: 10,
            burst: 11,
            waker_burst: 12,
            waker_bursts: 13,
            state: State::ALL[seed as usize % State::ALL.len()],
            next_state: State::ALL[(seed as usize + 1) % State::ALL.len()],
            is_ambiguous: seed.is_multiple_of(2),
            is_open: seed.is_multiple_of(3),
        };
        let blocks: Vec<Vec<Interval>> = vec![(0..30).map(of).collect(), (30..31).map(of).collect()];
        let folder = tempfile::tempdir().unwrap();
        let mut aside = Aside::default();
        assert_eq!(aside.blocks().count(), 0);
        blocks.iter().for_each(|block| aside.push(folder.path(), block).unwrap());
        assert_eq!(folder.path().read_dir().unwrap().count(), 0, "the file has no name");
        assert_eq!(aside.blocks().collect::<std::io::Result<Vec<_>>>().unwrap(), blocks);
        assert_eq!(aside.into_blocks().collect::<std::io::Result<Vec<_>>>().unwrap(), blocks);
    }

    #[test]
    fn each_state_has_its_number() {
        for (number, state) in State::ALL.into_iter().enumerate() {
            assert_eq!(state as usize, number);
        }
        for (number, context) in Context::ALL.into_iter().enumerate() {
            assert_eq!(context as usize, number);
        }
    }

    #[test]
    fn flags_of_an_event_tell_its_context() {
        let of = [0x01, 0x05, 0x11, 0x19, 0x09, 0x40].map(Context::of);
        let hard = Context::Hardirq;
        assert_eq!(of, [Context::Task, Context::Task, Context::Softirq, hard, hard, hard]);
    }
}
