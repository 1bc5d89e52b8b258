//! Entries and returns made by hand, and the calls that they describe.

use super::*;

fn record() -> Record<'static> {
    Record { clock_ns: 0, cpu: Some(0), tid: None, pid: None, stack: None, payload: &[] }
}

fn entry(number: i64) -> Entry {
    Entry { number, args: [0; 6], arg_count: 6, is_compat: false, is_typed: false }
}

fn enter(calls: &mut Syscalls, utid: Utid, clock_ns: i64, number: i64) {
    calls.enter((utid, 0), clock_ns, &record(), entry(number));
}

fn exit(calls: &mut Syscalls, utid: Utid, clock_ns: i64, number: i64, ret: i64) -> Option<bool> {
    calls.exit((utid, 0), clock_ns, &record(), Return { number, ret, is_compat: false, is_typed: false }, true)
}

/// (number, entered, exited, paired, what the edge cut)
fn all(calls: &Syscalls) -> Vec<(i64, i64, i64, bool, Edge)> {
    let strict = |call: &Call| call.pairing == Pairing::Strict;
    calls.calls.iter().map(|call| (call.number, call.entered, call.exited, strict(call), call.edge)).collect()
}

#[test]
fn what_the_edges_cut_is_marked_and_what_was_lost_is_not() {
    let mut calls = Syscalls::default();
    exit(&mut calls, 1, 5, 232, 1);
    enter(&mut calls, 1, 10, 0);
    // The return of 0 and the entry of 1 are lost.
    exit(&mut calls, 1, 30, 1, 7);
    enter(&mut calls, 1, 40, 232);
    calls.settle_open();
    assert_eq!(
        all(&calls),
        [
            (232, NO_TIME, 5, false, Edge::Start),
            (0, 10, NO_TIME, false, Edge::None),
            (1, NO_TIME, 30, false, Edge::None),
            (232, 40, NO_TIME, false, Edge::End),
        ]
    );
    assert_eq!(calls.count(), 4);
}

#[test]
fn execve_returns_by_the_convention_of_the_new_program() {
    let mut calls = Syscalls::default();
    enter(&mut calls, 1, 10, 59);
    assert_eq!(exit(&mut calls, 1, 20, 11, 0), Some(true), "the new program has 32 bits");
    let compat = Entry { is_compat: true, ..entry(11) };
    calls.enter((1, 0), 30, &record(), compat);
    let back = Return { number: 59, ret: 0, is_compat: true, is_typed: false };
    assert_eq!(calls.exit((1, 0), 40, &record(), back, true), Some(false), "and the next one 64 again");
    // execveat returns as execve.
    enter(&mut calls, 1, 50, 322);
    assert_eq!(exit(&mut calls, 1, 60, 59, 0), Some(false));
    let expected = [(59, 10, 20), (11, 30, 40), (322, 50, 60)].map(|(n, a, b)| (n, a, b, true, Edge::None));
    assert_eq!(all(&calls), expected);
}

#[test]
fn munmap_after_a_loss_is_no_execve() {
    let mut calls = Syscalls::default();
    enter(&mut calls, 1, 10, 0);
    assert_eq!(exit(&mut calls, 1, 20, 11, 0), None);
    enter(&mut calls, 2, 10, 59);
    let other = Return { number: 11, ret: 0, is_compat: false, is_typed: false };
    assert_eq!(calls.exit((2, 0), 20, &record(), other, false), None, "no other architecture shows execve so");
    assert_eq!(all(&calls).iter().filter(|call| call.3).count(), 0);
}

#[test]
fn a_return_without_a_number_ends_the_call_under_way() {
    let mut calls = Syscalls::default();
    enter(&mut calls, 1, 10, 15);
    exit(&mut calls, 1, 20, -1, 8);
    assert_eq!(all(&calls), [(15, 10, 20, true, Edge::None)]);
}

#[test]
fn a_call_that_two_tracepoints_tell_of_is_one() {
    let typed = Entry { is_typed: true, arg_count: 3, ..entry(0) };
    let returned = Return { number: 0, ret: 4, is_compat: false, is_typed: true };
    // The tracepoint of the call comes first, then raw_syscalls. In the kernel either may be first.
    let mut calls = Syscalls::default();
    calls.enter((1, 0), 10, &record(), typed);
    enter(&mut calls, 1, 11, 0);
    calls.exit((1, 0), 20, &record(), returned, true);
    exit(&mut calls, 1, 21, 0, 4);
    calls.enter((1, 0), 30, &record(), typed);
    enter(&mut calls, 1, 31, 0);
    exit(&mut calls, 1, 40, 0, 4);
    calls.exit((1, 0), 41, &record(), returned, true);
    calls.settle_open();
    assert_eq!(all(&calls), [(0, 11, 20, true, Edge::None), (0, 31, 40, true, Edge::None)]);
    assert_eq!(calls.count(), 4);
    // Without raw_syscalls these events are complete.
    let mut calls = Syscalls::default();
    calls.enter((1, 0), 10, &record(), typed);
    calls.exit((1, 0), 20, &record(), returned, true);
    assert_eq!(all(&calls), [(0, 10, 20, true, Edge::None)]);
}

#[test]
fn what_a_program_called_before_it_is_known_to_have_32_bits_is_renamed() {
    let mut calls = Syscalls::default();
    enter(&mut calls, 1, 10, 4);
    exit(&mut calls, 1, 20, 4, 3);
    enter(&mut calls, 2, 30, 4);
    enter(&mut calls, 1, 40, 20);
    calls.make_compat(|utid| utid == 1);
    calls.settle_open();
    let told: Vec<_> = calls.calls.iter().map(|call| (call.utid, call.number, call.is_compat)).collect();
    assert_eq!(told, [(1, 4, true), (1, 20, true), (2, 4, false)]);
}

#[test]
fn an_argument_or_a_result_beyond_32_bits_shows_a_program_of_64() {
    let mut calls = Syscalls::default();
    let args = [u64::from(u32::MAX), 0, 0, 0, 0, 0];
    calls.enter((1, 0), 10, &record(), Entry { args, ..entry(0) });
    exit(&mut calls, 1, 20, 0, -14);
    calls.enter((2, 0), 30, &record(), Entry { args: [3, 1 << 32, 0, 0, 0, 0], ..entry(0) });
    exit(&mut calls, 3, 40, 9, 0x7f00_0000_0000);
    exit(&mut calls, 4, 50, 9, 0xf7f0_0000);
    let widths: Vec<_> = calls.widths().collect();
    assert_eq!(widths, [(1, 1, false), (2, 1, true), (3, 1, true), (4, 1, false)]);
}

#[test]
fn a_call_in_a_file_comes_back() {
    let mut calls = Syscalls::default();
    let all = [i64::MIN, 7, i64::MAX];
    for (seed, ret) in (1..).zip(all) {
        let entry = Entry { args: [u64::MAX, 1, 2, 3, 4, seed], is_typed: seed == 2, ..entry(-ret.max(-5)) };
        calls.enter((seed as u32, 9), ret.max(5), &record(), entry);
        exit(&mut calls, seed as u32, 12, seed as i64, ret);
    }
    calls.settle_open();
    assert!(calls.calls.iter().any(|call| call.edge != Edge::None));
    for call in &calls.calls {
        let mut bytes = [0; Call::BYTES];
        call.put(&mut bytes);
        assert_eq!(Call::of(&bytes).as_ref(), Some(call));
        bytes[Call::BYTES - 3] = 3;
        assert_eq!(Call::of(&bytes), None, "there is no such pairing");
    }
}
