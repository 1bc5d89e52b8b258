//! What each descriptor of a process was, and from when to when, and the turns of conversations on sockets.
//!
//! While events come in, calls that say something new become facts, and snapshots are noted. Much shows only later: a
//! pipe's descriptors by their use, a socket's ends by a snapshot, a copy's kind by the original's. So the rest is done at
//! the end of the import, from the facts and snapshots of the whole capture. The calls themselves wait in a file.

mod connects;
mod due;
mod facts;
mod history;
mod names;
mod new;
mod pairs;
mod rows;
mod sockets;
mod spans;
mod turns;

use hashbrown::HashMap;

use connects::Connects;
pub(crate) use connects::StateChange;
pub(crate) use due::LastCall;
use facts::Fact;
pub(super) use history::Process;
use history::{Key, Listed};
use names::Things;
pub(super) use new::FdCall;
use new::Novelty;
pub(crate) use sockets::SeenSocket;
use sockets::Sockets;
pub(super) use spans::Span;
pub(crate) use turns::{Moved, Turns};

use crate::model::NO_TIME;
use crate::tables::DescriptorRow;

/// The most facts, and the most descriptors in snapshots, that are kept: 1 GiB and 400 MiB. It is a bound for hostile
/// input; a capture with so many is of 16 million calls that open or close something.
const MOST_FACTS: usize = 1 << 24;

/// What the calls of a source say about descriptors.
#[derive(Default)]
pub(super) struct Facts {
    novelty: Novelty,
    all: Vec<Fact>,
    /// The number of facts beyond the bound.
    refused_count: u64,
}

impl Facts {
    /// Notes what a call says. Calls come in the order in which they ended.
    pub(super) fn note(&mut self, call: &FdCall<'_>) {
        if !self.novelty.tells(call) {
            return;
        }
        let fact = Fact::of(call);
        if self.all.len() < MOST_FACTS {
            self.all.extend(fact);
        } else {
            self.refused_count += u64::from(fact.is_some());
        }
    }

    /// Gives each fact its process, and its times in ns since the capture's start. Facts of unknown processes go.
    fn settle(&mut self, start: i64, upid_of: impl Fn(u32) -> Option<u32>) {
        self.all.retain_mut(|fact| {
            let upid = upid_of(fact.utid);
            fact.upid = upid.unwrap_or(0);
            fact.begin = fact.begin.saturating_sub(start);
            if fact.end != NO_TIME {
                fact.end = fact.end.saturating_sub(start);
            }
            upid.is_some()
        });
    }
}

/// What the snapshots say about descriptors and sockets, and what the kernel told of connections.
#[derive(Default)]
pub(crate) struct Descriptors {
    listed: Vec<Listed>,
    things: Things,
    sockets: Sockets,
    connects: Connects,
    refused_count: u64,
}

impl Descriptors {
    /// Notes a descriptor that a snapshot lists, and when, in ns since the capture's start.
    pub(crate) fn see(&mut self, ts: i64, key: (u32, i32), kind: &str, target: &str, inode: Option<u64>) {
        if self.listed.len() >= MOST_FACTS {
            self.refused_count += 1;
            return;
        }
        let thing = self.things.id(Some(kind), Some(target), inode);
        self.listed.push(Listed { key, ts, thing });
    }

    /// Notes a socket of a snapshot.
    pub(crate) fn see_socket(&mut self, socket: &SeenSocket<'_>) {
        self.sockets.see(socket);
    }

    /// Notes that a TCP socket got another state.
    pub(crate) fn see_state(&mut self, change: &StateChange) {
        self.connects.note(change);
    }

    /// Works out what each descriptor was, and which of them are sockets with turns. The last value is false if a bound
    /// was reached, so that something is missing.
    pub(super) fn settle(
        &mut self,
        mut facts: Facts,
        start: i64,
        processes: Vec<Process>,
        upid_of: impl Fn(u32) -> Option<u32>,
    ) -> (History, Turns, bool) {
        facts.settle(start, upid_of);
        let begun = self.connects.begun(&facts.all, start);
        let seen = (&self.sockets, &self.connects);
        let turns = Turns::of(&facts.all, &self.listed, &begun, &self.things, seen);
        let (mut spans, is_whole) = history::spans(&facts.all, &mut self.listed, &mut self.things, &processes);
        connects::mark(&mut spans, &begun, &self.connects);
        let refused_count = facts.refused_count + self.refused_count + self.connects.refused_count;
        let is_whole = is_whole && refused_count == 0;
        (History::new(spans, processes), turns, is_whole)
    }
}

/// What each descriptor was, sorted by process, number and time.
pub(crate) struct History {
    spans: Vec<Span>,
    processes: Vec<Process>,
    /// The first span of each descriptor, and the number of its spans.
    places: HashMap<Key, (u32, u32)>,
}

impl History {
    fn new(spans: Vec<Span>, processes: Vec<Process>) -> History {
        let mut places = HashMap::new();
        let mut at = 0;
        for spans in spans.chunk_by(|a, b| a.key == b.key) {
            let count = spans.len() as u32;
            places.insert(spans[0].key, (at, count));
            at += count;
        }
        History { spans, processes, places }
    }

    fn of(&self, key: Key) -> (usize, &[Span]) {
        let (at, count) = self.places.get(&key).copied().unwrap_or_default();
        (at as usize, &self.spans[at as usize..][..count as usize])
    }

    /// Gives the last span of a descriptor that began by this time.
    fn last_before(&self, key: Key, ts: i64) -> Option<&Span> {
        let (_, spans) = self.of(key);
        spans[..spans.partition_point(|span| span.ts <= ts)].last()
    }

    /// Gives the id of what a descriptor of a process was at a time, in ns since the capture's start.
    pub(super) fn id_at(&self, key: (u32, i32), ts: i64) -> Option<u32> {
        let (first, spans) = self.of(key);
        let index = spans.partition_point(|span| span.ts <= ts).checked_sub(1)?;
        let until = spans[index].until(self.processes.get(key.0 as usize));
        until.is_none_or(|until| ts < until).then_some((first + index) as u32)
    }

    /// Gives the number of rows of `descriptor`.
    pub(crate) fn len(&self) -> u32 {
        self.spans.len() as u32
    }

    /// Gives a row of `descriptor` to `push`.
    pub(crate) fn each_row(&self, of: &Descriptors, id: u32, push: impl FnOnce(DescriptorRow<'_>)) {
        self.row(id, of, push);
    }
}
