use super::calls::{NO_CALL, Thing};
use super::disks::Completions;
use super::follow::{Cause, Due, MOST_PIECES, Path as Followed};
use super::history::{Call, Context, Doing, NONE, Piece, Wake};
use super::measured::{Measured, Seen};
use super::rounds::Round;
use super::samples::Samples;
use super::work::{Work, Works};
use super::*;

#[path = "tests_parts.rs"]
mod parts;

/// What happened, written down by hand.
#[derive(Default)]
struct Story {
    history: History,
    works: Works,
    names: Arc<CallNames>,
    things: Vec<Thing>,
    completions: Completions,
    cut_count: AtomicU64,
    samples: Samples,
    measured: Measured,
}

const RUN: Piece = Piece {
    start: 0,
    end: 0,
    waker: NONE,
    name: NONE,
    stack: NONE,
    cpu: NONE,
    got_cpu: NONE,
    doing: Doing::Running,
    context: Context::Unknown,
    is_open: false,
};

impl Story {
    fn ran(mut self, utid: u32, start: i64, end: i64, cpu: u32) -> Story {
        self.history.add(utid, Piece { start, end, cpu, ..RUN });
        self
    }

    fn queued(mut self, utid: u32, start: i64, end: i64, cpu: u32) -> Story {
        self.history.add(utid, Piece { start, end, cpu, doing: Doing::Runnable, ..RUN });
        self
    }

    /// A sleep that a thread ended.
    fn slept(self, utid: u32, start: i64, end: i64, waker: u32) -> Story {
        self.woken(utid, start, end, waker, Doing::Sleeping, Context::Task)
    }

    fn woken(mut self, utid: u32, start: i64, end: i64, waker: u32, doing: Doing, context: Context) -> Story {
        self.history.add(utid, Piece { start, end, waker, doing, context, ..RUN });
        self
    }

    fn call(mut self, utid: u32, start: i64, end: i64, name: &str, thing: Thing) -> Story {
        let descriptor = self.things.len() as u32;
        self.things.push(thing);
        let name = Arc::make_mut(&mut self.names).number(name);
        let call = Call { start, end, descriptor, name, kind: self.names.kind(name), ..Call::NONE };
        self.history.add_call(utid, call);
        self
    }

    /// A wait for a lock that a timer ended.
    fn waited_in_vain(self, utid: u32, start: i64, end: i64, word: u32) -> Story {
        let story = self.woken(utid, start, end, 0, Doing::Sleeping, Context::Hardirq);
        let mut story = story.call(utid, start - 1, end + 1, "futex", Thing::Unknown).timed_out(utid);
        story.history.thread_mut(utid).unwrap().calls.last_mut().unwrap().word = word;
        story.history.limit(utid, word);
        story
    }

    fn woke(mut self, utid: u32, start: i64, word: u32) -> Story {
        self.history.add_wake(word, Wake { end: start + 1, start, utid });
        self
    }

    fn timed_out(mut self, utid: u32) -> Story {
        self.history.thread_mut(utid).unwrap().calls.last_mut().unwrap().has_timed_out = true;
        self
    }

    fn work(mut self, utid: u32, start: i64, end: i64, work: Work) -> Story {
        self.works.add(utid, start, end, work);
        self
    }

    fn of_process(mut self, upid: u32, utids: &[u32]) -> Story {
        utids.iter().for_each(|&utid| self.history.thread_mut(utid).unwrap().upid = upid);
        self
    }

    /// Gives the parts of a thread's waits: when, why, because of which thread, over how many wakers.
    fn blame(self, utid: u32) -> Vec<(i64, i64, Cause, u32, u32)> {
        self.dues(utid).iter().map(|due| (due.start, due.end, due.cause, due.utid, due.depth)).collect()
    }

    /// Gives the parts with the callchains of the threads that ran.
    fn blame_stacks(self, utid: u32) -> Vec<(i64, i64, u32)> {
        self.dues(utid).iter().map(|due| (due.start, due.end, due.stack)).collect()
    }

    fn dues(mut self, utid: u32) -> Vec<Due> {
        self.settled_dues(utid)
    }

    fn settled_dues(&mut self, utid: u32) -> Vec<Due> {
        self.dues_in(utid, ROUND)
    }

    fn dues_in(&mut self, utid: u32, size: Round) -> Vec<Due> {
        self.works.settle();
        self.history.sort();
        self.samples.settle();
        self.completions.settle();
        let Story { history, works, things, completions, cut_count, samples, measured, .. } = &*self;
        let known = Known { history, works, things, completions, cut_count, samples, measured };
        let mut dues = Vec::new();
        rounds::write(known, i64::MAX, &mut 1000, size, |found| dues.extend(found.dues_of(utid)));
        dues
    }
}

fn story() -> Story {
    Story { history: History::default(), ..Story::default() }
}

#[test]
fn turns_that_end_early_find_the_same() {
    let mut story = story();
    for turn in 0..20 {
        let (start, holder, waits) = (100 * turn, 1 + turn as u32 % 2, 2 - turn as u32 % 2);
        story = story.ran(holder, start, start + 100, 0).slept(waits, start, start + 60, holder);
        story = story.queued(waits, start + 60, start + 100, 0);
        story.works.add(waits, start + 10, start + 30, Work::Call);
        story.works.add(waits, start + 50, start + 80, Work::Request);
    }
    let small = Round { threads: 1, pieces: 1, rows: 1 };
    for utid in [1, 2] {
        let all = story.dues_in(utid, ROUND);
        assert_eq!(all.len(), 30);
        assert_eq!(story.dues_in(utid, small), all);
    }
}

#[test]
fn each_of_a_convoy_waits_for_those_before_it() {
    // 1 has the lock until 100, hands it to 2, which runs until 200 and hands it to 3.
    let convoy = || {
        story().ran(1, 0, 100, 0).slept(2, 0, 100, 1).ran(2, 100, 200, 0).slept(3, 10, 200, 2).call(
            3,
            5,
            205,
            "futex",
            Thing::Unknown,
        )
    };
    let expected = [(10, 100, Cause::Running, 1, 2), (100, 200, Cause::Running, 2, 1)];
    assert_eq!(convoy().blame(3), expected);
    // The same with work that is known: from when it had some.
    assert_eq!(
        convoy().work(3, 50, 150, Work::Request).blame(3),
        [(50, 100, Cause::Running, 1, 2), (100, 150, Cause::Running, 2, 1)]
    );
    assert_eq!(convoy().blame(1), [], "who runs waits for nothing");
}

#[test]
fn a_lazy_peer_two_hops_away_is_named() {
    // 1 asks 2 (a socket), 2 asks 3 (a pipe), and 3 sleeps.
    let found = story()
        .work(1, 0, 1000, Work::Call)
        .slept(1, 0, 1000, 2)
        .call(1, 0, 1001, "recvfrom", Thing::Socket)
        .ran(2, 0, 20, 0)
        .slept(2, 20, 990, 3)
        .call(2, 15, 991, "read", Thing::Pipe)
        .ran(2, 990, 1010, 0)
        .ran(3, 0, 30, 1)
        .woken(3, 30, 980, 7, Doing::Sleeping, Context::Hardirq)
        .call(3, 30, 981, "clock_nanosleep", Thing::Unknown)
        .ran(3, 980, 999, 1)
        .blame(1);
    let expected = [
        (0, 20, Cause::Running, 2, 1),
        (20, 30, Cause::Running, 3, 2),
        (30, 980, Cause::Sleep, 3, 2),
        (980, 990, Cause::Running, 3, 2),
        (990, 1000, Cause::Running, 2, 1),
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_transaction_that_its_client_leaves_idle_is_named() {
    // 1 answers a request and waits for a row that 2 has locked; 2 has nothing to do until its client sends the next line.
    let found = story()
        .work(1, 0, 500, Work::Request)
        .slept(1, 0, 500, 2)
        .call(1, 0, 501, "semop", Thing::Unknown)
        .slept(2, -100, 480, 9)
        .call(2, -100, 481, "recvfrom", Thing::Socket)
        .ran(2, 480, 510, 0)
        .ran(9, 400, 500, 1)
        .blame(1);
    assert_eq!(found, [(0, 480, Cause::NoWork, 2, 1), (480, 500, Cause::Running, 2, 1)]);
}

#[test]
fn a_stream_whose_reply_is_late_is_followed_to_the_other_end() {
    // 1 answers a request when 2 has the reply of 9 to what it told it; 9 waits for its disk. Without a reply, 2 has nothing to do.
    let found = |is_reply: bool| {
        let mut story = story()
            .work(1, 0, 500, Work::Request)
            .slept(1, 0, 500, 2)
            .call(1, 0, 501, "epoll_wait", Thing::Event)
            .slept(2, -100, 480, 9)
            .call(2, -100, 481, "epoll_wait", Thing::Socket)
            .ran(2, 480, 510, 0)
            .woken(9, -90, 470, 0, Doing::DiskSleep, Context::Hardirq)
            .ran(9, 470, 490, 1);
        story.history.thread_mut(2).unwrap().calls.last_mut().unwrap().is_reply = is_reply;
        story.blame(1)
    };
    let late = [(0, 470, Cause::Disk, 9, 2), (470, 480, Cause::Running, 9, 2), (480, 500, Cause::Running, 2, 1)];
    assert_eq!(found(true), late);
    assert_eq!(found(false), [(0, 480, Cause::NoWork, 2, 1), (480, 500, Cause::Running, 2, 1)]);
}

#[test]
fn who_has_nothing_to_do_waits_for_nothing() {
    let idle = |name: &str, thing: Thing| {
        story().slept(1, 0, 100, 2).call(1, 0, 101, name, thing).ran(2, 0, 200, 0).of_process(4, &[1]).blame(1)
    };
    for (name, thing) in [
        ("accept4", Thing::Socket),
        ("epoll_wait", Thing::Unknown),
        ("recvfrom", Thing::Socket),
        ("read", Thing::Input),
        ("rt_sigtimedwait", Thing::Unknown),
    ] {
        assert_eq!(idle(name, thing), [], "{name}");
    }
    assert_eq!(idle("futex", Thing::Unknown), [(0, 100, Cause::Running, 2, 1)], "nobody knows: but it waited for 2");
    // A pool whose waker had nothing to do either, or slept as long as it wished.
    let pool = |call: &str| {
        story()
            .slept(1, 0, 100, 2)
            .call(1, 0, 101, "futex", Thing::Unknown)
            .woken(2, 0, 100, 0, Doing::Sleeping, Context::Hardirq)
            .call(2, 0, 101, call, Thing::Unknown)
            .blame(1)
    };
    assert_eq!((pool("epoll_wait"), pool("clock_nanosleep")), (vec![], vec![]));
}

#[test]
fn a_kernel_thread_that_sleeps_has_nothing_to_do() {
    let thread = |is_kernel| {
        let mut story = story().ran(1, 0, 200, 0).slept(2, 0, 100, 1).queued(2, 100, 200, 0);
        story.history.thread_mut(2).unwrap().is_kernel = is_kernel;
        story.blame(2)
    };
    let queued = (100, 200, Cause::CpuTaken, 1, 0);
    assert_eq!(thread(false), [(0, 100, Cause::Running, 1, 1), queued]);
    assert_eq!(thread(true), [queued], "it had something to do when it waited for a CPU");
}

#[test]
fn a_poll_that_another_thread_of_the_process_ends_is_work() {
    let found = |upid: u32| {
        story()
            .slept(1, 0, 100, 2)
            .call(1, 0, 101, "epoll_wait", Thing::Event)
            .ran(2, 0, 200, 0)
            .of_process(4, &[1])
            .of_process(upid, &[2])
            .blame(1)
    };
    assert_eq!(found(4), [(0, 100, Cause::Running, 2, 1)]);
    assert_eq!(found(5), []);
}

#[test]
fn an_interrupt_does_not_blame_the_thread_that_it_hits() {
    let hit = |doing: Doing, context: Context, call: &str, thing: Thing| {
        let story = story().work(1, 0, 100, Work::Request).woken(1, 0, 100, 2, doing, context);
        let mut story = story.call(1, 0, 101, call, thing).ran(2, 0, 200, 0);
        [(0, 1, "a"), (20, 1, "b"), (99, 3, "c")]
            .into_iter()
            .for_each(|(at, utid, of)| story.completions.add(at, utid, of));
        story.blame(1)[..].iter().map(|(.., cause, on, _)| (*cause, *on)).collect::<Vec<_>>()
    };
    use Context::{Hardirq, Softirq, Task};
    use Doing::{DiskSleep, Sleeping};
    assert_eq!(hit(DiskSleep, Hardirq, "fdatasync", Thing::File), [(Cause::Disk, 1)]);
    assert_eq!(hit(Sleeping, Softirq, "recvfrom", Thing::Socket), [(Cause::Network, 1)]);
    assert_eq!(hit(Sleeping, Hardirq, "nanosleep", Thing::Unknown), [(Cause::Sleep, 1)]);
    assert_eq!(hit(Sleeping, Hardirq, "read", Thing::Pipe), [(Cause::Interrupt, 1)]);
    assert_eq!(hit(Sleeping, Task, "recvfrom", Thing::Socket), [(Cause::Running, 2)]);
    // A waker that slept itself did not do it: its own wakeup came too late to explain anything.
    let asleep = story().work(1, 0, 100, Work::Request).woken(1, 0, 100, 2, Sleeping, Context::Unknown);
    let asleep = asleep.slept(2, 0, 150, 3).ran(3, 0, 200, 0);
    assert_eq!(asleep.blame(1), [(0, 100, Cause::Interrupt, 2, 1)]);
    // A disk's interrupt hits a thread that writes a file, or that sends.
    let hit = story().work(1, 0, 100, Work::Request).woken(1, 0, 100, 2, DiskSleep, Softirq);
    let hit = hit.call(1, 0, 101, "read", Thing::Unknown).ran(2, 0, 200, 0).call(2, 90, 110, "sendto", Thing::Socket);
    assert_eq!(hit.blame(1), [(0, 100, Cause::Disk, 1, 0)]);
    let hit = story().work(1, 0, 100, Work::Request).woken(1, 0, 100, 2, Sleeping, Softirq);
    let hit = hit.call(1, 0, 101, "read", Thing::Socket).ran(2, 0, 200, 0).call(2, 90, 110, "write", Thing::File);
    assert_eq!(hit.blame(1), [(0, 100, Cause::Network, 1, 0)]);
    // A sender over loopback wakes within its call.
    let sent = story()
        .work(1, 0, 100, Work::Call)
        .woken(1, 0, 100, 2, Sleeping, Softirq)
        .call(1, 0, 101, "recvfrom", Thing::Socket)
        .ran(2, 0, 200, 0)
        .call(2, 90, 110, "sendto", Thing::Socket);
    assert_eq!(sent.blame(1), [(0, 100, Cause::Running, 2, 1)]);
}

#[test]
fn who_carries_packets_is_a_part_of_the_network() {
    let carried = |reader: Thing, (kind, written): (&str, &str)| {
        let story = story().work(1, 0, 100, Work::Call).woken(1, 0, 100, 2, Doing::Sleeping, Context::Task);
        let story = story.call(1, 0, 101, "recvfrom", reader).ran(2, 0, 200, 0);
        story.call(2, 90, 110, "write", Thing::of(Some(kind)).of_name(Some(written))).blame(1)
    };
    for written in [("device", "/dev/net/tun"), ("file", "/srv/container/dev/net/tun")] {
        assert_eq!(carried(Thing::Socket, written), [(0, 100, Cause::Network, 1, 0)]);
    }
    // Other things, and a reader that no packet wakes.
    let tun = ("device", "/dev/net/tun");
    for (reader, written) in
        [(Thing::Socket, ("device", "/dev/null")), (Thing::Socket, ("file", "/tmp/a")), (Thing::Pipe, tun)]
    {
        assert_eq!(carried(reader, written), [(0, 100, Cause::Running, 2, 1)]);
    }
}

#[test]
fn who_has_the_cpu_is_named() {
    let found = story()
        .work(1, 0, 100, Work::Request)
        .queued(1, 0, 100, 3)
        .ran(5, -10, 40, 3)
        .ran(6, 40, 60, 3)
        .ran(5, 70, 110, 3)
        .ran(8, 0, 110, 2)
        .blame(1);
    let expected = [
        (0, 40, Cause::CpuTaken, 5, 0),
        (40, 60, Cause::CpuTaken, 6, 0),
        (60, 70, Cause::CpuIdle, 1, 0),
        (70, 100, Cause::CpuTaken, 5, 0),
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_cpu_counts_as_idle_where_neither_queue_had_a_thread() {
    let waits = |cpu: u32, got_cpu: u32| {
        let mut story = story().work(1, 0, 100, Work::Request);
        story.history.add(1, Piece { start: 0, end: 100, cpu, got_cpu, doing: Doing::Runnable, ..RUN });
        story.ran(5, -10, 40, 3).ran(6, 0, 90, 2).blame(1)
    };
    let moved = [(0, 40, Cause::CpuTaken, 5, 0), (40, 90, Cause::CpuTaken, 6, 0), (90, 100, Cause::CpuIdle, 1, 0)];
    assert_eq!(waits(3, 2), moved);
    assert_eq!(waits(3, 3), [(0, 40, Cause::CpuTaken, 5, 0), (40, 100, Cause::CpuIdle, 1, 0)]);
    assert_eq!(waits(3, NONE), waits(3, 3), "still waiting when the recording ended");
    assert_eq!(waits(NONE, NONE), [(0, 100, Cause::NotRecorded, 1, 0)]);
    // A recording of some processes does not know what others did.
    let mut some = story().work(1, 0, 200, Work::Request);
    (some.history.has_strangers, some.history.thread_mut(5).unwrap().is_stranger) = (true, true);
    some.history.add(1, Piece { start: 0, end: 100, cpu: 3, got_cpu: 3, doing: Doing::Runnable, ..RUN });
    let found = some.ran(6, 0, 20, 3).ran(5, 20, 200, 3).slept(1, 100, 150, 5).blame(1);
    let expected =
        [(0, 20, Cause::CpuTaken, 6, 0), (20, 100, Cause::NotRecorded, 1, 0), (100, 150, Cause::NotRecorded, 5, 1)];
    assert_eq!(found, expected);
}

#[test]
fn a_timeout_is_told_from_an_answer() {
    let story = || story().work(1, 0, 100, Work::Call).woken(1, 0, 100, 0, Doing::Sleeping, Context::Hardirq);
    let asked = || story().call(1, 0, 101, "poll", Thing::Socket);
    assert_eq!(asked().blame(1), [(0, 100, Cause::Network, 1, 0)]);
    assert_eq!(asked().timed_out(1).blame(1), [(0, 100, Cause::Timeout, 1, 0)]);
}

#[test]
fn who_waits_for_the_lock_of_a_file_has_work() {
    let waits = |call: &str| story().slept(1, 0, 100, 2).slept(2, 0, 95, 0).call(1, 0, 101, call, Thing::File);
    let asleep = |call: &str| waits(call).call(2, 0, 96, "clock_nanosleep", Thing::Unknown).ran(2, 95, 110, 0).blame(1);
    assert_eq!(asleep("flock"), [(0, 95, Cause::Sleep, 2, 1), (95, 100, Cause::Running, 2, 1)]);
    assert_eq!(asleep("futex"), [(95, 100, Cause::Running, 2, 1)]);
}

#[test]
fn who_waits_for_a_thread_that_is_not_there_yet_waits_for_its_creator() {
    // 1 asks; 2 sleeps until 60, then creates 3, which answers.
    let mut story = story();
    story.history.thread_mut(3).unwrap().born = 80;
    let story = story.work(1, 0, 100, Work::Call).slept(1, 0, 100, 3).call(1, 0, 101, "recvfrom", Thing::Socket);
    let story = story.woken(2, -10, 60, 0, Doing::Sleeping, Context::Hardirq).ran(2, 60, 120, 0);
    let mut story = story.call(2, -10, 61, "clock_nanosleep", Thing::Unknown);
    let first = Piece { start: 80, end: 90, waker: 2, cpu: 1, doing: Doing::Runnable, ..RUN };
    story.history.add(3, first);
    let expected = [
        (0, 60, Cause::Sleep, 2, 2),
        (60, 80, Cause::Running, 2, 2),
        (80, 90, Cause::CpuIdle, 3, 1),
        (90, 100, Cause::Running, 3, 1),
    ];
    assert_eq!(story.ran(3, 90, 110, 1).blame(1), expected);
}

#[test]
fn where_a_thread_ran_is_told_by_its_samples() {
    let mut story = story().work(1, 0, 100, Work::Request).slept(1, 0, 100, 2).ran(2, 0, 60, 0).ran(2, 60, 120, 1);
    [(20, 7), (40, 8), (110, 9)].into_iter().for_each(|(time, stack)| story.samples.add(2, time, stack));
    assert_eq!(story.blame_stacks(1), [(0, 60, 8), (60, 100, NONE)]);
}

#[test]
fn a_quota_is_told_by_what_was_measured() {
    // 1 of a recording of some processes waits for a CPU, and no event tells when it got it. It was on one for 40 ns by the snapshots.
    let waits = |on_cpu_ns: i64, held_ns: i64| {
        let mut story = story().work(1, 0, 500, Work::Request).queued(1, 0, 100, 3);
        story.history.has_strangers = true;
        story.history.add(1, Piece { start: 100, end: 500, cpu: 3, doing: Doing::RanInTheEnd, ..RUN });
        story.measured.add(1, (0, 500), on_cpu_ns, held_ns);
        story.measured.see(1, 0, 100, Seen::Queued);
        story.measured.see(1, 100, 500, Seen::Unsure);
        story.blame(1)
    };
    assert_eq!(waits(40, 460), [(0, 100, Cause::Quota, 1, 0), (100, 460, Cause::Quota, 1, 0)]);
    // Less than nine tenths of what it waited.
    let unknown = [(0, 100, Cause::NotRecorded, 1, 0), (100, 460, Cause::NotRecorded, 1, 0)];
    assert_eq!((waits(40, 414)[0].2, waits(40, 413)), (Cause::Quota, unknown.to_vec()));
    assert_eq!(waits(200, 500), [(0, 100, Cause::Quota, 1, 0)], "it ran for half of the time");
    assert_eq!(waits(300, 0), [(0, 100, Cause::NotRecorded, 1, 0)]);
}

#[test]
fn what_is_not_known_is_said() {
    let work = |story: Story| story.work(1, 0, 100, Work::Request);
    let gap = work(story().slept(1, 0, 100, 2).ran(2, 10, 30, 0).ran(2, 60, 120, 0)).blame(1);
    assert_eq!(
        gap,
        [
            (0, 10, Cause::NotRecorded, 2, 1),
            (10, 30, Cause::Running, 2, 1),
            (30, 60, Cause::NotRecorded, 2, 1),
            (60, 100, Cause::Running, 2, 1)
        ]
    );
    let mut open = work(story().slept(1, 0, 100, 2));
    open.history.thread_mut(1).unwrap().pieces[0].is_open = true;
    assert_eq!(open.blame(1), [(0, 100, Cause::Open, 1, 0)]);
    // A run whose beginning is not known began after the call in which the thread was at first.
    let unsure = |call: &str| {
        let mut story = work(story().slept(1, 0, 100, 2)).call(2, -5, 70, call, Thing::Pipe).ran(2, 0, 110, 0);
        story.history.thread_mut(2).unwrap().pieces[0].doing = Doing::RanInTheEnd;
        story.blame(1)
    };
    assert_eq!(unsure("read"), [(0, 70, Cause::NotRecorded, 2, 1), (70, 100, Cause::Running, 2, 1)]);
    assert_eq!(unsure("clock_nanosleep"), [(0, 70, Cause::Sleep, 2, 1), (70, 100, Cause::Running, 2, 1)]);
    // A circle can only be in a damaged recording: it ends.
    let circle = work(story().slept(1, 0, 100, 2).slept(2, 0, 100, 1)).blame(1);
    assert_eq!(circle, [(0, 100, Cause::NotFollowed, 2, 21)]);
    // A bound of pieces: the rest is not followed, and the sum stays.
    let long = (0..MOST_PIECES as i64 + 500).fold(story(), |story, at| story.ran(2, at * 2, at * 2 + 1, 0));
    let end = 2 * MOST_PIECES as i64 + 1000;
    let mut long = long.slept(1, 0, end, 2).work(1, 0, end, Work::Request);
    long.works.settle();
    let Story { history, works, completions, cut_count, samples, measured, .. } = &long;
    let found = Known { history, works, things: &[], completions, cut_count, samples, measured };
    let mut path = Followed { dues: Vec::new(), budget: MOST_PIECES };
    found.follow(&mut path, 1, (0, end), end, 0);
    assert_eq!(path.dues.iter().map(|due| due.end - due.start).sum::<i64>(), end);
    assert_eq!(path.dues.last().map(|due| due.cause), Some(Cause::NotFollowed));
    assert_eq!(NO_CALL, path.dues[0].call);
}

#[test]
fn each_bound_that_was_reached_is_an_issue() {
    for reached in 0..8 {
        let found = issues(std::array::from_fn(|bound| if bound == reached { 3 } else { 0 }));
        assert_eq!(found.iter().map(|issue| issue.count).collect::<Vec<_>>(), [3]);
    }
    let all: std::collections::HashSet<_> = issues([1; 8]).iter().map(|issue| issue.kind).collect();
    assert_eq!((all.len(), issues([0; 8]).len()), (8, 0));
}
