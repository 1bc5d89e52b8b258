//! Bursts whose runs become one, beside lists of all runs.

use super::super::sched::{Sched, Switch, WakeKind, Wakeup};
use super::*;
use crate::scale::scaled;

#[test]
fn runs_are_counted_near_the_end_and_far_from_it() {
    let runs: Vec<Run> = (0..40).map(|run| Run { end: run * 10, count: run as u32 + 1 }).collect();
    for at in -5..410 {
        assert_eq!(count(&runs, |end| end < at) as usize, runs.iter().filter(|run| run.end < at).count());
    }
    assert_eq!(count(&[], |_| true), 0);
}

#[test]
fn a_sleep_knows_the_bursts_of_its_waker() {
    let mut bursts = Bursts::default();
    let mut add = |utid: Utid, start: i64, end: i64, state: State, waker: u32| {
        let mut interval = Interval { start, end, utid, state, waker, ..Interval::UNKNOWN };
        bursts.add(&mut interval);
        (interval.burst, interval.gap, interval.waker_burst, interval.waker_bursts)
    };
    assert_eq!(add(1, 0, 10, State::Running, NONE), (0, NO_TIME, NONE, NONE));
    assert_eq!(add(1, 15, 20, State::Runnable, NONE), (1, 5, NONE, NONE));
    assert_eq!(add(1, 18, 30, State::Running, NONE), (1, -2, NONE, NONE), "it may have begun later");
    assert_eq!(add(1, 30, 40, State::Running, NONE), (2, NO_TIME, NONE, NONE));
    // 1 ran until 10, 30 and 40: what ends at the moment of a sleep's edge is not in the sleep.
    assert_eq!(add(2, 10, 30, State::Sleeping, 1), (0, NO_TIME, 1, 1));
    assert_eq!(add(3, 9, 31, State::Sleeping, 1), (0, NO_TIME, 0, 3));
    assert_eq!(add(4, 40, 60, State::DiskSleep, 1), (0, NO_TIME, 3, 1));
    assert_eq!(add(5, 40, 60, State::Sleeping, 99), (0, NO_TIME, 0, 1), "not seen to leave a CPU until now");
    for (state, waker) in [(State::Sleeping, 0), (State::Sleeping, 6), (State::Sleeping, NONE), (State::Runnable, 1)] {
        let (_, _, first, count) = add(6, 0, 50, state, waker);
        assert_eq!((first, count), (NONE, NONE));
    }
    assert_eq!(add(0, 0, 50, State::Idle, NONE), (NONE, NO_TIME, NONE, NONE), "the idle task is on many CPUs");
}

/// What `Bursts::add` says, from the ends of all runs of each thread.
#[derive(Default)]
struct Plain(hashbrown::HashMap<Utid, (i64, Vec<i64>)>);

impl Plain {
    fn add(&mut self, interval: &mut Interval) {
        let Interval { start, end, utid, waker, .. } = *interval;
        if utid == 0 {
            return;
        }
        let (last, runs) = self.0.entry(utid).or_insert((NO_TIME, Vec::new()));
        interval.burst = runs.len() as u32;
        if *last != NO_TIME && *last != start {
            interval.gap = start - *last;
        }
        let begin = start.max(*last);
        if end > begin {
            *last = end;
            if interval.state == State::Running && !interval.is_open {
                runs.push(end);
            }
        }
        if interval.is_sleep() && ![NONE, 0, utid].contains(&waker) {
            let until = |earlier: &dyn Fn(i64) -> bool| {
                self.0.get(&waker).map_or(0, |(_, runs)| runs.iter().filter(|&&run| earlier(run)).count() as u32)
            };
            interval.waker_burst = until(&|run| run <= begin);
            interval.waker_bursts = until(&|run| run < end).max(interval.waker_burst) - interval.waker_burst + 1;
        }
    }
}

#[test]
fn runs_that_become_one_change_no_interval() {
    let mut long_sleeps = 0;
    for seed in 1..=scaled(2000) as u64 {
        let mut state = seed;
        let mut random = move |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let threads = 2 + random(20);
        let mut sched = Sched::joining_after(1 + random(40) as usize);
        let (mut clock_ns, mut on_cpu) = (0i64, [0 as Utid; 3]);
        for _ in 0..1000 {
            // Some events are at the same time, and some threads are rarely seen: they sleep for long.
            clock_ns += random(4) as i64;
            let mut thread = || (random(threads) * random(threads) / threads) as Utid;
            let (one, other) = (thread(), thread());
            if random(3) == 0 {
                let kind = WakeKind::Wakeup;
                let waker = (random(8) > 0).then_some((other, other));
                let context = super::super::interval::Context::Task;
                sched.wakeup(Wakeup {
                    clock_ns,
                    kind,
                    woken: one,
                    woken_name: one,
                    waker,
                    cpu: None,
                    stack: None,
                    context,
                });
            } else {
                let cpu = random(3) as usize;
                // Some switches are lost.
                let prev = if random(10) == 0 { other } else { on_cpu[cpu] };
                let prev_state = [0, 1, 1, 1, 2, 0x10][random(6) as usize];
                on_cpu[cpu] = one;
                sched.switch(Switch {
                    clock_ns,
                    cpu: cpu as u32,
                    prev,
                    prev_name: prev,
                    next: one,
                    prev_state,
                    stack: None,
                });
            }
        }
        sched.settle_open(clock_ns, |utid| (utid % 5 == 4).then_some(500), |utid| utid);
        let mut plain = Plain::default();
        sched
            .each_block(|intervals| {
                for found in intervals {
                    let of = Interval { burst: NONE, gap: NO_TIME, waker_burst: NONE, waker_bursts: NONE, ..*found };
                    let mut expected = of;
                    plain.add(&mut expected);
                    assert_eq!(*found, expected, "seed {seed}");
                    long_sleeps += usize::from(found.waker_bursts != NONE && found.waker_bursts > 10);
                }
            })
            .unwrap();
    }
    assert!(long_sleeps > 0, "no sleep over many bursts");
}

#[test]
fn memory_is_that_of_the_sleeps_that_go_on() {
    let mut bursts = Bursts::joined_after(100);
    let mut run = |utid: Utid, end: i64| {
        bursts.add(&mut Interval { start: end - 1, end, utid, state: State::Running, ..Interval::UNKNOWN });
        if bursts.is_full() {
            // 9 sleeps since the beginning, and 8 since a while.
            bursts.join(end, [(9, 1, None), (8, 5000, None)].into_iter());
        }
        bursts.tracks.iter().map(|track| track.runs.len()).sum::<usize>()
    };
    let most = (1..10_000).map(|at| run(1 + at as Utid % 3, at)).max();
    assert!(most < Some(130), "{most:?}");
}
