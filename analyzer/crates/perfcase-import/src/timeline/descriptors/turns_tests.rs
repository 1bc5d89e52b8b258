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
