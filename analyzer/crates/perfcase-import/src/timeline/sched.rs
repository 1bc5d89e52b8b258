//! Thread states from context switches and wakeups.
//!
//! An interval of a thread is written when the thread next leaves a CPU. Only then it is settled when the thread got
//! the CPU: the time since the CPU's previous switch belongs to the thread that leaves now, even if that switch named
//! another thread. perf sched timehist computes it in the same way. If the switch that put the thread there is missing,
//! this time is an upper bound: the thread got the CPU no earlier than it left a CPU before, and no earlier than it was
//! woken. Until then the CPU was idle if its last switch was to the idle task; otherwise it is unknown what the CPU
//! did.

use std::collections::HashMap;
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;

use super::Quality;
use super::aside::{Aside, BLOCK};
use super::borrow::Borrowed;
use super::burst::Bursts;
use super::interval::{Interval, NONE, State};
use super::queue::Queue;
use super::wake::Wake;
pub(crate) use super::wake::{WakeKind, Wakeup};
use crate::columns::take_rows;
use crate::model::{NO_TIME, NameId, Utid};
use crate::order;
use crate::tables::{self, Table, ThreadStateRow, ThreadStateTable};
use crate::writer::Build;

/// The most CPUs that are followed: a bound for hostile input. The kernel allows an eighth of that.
pub(super) const MOST_CPUS: u32 = 1 << 16;

/// The idle task's name, which is the first name of all.
const IDLE_NAME: NameId = 0;

/// A context switch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Switch {
    pub clock_ns: i64,
    pub cpu: u32,
    pub prev: Utid,
    pub prev_name: NameId,
    pub next: Utid,
    /// The kernel's state bits of `prev`.
    pub prev_state: i64,
    pub stack: Option<u32>,
}

/// What is known about a thread, as long as it is not known to have left its CPU again.
#[derive(Clone, Copy)]
struct Thread {
    out: i64,
    out_name: NameId,
    out_cpu: u32,
    out_stack: u32,
    out_state: State,
    woken_name: NameId,
    /// The first wakeup since it left its CPU.
    wake: Wake,
    /// The last sched_waking.
    last: Wake,
    /// The last sched_waking before it left its CPU, if it was on the way to that.
    early: Wake,
}

const UNKNOWN: Thread = Thread {
    out: NO_TIME,
    out_name: NONE,
    out_cpu: NONE,
    out_stack: NONE,
    out_state: State::Running,
    woken_name: NONE,
    wake: Wake::NONE,
    last: Wake::NONE,
    early: Wake::NONE,
};

#[derive(Default)]
pub(crate) struct Sched {
    threads: Vec<Thread>,
    /// The time of each CPU's last switch, and the thread that it put there.
    cpus: Vec<Option<(i64, Utid)>>,
    intervals: Vec<Interval>,
    /// The intervals before these, in a file.
    aside: Aside<Interval>,
    /// What the CPUs did meanwhile.
    queue: Queue,
    bursts: Bursts,
    switches: u64,
    /// Switches on CPUs that no host has.
    refused_count: u64,
    /// The number of runs whose beginning neither a switch nor a wakeup shows.
    doubtful: u64,
    wakeups: u64,
    has_stacks: bool,
    /// The source records sched_waking. It comes first and knows the waker, so sched_wakeup adds nothing.
    has_waking: bool,
}

impl Sched {
    /// A timeline whose bursts join their runs after so many new ones.
    #[cfg(test)]
    pub(super) fn joining_after(runs: usize) -> Sched {
        Sched { bursts: Bursts::joined_after(runs), ..Sched::default() }
    }

    /// Gives the figures by which the source is chosen, except those that only others know.
    pub(super) fn quality(&self) -> Quality {
        Quality {
            doubtful: self.doubtful * 20 / self.switches.max(1),
            count: self.switches,
            has_wakeups: self.wakeups > 0,
            has_stacks: self.has_stacks,
            ..Quality::default()
        }
    }

    /// Gives how many switches and moves name a CPU that no host has.
    pub(crate) fn refused_count(&self) -> u64 {
        self.refused_count + self.queue.refused_count
    }

    /// Tells whether a thread was seen to leave a CPU.
    pub(super) fn has_left(&self, utid: Utid) -> bool {
        self.threads.get(utid as usize).is_some_and(|thread| thread.out != NO_TIME)
    }

    /// Notes that a thread was moved by `mover` to the run queue of another CPU; `None` if the event names none.
    #[inline]
    pub(crate) fn moved(&mut self, clock_ns: i64, utid: Utid, cpu: Option<u32>, mover: Option<Utid>) {
        // The waker chooses the run queue after sched_waking: the thread was never in the one where it was before. A thread of
        // which switches are missing may be woken again in what looks like one wait: that is no choice at its beginning.
        let thread = self.threads.get(utid as usize);
        let last = thread.filter(|thread| thread.wake.at == thread.last.at).map_or(Wake::NONE, |thread| thread.last);
        if last.is_just_before(clock_ns) && mover == Some(last.waker) {
            self.queue.chosen(last.at, utid, cpu);
        }
        self.queue.moved(clock_ns, utid, cpu);
    }

    /// Adds an interval.
    #[inline]
    fn push(&mut self, mut interval: Interval) {
        self.queue.add(&mut interval);
        self.bursts.add(&mut interval);
        self.intervals.push(interval);
    }

    /// Gives what the CPUs did.
    pub(super) fn queue_mut(&mut self) -> &mut Queue {
        &mut self.queue
    }

    /// Takes what the CPUs did.
    pub(super) fn take_queue(&mut self) -> Queue {
        std::mem::take(&mut self.queue)
    }

    /// Moves intervals to a file when there are many, because they wait until a source is chosen.
    pub(crate) fn put_aside(&mut self, folder: &Path) -> std::io::Result<()> {
        if self.intervals.len() >= BLOCK {
            self.aside.push(folder, &self.intervals)?;
            self.intervals.clear();
        }
        Ok(())
    }

    /// Gives all intervals to `look`, block by block.
    pub(super) fn each_block(&self, mut look: impl FnMut(&[Interval])) -> std::io::Result<()> {
        for block in self.aside.blocks() {
            look(&block?);
        }
        look(&self.intervals);
        Ok(())
    }

    #[inline]
    fn thread(&mut self, utid: Utid) -> &mut Thread {
        let index = utid as usize;
        if index >= self.threads.len() {
            self.threads.resize(index + 1, UNKNOWN);
        }
        &mut self.threads[index]
    }

    #[inline]
    pub(crate) fn wakeup(&mut self, wakeup: Wakeup) {
        self.wakeups += 1;
        self.has_waking |= wakeup.kind == WakeKind::Waking;
        if self.has_waking && wakeup.kind == WakeKind::Wakeup {
            return;
        }
        let wake = Wake::of(&wakeup);
        let thread = self.thread(wakeup.woken);
        // The first wakeup ends the sleep. Later wakeups find the thread awake.
        if thread.wake.at == NO_TIME {
            thread.wake = wake;
            thread.woken_name = wakeup.woken_name;
        }
        if wakeup.kind == WakeKind::Waking {
            thread.last = wake;
        }
    }

    #[inline]
    pub(crate) fn switch(&mut self, switch: Switch) {
        self.switches += 1;
        self.has_stacks |= switch.stack.is_some();
        if switch.cpu >= MOST_CPUS {
            self.refused_count += 1;
            return;
        }
        let index = switch.cpu as usize;
        if index >= self.cpus.len() {
            self.cpus.resize(index + 1, None);
        }
        let before = self.cpus[index].replace((switch.clock_ns, switch.next));
        let state = State::of(switch.prev_state);
        let stack = switch.stack.unwrap_or(NONE);
        let mut start = NO_TIME;
        if let Some((since, expected)) = before {
            start = since;
            if switch.prev != 0 {
                let thread = *self.thread(switch.prev);
                let is_missing = expected != switch.prev || thread.out > since;
                if is_missing {
                    start = since.max(thread.out).max(thread.wake.at).min(switch.clock_ns);
                }
                self.doubtful += u64::from(is_missing && start == since);
                self.settle_wait(switch.prev, start, is_missing && start > since, Some(switch.cpu));
            }
            let run = Interval {
                start,
                end: switch.clock_ns,
                utid: switch.prev,
                name: switch.prev_name,
                cpu: switch.cpu,
                stack,
                state: if switch.prev == 0 { State::Idle } else { State::Running },
                next_state: state,
                is_ambiguous: expected != switch.prev || start > since,
                ..Interval::UNKNOWN
            };
            if expected == 0 && start > since {
                // If one switch is missing, it is the switch from the idle task: on some CPUs of some machines none of
                // these is traced.
                let (state, next_state) = (State::Idle, State::Running);
                self.push(Interval {
                    start: since,
                    end: start,
                    utid: 0,
                    name: IDLE_NAME,
                    stack: NONE,
                    state,
                    next_state,
                    ..run
                });
            }
            self.push(run);
        }
        let thread = self.thread(switch.prev);
        let is_early = thread.last.at > start && thread.last.is_just_before(switch.clock_ns);
        let early = if is_early { thread.last } else { Wake::NONE };
        *thread = Thread {
            early,
            out: switch.clock_ns,
            out_name: switch.prev_name,
            out_cpu: switch.cpu,
            out_stack: stack,
            out_state: state,
            ..UNKNOWN
        };
        if self.bursts.is_full() {
            let asleep = (0..).zip(&self.threads).filter(|(_, thread)| thread.out_state.is_sleep());
            let end_of = |thread: &Thread| (thread.wake.at != NO_TIME).then(|| thread.wake.at.max(thread.out));
            self.bursts.join(switch.clock_ns, asleep.map(|(utid, thread)| (utid, thread.out, end_of(thread))));
        }
    }

    /// Writes what the thread did from when it left its CPU until `came`, when it got `ran_cpu`, or when the capture
    /// ended (`None`). `is_bound` means that it got the CPU at `came` at the earliest, so nothing is known about a wait
    /// for the CPU.
    fn settle_wait(&mut self, utid: Utid, came: i64, is_bound: bool, ran_cpu: Option<u32>) {
        let thread = *self.thread(utid);
        let interval = |start: i64, end: i64, state: State| Interval {
            start,
            end,
            utid,
            name: thread.out_name,
            cpu: thread.out_cpu,
            stack: thread.out_stack,
            state,
            is_open: ran_cpu.is_none(),
            ..Interval::UNKNOWN
        };
        let out = (thread.out != NO_TIME && thread.out <= came).then_some(thread.out);
        let is_woken = thread.wake.at != NO_TIME && thread.wake.at <= came;
        // Who sleeps until it runs was woken. If not since it left its CPU, the waker saw it on the way there.
        let is_early = !is_woken && out.is_some() && ran_cpu.is_some() && thread.early.at != NO_TIME;
        let wake = if is_early { thread.early } else { thread.wake };
        let woken = (is_woken || is_early).then_some(wake.at);
        let wait = |start: i64, state: State| {
            let woken_by = if state == State::Runnable { wake.waker } else { NONE };
            Interval { woken_by, ran_cpu: ran_cpu.unwrap_or(NONE), ..interval(start, came, state) }
        };
        let wants_cpu = thread.out_state == State::Preempted;
        match (out, woken) {
            (Some(_), _) if thread.out_state == State::Dead => {}
            (Some(out), Some(woken)) if is_bound && !wants_cpu && woken > out => {
                self.push(wake.ended(interval(out, woken, thread.out_state)));
            }
            _ if is_bound => {}
            (Some(out), _) if wants_cpu => self.push(wait(out, thread.out_state)),
            (Some(out), Some(woken)) => {
                let ran = if ran_cpu.is_none() { NO_TIME } else { came };
                let sleep = interval(out, woken.max(out), thread.out_state);
                self.push(Interval { ran, is_open: false, ..wake.ended(sleep) });
                self.push(wait(woken.max(out), State::Runnable));
            }
            (Some(out), None) => self.push(interval(out, came, thread.out_state)),
            // A new thread, or one that slept since before the capture: only the wait for a CPU is known.
            (None, Some(woken)) => {
                let wait = Interval { name: thread.woken_name, ..wait(woken, State::Runnable) };
                self.push(wake.ended(wait));
            }
            (None, None) => {}
        }
    }

    /// Writes what was under way when the capture ended, or when the thread exited: a recording of some threads does
    /// not have the switch that takes a dead thread off its CPU.
    pub(crate) fn settle_open(
        &mut self,
        end: i64,
        exit_of: impl Fn(Utid) -> Option<i64>,
        name_of: impl Fn(Utid) -> NameId,
    ) {
        let end_after =
            |utid: Utid, since: i64| exit_of(utid).filter(|&exit| exit > since).map_or(end, |exit| exit.min(end));
        // The CPUs on which each thread was put and which it was not seen to leave since. There are several if a switch
        // was lost, or if the recordings of the CPUs ended one after the other. A CPU may also still name a thread that
        // later ran on another CPU: it is unknown how long the thread ran here.
        let mut places: HashMap<Utid, Vec<(i64, u32)>> = HashMap::new();
        for (cpu, &last) in self.cpus.iter().enumerate() {
            let Some((since, utid)) = last else { continue };
            if utid == 0 || self.threads.get(utid as usize).is_none_or(|thread| thread.out <= since) {
                places.entry(utid).or_default().push((since, cpu as u32));
            }
        }
        let mut running: Vec<Utid> = places.keys().copied().collect();
        running.sort_unstable();
        for &utid in &running {
            let Some(mut runs) = places.remove(&utid) else { continue };
            runs.sort_unstable();
            if let (Some(&(since, cpu)), true) = (runs.first(), utid != 0) {
                self.settle_wait(utid, since, false, Some(cpu));
            }
            for (index, &(since, cpu)) in runs.iter().enumerate() {
                // A thread is on one CPU at a time, the idle task on all of them.
                let next = runs.get(index + 1).filter(|_| utid != 0);
                self.push(Interval {
                    start: since,
                    end: next.map_or_else(|| end_after(utid, since), |&(next, _)| next),
                    utid,
                    name: name_of(utid),
                    cpu,
                    state: if utid == 0 { State::Idle } else { State::Running },
                    is_ambiguous: next.is_some(),
                    is_open: true,
                    ..Interval::UNKNOWN
                });
            }
        }
        for utid in 1..self.threads.len() as Utid {
            if running.binary_search(&utid).is_err() {
                let came = end_after(utid, self.threads[utid as usize].out);
                self.settle_wait(utid, came, false, None);
            }
        }
    }

    /// Takes the settled intervals, if there are at least `least`; otherwise `None`. The thread that writes them makes
    /// their rows.
    pub(crate) fn settled(&mut self, start: i64, least: usize) -> Option<Build> {
        if self.intervals.len() < least.max(1) {
            return None;
        }
        let intervals = take_rows(&mut self.intervals);
        Some(Box::new(move || {
            let order = order::by_time(intervals.len(), |row| intervals[row].start);
            rows(&intervals, &order, start)
        }))
    }

    /// Gives everything that is left, block by block, completed by what another source knows.
    pub(super) fn into_blocks(self, start: i64, mut other: Option<Borrowed>) -> impl Iterator<Item = Build> {
        let last = (!self.intervals.is_empty()).then_some(self.intervals);
        self.aside.into_blocks().chain(last.map(Ok)).map(move |block| -> Build {
            let block = block.map(|mut intervals| {
                other.iter_mut().for_each(|other| other.complete(&mut intervals));
                intervals
            });
            Box::new(move || {
                let intervals = block?;
                let order = order::by_time(intervals.len(), |row| intervals[row].start);
                rows(&intervals, &order, start)
            })
        })
    }
}

/// Makes rows of `thread_state`, in this order.
fn rows(intervals: &[Interval], order: &[u32], start: i64) -> Result<RecordBatch, ArrowError> {
    let mut table = ThreadStateTable::with_capacity(order.len());
    let known = |number: u32| (number != NONE).then_some(number);
    for &row in order {
        let interval = &intervals[row as usize];
        let is_run = matches!(interval.state, State::Running | State::Idle);
        table.push(ThreadStateRow {
            ts_ns: interval.start.saturating_sub(start),
            duration_ns: interval.end.saturating_sub(interval.start),
            utid: interval.utid,
            name_id: known(interval.name),
            state: interval.state.name(),
            cpu: known(interval.cpu),
            next_state: (is_run && !interval.is_open).then(|| interval.next_state.name()),
            stack_id: known(interval.stack),
            waker_utid: known(interval.waker),
            waker_name_id: known(interval.waker_name),
            waker_cpu: known(interval.waker_cpu),
            waker_stack_id: known(interval.waker_stack),
            waker_context: interval.waker_context.name(),
            woken_by_utid: known(interval.woken_by),
            queue_cpu: known(interval.queue_cpu),
            ran_cpu: known(interval.ran_cpu),
            run_queue_ns: (interval.ran != NO_TIME).then(|| interval.ran.saturating_sub(interval.end)),
            gap_ns: (interval.gap != NO_TIME).then_some(interval.gap),
            burst: known(interval.burst),
            waker_burst: known(interval.waker_burst),
            waker_burst_count: known(interval.waker_bursts),
            is_ambiguous: interval.is_ambiguous,
            is_open: interval.is_open,
        });
    }
    tables::batch("thread_state", table.take())
}

#[cfg(test)]
#[path = "sched_tests.rs"]
mod tests;
