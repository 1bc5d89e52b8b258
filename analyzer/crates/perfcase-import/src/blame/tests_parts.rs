//! Waits in parts.

use super::super::tries::LockCall;
use super::*;
use crate::bound::Bound;

#[test]
fn a_wait_for_a_lock_in_parts_is_one_wait() {
    // 1 and 2 are of one process. 2 computes, and lets go of the lock when 1 has waited for it three times.
    let parts = || {
        let story =
            story().of_process(4, &[1, 2, 3]).of_process(5, &[6]).ran(2, 0, 400, 0).work(1, 0, 400, Work::Request);
        story.waited_in_vain(1, 0, 50, 7).ran(1, 50, 60, 1).waited_in_vain(1, 60, 110, 7)
    };
    let in_vain = [(0, 50, Cause::Timeout, 1, 0), (60, 110, Cause::Timeout, 1, 0)];
    assert_eq!(parts().blame(1), in_vain, "nobody let go of it");
    let by_two = [(0, 50, Cause::Running, 2, 1), (60, 110, Cause::Running, 2, 1)];
    assert_eq!(parts().woke(2, 115, 7).blame(1), by_two, "the timer came just before the wake");
    let woken = parts().slept(1, 115, 150, 2).call(1, 114, 152, "futex", Thing::Unknown).woke(2, 149, 7);
    assert_eq!(woken.blame(1)[..], [&by_two[..], &[(115, 150, Cause::Running, 2, 1)]].concat());
    // Another lock, another process, a wake before it had waited, one of its own: it has the lock then.
    assert_eq!(parts().waited_in_vain(3, 0, 10, 8).woke(2, 115, 8).blame(1), in_vain);
    assert_eq!(parts().waited_in_vain(6, 0, 10, 7).woke(6, 115, 7).blame(1), in_vain);
    assert_eq!(parts().woke(2, 40, 7).blame(1)[1..], in_vain[1..]);
    assert_eq!(parts().woke(1, 115, 7).woke(2, 120, 7).blame(1), in_vain);
    // It did something else before: it no longer waits for it.
    assert_eq!(parts().call(1, 112, 114, "sendto", Thing::Socket).woke(2, 115, 7).blame(1), in_vain);
    let edge = 111 + 1_000_000;
    assert_eq!(parts().woke(2, edge, 7).blame(1), by_two);
    assert_eq!(parts().woke(2, edge + 1, 7).blame(1), in_vain, "it has run for more than 1 ms");
}

#[test]
fn a_pool_that_waits_with_a_limit_of_time_is_idle() {
    // A worker looks for work every 50 ns. What gives it some in the end had nothing to do either.
    let pool = |call: &str| {
        let story = story().of_process(4, &[1, 2]).waited_in_vain(1, 0, 50, 7).waited_in_vain(1, 60, 110, 7);
        let story = story.slept(1, 120, 150, 2).call(1, 119, 151, "futex", Thing::Unknown);
        let story =
            story.woken(2, -10, 145, 0, Doing::Sleeping, Context::Hardirq).call(2, -11, 146, call, Thing::Unknown);
        story.ran(2, 145, 160, 0).woke(2, 149, 7).blame(1)
    };
    let handed = [(145, 150, Cause::Running, 2, 1)];
    assert_eq!((pool("epoll_wait"), pool("clock_nanosleep")), (handed.to_vec(), handed.to_vec()));
    let nobody =
        story().of_process(4, &[1, 2]).waited_in_vain(1, 0, 50, 7).waited_in_vain(1, 60, 110, 7).ran(2, 0, 200, 0);
    assert_eq!(nobody.blame(1), [], "who computes beside it and wakes nobody holds nothing");
}

/// 1 has asked 2 and polls for the answer; it looks up after 50 ns, and polls again.
fn polled(between: &[(&str, Thing)], pause: i64) -> Story {
    let story = story().work(1, 0, 300 + pause, Work::Call).woken(1, 0, 50, 0, Doing::Sleeping, Context::Hardirq);
    let story = story.call(1, -1, 51, "epoll_wait", Thing::Event).timed_out(1).ran(1, 50, 52, 0);
    let story = between.iter().fold(story, |story, (name, thing)| story.call(1, 52, 54, name, *thing));
    let (again, end) = (51 + pause, 251 + pause);
    let story = story.slept(1, again, end, 2).call(1, again, end + 1, "epoll_wait", Thing::Socket);
    story.ran(2, 0, 1000 + pause, 1)
}

#[test]
fn a_poll_that_looks_up_now_and_then_waits_on() {
    let first = |between: &[_], pause| polled(between, pause).blame(1)[0];
    let (on, over) = ((0, 50, Cause::Running, 2, 1), (0, 50, Cause::Timeout, 1, 0));
    assert_eq!(first(&[], 10), on);
    assert_eq!(first(&[("openat", Thing::Unknown), ("read", Thing::File), ("close", Thing::File)], 10), on);
    // What it did then was what the time was for.
    assert_eq!(first(&[("sendto", Thing::Socket)], 10), over);
    assert_eq!((first(&[("read", Thing::Socket)], 10), first(&[("futex", Thing::Unknown)], 10)), (over, over));
    assert_eq!((first(&[], 1_000_000), first(&[], 1_000_001)), (on, over));
    // What ended the last part is told, and of what it was.
    let mut story = polled(&[], 10);
    let thread = story.history.thread_mut(1).unwrap();
    (thread.pieces[2].waker, thread.pieces[2].context) = (0, Context::Softirq);
    let socket = thread.calls[1].descriptor;
    let due = story.dues(1)[0];
    assert_eq!((due.end, due.cause, due.descriptor), (50, Cause::Network, socket));
}

#[test]
fn a_poll_in_vain_before_the_last_words_of_a_question_counts() {
    let polled = |is_in_vain: bool, work: Option<Work>| {
        let story = story().woken(1, 0, 50, 0, Doing::Sleeping, Context::Hardirq).ran(1, 50, 52, 0);
        let mut story = story.call(1, -1, 51, "poll", Thing::Socket).timed_out(1);
        story.history.thread_mut(1).unwrap().calls[0].is_in_vain = is_in_vain;
        work.into_iter().fold(story, |story, work| story.work(1, 30, 40, work)).blame(1)
    };
    let timeout = |start, end| (start, end, Cause::Timeout, 1, 0);
    assert_eq!(polled(true, None), [timeout(0, 50)]);
    assert_eq!(polled(true, Some(Work::Call)), [timeout(0, 30), timeout(30, 40), timeout(40, 50)]);
    // An event loop whose timer was due had nothing to do.
    assert_eq!((polled(false, None), polled(false, Some(Work::Call))), (vec![], vec![timeout(30, 40)]));
}

/// Waits of 1 for the same in so many parts of 10 ns. 2 ends the last one.
fn in_parts(call: &str, count: i64) -> (Cause, u64) {
    let end = 20 * count;
    let mut story = story().of_process(4, &[1, 2]).work(1, 0, end, Work::Request).ran(2, -9, end + 40, 1);
    for start in (0..count).map(|number| 20 * number) {
        story = story.woken(1, start, start + 10, 0, Doing::Sleeping, Context::Hardirq);
        story = story.call(1, start, start + 11, call, Thing::Unknown).timed_out(1).ran(1, start + 10, start + 19, 0);
        story.history.thread_mut(1).unwrap().calls.last_mut().unwrap().word = 7;
    }
    story.history.limit(1, 7);
    let mut story = story.slept(1, end, end + 10, 2).call(1, end, end + 11, call, Thing::Unknown).woke(2, end + 9, 7);
    let cause = story.settled_dues(1)[0].cause;
    (cause, story.cut_count.into_inner())
}

#[test]
fn a_wait_in_more_parts_than_are_looked_at_is_counted() {
    assert_eq!([in_parts("epoll_wait", 200), in_parts("futex", 200)], [(Cause::Running, 0); 2]);
    assert_eq!(in_parts("epoll_wait", 256), (Cause::Running, 0));
    assert_eq!(in_parts("epoll_wait", 257), (Cause::Timeout, 1));
    assert_eq!(in_parts("epoll_wait", 260), (Cause::Timeout, 4));
    assert_eq!(in_parts("futex", 256), (Cause::Running, 0));
    assert_eq!(in_parts("futex", 258), (Cause::Timeout, 2));
}

#[test]
fn words_beyond_the_bound_are_counted() {
    let mut story = story().of_process(4, &[1, 2, 3]);
    story.history.bound_of_words = Bound::of(1);
    let story =
        story.waited_in_vain(1, 0, 50, 7).waited_in_vain(1, 60, 90, 7).waited_in_vain(3, 0, 50, 8).woke(2, 60, 8);
    let history = &story.history;
    assert_eq!((history.bound_of_words.refused_count, history.wake_after(4, 8, 0)), (1, None));
}

#[test]
fn who_waits_in_parts_for_another_that_waits_in_parts_is_followed_to_the_end() {
    // 1 waits for 2, and 2 for 3: each looks up once. 3 runs until 300.
    let parts = |story: Story, utid: u32, again: i64, end: i64, waker: u32| {
        let story = story.woken(utid, 0, again - 2, 0, Doing::Sleeping, Context::Hardirq);
        let story = story.call(utid, -1, again - 1, "epoll_wait", Thing::Event).timed_out(utid);
        story.slept(utid, again, end, waker).call(utid, again, end + 1, "epoll_wait", Thing::Event)
    };
    let story = story().work(1, 0, 400, Work::Request).work(2, 0, 400, Work::Request).ran(3, 0, 400, 1);
    let story = parts(parts(story, 1, 50, 310, 2), 2, 100, 300, 3).ran(2, 300, 400, 2);
    assert_eq!(story.blame(1)[0], (0, 48, Cause::Running, 3, 2));
}

#[test]
fn a_new_request_is_not_what_those_before_it_wait_for() {
    // 1 has a request and waits for 3, which runs. 2, a client, sends another request: it had slept before.
    let found = |is_asked: bool, until: i64| {
        let story = story().work(1, 0, 300, Work::Request).work(1, 105, until, Work::Request);
        let story = story.slept(1, 0, 100, 2).call(1, -1, 101, "epoll_wait", Thing::Socket);
        let mut story = story.slept(1, 110, 200, 3).call(1, 109, 201, "epoll_wait", Thing::Socket).ran(3, 0, 400, 1);
        story.history.thread_mut(1).unwrap().calls[0].is_asked = is_asked;
        let story = story.woken(2, 0, 90, 0, Doing::Sleeping, Context::Hardirq).ran(2, 90, 150, 2);
        story.call(2, -1, 91, "clock_nanosleep", Thing::Unknown).blame(1)[0]
    };
    assert_eq!(found(true, 300), (0, 100, Cause::Running, 3, 1));
    let client = (0, 90, Cause::Sleep, 2, 1);
    assert_eq!(found(false, 300), client, "bytes that it asked for");
    assert_eq!(found(true, 108), client, "it was answered at once");
}

#[test]
fn a_signal_of_a_timer_ends_a_wait_as_a_limit_does() {
    let found = |context: Context, is_cut_short: bool, call: &str| {
        let story = story().work(1, 0, 100, Work::Request).woken(1, 0, 100, 0, Doing::Sleeping, context);
        let mut story = story.call(1, -1, 101, call, Thing::Unknown);
        story.history.thread_mut(1).unwrap().calls[0].is_cut_short = is_cut_short;
        story.blame(1)[0].2
    };
    assert_eq!(["semop", "epoll_wait"].map(|call| found(Context::Hardirq, true, call)), [Cause::Alarm; 2]);
    let others = [(Context::Hardirq, false), (Context::Softirq, true)];
    assert_eq!(others.map(|(context, is_cut_short)| found(context, is_cut_short, "semop")), [Cause::Interrupt; 2]);
}

#[test]
fn a_poll_goes_on_after_an_alarm() {
    // An alarm rings now and then; what it rang for is looked at; 2 wakes it in the end.
    let found = |context: Context, between: &[(&str, Thing)], pause: i64| {
        let story = story().work(1, 0, 300 + pause, Work::Request).woken(1, 0, 100, 0, Doing::Sleeping, context);
        let mut story = story.call(1, -1, 101, "epoll_wait", Thing::Event).ran(2, 0, 400 + pause, 1);
        story.history.thread_mut(1).unwrap().calls[0].is_cut_short = true;
        let story = between
            .iter()
            .fold(story.ran(1, 100, 110, 0), |story, (name, thing)| story.call(1, 102, 103, name, *thing));
        let (again, end) = (101 + pause, 200 + pause);
        story.slept(1, again, end, 2).call(1, again, end + 1, "epoll_wait", Thing::Event).blame(1)[0]
    };
    let (on, over) = ((0, 100, Cause::Running, 2, 1), (0, 100, Cause::Alarm, 1, 0));
    let handler = [("kill", Thing::Unknown), ("setitimer", Thing::Unknown)];
    let looks = [&handler[..], &[("epoll_wait", Thing::Unknown), ("read", Thing::Input)]].concat();
    assert_eq!([found(Context::Hardirq, &handler, 9), found(Context::Hardirq, &looks, 9)], [on, on]);
    assert_eq!(found(Context::Hardirq, &looks, 1_000_000), on);
    assert_eq!(found(Context::Hardirq, &looks, 1_000_001), over, "it did something else");
    assert_eq!(found(Context::Hardirq, &[("sendto", Thing::Socket)], 9), over, "the alarm was what it waited for");
    let no_timer = (0, 100, Cause::Interrupt, 1, 0);
    assert_eq!(found(Context::Softirq, &handler, 9), no_timer, "no timer sent this signal");
}

#[test]
fn who_sleeps_between_tries_for_a_lock_waits_for_its_holder() {
    // 1 tries for the lock of a file, sleeps, and has it. 2 had it before, and gives it back while 1 sleeps.
    let lock = |story: &mut Story, utid: u32, start: i64, is_taken: bool| {
        let call = LockCall { start, end: start + 1, file: 4, descriptor: 77, is_taken, is_take: false };
        story.history.add_lock(utid, call);
    };
    let slept = |gives_back: bool, is_had: bool| {
        let story = story().ran(1, -10, 0, 0).woken(1, 0, 100, 0, Doing::Sleeping, Context::Hardirq);
        let mut story =
            story.call(1, 0, 101, "clock_nanosleep", Thing::Unknown).ran(1, 100, 120, 0).ran(2, -50, 200, 1);
        lock(&mut story, 2, -40, false);
        lock(&mut story, 1, -5, true);
        story.history.thread_mut(1).unwrap().tries.sleep(0, 101);
        if gives_back {
            lock(&mut story, 2, 90, false);
        }
        lock(&mut story, 1, 105, !is_had);
        story.dues(1).iter().map(|due| (due.end, due.cause, due.utid, due.descriptor)).collect::<Vec<_>>()
    };
    assert_eq!(slept(true, true), [(100, Cause::Running, 2, NONE)]);
    assert_eq!(slept(false, true), [(100, Cause::Sleep, 1, 77)], "who had it is not known");
    assert_eq!(slept(true, false), [], "it never had it: it may stand by");
}

/// Thread 1 waits for a lock that 2 gives it at 1000, after ten naps. 3 ran until 950; it slept from then on if it `ends`.
fn napped(between: Option<i64>, ends: bool, second: i64) -> Story {
    let mut story =
        story().slept(1, 0, 1000, 2).call(1, 0, 1010, "futex", Thing::Unknown).work(1, 0, 1010, Work::Request);
    for start in (0..1000).step_by(100) {
        story = story.woken(2, start, start + 100, 0, Doing::Sleeping, Context::Hardirq);
        story = story.call(2, start, start + 100, "clock_nanosleep", Thing::Unknown);
        let naps = &mut story.history.thread_mut(2).unwrap().naps;
        naps.sleep(start, start + 100);
        if between == Some(start) {
            naps.call();
        }
    }
    story.history.thread_mut(2).unwrap().naps.call();
    story = story.ran(3, 0, 400, 0).queued(3, 400, 450, 0).ran(3, 450, if ends { 950 } else { 5_000_000 }, 0);
    story = if ends { story.slept(3, 950, 6_000_000, 2) } else { story };
    story.ran(4, 0, second, 1).of_process(7, &[1, 2, 3, 4])
}

#[test]
fn naps_in_a_row_wait_for_the_thread_that_was_active_all_the_while() {
    let found = napped(None, true, 300).blame(1);
    let active = [(0, 400, Cause::Running, 3, 2), (400, 450, Cause::CpuIdle, 3, 2), (450, 950, Cause::Running, 3, 2)];
    assert_eq!(found[..3], active, "{found:?}");
    let asleep =
        |story: Story| story.blame(1).iter().map(|due| (due.2, due.3)).filter(|due| *due == (Cause::Sleep, 2)).count();
    assert_eq!(asleep(napped(None, true, 300)), 0);
    assert_eq!(asleep(napped(None, false, 300)), 10, "it goes on");
    assert_eq!(asleep(napped(None, true, 800)), 10, "another one ran too");
    assert_eq!(asleep(napped(None, true, 300).of_process(8, &[3])), 10, "it is of another process");
    assert_eq!(asleep(napped(Some(800), true, 300)), 1, "a nap after another call is a sleep");
    assert_eq!(asleep(napped(Some(0), true, 300)), 1, "a nap before another call is a sleep");
}

#[test]
fn a_request_without_an_answer_waits_for_what_does_not_come() {
    // 1 has read a request and waits for a lock until the recording ends; without the request it is a thread of a pool.
    let found = |work| {
        let mut story = story().ran(1, 0, 100, 0).call(1, 90, i64::MAX, "semop", Thing::Unknown);
        story.history.add(1, Piece { start: 100, end: 500, doing: Doing::Sleeping, is_open: true, ..RUN });
        if work { story.work(1, 0, 500, Work::Request) } else { story }.blame(1)
    };
    assert_eq!(found(true), [(100, 500, Cause::Open, 1, 0)]);
    assert_eq!(found(false), []);
}
