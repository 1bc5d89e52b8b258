//! The times in which a descriptor was the same thing.

use super::connects::{ConnectId, NO_CONNECT};
use super::facts::{MAKERS, MakerId, UseKind};
use super::history::{BEFORE, Cut, End, Key, Listed, Process};
use super::names::{ThingId, Things};
use crate::model::NO_TIME;

/// A descriptor while it was the same thing. It is small, because there may be millions.
#[derive(Clone, Copy, Debug)]
pub(in crate::timeline) struct Span {
    pub(super) key: Key,
    pub(super) ts: i64,
    /// [`NO_TIME`] if nothing ended it.
    pub(super) end: i64,
    pub(super) ended_by: Option<End>,
    pub(super) maker: Option<MakerId>,
    pub(super) thing: Option<ThingId>,
    /// The descriptor that it was copied from; negative without one.
    pub(super) from: i32,
    pub(super) use_kind: Option<UseKind>,
    /// The last connection that began on it.
    pub(super) connect: ConnectId,
    pub(super) is_listed: bool,
}

impl Span {
    /// Gives the time when it ended, or its process.
    pub(super) fn until(&self, process: Option<&Process>) -> Option<i64> {
        if self.end != NO_TIME { Some(self.end) } else { process.and_then(|process| process.end) }
    }

    /// Gives what says what it is.
    pub(super) fn known_from(&self) -> Option<&'static str> {
        match (self.is_listed, self.maker.map(|maker| &MAKERS[maker as usize])) {
            (true, _) => Some("snapshot"),
            (_, Some(maker)) if maker.is_of_pairs() => Some("use"),
            (_, Some(maker)) if maker.kind.is_some() => Some("call"),
            _ => None,
        }
    }

    /// Gives the descriptor that it is a copy of, and when it was copied: by dup, or by the process's fork.
    pub(super) fn origin(&self, processes: &[Process]) -> Option<(Key, i64)> {
        let (upid, fd) = self.key;
        if self.is_listed {
            return None;
        }
        if self.from >= 0 {
            return Some(((upid, self.from), self.ts.saturating_sub(1)));
        }
        let process = processes.get(upid as usize).filter(|_| self.ts == BEFORE)?;
        Some(((process.parent?, fd), process.start?))
    }
}

/// Goes through a sorted list, key by key.
struct Walk<'a, T>(&'a [T]);

impl<'a, T> Walk<'a, T> {
    /// Gives the records at the front that have a key.
    fn take(&mut self, is_of: impl Fn(&T) -> bool) -> &'a [T] {
        let count = self.0.iter().take_while(|record| is_of(record)).count();
        let (of, rest) = self.0.split_at(count);
        self.0 = rest;
        of
    }
}

/// Makes the spans of all descriptors in `seen`, which has each key of the other lists. All lists are sorted.
pub(super) fn all(
    seen: &[Key],
    cuts: &[Cut],
    listed: &[Listed],
    used: &[(Key, i64, UseKind)],
    things: &Things,
) -> Vec<Span> {
    let (mut cuts, mut listed, mut used) = (Walk(cuts), Walk(listed), Walk(used));
    let mut spans = Vec::new();
    for &key in seen {
        let cuts = cuts.take(|cut| cut.key == key);
        let mut listed = Walk(listed.take(|listed| listed.key == key));
        let mut used = Walk(used.take(|used| used.0 == key));
        let first = Cut { key, ts: BEFORE, closed_by: None, maker: None, thing: None, from: -1, close_on_exec: None };
        let mut begin = &first;
        for next in cuts.iter().map(Some).chain([None]) {
            let is_in = |ts: i64| next.is_none_or(|next| ts < next.ts);
            // Nothing is seen between two cuts at the same time.
            let listed = listed.take(|listed| is_in(listed.ts));
            let use_kind = used.take(|used| is_in(used.1)).iter().map(|used| used.2).max();
            if next.is_none_or(|next| next.ts != begin.ts) {
                of_time(begin, next, listed, use_kind, things, &mut spans);
            }
            begin = next.unwrap_or(begin);
        }
    }
    spans
}

/// Makes the spans between two cuts: one for each thing that the snapshots show, else one if the descriptor was open.
fn of_time(
    begin: &Cut,
    next: Option<&Cut>,
    listed: &[Listed],
    use_kind: Option<UseKind>,
    things: &Things,
    spans: &mut Vec<Span>,
) {
    let (end, ended_by) = match next {
        None => (NO_TIME, None),
        Some(next) => (next.ts, Some(next.closed_by.unwrap_or(end_by_making(next)))),
    };
    let whole = Span {
        key: begin.key,
        ts: begin.ts,
        end,
        ended_by,
        maker: begin.maker,
        thing: begin.thing,
        from: begin.from,
        use_kind,
        connect: NO_CONNECT,
        is_listed: false,
    };
    if listed.is_empty() {
        spans.extend(begin.closed_by.is_none().then_some(whole));
        return;
    }
    let runs = listed.chunk_by(|a, b| is_same(a.thing, b.thing, things));
    let mut ts = begin.ts;
    let mut runs = runs.peekable();
    while let Some(run) = runs.next() {
        let mut span = Span { ts, thing: Some(run[0].thing), is_listed: true, ..whole };
        if let Some(other) = runs.peek() {
            ts = other[0].ts;
            (span.end, span.ended_by) = (ts, Some(End::Snapshot));
        }
        spans.push(span);
    }
}

fn end_by_making(next: &Cut) -> End {
    let replaces = next.maker.is_some_and(|maker| MAKERS[maker as usize].replaces());
    if replaces { End::Replaced } else { End::MadeAgain }
}

/// Tells whether two things have the same kind and target.
fn is_same(one: ThingId, other: ThingId, things: &Things) -> bool {
    one == other
        || things.get(one).map(|thing| (&thing.kind, &thing.target))
            == things.get(other).map(|thing| (&thing.kind, &thing.target))
}
