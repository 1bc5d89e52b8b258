//! Turns of descriptors whose number another thread takes.

use super::super::facts::MakerId;
use super::*;
use crate::tables::Table as _;

/// A call of a thread of process 1, from and until when.
fn call(utid: u32, fd: i32, (begin, end): (i64, i64), ret: i64, deed: Deed) -> Fact {
    let high = u64::from(deed != Deed::Close);
    Fact {
        begin,
        end,
        low: 2,
        high,
        ret,
        utid,
        upid: 1,
        fd,
        deed,
        close_on_exec: None,
        use_kind: None,
        is_connect: false,
        ends_connection: false,
    }
}

fn moved(name: &'static str, begin: i64, end: i64) -> Moved {
    Moved { upid: 1, fd: 5, utid: 1, name_id: 1, name, begin, end, bytes: 1 }
}

#[test]
fn a_number_that_a_close_frees_is_another_threads_before_the_close_returns() {
    let maker = MAKERS.iter().position(|maker| maker.name == "socket").unwrap() as MakerId;
    let facts = [
        call(2, -1, (0, 10), 5, Deed::Make(maker)),
        call(1, -1, (105, 120), 5, Deed::Make(maker)),
        call(2, 5, (100, 300), 0, Deed::Close),
    ];
    let seen = (&Sockets::default(), &Connects::default());
    let mut turns = Turns::of(&facts, &[], &Begun::default(), &Things::default(), seen);
    let mut tables = Tables::default();
    for moved in [
        moved("sendto", 20, 30),
        moved("recvfrom", 40, 50),
        moved("sendto", 60, 70),
        moved("sendto", 130, 140),
        moved("recvfrom", 150, 160),
        moved("sendto", 310, 320),
        moved("recvfrom", 330, 340),
    ] {
        turns.follow(&moved, &mut tables);
    }
    // The write before the close has no answer: the read after it is another socket's.
    assert_eq!(tables.socket_turn.len(), 3);
}

/// A service with a connection on descriptor 5: the same thread reads requests there and answers each 100 ns later.
struct Service {
    turns: Turns,
    tables: Tables,
    now: i64,
}

const SERVED: i32 = 5;
const ASKED: i32 = 6;
/// A connection whose second request is answered by its end, this long after it.
const CLOSED: i32 = 11;
const GOODBYE: i64 = 2001;

impl Service {
    fn answers(count: usize) -> Service {
        let maker = |name| MAKERS.iter().position(|maker| maker.name == name).unwrap() as MakerId;
        let connect = Fact { is_connect: true, ..call(1, ASKED, (3, 4), 0, Deed::Use) };
        let facts = [
            call(1, 3, (0, 1), i64::from(SERVED), Deed::Make(maker("accept"))),
            call(1, 3, (1, 2), 7, Deed::Make(maker("accept"))),
            call(1, -1, (2, 3), i64::from(ASKED), Deed::Make(maker("socket"))),
            connect,
            call(1, 3, (4, 5), i64::from(CLOSED), Deed::Make(maker("accept"))),
            call(1, CLOSED, (4420 + GOODBYE - 1, 4420 + GOODBYE), 0, Deed::Close),
        ];
        let seen = (&Sockets::default(), &Connects::default());
        let turns = Turns::of(&facts, &[], &Begun::default(), &Things::default(), seen);
        let mut service = Service { turns, tables: Tables::default(), now: 10 };
        (0..count).for_each(|_| service = std::mem::replace(&mut service, Service::none()).answer());
        service
    }

    fn none() -> Service {
        Service { turns: Turns::default(), tables: Tables::default(), now: 0 }
    }

    fn moves(mut self, name: &'static str, fd: i32, utid: u32) -> Service {
        let (begin, end) = (self.now, self.now + 10);
        self.now += 100;
        self.turns.follow(&Moved { fd, utid, ..moved(name, begin, end) }, &mut self.tables);
        self
    }

    fn asked(self) -> Service {
        self.moves("recvfrom", SERVED, 1)
    }

    fn answer(self) -> Service {
        self.asked().moves("sendto", SERVED, 1)
    }

    /// Gives how long requests had no answer although one was due, if the thread is in a call in the end, a time after the last event.
    fn in_the_end(mut self, after: i64, name: &'static str, fd: i32, args: [u64; 6]) -> Vec<i64> {
        let begin = self.now - 80;
        self.turns.add_last(LastCall { upid: 1, utid: 1, fd: (fd >= 0).then_some(fd), name, begin, args });
        self.turns.finish(self.now - 90 + after, &mut self.tables);
        let columns = self.tables.request.take();
        let waited = columns[3].as_any().downcast_ref::<arrow_array::Int64Array>().unwrap();
        waited.iter().flatten().collect()
    }

    fn on_a_lock(self, after: i64) -> Vec<i64> {
        self.in_the_end(after, "futex", -1, [1, 128, 0, 0, 0, 0])
    }
}

/// How long half of the answers took, at most, ten times.
const LONG: i64 = 1280;
const NONE: [i64; 0] = [];
const NO_ARGS: [u64; 6] = [0; 6];

#[test]
fn a_request_has_no_answer_where_its_thread_waits_for_no_client() {
    assert_eq!(Service::answers(21).asked().on_a_lock(LONG), [LONG]);
    for name in ["write", "fsync", "flock", "semop", "nanosleep", "openat"] {
        assert_eq!(Service::answers(21).asked().in_the_end(LONG, name, 9, NO_ARGS), [LONG], "{name}");
    }
    assert_eq!(Service::answers(21).asked().in_the_end(LONG, "recvfrom", ASKED, NO_ARGS), [LONG], "another end");
    let asks = || Service::answers(21).asked().moves("sendto", ASKED, 1);
    assert_eq!(asks().in_the_end(LONG, "poll", -1, [1, 1, 0, 0, 0, 0]), [LONG + 100], "a poll for another end");
    let heard = asks().moves("recvfrom", ASKED, 1);
    assert_eq!(heard.in_the_end(LONG, "poll", -1, [1, 1, 0, 0, 0, 0]), NONE, "which has answered");
}

#[test]
fn what_the_end_cut_off_is_no_request_without_an_answer() {
    assert_eq!(Service::answers(21).asked().on_a_lock(LONG - 1), NONE, "less than ten times the median");
    assert_eq!(Service::answers(20).asked().on_a_lock(LONG), NONE, "19 later ones were answered");
    // Who says goodbye gets no answer: the end of the connection comes as late.
    let goodbye = || {
        Service::answers(21)
            .moves("recvfrom", CLOSED, 1)
            .moves("sendto", CLOSED, 1)
            .moves("recvfrom", CLOSED, 1)
            .asked()
    };
    assert_eq!(goodbye().on_a_lock(GOODBYE), NONE);
    assert_eq!(goodbye().on_a_lock(GOODBYE + 1), [GOODBYE + 1]);
    let mut late = Service::answers(21).asked();
    late.now += LONG;
    let late = late.moves("sendto", SERVED, 1).asked();
    assert_eq!(late.on_a_lock(LONG), NONE, "another one took longer");
}

#[test]
fn who_waits_for_clients_owes_no_answer() {
    // A subscriber's words, what a standby confirms, logs, a kept connection: the thread reads on.
    for (name, fd) in [("recvfrom", SERVED), ("read", 7), ("accept4", 3), ("epoll_wait", 8), ("io_uring_enter", -1)] {
        assert_eq!(Service::answers(21).asked().in_the_end(LONG, name, fd, NO_ARGS), NONE, "{name} {fd}");
    }
    let end = |name, args| Service::answers(21).asked().in_the_end(LONG, name, -1, args);
    assert_eq!(end("poll", [1, 1, 0, 0, 0, 0]), NONE, "a poll that may be for a client");
    assert_eq!(end("poll", [0, 0, 9, 0, 0, 0]), [LONG], "a sleep");
    // Who holds answers back until there is news sets a limit of time.
    assert_eq!(end("futex", [1, 128, 0, 1, 0, 0]), NONE);
    assert_eq!(end("exit_group", NO_ARGS), NONE, "the last words before the end");
    assert_eq!(Service::answers(21).asked().moves("read", 7, 1).on_a_lock(LONG), NONE, "it has another request");
}

#[test]
fn an_epoll_descriptor_is_known_by_what_was_read_after_it() {
    // PostgreSQL waits for its client by one, and for locks by another one.
    let told = || Service::answers(21).moves("epoll_wait", 8, 1).asked();
    assert_eq!(told().in_the_end(LONG, "epoll_wait", 9, NO_ARGS), [LONG]);
    assert_eq!(told().in_the_end(LONG, "epoll_wait", 8, NO_ARGS), NONE);
}

#[test]
fn requests_that_another_thread_answers_say_nothing_of_who_reads_them() {
    let given = Service::answers(21).asked().moves("sendto", SERVED, 2);
    assert_eq!(given.asked().on_a_lock(LONG), NONE);
}

#[test]
fn a_request_of_an_ended_process_waited_until_then() {
    let mut service = Service::answers(21).asked();
    let end = service.now - 90 + LONG;
    service.turns.add_end(1, end);
    assert_eq!(service.on_a_lock(9 * LONG), [LONG]);
}
