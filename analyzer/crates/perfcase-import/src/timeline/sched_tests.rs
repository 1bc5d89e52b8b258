//! Hand-made switches and wakeups with the intervals that follow from them by definition.

use super::*;

const S: i64 = 1;
const D: i64 = 2;
const PREEMPTED: i64 = 0x100;

fn switch(sched: &mut Sched, clock_ns: i64, cpu: u32, prev: Utid, prev_state: i64, next: Utid) {
    sched.switch(Switch { clock_ns, cpu, prev, next, prev_state, stack: None });
}

fn wake(sched: &mut Sched, clock_ns: i64, kind: WakeKind, woken: Utid, waker: Utid) {
    sched.wakeup(Wakeup { clock_ns, kind, woken, waker: Some(waker), cpu: Some(0), stack: None });
}

/// (thread, state, start, end), closed intervals only.
fn closed(sched: &Sched) -> Vec<(Utid, State, i64, i64)> {
    let closed = sched.intervals.iter().filter(|interval| !interval.is_open);
    closed.map(|i| (i.utid, i.state, i.start, i.end)).collect()
}

#[test]
fn a_sleep_is_split_where_the_wakeup_came() {
    let mut sched = Sched::default();
    switch(&mut sched, 100, 0, 0, 0, 1);
    switch(&mut sched, 150, 0, 1, S, 0);
    wake(&mut sched, 200, WakeKind::Wakeup, 1, 2);
    wake(&mut sched, 210, WakeKind::Wakeup, 1, 3);
    switch(&mut sched, 230, 0, 0, 0, 1);
    switch(&mut sched, 300, 0, 1, S, 0);
    use State::*;
    let expected = [(1, Running, 100, 150), (0, Idle, 150, 230), (1, Sleeping, 150, 200), (1, Runnable, 200, 230)];
    assert_eq!(closed(&sched)[..4], expected);
    assert_eq!(closed(&sched)[4..], [(1, Running, 230, 300)]);
    let sleep = sched.intervals.iter().find(|i| i.state == Sleeping).unwrap();
    assert_eq!((sleep.waker, sleep.ran), (2, 230), "the first wakeup ends the sleep");
}

#[test]
fn a_preempted_thread_waits_for_a_cpu_all_the_time() {
    let mut sched = Sched::default();
    switch(&mut sched, 0, 0, 0, 0, 1);
    switch(&mut sched, 10, 0, 1, PREEMPTED, 2);
    switch(&mut sched, 30, 0, 2, D, 1);
    switch(&mut sched, 35, 0, 1, S, 0);
    use State::*;
    assert!(closed(&sched).contains(&(1, Preempted, 10, 30)));
    assert!(closed(&sched).contains(&(1, Running, 30, 35)));
}

#[test]
fn where_switches_were_lost_the_time_belongs_to_the_thread_that_leaves() {
    let mut sched = Sched::default();
    switch(&mut sched, 0, 0, 0, 0, 1);
    // The switch from 1 to 2 is lost.
    switch(&mut sched, 50, 0, 2, S, 0);
    let run = sched.intervals.iter().find(|i| i.state == State::Running).unwrap();
    assert_eq!((run.utid, run.start, run.end, run.is_ambiguous), (2, 0, 50, true));
}

#[test]
fn a_wakeup_while_the_thread_runs_is_no_wait() {
    let mut sched = Sched::default();
    switch(&mut sched, 0, 0, 0, 0, 1);
    wake(&mut sched, 5, WakeKind::Wakeup, 1, 2);
    switch(&mut sched, 10, 0, 1, S, 0);
    switch(&mut sched, 20, 0, 0, 0, 1);
    switch(&mut sched, 30, 0, 1, S, 0);
    use State::*;
    assert!(closed(&sched).contains(&(1, Sleeping, 10, 20)), "its wakeup was not seen: {:?}", closed(&sched));
    assert!(!closed(&sched).iter().any(|i| i.1 == Runnable));
}

#[test]
fn with_sched_waking_the_later_sched_wakeup_adds_nothing() {
    let mut sched = Sched::default();
    switch(&mut sched, 0, 0, 1, S, 0);
    wake(&mut sched, 40, WakeKind::Waking, 1, 2);
    wake(&mut sched, 45, WakeKind::Wakeup, 1, 3);
    switch(&mut sched, 50, 0, 0, 0, 1);
    switch(&mut sched, 60, 0, 1, S, 0);
    assert!(closed(&sched).contains(&(1, State::Runnable, 40, 50)));
}

#[test]
fn what_the_end_cuts_is_open() {
    let mut sched = Sched::default();
    switch(&mut sched, 0, 0, 1, S, 2);
    sched.settle_open(100);
    let open: Vec<_> =
        sched.intervals.iter().filter(|i| i.is_open).map(|i| (i.utid, i.state, i.start, i.end)).collect();
    assert_eq!(open, [(2, State::Running, 0, 100), (1, State::Sleeping, 0, 100)]);
}

#[test]
fn a_cpu_number_beyond_any_machine_costs_no_memory() {
    let mut sched = Sched::default();
    switch(&mut sched, 0, u32::MAX, 1, S, 2);
    assert!(sched.cpus.is_empty() && sched.intervals.is_empty());
}

#[test]
fn callchains_come_from_the_source_that_has_them() {
    let (mut seen, mut known) = (Sched::default(), Sched::default());
    for (sched, late_ns, stacks) in [(&mut seen, 0, false), (&mut known, 400, true)] {
        let mut step = |clock_ns: i64, prev, next, stack: u32| {
            let stack = stacks.then_some(stack);
            sched.switch(Switch { clock_ns: clock_ns + late_ns, cpu: 0, prev, next, prev_state: S, stack });
        };
        step(0, 0, 1, 7);
        step(100_000, 1, 0, 8);
        let (waker, cpu, stack) = (Some(2), Some(0), stacks.then_some(5));
        sched.wakeup(Wakeup { clock_ns: 200_000 + late_ns, kind: WakeKind::Wakeup, woken: 1, waker, cpu, stack });
        let mut step = |clock_ns: i64, prev, next, stack: u32| {
            let stack = stacks.then_some(stack);
            sched.switch(Switch { clock_ns: clock_ns + late_ns, cpu: 0, prev, next, prev_state: S, stack });
        };
        step(300_000, 0, 1, 9);
        // The switch at 400,000 is not in the source with callchains.
        if !stacks {
            step(400_000, 1, 0, 0);
            step(450_000, 0, 1, 0);
        }
        step(500_000, 1, 0, 4);
    }
    seen.borrow_stacks(&known);
    let of_one = seen.intervals.iter().filter(|i| i.utid == 1);
    let stacks: Vec<_> = of_one.map(|i| (i.state, i.start, i.stack, i.waker_stack)).collect();
    use State::*;
    let expected = [
        (Running, 0, 8, NONE),
        (Sleeping, 100_000, 8, 5),
        (Runnable, 200_000, 8, NONE),
        (Running, 300_000, NONE, NONE),
        (Sleeping, 400_000, NONE, NONE),
        (Running, 450_000, 4, NONE),
    ];
    assert_eq!(stacks, expected);
}

#[test]
fn of_a_recording_of_some_threads_the_others_are_left_out() {
    let (mut seen, mut followed) = (Sched::default(), Sched::default());
    switch(&mut seen, 0, 0, 3, S, 1);
    switch(&mut seen, 10, 0, 1, S, 2);
    switch(&mut seen, 40, 0, 3, S, 1);
    switch(&mut seen, 60, 0, 1, S, 0);
    switch(&mut followed, 10, 0, 1, S, 2);
    switch(&mut followed, 60, 0, 1, S, 0);
    seen.keep_threads_of(&followed);
    use State::*;
    assert_eq!(closed(&seen), [(1, Running, 0, 10), (1, Sleeping, 10, 40), (1, Running, 40, 60)]);
}
