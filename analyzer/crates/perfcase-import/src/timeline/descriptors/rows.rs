//! Rows of `descriptor`.

use super::connects::Connect;
use super::facts::MAKERS;
use super::history::{BEFORE, End};
use super::sockets::Ends;
use super::spans::Span;
use super::{Descriptors, History};
use crate::model::NO_TIME;
use crate::tables::DescriptorRow;

/// The most copies of copies that are followed to find what a descriptor is.
const MOST_HOPS: usize = 3;

/// Kinds of descriptors that /proc shows as anonymous inodes.
const ANONYMOUS: [&str; 7] = ["eventfd", "eventpoll", "timerfd", "signalfd", "io_uring", "perf_event", "pidfd"];

/// What is known about a descriptor.
#[derive(Default)]
struct Known<'a> {
    kind: Option<&'a str>,
    target: Option<&'a str>,
    inode: Option<u64>,
    connect: Option<&'a Connect>,
    from: Option<&'static str>,
}

impl History {
    /// Gives what a span is: what it says itself, and what those say that it is a copy of.
    fn known<'a>(&'a self, span: &'a Span, of: &'a Descriptors) -> Known<'a> {
        let mut known = Known::default();
        let mut at = Some(span);
        for _ in 0..=MOST_HOPS {
            let Some(one) = at else { break };
            let thing = one.thing.and_then(|thing| of.things.get(thing));
            known.kind = known.kind.or(thing.and_then(|thing| thing.kind.as_deref()));
            known.target = known.target.or(thing.and_then(|thing| thing.target.as_deref()));
            known.inode = known.inode.or(thing.and_then(|thing| thing.inode));
            known.connect = known.connect.or(of.connects.get(one.connect));
            known.from = known.from.or(one.known_from());
            at = one.origin(&self.processes).and_then(|(key, ts)| self.last_before(key, ts));
        }
        let used_as = span.use_kind.map(|kind| kind.name()).or(known.connect.map(|_| "socket"));
        known.kind = known.kind.or(used_as);
        known.from = known.from.or(used_as.map(|_| "use"));
        known
    }

    /// Makes the row of a descriptor and gives it to `push`.
    pub(super) fn row(&self, id: u32, of: &Descriptors, push: impl FnOnce(DescriptorRow<'_>)) {
        let span = &self.spans[id as usize];
        let (upid, fd) = span.key;
        let process = self.processes.get(upid as usize);
        let known = self.known(span, of);
        let is_socket = known.kind == Some("socket");
        let ends = known.inode.filter(|_| is_socket).and_then(|inode| of.sockets.ends.get(&inode));
        let other = ends.and_then(|ends| of.sockets.ends.get(&ends.peer_inode?));
        let mut local = ends.and_then(|ends| ends.local.as_deref());
        let mut peer = ends.and_then(|ends| ends.peer.as_deref()).or(other.and_then(|other| other.local.as_deref()));
        let mut label = ends.and_then(|ends| socket_label(ends, known.inode, local, peer));
        // A snapshot that saw it connected knows its ends, also of a connection that the other end began.
        let began = known
            .connect
            .filter(|_| is_socket && peer.is_none())
            .map(|connect| (connect, connect.peer(), connect.local()));
        if let Some((connect, to, from)) = &began {
            (local, peer) = (from.as_deref(), Some(to.as_str()));
            label = from.as_ref().map(|from| format!("{}:[{from}->{to}]", connect.label()));
        }
        let label = label.or_else(|| plain_label(&known));
        let end = span.until(process);
        let ended_by = if span.end != NO_TIME { span.ended_by } else { end.map(|_| End::Exit) };
        push(DescriptorRow {
            descriptor_id: id,
            upid,
            pid: process.map_or(0, |process| process.pid),
            fd,
            ts_ns: (span.ts != BEFORE).then_some(span.ts),
            end_ts_ns: end,
            kind: known.kind.map(str::as_bytes),
            target: known.target,
            inode: known.inode,
            local,
            peer,
            label: label.as_deref(),
            opened_by: span.maker.map(|maker| MAKERS[maker as usize].name.as_bytes()),
            known_from: known.from.map(str::as_bytes),
            end_known_from: ended_by.map(|end| end.name().as_bytes()),
        });
    }
}

fn socket_label(ends: &Ends, inode: Option<u64>, local: Option<&str>, peer: Option<&str>) -> Option<String> {
    if ends.label.starts_with("UNIX") {
        let other = ends.peer_inode.map(|inode| format!("->{inode}")).unwrap_or_default();
        let path = local.map(|local| format!(",\"{local}\"")).unwrap_or_default();
        return inode.map(|inode| format!("{}:[{inode}{other}{path}]", ends.label));
    }
    let peer = peer.map(|peer| format!("->{peer}")).unwrap_or_default();
    local.map(|local| format!("{}:[{local}{peer}]", ends.label))
}

fn plain_label(known: &Known<'_>) -> Option<String> {
    match (known.target, known.kind) {
        (Some(target), _) => Some(target.to_string()),
        (_, Some("inotify")) => Some("anon_inode:inotify".to_string()),
        (_, Some(kind)) if ANONYMOUS.contains(&kind) => Some(format!("anon_inode:[{kind}]")),
        (_, Some(kind @ ("socket" | "pipe"))) => Some(kind.to_string()),
        _ => None,
    }
}
