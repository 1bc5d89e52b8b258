//! The levels of CPUs against their definition, which looks at every stretch at every moment.

use std::collections::BTreeSet;

use super::super::interval::Context;
use super::super::sched::{Sched, Switch, WakeKind, Wakeup};
use super::*;

/// Numbers that are the same each time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

const CPUS: u64 = 3;
const THREADS: u64 = 6;

/// A thread's moves, and what was put aside meanwhile.
#[derive(Default)]
struct Recorded {
    sched: Sched,
    moves: Vec<(i64, Utid, u32)>,
}

/// Threads that switch, wake and are moved at random. `lost` of 100 switches are lost.
fn at_random(seed: u64, (with_moves, lost): (bool, u64), block: usize, folder: &Path) -> Recorded {
    let mut chance = Chance(seed);
    let mut recorded = Recorded::default();
    let mut running = [0; CPUS as usize];
    let mut clock_ns = 100;
    for _ in 0..300 {
        clock_ns += 1 + chance.below(3) as i64;
        let cpu = chance.below(CPUS) as u32;
        let thread = 1 + chance.below(THREADS) as Utid;
        match chance.below(10) {
            0..5 => {
                let prev = running[cpu as usize];
                let next = if chance.below(3) == 0 || running.contains(&thread) { 0 } else { thread };
                running[cpu as usize] = next;
                let prev_state = [0, 1, 2, 0x100][chance.below(4) as usize];
                if chance.below(100) >= lost {
                    let switch = Switch { clock_ns, cpu, prev, prev_name: prev, next, prev_state, stack: None };
                    recorded.sched.switch(switch);
                }
            }
            5..8 => {
                let waker = Some((running[cpu as usize], 0));
                let (kind, woken) = (WakeKind::Waking, thread);
                let (woken_name, cpu, stack) = (woken, Some(cpu), None);
                recorded.sched.wakeup(Wakeup {
                    clock_ns,
                    kind,
                    woken,
                    woken_name,
                    waker,
                    cpu,
                    stack,
                    context: Context::Task,
                });
            }
            _ if with_moves => {
                recorded.sched.moved(clock_ns, thread, Some(cpu), None);
                recorded.moves.push((clock_ns, thread, cpu));
            }
            _ => {}
        }
        recorded.sched.queue_mut().put_aside(folder, block).unwrap();
    }
    recorded.sched.settle_open(clock_ns + 5, |_| None, |utid| utid);
    recorded
}

/// The stretches of waits, runs and idle times by the definition: a thread's steps in the order of time, each with what
/// was last known.
///
/// Where switches were lost, the order of a thread's steps is not known: then the CPUs of a wait are those that it has.
fn stretches(intervals: &[Interval], moves: &[(i64, Utid, u32)], is_whole: bool) -> Vec<(i64, i64, u32, Use)> {
    let mut found = Vec::new();
    for interval in intervals.iter().filter(|interval| interval.is_run()) {
        let what = if interval.state == State::Idle { Use::Idle } else { Use::Running };
        found.push((interval.start, interval.end, interval.cpu, what));
    }
    for utid in 1..=THREADS as Utid {
        let mut of: Vec<&Interval> = intervals.iter().filter(|interval| interval.utid == utid).collect();
        of.sort_by_key(|interval| (interval.end, interval.start, interval.is_run()));
        let mut places: Vec<(i64, u32)> = Vec::new();
        let moves_of: Vec<(i64, u32)> = moves.iter().filter(|of| of.1 == utid).map(|of| (of.0, of.2)).collect();
        let runs = of.iter().filter(|interval| interval.is_run());
        // Ends of runs come before moves of the same moment.
        let mut known: Vec<(i64, u8, u32)> = runs.map(|run| (run.end, 0, run.cpu)).collect();
        known.extend(moves_of.iter().map(|&(at, cpu)| (at, 1, cpu)));
        known.sort_by_key(|&(at, place, _)| (at, place));
        places.extend(known.iter().map(|&(at, _, cpu)| (at, cpu)));
        for (index, wait) in of.iter().enumerate() {
            if !matches!(wait.state, State::Runnable | State::Preempted) {
                continue;
            }
            let known = |cpu: u32| (cpu != NONE).then_some(cpu);
            let (got, began) = (known(wait.ran_cpu), known(wait.queue_cpu));
            if is_whole {
                let next = of.get(index + 1).filter(|next| next.is_run() && !wait.is_open);
                assert_eq!(got, next.map(|next| next.cpu), "the CPU that the wait ended on");
                let last = places.iter().rev().find(|&&(at, _)| at <= wait.start);
                assert_eq!(began, last.map(|&(_, cpu)| cpu), "the run queue that the wait began in");
            }
            if moves.is_empty() {
                found.extend(got.or(known(wait.cpu)).map(|cpu| (wait.start, wait.end, cpu, Use::Waiting)));
                continue;
            }
            let within = moves_of.iter().filter(|&&(at, _)| at > wait.start && at < wait.end);
            let mut edges = vec![(wait.start, began)];
            edges.extend(within.map(|&(at, cpu)| (at, Some(cpu))));
            for (index, &(since, queue)) in edges.iter().enumerate() {
                let next = edges.get(index + 1);
                let is_missed = next.is_none() && queue.zip(got).is_some_and(|(queue, got)| queue != got);
                let cpu = queue.or(got).filter(|_| !is_missed);
                let end = next.map_or(wait.end, |&(next, _)| next);
                found.extend(cpu.map(|cpu| (since, end, cpu, Use::Waiting)));
            }
        }
    }
    found
}

/// How many stretches of each use cover the time from one moment to the next.
fn counts(stretches: &[(i64, i64, u32, Use)], cpu: u32, at: i64) -> [i64; 3] {
    let mut counts = [0; 3];
    let of_now = stretches.iter().filter(|&&(start, end, of, _)| of == cpu && start <= at && at < end);
    of_now.for_each(|&(.., what)| counts[what as usize] += 1);
    counts
}

fn check(seed: u64, with_moves: bool, lost: u64, block: usize) -> (usize, usize) {
    let folder = tempfile::tempdir().unwrap();
    let Recorded { mut sched, moves } = at_random(seed, (with_moves, lost), block, folder.path());
    let mut intervals = Vec::new();
    sched.each_block(|block| intervals.extend_from_slice(block)).unwrap();
    let all = stretches(&intervals, &moves, lost == 0);
    let mut levels = Levels::default();
    for found in sched.take_queue().levels(|_| true) {
        let Levels { cpus, unclaimed } = found.unwrap();
        levels.cpus.extend(cpus);
        levels.unclaimed.extend(unclaimed);
    }
    let mut wanted = Vec::new();
    let mut moments: BTreeSet<i64> = BTreeSet::new();
    for cpu in 0..CPUS as u32 {
        let of = all.iter().filter(|of| of.2 == cpu);
        let edges: Vec<i64> = of.flat_map(|of| [of.0, of.1]).collect::<BTreeSet<i64>>().into_iter().collect();
        moments.extend(&edges);
        for pair in edges.windows(2) {
            let [waiting, running, idle] = counts(&all, cpu, pair[0]);
            let (start, end, waiting) = (pair[0], pair[1], waiting as u32);
            wanted.push(Level { start, end, cpu, waiting, is_running: running > 0, is_idle: idle > 0 });
        }
    }
    levels.cpus.sort_by_key(|level| (level.cpu, level.start));
    assert_eq!(levels.cpus, wanted, "seed {seed}");
    let mut unclaimed: Vec<Unclaimed> = Vec::new();
    let moments: Vec<i64> = moments.into_iter().collect();
    for pair in moments.windows(2) {
        let (mut free, mut queued) = (0, 0);
        for cpu in 0..CPUS as u32 {
            let [waiting, running, idle] = counts(&all, cpu, pair[0]);
            free += i64::from(idle > 0 && running == 0 && waiting == 0);
            queued += if running > 0 { waiting } else { (waiting - 1).max(0) };
        }
        let count = free.min(queued) as u32;
        match unclaimed.last_mut() {
            Some(last) if last.count == count && last.end == pair[0] => last.end = pair[1],
            _ => unclaimed.push(Unclaimed { start: pair[0], end: pair[1], count }),
        }
    }
    unclaimed.retain(|of| of.count > 0);
    assert_eq!(levels.unclaimed, unclaimed, "seed {seed}");
    (wanted.len(), unclaimed.len())
}

#[test]
fn levels_of_random_switches_wakeups_and_moves_are_as_defined() {
    let (mut rows, mut unclaimed) = (0, 0);
    for seed in 0..200 {
        // Blocks of one stretch, of a few, and one of all.
        let block = [1, 7, 50, usize::MAX][seed as usize % 4];
        let found = check(seed, seed % 3 > 0, seed % 5 / 3 * 5, block);
        rows += found.0;
        unclaimed += found.1;
    }
    assert!(rows > 10_000 && unclaimed > 1_000, "{rows} rows, {unclaimed} times with an unclaimed CPU");
}

#[test]
fn a_thread_that_does_not_count_leaves_no_trace() {
    let folder = tempfile::tempdir().unwrap();
    let Recorded { mut sched, .. } = at_random(1, (true, 0), 20, folder.path());
    let levels = sched.take_queue().levels(|utid| utid == 0).map(|found| found.unwrap().cpus);
    let all: Vec<Level> = levels.flatten().collect();
    assert!(all.iter().any(|level| level.is_idle));
    assert!(all.iter().all(|level| level.waiting == 0 && !level.is_running));
}

#[test]
fn a_stretch_comes_back_from_a_file() {
    let of = |what: Use| Stretch { start: -5, end: i64::MAX, utid: 7, cpu: 3, unmoved_cpu: NONE, what };
    for what in Use::ALL {
        let mut bytes = [0; Stretch::BYTES];
        of(what).put(&mut bytes);
        assert_eq!(Stretch::of(&bytes), Some(of(what)));
    }
    let mut damaged = [0; Stretch::BYTES];
    damaged[28] = 9;
    assert_eq!(Stretch::of(&damaged), None);
}
