//! Timelines through the session: when rows are written, and of which source.

use super::*;
use crate::model::Record;
use crate::session::SourceId;
use crate::timeline::aside::BLOCK;
use crate::timeline::sched::Sched;
use crate::timeline::{Entry, Return, Switch, WakeKind, Wakeup};

/// Calls of a source that move to a file while events come in.
fn in_a_file(sources: SourceId, awaited: &[SourceId]) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let mut session = Session::new(folder.path(), Some(0));
    session.timelines.awaited = awaited.to_vec();
    let record = Record { clock_ns: 0, cpu: None, tid: None, pid: None, stack: None, payload: &[] };
    let entry = Entry { number: 0, args: [0; 6], arg_count: 0, is_compat: false, is_typed: false };
    let back = Return { number: 0, ret: 0, is_compat: false, is_typed: false };
    for (time, source) in (0..20).flat_map(|time| (0..sources).map(move |source| (time, source))) {
        let calls = &mut session.timelines.of(source).syscalls;
        calls.enter((1, 0), 2 * time, &record, entry);
        calls.exit((1, 0), 2 * time + 1, &record, back, true);
    }
    session.stream_timelines(10);
    let left: usize = (0..sources).map(|source| session.timelines.of(source).syscalls.in_memory()).sum();
    session.write_timelines();
    assert_eq!(session.close().unwrap()["syscall"], 20);
    20 * usize::from(sources) - left
}

#[test]
fn calls_wait_in_a_file_unless_snapshots_may_change_them() {
    assert_eq!(in_a_file(1, &[]), 20);
    assert_eq!(in_a_file(2, &[]), 40, "one of two sources will be chosen");
    assert_eq!(in_a_file(1, &[1]), 0, "/proc may say that the program has 32 bits");
}

/// A thread that often switches with the idle task, in a source with callchains or in one without.
fn switches(sched: &mut Sched, count: i64, stack: Option<u32>) {
    for number in 0..count {
        let (prev, next) = if number % 2 == 0 { (0, 1) } else { (1, 0) };
        let stack = stack.filter(|_| prev == 1).map(|stack| stack + number as u32 % 100);
        let (prev_name, prev_state) = (0, 1);
        let clock_ns = 20_000 * number;
        sched.switch(Switch { clock_ns, cpu: 0, prev, prev_name, next, prev_state, stack });
    }
}

/// The rows of two sources that recorded the same, and whether writing failed.
fn of_two_sources(count: i64, folder: Option<&str>) -> (u64, bool) {
    let place = tempfile::tempdir().unwrap();
    let mut session = Session::new(place.path(), Some(0));
    folder.into_iter().for_each(|folder| session.sink.folder = folder.into());
    for (source, stack) in [(0, None), (1, Some(7))] {
        switches(&mut session.timelines.of(source).sched, count, stack);
    }
    session.flush(1);
    let has_failed = session.has_failed();
    session.write_timelines();
    let written = session.close();
    (written.map_or(0, |counts| counts["thread_state"]), has_failed)
}

#[test]
fn what_waits_for_a_source_to_be_chosen_lies_in_a_file() {
    let (few, many) = (1000, BLOCK as i64);
    // A run after each switch, and a sleep before each second but the first.
    let rows = |count: i64| count as u64 * 3 / 2 - 1;
    assert_eq!(of_two_sources(few, None), (rows(few), false));
    assert_eq!(of_two_sources(many, None), (rows(many), false));
    assert_eq!(of_two_sources(few, Some("/nowhere")), (rows(few), false), "no file is needed");
    assert_eq!(of_two_sources(many, Some("/nowhere")), (0, true));
}

/// A CPU without switches of its idle task: source 0, with callchains, has one wakeup of its thread, source 1 has all.
#[test]
fn the_source_that_knows_when_runs_began_is_chosen() {
    let chosen = |has_idle: bool| {
        let folder = tempfile::tempdir().unwrap();
        let mut session = Session::new(folder.path(), Some(0));
        for source in [0, 1] {
            let sched = &mut session.timelines.of(source).sched;
            for number in 0..20 {
                let at = |ns: i64| number * 20_000 + ns;
                if source == 1 || number == 0 {
                    let (woken, woken_name) = (1, 0);
                    let kind = WakeKind::Wakeup;
                    let (clock_ns, waker, cpu, stack) = (at(100), None, None, None);
                    let context = timeline::Context::Task;
                    sched.wakeup(Wakeup { clock_ns, kind, woken, woken_name, waker, cpu, stack, context });
                }
                let mut switch = |clock_ns, prev, next, stack| {
                    sched.switch(Switch { clock_ns, cpu: 0, prev, prev_name: 0, next, prev_state: 1, stack });
                };
                if has_idle {
                    switch(at(110), 0, 1, None);
                }
                switch(at(200), 1, 0, (source == 0).then_some(7));
            }
        }
        session.timelines.chosen(&session.model.events.view()).sched
    };
    assert_eq!(chosen(false), Some(1));
    assert_eq!(chosen(true), Some(0), "with the same switches, callchains count");
}
