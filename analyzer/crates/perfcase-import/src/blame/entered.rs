//! The calls that threads were in, as far as they say why these slept there.

use arrow_array::cast::AsArray as _;
use arrow_array::types::UInt64Type;
use arrow_array::{Array as _, ListArray};

use super::calls::{CallKind, CallName, CallNames, Thing};
use super::descriptors::Descriptors;
use super::history::{Call, History, NONE, Thread, Vain, Wake, word_of};
use super::retries::Question;
use super::rows::{Batch, at, meaning, meanings};
use super::tries::LockCall;

/// A call in which a thread slept takes longer: two switches do.
const SHORTEST_CALL_NS: i64 = 1000;
/// Error numbers of a call that ended because its time was over: EAGAIN (a socket's own timeout), ETIMEDOUT.
const TIMED_OUT: [i32; 2] = [11, 110];
/// EINTR, and what the kernel says instead where it will call again: ERESTARTSYS, ERESTARTNOHAND, ERESTART_RESTARTBLOCK.
const CUT_SHORT: [i32; 4] = [4, 512, 514, 516];
/// A lock that another has (EAGAIN, EACCES), and a connection that is under way (EINPROGRESS).
const TAKEN: [i32; 2] = [11, 13];
const UNDER_WAY: i32 = 115;
/// Nothing is there yet, or there is no room (EAGAIN).
const AGAIN: i32 = 11;

/// Adds calls. Gives the last end of them.
pub(super) fn add_calls(
    batch: &Batch,
    history: &mut History,
    names: &mut CallNames,
    things: &Descriptors,
) -> Option<i64> {
    let (starts, ends, utids) = (batch.i64s("ts_ns")?, batch.i64s("exit_ts_ns")?, batch.u32s("utid")?);
    let (rets, errors, descriptors) = (batch.i64s("ret")?, batch.i32s("errno")?, batch.u32s("descriptor_id")?);
    let (symbols, cuts) = (batch.symbols("name")?, batch.0.column_by_name("cut_at")?);
    let (pairings, arguments) = (batch.symbols("pairing")?, batch.lists("args")?);
    let numbers = names.numbers(symbols);
    let has_entry = meanings(pairings, |pairing| pairing != "exit_only");
    let mut last = None;
    for row in 0..batch.0.num_rows() {
        let (end, is_cut) = (at(ends, row), cuts.is_valid(row));
        last = last.max(end);
        let has_entry = meaning(pairings, &has_entry, row).unwrap_or(false);
        let start = if has_entry { starts.value(row) } else { i64::MIN };
        // Where an event in between was lost, nobody knows how long the call took.
        if (!has_entry || end.is_none()) && !is_cut {
            continue;
        }
        let Some(name) = meaning(symbols, &numbers, row) else { continue };
        let descriptor = at(descriptors, row).unwrap_or(NONE);
        let (ret, error) = (at(rets, row), at(errors, row));
        let did = Did { start, end: end.unwrap_or(i64::MAX), name, kind: names.kind(name), descriptor, ret, error };
        let utid = utids.value(row);
        match did.kind {
            CallKind::Futex => add_futex(history, utid, &did, Futex::of(names.name(name), arguments, row)),
            CallKind::Demand if is_lock(names.name(name), arguments, row) => {
                add_lock(history, things, utid, &did, is_take(names.name(name), arguments, row));
            }
            _ => {}
        }
        let Some(thread) = history.thread_mut(utid) else { continue };
        if did.kind == CallKind::Sleep {
            thread.tries.sleep(did.start, did.end);
            thread.retries.sleep(did.start, did.end);
            thread.naps.sleep(did.start, did.end);
        }
        let is_long = did.end.saturating_sub(did.start) >= SHORTEST_CALL_NS;
        let is_waiting = is_long && did.kind == CallKind::Poll && !did.is_ready();
        let asks_nothing = is_waiting && asks_nothing(names.name(name), arguments, row);
        let is_end = did.kind == CallKind::Send && matches!(names.name(name), Some(b"close" | b"shutdown"));
        if asks_nothing {
            thread.retries.sleep(did.start, did.end);
            thread.naps.sleep(did.start, did.end);
        } else if did.kind != CallKind::Sleep {
            thread.naps.call();
        }
        let call = call_of(thread, things, &did, asks_nothing, is_end);
        if is_long && did.kind != CallKind::Futex {
            thread.note_poll(&call, did.is_ready());
            history.add_call(utid, call);
        }
    }
    last
}

/// What a thread did.
#[derive(Clone, Copy)]
struct Did {
    start: i64,
    end: i64,
    name: CallName,
    kind: CallKind,
    descriptor: u32,
    ret: Option<i64>,
    error: Option<i32>,
}

impl Did {
    fn is_ready(&self) -> bool {
        self.ret.is_some_and(|ret| ret > 0)
    }

    fn has_failed(&self, errors: &[i32]) -> bool {
        self.error.is_some_and(|error| errors.contains(&error))
    }

    fn call(&self) -> Call {
        let Did { start, end, name, kind, descriptor, .. } = *self;
        let has_timed_out = match kind {
            CallKind::Poll => self.ret == Some(0),
            CallKind::Send if self.error == Some(UNDER_WAY) => true,
            _ => self.has_failed(&TIMED_OUT),
        };
        let is_cut_short = self.has_failed(&CUT_SHORT);
        Call { start, end, descriptor, name, kind, has_timed_out, is_cut_short, ..Call::NONE }
    }
}

/// Gives a call with what the calls of its thread before it tell about it, and notes what it tells about those.
/// `asks_nothing`: it waits for no descriptor; `is_end`: it ends a connection.
fn call_of(thread: &mut Thread, things: &Descriptors, did: &Did, asks_nothing: bool, is_end: bool) -> Call {
    let descriptor = did.descriptor;
    let is_reply = tells(thread, things, did, is_end);
    asks(thread, things, did, is_end);
    went_in_vain(thread, things, did, is_end);
    if did.kind == CallKind::Poll {
        thread.polled = None;
    } else if descriptor != NONE
        && let Some(polled) = thread.polled.take().and_then(|polled| thread.calls.get_mut(polled))
    {
        polled.descriptor = descriptor;
        polled.is_asked = did.kind == CallKind::Accept || did.kind == CallKind::Read && things.is_served(descriptor);
        polled.is_reply = is_reply;
    }
    let mut call = Call { is_reply, ..did.call() };
    match did.kind {
        CallKind::Poll if asks_nothing => call.kind = CallKind::Sleep,
        CallKind::Poll if !did.is_ready() && thread.asked != NONE => call.descriptor = thread.asked,
        CallKind::Read if descriptor == thread.asked && did.ret.is_some_and(|ret| ret >= 0) => thread.asked = NONE,
        CallKind::Send if is_end && descriptor == thread.asked => thread.asked = NONE,
        CallKind::Send if !is_end && things.thing(descriptor) == Thing::Socket => {
            let has_asked = did.is_ready() || did.ret == Some(0) || did.error == Some(UNDER_WAY);
            thread.asked = if has_asked && !things.is_served(descriptor) { descriptor } else { NONE };
        }
        _ => {}
    }
    call
}

/// Notes what a thread says and reads on a connection that it took. Gives whether it read a reply there.
fn tells(thread: &mut Thread, things: &Descriptors, did: &Did, is_end: bool) -> bool {
    let descriptor = did.descriptor;
    let is_taken = things.thing(descriptor) == Thing::Socket && things.is_served(descriptor);
    // A poll that a write follows at once waited for room: the rest of what the thread had to say is no answer to anything new.
    let has_polled = descriptor != NONE && thread.polled.is_some() && did.kind != CallKind::Send;
    if has_polled || did.kind == CallKind::Poll && !did.is_ready() {
        thread.stream.waited();
    }
    match did.kind {
        CallKind::Send if is_end => thread.stream.closed(descriptor),
        CallKind::Send if is_taken && did.is_ready() => thread.stream.wrote(descriptor),
        CallKind::Read if is_taken && did.is_ready() => return thread.stream.read(descriptor),
        _ => {}
    }
    false
}

/// Notes what a thread asks as a client, and what it takes and answers as a service.
fn asks(thread: &mut Thread, things: &Descriptors, did: &Did, is_end: bool) {
    let (descriptor, retries) = (did.descriptor, &mut thread.retries);
    let is_socket = things.thing(descriptor) == Thing::Socket;
    let is_served = is_socket && things.is_served(descriptor);
    match did.kind {
        CallKind::Read | CallKind::Send if is_served && (is_end || !did.is_ready()) => {}
        CallKind::Read | CallKind::Send if is_served => retries.next_work(),
        CallKind::Accept if did.is_ready() => retries.next_work(),
        CallKind::Send if is_end => retries.over(descriptor),
        CallKind::Read if is_socket && did.error != Some(AGAIN) => retries.over(descriptor),
        CallKind::Send if is_socket => {
            if let Some(peer) = things.peer(descriptor) {
                let has_failed = did.error.is_some_and(|error| error != UNDER_WAY && error != AGAIN);
                retries.ask(Question { peer, size: did.ret.unwrap_or(0).max(0) }, descriptor, has_failed);
            }
        }
        _ => {}
    }
}

/// The most polls in vain of one question that are told.
const MOST_IN_VAIN: usize = 64;

/// Notes polls that ended before the answer came: the thread said more on the connection that it had asked on, before it polled again,
/// and an answer came in the end. A client that asks whether it may go on does so (RFC 9110, 10.1.1: Expect).
fn went_in_vain(thread: &mut Thread, things: &Descriptors, did: &Did, is_end: bool) {
    let is_there = did.descriptor != NONE && did.descriptor == thread.asked;
    let vain = &mut thread.vain;
    match did.kind {
        CallKind::Poll => vain.last = None,
        CallKind::Send if is_end && !is_there => {}
        CallKind::Send if is_end => *vain = Vain::default(),
        CallKind::Send if is_there && did.is_ready() => {
            vain.went_on.extend(vain.last.take().filter(|_| vain.went_on.len() < MOST_IN_VAIN));
        }
        CallKind::Send if !is_there && things.thing(did.descriptor) == Thing::Socket => *vain = Vain::default(),
        CallKind::Read if is_there && did.is_ready() => {
            for index in std::mem::take(vain).went_on {
                if let Some(call) = thread.calls.get_mut(index) {
                    call.is_in_vain = true;
                }
            }
        }
        _ => {}
    }
}

fn add_futex(history: &mut History, utid: u32, did: &Did, futex: Option<Futex>) {
    let Did { start, end, .. } = *did;
    let word = futex.map_or(NONE, |futex| futex.word);
    match futex {
        Some(Futex { is_wake: true, .. }) => history.add_wake(word, Wake { end, start, utid }),
        Some(Futex { has_limit: true, .. }) => history.limit(utid, word),
        _ => {}
    }
    if end.saturating_sub(start) >= SHORTEST_CALL_NS {
        history.add_call(utid, Call { word, ..did.call() });
    }
}

/// Adds a call about the lock of a file.
fn add_lock(history: &mut History, things: &Descriptors, utid: u32, did: &Did, is_take: bool) {
    let Did { start, end, descriptor, .. } = *did;
    let is_taken = did.has_failed(&TAKEN);
    if let Some(file) = things.file(descriptor)
        && (is_taken || did.ret == Some(0))
    {
        history.add_lock(utid, LockCall { start, end, file, descriptor, is_taken, is_take });
    }
}

/// The operations of fcntl(2) that take or give back a lock: F_SETLK and F_SETLKW, of 32 bits, of 64, and of an open file (OFD).
const LOCKS: [u64; 6] = [6, 7, 13, 14, 37, 38];

/// Gives an argument of a call, by its place.
fn argument(arguments: &ListArray, row: usize, place: usize) -> Option<u64> {
    let list = arguments.is_valid(row).then(|| arguments.value(row))?;
    list.as_primitive_opt::<UInt64Type>()?.values().get(place).copied()
}

fn is_lock(name: Option<&[u8]>, arguments: &ListArray, row: usize) -> bool {
    match name {
        Some(b"flock") => true,
        Some(b"fcntl" | b"fcntl64") => argument(arguments, row, 1).is_none_or(|operation| LOCKS.contains(&operation)),
        _ => false,
    }
}

/// Tells whether a call asks flock(2) for a lock: without LOCK_UN.
fn is_take(name: Option<&[u8]>, arguments: &ListArray, row: usize) -> bool {
    name == Some(b"flock") && argument(arguments, row, 1).is_some_and(|operation| operation & 8 == 0)
}

/// Tells whether a poll or select is about no descriptor: it is a sleep.
fn asks_nothing(name: Option<&[u8]>, arguments: &ListArray, row: usize) -> bool {
    let place = match name {
        Some(b"poll" | b"ppoll" | b"ppoll_time64") => 1,
        Some(b"select" | b"_newselect" | b"pselect6" | b"pselect6_time64") => 0,
        _ => return false,
    };
    argument(arguments, row, place) == Some(0)
}

/// What a futex is asked for.
#[derive(Clone, Copy)]
struct Futex {
    word: u32,
    is_wake: bool,
    has_limit: bool,
}

/// The operations of futex(2), without their flags: those that wait, and those that wake.
const FUTEX_WAITS: [u64; 5] = [0, 6, 9, 11, 13];
const FUTEX_WAKES: [u64; 7] = [1, 3, 4, 5, 7, 10, 12];
const FUTEX_OPERATION: u64 = 0x7f;

impl Futex {
    fn of(name: Option<&[u8]>, arguments: &ListArray, row: usize) -> Option<Futex> {
        let list = arguments.is_valid(row).then(|| arguments.value(row))?;
        let values = list.as_primitive_opt::<UInt64Type>()?.values();
        let (address, operation) = (*values.first()?, values.get(1)? & FUTEX_OPERATION);
        let argument = |index: usize| values.get(index).is_some_and(|&value| value != 0);
        let (is_wake, has_limit) = match name? {
            b"futex_wake" => (true, false),
            b"futex_wait" => (false, argument(4)),
            _ => (FUTEX_WAKES.contains(&operation), FUTEX_WAITS.contains(&operation) && argument(3)),
        };
        Some(Futex { word: word_of(address), is_wake, has_limit })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives the descriptor that a poll is about after some calls: name, descriptor, what came back, error. 1 is a connection that was made,
    /// 2 one that was taken, 3 a file, 4 another connection that was made.
    fn asked(calls: &[(&str, u32, i64, i32)], poll: (i64, bool)) -> (u32, CallKind) {
        let things = [Thing::Unknown, Thing::Socket, Thing::Socket, Thing::File, Thing::Socket];
        let things = Descriptors::of(things.to_vec(), &[2]);
        let mut names = CallNames::default();
        let mut thread = Thread { asked: NONE, ..Thread::default() };
        let mut add = |name: &str, descriptor: u32, ret: i64, error: i32, asks_nothing: bool| {
            let number = names.number(name);
            let (kind, error) = (names.kind(number), (error != 0).then_some(error));
            let did = Did { start: 0, end: 9, name: number, kind, descriptor, ret: Some(ret), error };
            call_of(&mut thread, &things, &did, asks_nothing, name == "close")
        };
        for &(name, descriptor, ret, error) in calls {
            add(name, descriptor, ret, error, false);
        }
        let call = add("poll", NONE, poll.0, 0, poll.1);
        (call.descriptor, call.kind)
    }

    #[test]
    fn a_poll_in_vain_is_about_what_was_asked_before() {
        let of = |calls: &[_]| asked(calls, (0, false)).0;
        assert_eq!(of(&[("sendto", 1, 5, 0)]), 1);
        assert_eq!(of(&[("connect", 1, -115, UNDER_WAY)]), 1);
        assert_eq!(of(&[("sendto", 1, 5, 0), ("write", 3, 9, 0), ("poll", NONE, 0, 0)]), 1, "it logs, and polls again");
        assert_eq!(of(&[("sendto", 1, 5, 0), ("recvfrom", 1, -11, 11)]), 1, "no answer yet");
        assert_eq!(of(&[("sendto", 4, 5, 0), ("sendto", 1, 5, 0), ("recvfrom", 4, 5, 0)]), 1);
        // Nothing was asked, it has its answer, it gave up, or its own client has the answer.
        assert_eq!(of(&[]), NONE);
        assert_eq!(of(&[("connect", 1, -111, 111)]), NONE);
        assert_eq!(of(&[("sendto", 1, 5, 0), ("recvfrom", 1, 5, 0)]), NONE);
        assert_eq!(of(&[("sendto", 1, 5, 0), ("close", 1, 0, 0)]), NONE);
        assert_eq!(of(&[("sendto", 1, 5, 0), ("sendto", 2, 5, 0)]), NONE);
        // One that found something is about what the next call uses.
        assert_eq!(asked(&[("sendto", 1, 5, 0)], (1, false)).0, NONE);
    }

    #[test]
    fn who_speaks_unasked_on_a_connection_that_it_took_waits_for_replies() {
        let things = Descriptors::of(vec![Thing::Unknown, Thing::Socket, Thing::Socket, Thing::Input], &[1, 2]);
        let replies = |calls: &[(&str, u32, i64)]| {
            let (mut names, mut thread) = (CallNames::default(), Thread { asked: NONE, ..Thread::default() });
            let mut add = |name: &str, descriptor: u32, ret: i64| {
                let (number, error) = (names.number(name), (ret < 0).then_some(11));
                let kind = names.kind(number);
                let did = Did { start: 0, end: 9, name: number, kind, descriptor, ret: Some(ret), error };
                let call = call_of(&mut thread, &things, &did, false, name == "close");
                if kind == CallKind::Poll && did.is_ready() {
                    thread.polled = Some(thread.calls.len());
                    thread.calls.push(call);
                }
                call.is_reply
            };
            calls.iter().map(|&(name, descriptor, ret)| add(name, descriptor, ret)).collect::<Vec<_>>().pop().unwrap()
        };
        let (poll, ring, look) = (("epoll_wait", NONE, 1), ("read", 3, 128), ("recvfrom", 1, -11));
        let (say, hear) = (("sendto", 1, 99), ("recvfrom", 1, 39));
        assert!(replies(&[say, poll, ring, look, say, poll, hear]));
        assert!(replies(&[say, poll, ring, look, say, poll, hear, say, poll, hear]), "it goes on");
        // Questions with answers, an answer in two parts, a connection of another, one that was closed.
        assert!(!replies(&[hear, say, poll, hear, say, poll, hear]));
        assert!(!replies(&[hear, say, say, poll, hear]));
        assert!(!replies(&[say, poll, ring, look, say, poll, ("recvfrom", 2, 39)]));
        assert!(!replies(&[say, poll, ring, say, ("close", 1, 0), poll, hear]));
        assert!(!replies(&[hear, say, poll, say, poll, say, poll, hear]), "an answer that had no room");
    }

    #[test]
    fn a_poll_is_in_vain_if_its_thread_says_more_after_it_and_is_answered_in_the_end() {
        let things = [Thing::Unknown, Thing::Socket, Thing::Socket, Thing::File, Thing::Socket];
        let things = Descriptors::of(things.to_vec(), &[2]);
        let in_vain = |calls: &[(&str, u32, i64)]| {
            let (mut names, mut history) = (CallNames::default(), History::default());
            history.thread_mut(7).unwrap();
            for &(name, descriptor, ret) in calls {
                let number = names.number(name);
                let (kind, error) = (names.kind(number), (ret < 0).then_some(11));
                let did = Did { start: 0, end: 9000, name: number, kind, descriptor, ret: Some(ret), error };
                let (thread, is_end) = (history.thread_mut(7).unwrap(), name == "close");
                let call = call_of(thread, &things, &did, false, is_end);
                thread.note_poll(&call, did.is_ready());
                history.add_call(7, call);
            }
            let polls = history.thread(7).unwrap().calls.iter().filter(|call| call.kind == CallKind::Poll);
            polls.map(|poll| poll.is_in_vain).collect::<Vec<_>>()
        };
        let (head, poll, body, answer) =
            (("sendto", 1, 90), ("poll", NONE, 0), ("sendto", 1, 9000), ("recvfrom", 1, 25));
        assert_eq!(in_vain(&[head, poll, body, answer]), [true]);
        assert_eq!(in_vain(&[head, poll, ("write", 3, 80), ("close", 3, 0), body, poll, body, answer]), [true, true]);
        assert_eq!(in_vain(&[head, poll, poll, body, answer]), [false, true], "it waited on");
        // It is told to go on; nobody answers such messages; it gives up; the rest goes to another end or is an answer of its own.
        assert_eq!(in_vain(&[head, ("poll", NONE, 1), answer, body, answer]), [false]);
        assert_eq!(in_vain(&[head, poll, body, poll, body]), [false, false]);
        assert_eq!(in_vain(&[head, poll, ("close", 1, 0), ("sendto", 1, 9), answer]), [false]);
        assert_eq!(in_vain(&[head, poll, ("sendto", 4, 9), body, answer]), [false]);
        assert_eq!(in_vain(&[head, poll, ("sendto", 2, 9), body, answer]), [false]);
        assert_eq!(in_vain(&[poll, body, answer]), [false], "nothing was asked");
    }

    #[test]
    fn a_sleep_until_it_asks_the_same_again_is_about_its_peer() {
        let things = [Thing::Unknown, Thing::Socket, Thing::Socket, Thing::Socket];
        let things = Descriptors::of(things.to_vec(), &[2]);
        let asks_again = |calls: &[(&str, u32, i64, i32)]| {
            let (mut names, mut thread) = (CallNames::default(), Thread { asked: NONE, ..Thread::default() });
            for &(name, descriptor, ret, error) in calls {
                let number = names.number(name);
                let (kind, error) = (names.kind(number), (error != 0).then_some(error));
                let did = Did { start: 20, end: 50, name: number, kind, descriptor, ret: Some(ret), error };
                if kind == CallKind::Sleep {
                    thread.retries.sleep(20, 50);
                }
                call_of(&mut thread, &things, &did, false, name == "close");
            }
            thread.retries.settle();
            thread.retries.at(30)
        };
        let (question, answer, sleep) = (("sendto", 1, 22, 0), ("recvfrom", 1, 19, 0), ("clock_nanosleep", NONE, 0, 0));
        let again = ("sendto", 3, 22, 0);
        assert_eq!(asks_again(&[question, answer, ("close", 1, 0, 0), sleep, ("connect", 3, 0, 0), again]), Some(3));
        assert_eq!(asks_again(&[question, ("close", 1, 0, 0), sleep, again]), Some(3), "it gave up");
        assert_eq!(asks_again(&[("connect", 1, -111, 111), ("close", 1, 0, 0), sleep, ("connect", 3, 0, 0)]), Some(3));
        // It says more, looks whether an answer is there, takes or answers a request, says something else.
        assert_eq!(asks_again(&[question, sleep, again]), None);
        assert_eq!(asks_again(&[question, ("recvfrom", 1, -11, 11), sleep, again]), None);
        assert_eq!(asks_again(&[question, answer, sleep, ("sendto", 2, 90, 0), again]), None);
        assert_eq!(asks_again(&[question, answer, ("recvfrom", 2, 90, 0), sleep, again]), None);
        assert_eq!(asks_again(&[question, answer, ("accept4", 2, 9, 0), sleep, again]), None);
        assert_eq!(asks_again(&[question, answer, sleep, ("sendto", 3, 23, 0)]), None);
    }

    #[test]
    fn a_poll_of_nothing_is_a_sleep() {
        assert_eq!(asked(&[("sendto", 1, 5, 0)], (0, true)), (NONE, CallKind::Sleep));
        assert_eq!(asked(&[], (0, false)), (NONE, CallKind::Poll));
    }
}
