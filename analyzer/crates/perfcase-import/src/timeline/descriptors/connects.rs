//! TCP connections that the recorded host began, by the states of their sockets (`sock:inet_sock_set_state`).
//!
//! A socket goes from CLOSE to SYN_SENT in the thread that connects, within its call. The kernel has chosen the local
//! address by then, but not the local port: the socket's next state has it.

use std::net::{IpAddr, SocketAddr};

use hashbrown::HashMap;

use super::facts::Fact;
use super::history::Key;
use super::spans::Span;
use crate::model::{NO_TIME, SourceId, Utid};

/// The most connections that are kept: 400 MiB, a bound for hostile input.
const MOST_CONNECTS: usize = 1 << 22;
/// The most sockets whose next state is awaited. When there are more, all are forgotten, so that some local ports stay
/// unknown.
const MOST_AWAITED: usize = 1 << 20;

/// States of a socket (include/net/tcp_states.h).
const SYN_SENT: i64 = 2;
const CLOSE: i64 = 7;

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

/// A connection that a thread began. Times are of the source's clock, in ns.
pub(super) struct Connect {
    utid: Utid,
    at: i64,
    pub is_v6: bool,
    local: SocketAddr,
    peer: SocketAddr,
}

/// The number of a connection in [`Connects`].
pub(super) type ConnectId = u32;
/// No connection.
pub(super) const NO_CONNECT: ConnectId = u32::MAX;

/// The descriptor of each connection that has one, when the connection began, in ns since the capture's start, and its
/// number: sorted.
pub(super) type Begun = Vec<(Key, i64, ConnectId)>;

/// All connections that the capture saw begin.
#[derive(Default)]
pub(super) struct Connects {
    all: Vec<Connect>,
    awaited: HashMap<(SourceId, u64), ConnectId>,
    /// The number of connections beyond the bound.
    pub refused_count: u64,
}

impl Connects {
    pub(super) fn get(&self, id: ConnectId) -> Option<&Connect> {
        self.all.get(id as usize)
    }

    pub(super) fn note(&mut self, change: &StateChange) {
        let socket = (change.source, change.skaddr);
        let before = self.awaited.remove(&socket);
        if (change.old, change.new) != (CLOSE, SYN_SENT) {
            let connect = before.and_then(|id| self.all.get_mut(id as usize));
            if let Some(connect) = connect.filter(|connect| connect.peer == change.peer) {
                connect.local = change.local;
            }
            return;
        }
        let Some(utid) = change.utid else { return };
        if self.all.len() >= MOST_CONNECTS {
            self.refused_count += 1;
            return;
        }
        if self.awaited.len() >= MOST_AWAITED {
            self.awaited.clear();
        }
        self.awaited.insert(socket, self.all.len() as ConnectId);
        let StateChange { clock_ns: at, is_v6, local, peer, .. } = *change;
        self.all.push(Connect { utid, at, is_v6, local, peer });
    }

    /// Finds the call of each connection, and so its descriptor. The times of `facts` are in ns since the capture's start.
    pub(super) fn begun(&self, facts: &[Fact], start: i64) -> Begun {
        if self.all.is_empty() {
            return Vec::new();
        }
        let calls = facts.iter().filter(|fact| fact.is_connect && fact.fd >= 0);
        let mut calls: Vec<_> = calls.map(|fact| (fact.utid, fact.begin, fact.end, (fact.upid, fact.fd))).collect();
        calls.sort_unstable();
        let mut begun: Begun = (0..)
            .zip(&self.all)
            .filter_map(|(id, connect)| {
                let at = connect.at.saturating_sub(start);
                let index = calls.partition_point(|call| (call.0, call.1) <= (connect.utid, at)).checked_sub(1)?;
                let (utid, _, end, key) = calls[index];
                (utid == connect.utid && (end == NO_TIME || at <= end)).then_some((key, at, id))
            })
            .collect();
        begun.sort_unstable();
        begun
    }
}

/// Gives each span the last connection that began on it. `spans` are sorted by descriptor and time.
pub(super) fn mark(spans: &mut [Span], begun: &Begun) {
    for &(key, at, id) in begun {
        let index = spans.partition_point(|span| (span.key, span.ts) <= (key, at)).checked_sub(1);
        let span = index.map(|index| &mut spans[index]);
        if let Some(span) = span.filter(|span| span.key == key && (span.end == NO_TIME || at < span.end)) {
            span.connect = id;
        }
    }
}

impl Connect {
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
