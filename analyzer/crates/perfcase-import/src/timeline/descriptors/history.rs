//! What each descriptor was, and from when to when: from all facts and snapshots of the capture.
//!
//! A descriptor's time is cut where a call made or closed it. Between two cuts a snapshot says what it was, else the call
//! that made it, else what it was copied from, else its use.

use super::facts::{Deed, Fact, MAKERS, MakerId, UseKind};
use super::names::{ThingId, Things};
use super::pairs;
use super::spans::{self, Span};

/// A process and a number of a descriptor.
pub(super) type Key = (u32, i32);

/// The beginning of what was there before the capture.
pub(super) const BEFORE: i64 = i64::MIN / 2;
/// The most cuts that calls may make which close many descriptors at once. Beyond it they close none: a bound for
/// hostile input.
const MOST_CUTS: usize = 1 << 24;

/// A descriptor that a snapshot lists.
#[derive(Clone, Copy, Debug)]
pub(super) struct Listed {
    pub key: Key,
    pub ts: i64,
    pub thing: ThingId,
}

/// A process, as far as its descriptors are concerned. Times are in ns since the capture's start.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::timeline) struct Process {
    pub pid: i32,
    pub parent: Option<u32>,
    pub start: Option<i64>,
    pub end: Option<i64>,
}

/// What ended a descriptor. The first three are in the order of their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum End {
    Close,
    CloseRange,
    Exec,
    Replaced,
    MadeAgain,
    Snapshot,
    Exit,
}

impl End {
    pub(super) fn name(self) -> &'static str {
        match self {
            End::Close => "close",
            End::CloseRange => "close_range",
            End::Exec => "exec",
            End::Replaced => "replaced",
            End::MadeAgain => "made_again",
            End::Snapshot => "snapshot",
            End::Exit => "exit",
        }
    }
}

/// A cut: a call made the descriptor, or closed it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    pub key: Key,
    pub ts: i64,
    pub closed_by: Option<End>,
    pub maker: Option<MakerId>,
    pub thing: Option<ThingId>,
    /// The descriptor that it was copied from; negative without one.
    pub from: i32,
    /// Whether execve closes it; `None` also if it is closed.
    pub close_on_exec: Option<bool>,
}

impl Cut {
    pub(super) fn close(key: Key, ts: i64, by: End) -> Cut {
        Cut { key, ts, closed_by: Some(by), maker: None, thing: None, from: -1, close_on_exec: None }
    }

    /// Cuts at the same time: what closes comes before what makes.
    fn order(&self) -> impl Ord + use<> {
        let maker = self.maker.map_or("", |maker| MAKERS[maker as usize].name);
        (self.key, self.ts, self.closed_by.is_none(), self.closed_by, maker, self.from as u32)
    }
}

/// A call that closes all descriptors of a range, or sets close-on-exec.
struct Range {
    upid: u32,
    ts: i64,
    low: u64,
    high: u64,
    is_for_exec: bool,
}

/// Gives the part of a sorted list that has this key.
pub(super) fn part<T, K: Ord>(list: &[T], key: K, of: impl Fn(&T) -> K) -> &[T] {
    let begin = list.partition_point(|each| of(each) < key);
    let length = list[begin..].partition_point(|each| of(each) <= key);
    &list[begin..begin + length]
}

/// Whether execve closes a descriptor from a time on; `None`: it is closed, or not known.
pub(super) type Flag = (Key, i64, Option<bool>);

/// Works out what each descriptor was: sorted by process, number and time. `facts` have their processes; their times,
/// as those of `listed`, are in ns since the capture's start. The second value is false if a bound was reached.
pub(super) fn spans(
    facts: &[Fact],
    listed: &mut [Listed],
    things: &mut Things,
    processes: &[Process],
) -> (Vec<Span>, bool) {
    let text = |id: ThingId| things.get(id).and_then(|thing| thing.target.as_deref());
    listed.sort_by(|a, b| (a.key, a.ts).cmp(&(b.key, b.ts)).then_with(|| text(a.thing).cmp(&text(b.thing))));
    let mut seen = noticed(facts, listed);
    let mut flags = Vec::new();
    let mut cuts = Vec::new();
    for fact in facts {
        let key = (fact.upid, fact.fd);
        if let Some((maker, fd)) = fact.made()
            && !fact.changes_nothing()
        {
            let from = if MAKERS[maker as usize].is_copier() { fact.fd } else { -1 };
            let (closed_by, thing) = (None, things.made_by(maker, fact));
            let (key, ts) = ((fact.upid, fd), fact.end);
            cuts.push(Cut { key, ts, closed_by, maker: Some(maker), thing, from, close_on_exec: fact.close_on_exec });
        }
        if fact.fd >= 0 && fact.deed == Deed::Close {
            // The call itself still had the descriptor.
            cuts.push(Cut::close(key, fact.begin.saturating_add(1), End::Close));
        }
        if fact.fd >= 0 && fact.deed == Deed::SetCloseOnExec {
            flags.push((key, fact.end, fact.close_on_exec));
        }
    }
    let mut room = MOST_CUTS;
    for range in ranges(facts) {
        let within = |&fd: &i32| fd >= 0 && (range.low..=range.high).contains(&(fd as u64));
        for key in part(&seen, range.upid, |key| key.0).iter().filter(|key| within(&key.1)).take(room) {
            room -= 1;
            match range.is_for_exec {
                true => flags.push((*key, range.ts, Some(true))),
                false => cuts.push(Cut::close(*key, range.ts, End::CloseRange)),
            }
        }
    }
    let of_pairs = pairs::cuts(facts, &cuts, listed, &seen, things);
    cuts.extend(of_pairs);
    close_on_exec(facts, &mut cuts, flags, processes, &mut room);
    cuts.sort_unstable_by_key(Cut::order);
    seen.extend(cuts.iter().map(|cut| cut.key));
    seen.sort_unstable();
    seen.dedup();
    let mut used: Vec<(Key, i64, UseKind)> = Vec::new();
    used.extend(facts.iter().filter(|fact| fact.fd >= 0).filter_map(|fact| {
        let kind = fact.proven_kind()?;
        Some(((fact.upid, fact.fd), fact.begin, kind))
    }));
    used.sort_unstable();
    (spans::all(&seen, &cuts, listed, &used, things), room > 0)
}

/// Gives all descriptors that calls or snapshots have named, sorted.
fn noticed(facts: &[Fact], listed: &[Listed]) -> Vec<Key> {
    let mut keys: Vec<Key> = facts.iter().filter(|fact| fact.fd >= 0).map(|fact| (fact.upid, fact.fd)).collect();
    let made = facts.iter().filter(|fact| !fact.changes_nothing());
    keys.extend(made.filter_map(|fact| Some((fact.upid, fact.made()?.1))));
    keys.extend(listed.iter().map(|listed| listed.key));
    keys.sort_unstable();
    keys.dedup();
    keys
}

fn ranges(facts: &[Fact]) -> impl Iterator<Item = Range> {
    facts.iter().filter(|fact| fact.deed == Deed::CloseRange).map(|fact| Range {
        upid: fact.upid,
        ts: fact.end,
        low: fact.low,
        high: fact.high,
        is_for_exec: fact.close_on_exec == Some(true),
    })
}

/// Adds the cuts that execve makes.
fn close_on_exec(facts: &[Fact], cuts: &mut Vec<Cut>, mut flags: Vec<Flag>, of: &[Process], room: &mut usize) {
    let execs = facts.iter().filter(|fact| fact.deed == Deed::Exec);
    let mut programs: Vec<(u32, i64)> = execs.map(|fact| (fact.upid, fact.end)).collect();
    if programs.is_empty() {
        return;
    }
    programs.sort_unstable();
    flags.extend(cuts.iter().map(|cut| (cut.key, cut.ts, cut.close_on_exec)));
    // The order of the list says which counts at the same time: a new descriptor after the end of the old one.
    flags.sort_by_key(|&(key, ts, _)| (key, ts));
    for programs in programs.chunk_by(|a, b| a.0 == b.0) {
        let upid = programs[0].0;
        let mut kept = inherited(upid, &flags, of, room);
        kept.extend_from_slice(part(&flags, upid, |flag| flag.0.0));
        kept.sort_by_key(|&(key, ts, _)| (key, ts));
        for kept in kept.chunk_by(|a, b| a.0 == b.0) {
            for &(_, ts) in programs {
                let last = kept.partition_point(|flag| flag.1 <= ts).checked_sub(1);
                if *room > 0 && last.is_some_and(|last| kept[last].2 == Some(true)) {
                    *room -= 1;
                    cuts.push(Cut::close(kept[0].0, ts, End::Exec));
                }
            }
        }
    }
}

/// Gives the flags that a process has from its parent.
fn inherited(upid: u32, flags: &[Flag], of: &[Process], room: &mut usize) -> Vec<Flag> {
    let mut found = Vec::new();
    if let Some(Process { parent: Some(parent), start: Some(start), .. }) = of.get(upid as usize) {
        let of_parent = part(flags, *parent, |flag| flag.0.0).chunk_by(|a, b| a.0 == b.0);
        for flags in of_parent.take(*room) {
            *room -= 1;
            let last = flags.partition_point(|flag| flag.1 < *start).checked_sub(1);
            found.extend(last.map(|last| ((upid, flags[last].0.1), *start, flags[last].2)));
        }
    }
    found
}
