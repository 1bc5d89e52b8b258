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
    let locals: Vec<_> = connects.all.iter().map(Connect::local).collect();
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
    assert_eq!((connects.all.len(), connects.refused_count), (MOST_CONNECTS, 1));
}
