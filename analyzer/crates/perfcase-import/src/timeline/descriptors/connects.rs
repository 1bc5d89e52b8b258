//! TCP connections that the recorded host began or accepted, by the states of their sockets (`sock:inet_sock_set_state`).
//!
//! A socket goes from CLOSE to SYN_SENT in the thread that connects, within its call. The kernel has chosen the local
//! address by then, but not the local port: the socket's next state has it.
//!
//! An accepted connection is established in an interrupt, before any descriptor. But the thread that ends it makes it send FIN, within its
//! close or shutdown: that state has both ends. Before Linux 6.6 a socket closes just after its close has returned (task work).

use std::net::{IpAddr, SocketAddr};

use hashbrown::{HashMap, HashSet};

use super::facts::{Fact, MAKERS, MakerId};
use super::history::Key;
use super::spans::Span;
use crate::model::{NO_TIME, SourceId, Utid};

/// The most connections that are kept: 400 MiB, a bound for hostile input.
const MOST_CONNECTS: usize = 1 << 22;
/// The most sockets whose next state is awaited. When there are more, all are forgotten and counted: some local ports stay unknown.
const MOST_AWAITED: usize = 1 << 20;

/// States of a socket (include/net/tcp_states.h).
const ESTABLISHED: i64 = 1;
const SYN_SENT: i64 = 2;
const FIN_WAIT1: i64 = 4;
const CLOSE: i64 = 7;
const CLOSE_WAIT: i64 = 8;
const LAST_ACK: i64 = 9;

/// The longest time from the return of close to the end of its socket, in ns: task work runs at once. A later end is that of another
/// socket, as a thread's exit closes all.
const LONGEST_TASK_WORK: i64 = 100_000;

/// A socket got another state.
pub(crate) struct StateChange {
    pub source: SourceId,
    pub clock_ns: i64,
    /// The thread that was running.
    pub utid: Option<Utid>,
    /// The socket's address in the kernel.
    pub skaddr: u64,
    pub old: i64,
    pub new: i64,
    pub is_v6: bool,
    pub local: SocketAddr,
    pub peer: SocketAddr,
}

/// A connection that a thread began or ended. Times are of the source's clock, in ns.
pub(super) struct Connect {
    utid: Utid,
    at: i64,
    is_end: bool,
    pub is_v6: bool,
    local: SocketAddr,
    peer: SocketAddr,
}

/// The number of a connection in [`Connects`].
pub(super) type ConnectId = u32;
/// No connection.
pub(super) const NO_CONNECT: ConnectId = u32::MAX;

/// The descriptor of each connection that has one, when the connection began or the call that ended it, in ns since the capture's start,
/// and its number: sorted.
pub(super) type Begun = Vec<(Key, i64, ConnectId)>;

/// All connections that the capture saw begin or end.
pub(super) struct Connects {
    all: Vec<Connect>,
    awaited: HashMap<(SourceId, u64), ConnectId>,
    most_awaited: usize,
    /// The number of connections beyond the bounds.
    pub refused_count: u64,
}

impl Default for Connects {
    fn default() -> Connects {
        Connects { all: Vec::new(), awaited: HashMap::new(), most_awaited: MOST_AWAITED, refused_count: 0 }
    }
}

impl Connects {
    pub(super) fn get(&self, id: ConnectId) -> Option<&Connect> {
        self.all.get(id as usize)
    }

    pub(super) fn note(&mut self, change: &StateChange) {
        let socket = (change.source, change.skaddr);
        let before = self.awaited.remove(&socket);
        if let Some(connect) = before.and_then(|id| self.all.get_mut(id as usize))
            && (change.old, change.new) != (CLOSE, SYN_SENT)
            && connect.peer == change.peer
        {
            connect.local = change.local;
        }
        let is_end = match (change.old, change.new) {
            (CLOSE, SYN_SENT) => false,
            (ESTABLISHED, FIN_WAIT1) | (CLOSE_WAIT, LAST_ACK) => true,
            _ => return,
        };
        let Some(utid) = change.utid else { return };
        if self.all.len() >= MOST_CONNECTS {
            self.refused_count += 1;
            return;
        }
        if self.awaited.len() >= self.most_awaited {
            self.refused_count += self.awaited.len() as u64;
            self.awaited.clear();
        }
        if !is_end {
            self.awaited.insert(socket, self.all.len() as ConnectId);
        }
        let StateChange { clock_ns: at, is_v6, local, peer, .. } = *change;
        self.all.push(Connect { utid, at, is_end, is_v6, local, peer });
    }

    /// Finds the call of each connection, and so its descriptor. The times of `facts` are in ns since the capture's start.
    pub(super) fn begun(&self, facts: &[Fact], start: i64) -> Begun {
        if self.all.is_empty() {
            return Vec::new();
        }
        let of = |is_it: fn(&Fact) -> bool| {
            let calls = facts.iter().filter(|fact| fact.fd >= 0 && is_it(fact));
            let mut calls: Vec<_> = calls.map(|fact| (fact.utid, fact.begin, fact.end, (fact.upid, fact.fd))).collect();
            calls.sort_unstable();
            calls
        };
        let (connects, ends) = (of(|fact| fact.is_connect), of(|fact| fact.ends_connection));
        let mut taken = HashSet::new();
        let mut begun: Begun = (0..)
            .zip(&self.all)
            .filter_map(|(id, connect)| {
                let at = connect.at.saturating_sub(start);
                let calls = if connect.is_end { &ends } else { &connects };
                let index = calls.partition_point(|call| (call.0, call.1) <= (connect.utid, at)).checked_sub(1)?;
                let (utid, begin, end, key) = calls[index];
                let room = if connect.is_end { LONGEST_TASK_WORK } else { 0 };
                let is_within = utid == connect.utid && (end == NO_TIME || at <= end.saturating_add(room));
                // A call ends one connection: what its thread ends after that belongs to its exit.
                let is_first = !connect.is_end || is_within && taken.insert(index);
                (is_within && is_first).then_some((key, if connect.is_end { begin } else { at }, id))
            })
            .collect();
        begun.sort_unstable();
        begun
    }
}

/// Gives each span the last connection that began on it, or that ended if it was accepted. `spans` are sorted by descriptor and time.
pub(super) fn mark(spans: &mut [Span], begun: &Begun, connects: &Connects) {
    for &(key, at, id) in begun {
        let index = spans.partition_point(|span| (span.key, span.ts) <= (key, at)).checked_sub(1);
        let span = index.map(|index| &mut spans[index]);
        if let Some(span) = span.filter(|span| span.key == key && (span.end == NO_TIME || at < span.end))
            && connects.get(id).is_some_and(|connect| connect.is_of(span.maker))
        {
            span.connect = id;
        }
    }
}

impl Connect {
    /// Tells whether it may be of a descriptor that this call made. The end only tells something of an accepted connection: a descriptor that
    /// its process connected or inherited is known otherwise, or may be a listening socket.
    pub(super) fn is_of(&self, maker: Option<MakerId>) -> bool {
        !self.is_end || maker.is_some_and(|maker| MAKERS[maker as usize].accepts())
    }

    /// Gives the own address and port, if both are known.
    pub(super) fn local(&self) -> Option<String> {
        (self.local.port() > 0).then(|| text(self.local))
    }

    pub(super) fn peer(&self) -> String {
        text(self.peer)
    }

    /// Gives the protocol, as strace writes it.
    pub(super) fn label(&self) -> &'static str {
        if self.is_v6 { "TCPv6" } else { "TCP" }
    }

    pub(super) fn family(&self) -> &'static str {
        if self.is_v6 { "inet6" } else { "inet" }
    }
}

fn text(end: SocketAddr) -> String {
    match end.ip() {
        IpAddr::V4(address) => format!("{address}:{}", end.port()),
        IpAddr::V6(address) => format!("[{address}]:{}", end.port()),
    }
}

#[cfg(test)]
#[path = "connects_tests.rs"]
mod tests;
