//! An interval of a thread, and intervals that wait in a file.

use std::fs::File;
use std::io::{Error, ErrorKind, Result, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use crate::model::{NameId, Utid};

/// The value of a number that is not known.
pub(super) const NONE: u32 = u32::MAX;
/// The most intervals in memory before they move to a file: 16 MiB.
pub(crate) const BLOCK: usize = 1 << 18;

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

/// A row of `thread_state`. It is small, because there are millions.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Interval {
    pub(super) start: i64,
    pub(super) end: i64,
    /// When the thread got a CPU, for a sleep that a wakeup ended; otherwise [`NO_TIME`].
    pub(super) ran: i64,
    pub(super) utid: Utid,
    /// The thread's name when it left the CPU: at the end of a run, or at the beginning of a wait.
    pub(super) name: NameId,
    pub(super) cpu: u32,
    pub(super) stack: u32,
    pub(super) waker: u32,
    pub(super) waker_name: NameId,
    pub(super) waker_cpu: u32,
    pub(super) waker_stack: u32,
    pub(super) state: State,
    pub(super) next_state: State,
    pub(super) is_ambiguous: bool,
    pub(super) is_open: bool,
}

impl Interval {
    pub(super) fn is_run(&self) -> bool {
        matches!(self.state, State::Running | State::Idle)
    }

    /// Gives the time when the thread was woken, for an interval that has a waker.
    pub(super) fn woken(&self) -> i64 {
        if self.state == State::Runnable { self.start } else { self.end }
    }
}

/// The size of an interval in a file, in bytes.
const BYTES: usize = 3 * 8 + 8 * 4 + 4;

impl Interval {
    fn bytes(&self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        for (place, time) in bytes.chunks_exact_mut(8).zip([self.start, self.end, self.ran]) {
            place.copy_from_slice(&time.to_le_bytes());
        }
        let numbers =
            [self.utid, self.name, self.cpu, self.stack, self.waker, self.waker_name, self.waker_cpu, self.waker_stack];
        for (place, number) in bytes[24..].chunks_exact_mut(4).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        bytes[56..].copy_from_slice(&[
            self.state as u8,
            self.next_state as u8,
            self.is_ambiguous.into(),
            self.is_open.into(),
        ]);
        bytes
    }

    fn of(bytes: &[u8]) -> Result<Interval> {
        let time = |index: usize| bytes[8 * index..][..8].try_into().map(i64::from_le_bytes);
        let number = |index: usize| bytes[24 + 4 * index..][..4].try_into().map(u32::from_le_bytes);
        let state = |at: usize| State::ALL.get(usize::from(bytes[at])).copied();
        let read = || {
            Some(Interval {
                start: time(0).ok()?,
                end: time(1).ok()?,
                ran: time(2).ok()?,
                utid: number(0).ok()?,
                name: number(1).ok()?,
                cpu: number(2).ok()?,
                stack: number(3).ok()?,
                waker: number(4).ok()?,
                waker_name: number(5).ok()?,
                waker_cpu: number(6).ok()?,
                waker_stack: number(7).ok()?,
                state: state(56)?,
                next_state: state(57)?,
                is_ambiguous: bytes[58] != 0,
                is_open: bytes[59] != 0,
            })
        };
        read().ok_or_else(|| Error::new(ErrorKind::InvalidData, "intervals that were put aside are damaged"))
    }
}

/// Intervals that wait in a file. Two sources may have recorded the same intervals, and only the end shows which source
/// is used. The file has no name, and is gone when this process ends.
#[derive(Default)]
pub(super) struct Aside {
    file: Option<File>,
    /// The number of intervals in each block.
    counts: Vec<usize>,
}

impl Aside {
    /// Adds a block. The first block makes the file in `folder`.
    pub(super) fn push(&mut self, folder: &Path, intervals: &[Interval]) -> Result<()> {
        let bytes: Vec<u8> = intervals.iter().flat_map(Interval::bytes).collect();
        if self.file.is_none() {
            self.file = Some(tempfile::tempfile_in(folder)?);
        }
        self.file.iter_mut().try_for_each(|file| file.write_all(&bytes))?;
        self.counts.push(intervals.len());
        Ok(())
    }

    /// Gives the blocks, in the order in which they came.
    pub(super) fn blocks(&self) -> impl Iterator<Item = Result<Vec<Interval>>> {
        read(self.file.as_ref(), &self.counts)
    }

    /// Gives the same blocks, for the last time.
    pub(super) fn into_blocks(self) -> impl Iterator<Item = Result<Vec<Interval>>> {
        let mut at = 0;
        self.counts.into_iter().map(move |count| block(self.file.as_ref(), &mut at, count))
    }
}

fn read<'a>(file: Option<&'a File>, counts: &'a [usize]) -> impl Iterator<Item = Result<Vec<Interval>>> + 'a {
    let mut at = 0;
    counts.iter().map(move |&count| block(file, &mut at, count))
}

fn block(file: Option<&File>, at: &mut u64, count: usize) -> Result<Vec<Interval>> {
    let mut bytes = vec![0; count * BYTES];
    file.map_or(Ok(()), |file| file.read_exact_at(&mut bytes, *at))?;
    *at += bytes.len() as u64;
    bytes.chunks_exact(BYTES).map(Interval::of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_aside_comes_back() {
        let of = |seed: u32| Interval {
            start: -i64::from(seed),
            end: i64::MAX,
            ran: i64::MIN,
            utid: seed,
            name: 2,
            cpu: 3,
            stack: NONE,
            waker: 5,
            waker_name: 6,
            waker_cpu: 7,
            waker_stack: u32::MAX - 1,
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
        assert_eq!(aside.blocks().collect::<Result<Vec<_>>>().unwrap(), blocks);
        assert_eq!(aside.into_blocks().collect::<Result<Vec<_>>>().unwrap(), blocks);
    }

    #[test]
    fn each_state_has_its_number() {
        for (number, state) in State::ALL.into_iter().enumerate() {
            assert_eq!(state as usize, number);
        }
    }
}
