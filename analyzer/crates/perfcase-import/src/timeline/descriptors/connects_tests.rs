//! Connections by the states of their sockets.

use super::*;

const ESTABLISHED: i64 = 1;

fn change(skaddr: u64, clock_ns: i64, old: i64, new: i64, local_port: u16) -> StateChange {
    let end = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
    let (local, peer) = (end(local_port), end(80));
    StateChange { source: 0, clock_ns, utid: Some(1), skaddr, old, new, is_v6: false, local, peer }
}

#[test]
fn the_next_state_tells_the_local_port() {
    let mut connects = Connects::default();
    connects.note(&change(7, 10, CLOSE, SYN_SENT, 0));
    assert_eq!(connects.all[0].local(), None);
    connects.note(&change(7, 20, SYN_SENT, ESTABLISHED, 4000));
    connects.note(&change(7, 30, ESTABLISHED, 4, 5000));
    assert_eq!(connects.all[0].local().as_deref(), Some("127.0.0.1:4000"));
    assert_eq!(connects.all[0].peer(), "127.0.0.1:80");
}

#[test]
fn a_socket_at_the_same_address_is_another_one() {
    let mut connects = Connects::default();
    connects.note(&change(7, 10, CLOSE, SYN_SENT, 0));
    connects.note(&change(7, 20, CLOSE, SYN_SENT, 0));
    connects.note(&StateChange { source: 1, ..change(7, 30, SYN_SENT, CLOSE, 4000) });
    connects.note(&change(7, 30, SYN_SENT, CLOSE, 4001));
    let of_another = StateChange { peer: SocketAddr::from(([0; 16], 81)), ..change(8, 40, ESTABLISHED, 4, 4002) };
    connects.note(&change(8, 35, CLOSE, SYN_SENT, 0));
    connects.note(&of_another);
    let begun = connects.all.iter().filter(|connect| !connect.is_end);
    let locals: Vec<_> = begun.map(Connect::local).collect();
    assert_eq!(locals, [None, Some("127.0.0.1:4001".to_string()), None]);
}

#[test]
fn addresses_beyond_all_bounds_take_no_memory() {
    let mut connects = Connects::default();
    for skaddr in 0..=MOST_AWAITED as u64 {
        connects.note(&change(skaddr, 10, CLOSE, SYN_SENT, 0));
    }
    assert_eq!(connects.awaited.len(), 1);
    for _ in connects.all.len()..=MOST_CONNECTS {
        connects.note(&change(7, 10, CLOSE, SYN_SENT, 0));
    }
    assert_eq!((connects.all.len(), connects.refused_count), (MOST_CONNECTS, MOST_AWAITED as u64 + 1));
}

/// A call of close on descriptor 5 of process 1.
fn close(utid: u32, begin: i64, end: i64) -> Fact {
    let (deed, close_on_exec, use_kind) = (super::super::facts::Deed::Close, None, None);
    let is = (false, true);
    Fact {
        begin,
        end,
        low: 0,
        high: 0,
        ret: 0,
        utid,
        upid: 1,
        fd: 5,
        deed,
        close_on_exec,
        use_kind,
        is_connect: is.0,
        ends_connection: is.1,
    }
}

#[test]
fn an_end_belongs_to_the_call_in_which_it_came_and_to_no_other() {
    let calls = [close(1, 100, 200)];
    let begun = |changes: &[StateChange]| {
        let mut connects = Connects::default();
        changes.iter().for_each(|change| connects.note(change));
        connects
            .begun(&calls, 0)
            .iter()
            .map(|&(key, at, id)| (key, at, connects.all[id as usize].at))
            .collect::<Vec<_>>()
    };
    let end = |at: i64| change(7, at, ESTABLISHED, FIN_WAIT1, 80);
    assert_eq!(begun(&[end(150)]), [((1, 5), 100, 150)]);
    assert_eq!(begun(&[change(7, 150, CLOSE_WAIT, LAST_ACK, 80)]), [((1, 5), 100, 150)]);
    assert_eq!(begun(&[change(7, 150, FIN_WAIT1, 5, 80)]), [], "an answer of the other end");
    assert_eq!(begun(&[end(99)]), []);
    assert_eq!(begun(&[end(200 + LONGEST_TASK_WORK)]), [((1, 5), 100, 200 + LONGEST_TASK_WORK)]);
    assert_eq!(begun(&[end(201 + LONGEST_TASK_WORK)]), [], "the thread's exit");
    assert_eq!(begun(&[end(150), end(210)]), [((1, 5), 100, 150)], "a call ends one connection");
    assert_eq!(begun(&[StateChange { utid: Some(2), ..end(150) }]), [], "of another thread");
    let accepted = MAKERS.iter().position(|maker| maker.name == "accept4").unwrap() as MakerId;
    let made = MAKERS.iter().position(|maker| maker.name == "socket").unwrap() as MakerId;
    let mut connects = Connects::default();
    connects.note(&end(150));
    let is_of = |maker| connects.all[0].is_of(maker);
    assert_eq!([is_of(Some(accepted)), is_of(Some(made)), is_of(None)], [true, false, false]);
}

#[test]
fn connections_whose_local_port_is_forgotten_are_counted() {
    let mut connects = Connects { most_awaited: 2, ..Connects::default() };
    (0..5).for_each(|socket| connects.note(&change(socket, 10, CLOSE, SYN_SENT, 0)));
    (0..5).for_each(|socket| connects.note(&change(socket, 20, SYN_SENT, ESTABLISHED, 4000)));
    let known = connects.all.iter().filter(|connect| connect.local().is_some());
    assert_eq!((known.count(), connects.refused_count), (1, 4));
}
