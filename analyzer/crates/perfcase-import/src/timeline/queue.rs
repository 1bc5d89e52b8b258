//! What each CPU did and how many threads waited for it.
//!
//! Which run queue a wait was in is known when it ends, so the end of the import works the queues out. Until then each
//! stretch of time on a CPU waits, in a file when there are many.

use std::io::Result;
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;

use super::aside::{Aside, Stored};
use super::interval::{Interval, NONE, State};
use super::sched::MOST_CPUS;
use crate::model::{NO_TIME, Utid};
use crate::order;
use crate::tables::{self, CpuLevelRow, CpuLevelTable, Table as _, UnclaimedLevelRow, UnclaimedLevelTable};
use crate::writer::Build;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Use {
    Waiting,
    Running,
    Idle,
}

impl Use {
    const ALL: [Use; 3] = [Use::Waiting, Use::Running, Use::Idle];
}

/// A stretch of time in which a thread ran on a CPU or waited for it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Stretch {
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) utid: Utid,
    pub(super) cpu: u32,
    /// The CPU if the source recorded no moves at all.
    unmoved_cpu: u32,
    pub(super) what: Use,
}

impl Stored for Stretch {
    const BYTES: usize = 2 * 8 + 3 * 4 + 1;

    fn put(&self, bytes: &mut [u8]) {
        bytes[..8].copy_from_slice(&self.start.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.end.to_le_bytes());
        for (place, number) in bytes[16..].chunks_exact_mut(4).zip([self.utid, self.cpu, self.unmoved_cpu]) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        bytes[28] = self.what as u8;
    }

    fn of(bytes: &[u8]) -> Option<Stretch> {
        let time = |at: usize| bytes[at..at + 8].try_into().map(i64::from_le_bytes).ok();
        let number = |at: usize| bytes[at..at + 4].try_into().map(u32::from_le_bytes).ok();
        Some(Stretch {
            start: time(0)?,
            end: time(8)?,
            utid: number(16)?,
            cpu: number(20)?,
            unmoved_cpu: number(24)?,
            what: *Use::ALL.get(usize::from(bytes[28]))?,
        })
    }
}

/// The run queue that a thread was last seen in.
#[derive(Clone)]
struct Place {
    cpu: u32,
    /// The moves since, which may lie in a wait: when, and to which CPU.
    moves: Vec<(i64, u32)>,
}

#[derive(Default)]
pub(super) struct Queue {
    places: Vec<Place>,
    has_moves: bool,
    /// Moves to CPUs that no host has.
    pub(super) refused_count: u64,
    /// The stretches since the last block. None of them begins before the latest end in that block.
    stretches: Vec<Stretch>,
    aside: Aside<Stretch>,
    /// The latest end in each block.
    ends: Vec<i64>,
    /// The stretches that begin before the block in which they would be: a few of each thread at most.
    long: Vec<Stretch>,
    latest: i64,
}

impl Queue {
    fn place(&mut self, utid: Utid) -> &mut Place {
        let index = utid as usize;
        if index >= self.places.len() {
            self.places.resize(index + 1, Place { cpu: NONE, moves: Vec::new() });
        }
        &mut self.places[index]
    }

    /// Notes that a thread was moved to another run queue; `None` where it is not known to which.
    pub(super) fn moved(&mut self, clock_ns: i64, utid: Utid, cpu: Option<u32>) {
        self.has_moves = true;
        self.refused_count += u64::from(cpu.is_some_and(|cpu| cpu >= MOST_CPUS));
        let cpu = cpu.filter(|&cpu| cpu < MOST_CPUS).unwrap_or(NONE);
        self.place(utid).moves.push((clock_ns, cpu));
    }

    /// Notes the run queue that a waker chose. Only its first move after the wakeup can be that: the moves stay in order.
    pub(super) fn chosen(&mut self, clock_ns: i64, utid: Utid, cpu: Option<u32>) {
        if self.place(utid).moves.last().is_none_or(|&(moved, _)| moved < clock_ns) {
            self.moved(clock_ns, utid, cpu);
        }
    }

    /// Takes what an interval says about CPUs. An interval that is a wait for a CPU learns in which run queue it began.
    #[inline]
    pub(super) fn add(&mut self, interval: &mut Interval) {
        let Interval { start, end, utid, cpu, .. } = *interval;
        let run = |what: Use| Stretch { start, end, utid, cpu, unmoved_cpu: cpu, what };
        match interval.state {
            State::Idle => self.keep(run(Use::Idle)),
            State::Running => {
                let place = self.place(utid);
                place.cpu = cpu;
                place.moves.retain(|&(moved, _)| moved >= end);
                self.keep(run(Use::Running));
            }
            State::Runnable | State::Preempted => self.wait(interval),
            _ => {}
        }
    }

    fn wait(&mut self, interval: &mut Interval) {
        let Interval { start, end, utid, cpu: left_cpu, ran_cpu, .. } = *interval;
        let place = self.place(utid);
        let before = place.moves.iter().take_while(|&&(moved, _)| moved <= start).count();
        for (_, cpu) in place.moves.drain(..before).filter(|&(_, cpu)| cpu != NONE) {
            place.cpu = cpu;
        }
        interval.queue_cpu = place.cpu;
        let within = place.moves.iter().take_while(|&&(moved, _)| moved < end).count();
        let moves: Vec<(i64, u32)> = place.moves[..within].to_vec();
        let got_cpu = |cpu: u32, other: u32| if cpu == NONE { other } else { cpu };
        let unmoved_cpu = got_cpu(ran_cpu, left_cpu);
        let stretch =
            |start: i64, end: i64, cpu: u32| Stretch { start, end, utid, cpu, unmoved_cpu, what: Use::Waiting };
        let (mut since, mut queue_cpu) = (start, place.cpu);
        for (moved, cpu) in moves {
            self.keep(stretch(since, moved, got_cpu(queue_cpu, ran_cpu)));
            (since, queue_cpu) = (moved, got_cpu(cpu, queue_cpu));
        }
        // A wait ends in the queue of the CPU that the thread gets: if it was last seen in another one, a move was missed.
        let is_missing = queue_cpu != NONE && ran_cpu != NONE && queue_cpu != ran_cpu;
        let last_cpu = if is_missing { NONE } else { got_cpu(queue_cpu, ran_cpu) };
        self.keep(stretch(since, end, last_cpu));
    }

    #[inline]
    fn keep(&mut self, stretch: Stretch) {
        self.latest = self.latest.max(stretch.start).max(stretch.end);
        let is_long = self.ends.last().is_some_and(|&end| stretch.start.min(stretch.end) < end);
        if is_long { &mut self.long } else { &mut self.stretches }.push(stretch);
    }

    /// Moves stretches to a file when there are at least `least`.
    pub(super) fn put_aside(&mut self, folder: &Path, least: usize) -> Result<()> {
        if self.stretches.len() >= least.max(1) {
            self.aside.push(folder, &self.stretches)?;
            self.stretches.clear();
            self.ends.push(self.latest);
        }
        Ok(())
    }

    /// Works out the levels of all CPUs, block by block, from the threads that count.
    pub(super) fn levels(self, is_counted: impl Fn(Utid) -> bool) -> impl Iterator<Item = Result<Levels>> {
        let Queue { has_moves, stretches, aside, mut ends, mut long, .. } = self;
        long.sort_unstable_by_key(|stretch| stretch.start);
        // What comes last has no end.
        ends.push(i64::MAX);
        let mut sweep = Sweep { has_moves, now: NO_TIME, ..Sweep::default() };
        long.iter().filter(|stretch| is_counted(stretch.utid)).for_each(|stretch| sweep.put(stretch));
        let mut later = std::mem::take(&mut sweep.pool);
        later.sort_unstable_by_key(|change| change.ts);
        let mut later = later.into_iter().peekable();
        aside.into_blocks().chain(std::iter::once(Ok(stretches))).zip(ends).map(move |(block, end)| {
            let block = block?;
            block.iter().filter(|stretch| is_counted(stretch.utid)).for_each(|stretch| sweep.put(stretch));
            while let Some(change) = later.next_if(|change| change.ts < end || end == i64::MAX) {
                sweep.pool.push(change);
            }
            Ok(sweep.until(end))
        })
    }
}

/// A stretch of time on a CPU in which nothing changed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Level {
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) cpu: u32,
    pub(super) waiting: u32,
    pub(super) is_running: bool,
    pub(super) is_idle: bool,
}

/// A stretch of time in which the same number of CPUs was idle while threads waited behind others.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Unclaimed {
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) count: u32,
}

/// What ended in a block.
#[derive(Debug, Default)]
pub(super) struct Levels {
    pub(super) cpus: Vec<Level>,
    pub(super) unclaimed: Vec<Unclaimed>,
}

/// The beginning or the end of a stretch.
#[derive(Clone, Copy)]
struct Change {
    ts: i64,
    cpu: u32,
    what: Use,
    by: i8,
}

#[derive(Clone, Copy)]
struct Cpu {
    since: i64,
    /// By use.
    counts: [i32; 3],
    /// Whether it is free, and how many threads wait behind another one.
    free: i32,
    queued: i32,
}

/// Goes through the changes in the order of time.
#[derive(Default)]
struct Sweep {
    has_moves: bool,
    /// The changes that are to come.
    pool: Vec<Change>,
    cpus: Vec<Cpu>,
    free: i32,
    queued: i32,
    now: i64,
    unclaimed_since: i64,
    unclaimed: i32,
}

impl Sweep {
    fn put(&mut self, stretch: &Stretch) {
        let cpu = if self.has_moves { stretch.cpu } else { stretch.unmoved_cpu };
        if cpu != NONE {
            let change = |ts: i64, by: i8| Change { ts, cpu, what: stretch.what, by };
            self.pool.extend([change(stretch.start, 1), change(stretch.end, -1)]);
        }
    }

    /// Takes the changes before `end`, of which none is missing; all that are left where it is the greatest time.
    fn until(&mut self, end: i64) -> Levels {
        let pool = std::mem::take(&mut self.pool);
        let order = order::by_time(pool.len(), |row| pool[row].ts);
        let taken =
            if end == i64::MAX { order.len() } else { order.partition_point(|&row| pool[row as usize].ts < end) };
        let mut levels = Levels::default();
        levels.cpus.reserve(taken / 2);
        for &row in &order[..taken] {
            self.step(&pool[row as usize], &mut levels);
        }
        self.pool.extend(order[taken..].iter().map(|&row| pool[row as usize]));
        if end == i64::MAX {
            self.tick(end, &mut levels);
        }
        levels
    }

    #[inline]
    fn step(&mut self, change: &Change, levels: &mut Levels) {
        let Change { ts, cpu, what, by } = *change;
        if ts > self.now {
            self.tick(ts, levels);
        }
        let index = cpu as usize;
        if index >= self.cpus.len() {
            let unknown = Cpu { since: NO_TIME, counts: [0; 3], free: 0, queued: 0 };
            self.cpus.resize(index + 1, unknown);
        }
        let of = &mut self.cpus[index];
        if of.since != ts {
            if of.since != NO_TIME {
                let [waiting, running, idle] = of.counts;
                levels.cpus.push(Level {
                    start: of.since,
                    end: ts,
                    cpu,
                    waiting: waiting.max(0) as u32,
                    is_running: running > 0,
                    is_idle: idle > 0,
                });
            }
            of.since = ts;
        }
        of.counts[what as usize] += i32::from(by);
        let [waiting, running, idle] = of.counts;
        self.free -= of.free;
        self.queued -= of.queued;
        // The thread that is next on an idle CPU is on its way.
        of.queued = if running > 0 { waiting } else { (waiting - 1).max(0) };
        of.free = i32::from(idle > 0 && running <= 0 && waiting == 0);
        self.free += of.free;
        self.queued += of.queued;
    }

    /// Goes on to the next moment: what is known of this one is whole.
    #[inline]
    fn tick(&mut self, ts: i64, levels: &mut Levels) {
        let unclaimed = self.free.min(self.queued).max(0);
        if unclaimed != self.unclaimed {
            if self.unclaimed > 0 {
                levels.unclaimed.push(Unclaimed {
                    start: self.unclaimed_since,
                    end: self.now,
                    count: self.unclaimed as u32,
                });
            }
            (self.unclaimed, self.unclaimed_since) = (unclaimed, self.now);
        }
        self.now = ts;
    }
}

/// Makes the rows of `cpu_level` and `unclaimed_level`. `start` is the clock's reading at `ts_ns` 0.
pub(super) fn builds(levels: Result<Levels>, start: i64) -> Vec<(&'static str, Build)> {
    match levels {
        Err(error) => vec![("cpu_level", Box::new(|| Err(error.into())))],
        Ok(Levels { cpus, unclaimed }) => vec![
            ("cpu_level", Box::new(move || cpu_rows(&cpus, start))),
            ("unclaimed_level", Box::new(move || unclaimed_rows(&unclaimed, start))),
        ],
    }
}

fn cpu_rows(levels: &[Level], start: i64) -> std::result::Result<RecordBatch, ArrowError> {
    let mut table = CpuLevelTable::with_capacity(levels.len());
    for level in levels {
        table.push(CpuLevelRow {
            ts_ns: level.start.saturating_sub(start),
            duration_ns: level.end.saturating_sub(level.start),
            cpu: level.cpu,
            waiting_count: level.waiting,
            is_running: level.is_running,
            is_idle: level.is_idle,
        });
    }
    tables::batch("cpu_level", table.take())
}

fn unclaimed_rows(levels: &[Unclaimed], start: i64) -> std::result::Result<RecordBatch, ArrowError> {
    let mut table = UnclaimedLevelTable::with_capacity(levels.len());
    for level in levels {
        table.push(UnclaimedLevelRow {
            ts_ns: level.start.saturating_sub(start),
            duration_ns: level.end.saturating_sub(level.start),
            cpu_count: level.count,
        });
    }
    tables::batch("unclaimed_level", table.take())
}

#[cfg(test)]
#[path = "queue_tests.rs"]
mod tests;
