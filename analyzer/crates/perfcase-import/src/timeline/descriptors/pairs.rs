//! Descriptors of pipe and socketpair. These calls write their two descriptors to memory, which the trace does not have.
//!
//! A descriptor is taken for one of theirs if it was not open before, is used or listed after, and only one such call
//! came in between. For a number that was never seen before, its neighbour decides: the kernel takes the lowest free
//! numbers.

use super::facts::{Deed, Fact, MAKERS, MakerId};
use super::history::{BEFORE, Cut, Key, Listed, part};
use super::names::{ThingId, Things};

/// A call that made two descriptors.
struct Pair {
    upid: u32,
    ts: i64,
    utid: u32,
    maker: MakerId,
    thing: Option<ThingId>,
    close_on_exec: Option<bool>,
}

/// What happened to a descriptor, in the order of time: it was made or closed, or was seen to be open.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Before,
    Closed,
    Made,
    /// Seen by a call, or by a snapshot, which knows what it is.
    Seen(Option<ThingId>),
}

/// A descriptor that may have come from a pair.
struct Candidate {
    pair: usize,
    fd: i32,
    was_not_open: bool,
}

/// Gives a cut for each descriptor that pipe or socketpair has made. `cuts` are those of calls that tell the number.
pub(super) fn cuts(facts: &[Fact], cuts: &[Cut], listed: &[Listed], noticed: &[Key], things: &mut Things) -> Vec<Cut> {
    let pairs = pairs(facts, things);
    if pairs.is_empty() {
        return Vec::new();
    }
    let has_pairs = |upid: u32| pairs.binary_search_by_key(&upid, |pair| pair.upid).is_ok();
    let mut steps: Vec<(Key, i64, Step)> = Vec::new();
    steps.extend(noticed.iter().map(|&key| (key, BEFORE, Step::Before)));
    steps.extend(
        cuts.iter().map(|cut| (cut.key, cut.ts, if cut.closed_by.is_some() { Step::Closed } else { Step::Made })),
    );
    let open = facts.iter().filter(|fact| fact.shows_open());
    steps.extend(open.map(|fact| ((fact.upid, fact.fd), fact.begin, Step::Seen(None))));
    steps.extend(listed.iter().map(|listed| (listed.key, listed.ts, Step::Seen(Some(listed.thing)))));
    steps.retain(|(key, ..)| has_pairs(key.0));
    steps.sort_unstable();
    let mut snapshots: Vec<(u32, i64)> = listed.iter().map(|listed| (listed.key.0, listed.ts)).collect();
    snapshots.sort_unstable();
    snapshots.dedup();
    let mut candidates = Vec::new();
    for steps in steps.chunk_by(|a, b| a.0 == b.0) {
        let upid = steps[0].0.0;
        let snapshots = part(&snapshots, upid, |snapshot| snapshot.0);
        candidates.extend(of_one(steps, &pairs, snapshots, things));
    }
    candidates.sort_by_key(|candidate| candidate.pair);
    let mut found = Vec::new();
    for ends in candidates.chunk_by(|a, b| a.pair == b.pair) {
        let is_pair = match ends {
            [one] => one.was_not_open,
            [one, other] => (one.was_not_open || other.was_not_open) && one.fd.abs_diff(other.fd) == 1,
            _ => false,
        };
        let Pair { upid, ts, maker, thing, close_on_exec, .. } = pairs[ends[0].pair];
        let ends = ends.iter().filter(|_| is_pair);
        let maker = Some(maker);
        let closed_by = None;
        found.extend(ends.map(|end| Cut { key: (upid, end.fd), ts, closed_by, maker, thing, from: -1, close_on_exec }));
    }
    found
}

fn pairs(facts: &[Fact], things: &mut Things) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for fact in facts {
        if let Deed::Make(maker) = fact.deed
            && MAKERS[maker as usize].is_of_pairs()
        {
            let (thing, close_on_exec) = (things.made_by(maker, fact), fact.close_on_exec);
            pairs.push(Pair { upid: fact.upid, ts: fact.end, utid: fact.utid, maker, thing, close_on_exec });
        }
    }
    pairs.sort_by_key(|pair| (pair.upid, pair.ts, pair.utid));
    pairs
}

/// Gives the pairs that one descriptor may have come from, one for each time that nobody saw it being made.
fn of_one<'a>(
    steps: &'a [(Key, i64, Step)],
    pairs: &'a [Pair],
    snapshots: &'a [(u32, i64)],
    things: &'a Things,
) -> impl Iterator<Item = Candidate> + 'a {
    let (upid, fd) = steps[0].0;
    let first = pairs.partition_point(|pair| pair.upid < upid);
    let pairs_of = part(pairs, upid, |pair| pair.upid);
    // Each time begins with a step that is no sign.
    let times = steps.chunk_by(|_, next| matches!(next.2, Step::Seen(_)));
    times.filter_map(move |time| {
        let (_, since, begin) = time[0];
        let (_, sign, _) = *time.get(1)?;
        let after = match begin {
            Step::Closed => since - 1,
            // Absent from a snapshot it was not open.
            Step::Before => {
                snapshots[..snapshots.partition_point(|snapshot| snapshot.1 < sign)].last().map_or(BEFORE - 1, |s| s.1)
            }
            _ => return None,
        };
        let was_not_open = begin == Step::Closed || after >= BEFORE;
        let count = pairs_of.partition_point(|pair| pair.ts < sign);
        let before = pairs_of.partition_point(|pair| pair.ts <= after);
        if count != before + 1 {
            return None;
        }
        let pair = first + before;
        let kinds = time.iter().filter_map(|(.., step)| match step {
            Step::Seen(Some(thing)) => Some(things.kind_of(*thing)),
            _ => None,
        });
        let kind = kinds.max().unwrap_or_default();
        let made = MAKERS[pairs[pair].maker as usize].kind;
        (kind.is_empty() || Some(kind) == made).then_some(Candidate { pair, fd, was_not_open })
    })
}
