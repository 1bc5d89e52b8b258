//! Switches and wakeups made by hand, and the intervals that follow from them by definition.

use super::super::interval::Context;
use super::*;

const S: i64 = 1;
const D: i64 = 2;
const PREEMPTED: i64 = 0x100;

fn switch(sched: &mut Sched, clock_ns: i64, cpu: u32, prev: Utid, prev_state: i64, next: Utid) {
    sched.switch(Switch { clock_ns, cpu, prev, prev_name: prev, next, prev_state, stack: None });
}

fn wake(sched: &mut Sched, clock_ns: i64, kind: WakeKind, woken: Utid, waker: Utid) {
    sched.wakeup(Wakeup {
        clock_ns,
        kind,
        woken,
        woken_name: woken,
        waker: Some((waker, waker)),
        cpu: Some(0),
        stack: None,
        context: Context::Task,
    });
}

/// (thread, state, start, end) of closed intervals only.
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
fn a_run_whose_beginning_is_missing_begins_no_earlier_than_the_thread_was_woken() {
    let mut sched = Sched::default();
    switch(&mut sched, 0, 0, 0, 0, 1);
    switch(&mut sched, 10, 0, 1, S, 0);
    wake(&mut sched, 900, WakeKind::Wakeup, 1, 2);
    // The switch that put 1 there is missing.
    switch(&mut sched, 920, 0, 1, S, 0);
    use State::*;
    let expected = [(1, Running, 0, 10), (1, Sleeping, 10, 900), (0, Idle, 10, 900), (1, Running, 900, 920)];
    assert_eq!(closed(&sched), expected);
    let [_, sleep, idle, run] = &sched.intervals[..] else { panic!("four intervals") };
    assert_eq!((sleep.waker, sleep.ran), (2, NO_TIME), "how long it waited for the CPU is not known");
    assert!(idle.is_ambiguous && run.is_ambiguous);
}

#[test]
fn a_run_whose_beginning_is_missing_begins_no_earlier_than_the_thread_ran_elsewhere() {
    let mut sched = Sched::default();
    switch(&mut sched, 0, 0, 0, 0, 1);
    switch(&mut sched, 5, 1, 0, 0, 1);
    switch(&mut sched, 50, 1, 1, PREEMPTED, 0);
    // CPU 0 still names 1, from before it ran on CPU 1.
    switch(&mut sched, 60, 0, 1, S, 0);
    use State::*;
    assert_eq!(closed(&sched), [(1, Running, 5, 50), (1, Running, 50, 60)]);
    assert!(sched.intervals[1].is_ambiguous);
}

#[test]
fn a_wakeup_before_the_cpu_s_last_switch_bounds_nothing() {
    let mut sched = Sched::default();
    switch(&mut sched, 0, 0, 1, S, 2);
    wake(&mut sched, 20, WakeKind::Wakeup, 1, 2);
    switch(&mut sched, 30, 0, 2, S, 3);
    switch(&mut sched, 90, 0, 1, S, 0);
    use State::*;
    let of_1: Vec<_> = closed(&sched).into_iter().filter(|&(utid, ..)| utid == 1).collect();
    assert_eq!(
        of_1,
        [(1, Sleeping, 0, 20), (1, Runnable, 20, 30), (1, Running, 30, 90)],
        "it waited that long at least"
    );
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

/// The thread 1 of a capture in which it is woken at these times. It leaves its CPU at 200 µs and again at 400 µs.
fn woken_at(times_ns: &[i64]) -> Vec<(State, i64, i64, u32)> {
    let mut sched = Sched::default();
    let mut wakings = times_ns.iter().zip(11..).peekable();
    let switches = [(50_000, 0, 1), (200_000, 1, 0), (300_000, 0, 1), (400_000, 1, 0)];
    for (clock_ns, prev, next) in switches {
        while let Some((&at, waker)) = wakings.next_if(|&(&at, _)| at < clock_ns) {
            wake(&mut sched, at, WakeKind::Waking, 1, waker);
        }
        switch(&mut sched, clock_ns, 0, prev, S, next);
    }
    let of_1 = sched.intervals.iter().filter(|interval| interval.utid == 1);
    of_1.filter(|i| i.end >= 200_000 && i.start < 300_000).map(|i| (i.state, i.start, i.end, i.waker)).skip(1).collect()
}

#[test]
fn a_thread_may_be_woken_on_the_way_off_its_cpu() {
    use State::*;
    let early = |waker: u32| vec![(Sleeping, 200_000, 200_000, waker), (Runnable, 200_000, 300_000, NONE)];
    assert_eq!(woken_at(&[40_000, 197_000]), early(12));
    assert_eq!(woken_at(&[110_000, 197_000, 199_000]), early(13), "the last one that found it awake");
    let later = vec![(Sleeping, 200_000, 290_000, 12), (Runnable, 290_000, 300_000, NONE)];
    assert_eq!(woken_at(&[197_000, 290_000]), later, "the first one found it awake, and it slept after that");
    let unknown = vec![(Sleeping, 200_000, 300_000, NONE)];
    assert_eq!(woken_at(&[40_000, 90_000]), unknown, "too long before");
    assert_eq!(woken_at(&[40_000]), unknown, "that one ended the sleep before");
}

#[test]
fn a_sleep_that_lasts_is_not_ended_by_an_earlier_sched_waking() {
    let mut sched = Sched::default();
    switch(&mut sched, 0, 0, 0, 0, 1);
    wake(&mut sched, 7, WakeKind::Waking, 1, 2);
    switch(&mut sched, 10, 0, 1, S, 0);
    sched.settle_open(100, |_| None, |utid| utid);
    let of_1: Vec<_> = sched.intervals.iter().filter(|i| i.utid == 1).map(|i| (i.state, i.start, i.end)).collect();
    assert_eq!(of_1, [(State::Running, 0, 10), (State::Sleeping, 10, 100)]);
}

#[test]
fn a_wait_begins_in_the_run_queue_that_the_waker_chose() {
    let queue_of = |mover: Utid, moved_ns: i64| {
        let mut sched = Sched::default();
        switch(&mut sched, 0, 0, 0, 0, 1);
        switch(&mut sched, 10, 0, 1, S, 3);
        wake(&mut sched, 1_000, WakeKind::Waking, 1, 2);
        sched.moved(moved_ns, 1, Some(4), Some(mover));
        switch(&mut sched, 500_000, 4, 0, 0, 1);
        switch(&mut sched, 600_000, 4, 1, S, 0);
        let wait = sched.intervals.iter().find(|interval| interval.state == State::Runnable).unwrap();
        (wait.start, wait.queue_cpu)
    };
    assert_eq!(queue_of(2, 2_000), (1_000, 4));
    assert_eq!(queue_of(3, 2_000), (1_000, 0), "another thread moves it later");
    assert_eq!(queue_of(2, 300_000), (1_000, 0), "the waker moves it later, for the load");
}

#[test]
fn what_the_end_cuts_is_open() {
    let mut sched = Sched::default();
    switch(&mut sched, 0, 0, 1, S, 2);
    sched.settle_open(100, |_| None, |utid| utid);
    let open: Vec<_> =
        sched.intervals.iter().filter(|i| i.is_open).map(|i| (i.utid, i.state, i.start, i.end)).collect();
    assert_eq!(open, [(2, State::Running, 0, 100), (1, State::Sleeping, 0, 100)]);
}

#[test]
fn a_run_whose_end_was_lost_is_not_open_when_the_thread_was_seen_later() {
    let mut sched = Sched::default();
    switch(&mut sched, 0, 0, 0, 0, 1);
    // The switches of CPU 0 are lost from here on. The thread runs on CPU 1, and sleeps when the capture ends.
    switch(&mut sched, 10, 1, 2, S, 1);
    switch(&mut sched, 20, 1, 1, S, 0);
    // Thread 3 is put on CPU 2. While that CPU's switches are lost, it is put on CPU 3, where it is at the end.
    wake(&mut sched, 25, WakeKind::Wakeup, 3, 1);
    switch(&mut sched, 30, 2, 0, 0, 3);
    switch(&mut sched, 60, 3, 0, 0, 3);
    sched.settle_open(100, |_| None, |utid| utid);
    let of_threads = sched.intervals.iter().filter(|interval| interval.is_open && interval.utid != 0);
    let mut open: Vec<_> = of_threads.map(|i| (i.utid, i.state, i.cpu, i.start, i.end, i.is_ambiguous)).collect();
    open.sort_by_key(|&(utid, _, cpu, ..)| (utid, cpu));
    use State::*;
    let expected = [
        (1, Sleeping, 1, 20, 100, false),
        (2, Sleeping, 1, 10, 100, false),
        (3, Running, 2, 30, 60, true),
        (3, Running, 3, 60, 100, false),
    ];
    assert_eq!(open, expected);
    assert!(closed(&sched).contains(&(3, Runnable, 25, 30)), "its wait ended where it got the first CPU");
}

#[test]
fn what_a_thread_did_last_is_open_until_it_exits() {
    let mut sched = Sched::default();
    switch(&mut sched, 0, 0, 2, S, 1);
    switch(&mut sched, 5, 1, 3, S, 0);
    // Thread 1 exited on CPU 0, thread 3 at an unseen place. Thread 2 lives.
    sched.settle_open(100, |utid| (utid != 2).then_some(40), |utid| utid);
    let open: Vec<_> =
        sched.intervals.iter().filter(|i| i.utid != 0).map(|i| (i.utid, i.state, i.start, i.end)).collect();
    use State::*;
    assert_eq!(open, [(1, Running, 0, 40), (2, Sleeping, 0, 100), (3, Sleeping, 5, 40)]);
}

#[test]
fn who_woke_a_new_thread_is_known_by_its_first_wait() {
    let mut sched = Sched::default();
    switch(&mut sched, 0, 0, 0, 0, 2);
    wake(&mut sched, 10, WakeKind::New, 1, 2);
    switch(&mut sched, 30, 0, 2, S, 1);
    switch(&mut sched, 40, 0, 1, S, 0);
    let waits: Vec<_> = sched.intervals.iter().filter(|i| i.utid == 1).map(|i| (i.state, i.start, i.waker)).collect();
    assert_eq!(waits, [(State::Runnable, 10, 2), (State::Running, 30, NONE)]);
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
        let step = |sched: &mut Sched, clock_ns: i64, prev, next, stack: u32| {
            let stack = stacks.then_some(stack);
            sched.switch(Switch {
                clock_ns: clock_ns + late_ns,
                cpu: 0,
                prev,
                prev_name: prev,
                next,
                prev_state: S,
                stack,
            });
        };
        step(sched, 0, 0, 1, 7);
        step(sched, 100_000, 1, 0, 8);
        let (waker, cpu, stack) = (Some((2, 2)), Some(0), stacks.then_some(5));
        sched.wakeup(Wakeup {
            clock_ns: 200_000 + late_ns,
            kind: WakeKind::Wakeup,
            woken: 1,
            woken_name: 1,
            waker,
            cpu,
            stack,
            context: Context::Unknown,
        });
        step(sched, 300_000, 0, 1, 9);
        // The switch at 400,000 is not in the source with callchains.
        if !stacks {
            step(sched, 400_000, 1, 0, 0);
            step(sched, 450_000, 0, 1, 0);
        }
        step(sched, 500_000, 1, 0, 4);
    }
    Borrowed::from(&known).unwrap().complete(&mut seen.intervals);
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
    Borrowed::from(&followed).unwrap().threads_of(&followed, 4).complete(&mut seen.intervals);
    use State::*;
    assert_eq!(closed(&seen), [(1, Running, 0, 10), (1, Sleeping, 10, 40), (1, Running, 40, 60)]);
}

#[test]
fn what_names_a_cpu_that_no_host_has_is_counted() {
    let mut sched = Sched::default();
    switch(&mut sched, 100, MOST_CPUS - 1, 0, 0, 1);
    switch(&mut sched, 150, MOST_CPUS - 1, 1, S, 0);
    assert_eq!((sched.refused_count(), closed(&sched).len()), (0, 1));
    switch(&mut sched, 200, MOST_CPUS, 0, 0, 1);
    switch(&mut sched, 250, u32::MAX, 1, S, 0);
    sched.moved(300, 1, Some(MOST_CPUS), None);
    assert_eq!((sched.refused_count(), closed(&sched).len()), (3, 1));
}
