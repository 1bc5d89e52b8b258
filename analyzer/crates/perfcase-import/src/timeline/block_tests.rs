//! Events of requests made by hand, and the requests that they describe.

use super::*;

const DEVICE: u32 = 254 << 20;

/// Feeds (time, step, sector, sectors) with the flags R.
fn fed(events: &[(i64, BlockStep, u64, u64)]) -> Block {
    let mut block = Block::default();
    for &(clock_ns, step, sector, sector_count) in events {
        feed(&mut block, clock_ns, step, sector, sector_count, b"R", None);
    }
    block
}

fn feed(block: &mut Block, clock_ns: i64, step: BlockStep, sector: u64, count: u64, rwbs: &[u8], error: Option<i32>) {
    let size_bytes = count.saturating_mul(512);
    let event = BlockEvent {
        clock_ns,
        step,
        device: DEVICE,
        sector,
        sector_count: count,
        size_bytes,
        error,
        utid: None,
        cpu: None,
    };
    block.event(event, rwbs, b"dd");
}

/// (queued, issued, completed, sector, sectors) of each request; -1 for an unknown time.
fn times(block: Block) -> Vec<(i64, i64, i64, u64, u64)> {
    let known = |t: i64| if t == NO_TIME { -1 } else { t };
    let row = |r: Request| (known(r.queued), known(r.issued), known(r.completed), r.event.sector, r.event.sector_count);
    block.settled().into_iter().map(row).collect()
}

use BlockStep::*;

#[test]
fn a_request_is_queued_issued_and_completed() {
    let block = fed(&[(1, Queued, 100, 8), (4, Issued, 100, 8), (9, Completed, 100, 8)]);
    assert_eq!(times(block), [(1, 4, 9, 100, 8)]);
}

#[test]
fn a_request_may_have_any_number_of_parts() {
    let mut events: Vec<_> = (0..1000).map(|number| (number, Queued, 8 * number as u64, 8)).collect();
    events.extend([(2000, Issued, 0, 8000), (3000, Completed, 0, 8000)]);
    let block = fed(&events);
    assert_eq!((block.cut_count, block.done[0].merge_count), (0, 999));
    assert_eq!(times(block), [(0, 2000, 3000, 0, 8000)]);
}

#[test]
fn requests_that_lie_across_the_end_of_another_are_bounded_and_counted() {
    let cut = |count: u64| {
        let mut events: Vec<_> = (0..count).map(|sector| (1, Queued, sector, 9000)).collect();
        events.extend([(2, Queued, count, 1), (3, Issued, 0, 8000)]);
        let block = fed(&events);
        (block.cut_count, block.waiting.len() as u64 - count)
    };
    assert_eq!([cut(256), cut(257)], [(0, 0), (1, 1)]);
}

#[test]
fn requests_that_merged_are_one_since_the_first_was_queued() {
    let block = fed(&[
        (1, Queued, 108, 8),
        (2, Queued, 100, 8),
        (3, Merged, 108, 8),
        (4, Issued, 100, 16),
        (9, Completed, 100, 16),
    ]);
    assert_eq!(block.done[0].merge_count, 1);
    assert_eq!(times(block), [(1, 4, 9, 100, 16)]);
}

#[test]
fn a_merge_before_the_first_sector_moves_the_request() {
    // Queued at sector 108. A bio of 8 sectors is put before it, and no event reports that.
    let block = fed(&[(1, Queued, 108, 8), (4, Issued, 100, 16), (9, Completed, 100, 16)]);
    assert_eq!(times(block), [(1, 4, 9, 100, 16)]);
}

#[test]
fn a_request_beyond_the_issued_range_still_waits() {
    let block = fed(&[(1, Queued, 100, 8), (2, Queued, 104, 40), (4, Issued, 100, 8), (9, Completed, 100, 8)]);
    assert_eq!(times(block), [(2, -1, -1, 104, 40), (1, 4, 9, 100, 8)]);
}

#[test]
fn one_that_merged_and_was_not_issued_is_no_request_of_its_own() {
    let block = fed(&[(1, Queued, 100, 8), (2, Queued, 900, 8), (3, Merged, 900, 8)]);
    assert_eq!(times(block), [(1, -1, -1, 100, 8)]);
}

#[test]
fn completed_in_parts_it_lasts_until_the_last_part() {
    let block = fed(&[
        (1, Issued, 100, 24),
        (5, Completed, 100, 8),
        (6, Issued, 100, 8),
        (7, Completed, 108, 8),
        (8, Completed, 100, 8),
        (9, Completed, 116, 8),
    ]);
    assert_eq!(times(block), [(-1, 1, 9, 100, 24), (-1, 6, 8, 100, 8)]);
}

#[test]
fn parts_that_did_not_all_complete_leave_it_open() {
    let block = fed(&[(1, Issued, 100, 24), (5, Completed, 100, 8)]);
    let requests = block.settled();
    assert_eq!((requests[0].completed, requests[0].completion_count), (NO_TIME, 1));
}

#[test]
fn taken_back_it_counts_from_the_last_issue() {
    let block = fed(&[
        (1, Queued, 100, 8),
        (2, Issued, 100, 8),
        (3, Requeued, 100, 8),
        (5, Queued, 100, 8),
        (7, Issued, 100, 8),
        (9, Completed, 100, 8),
    ]);
    assert_eq!(block.done[0].requeue_count, 1);
    assert_eq!(times(block), [(1, 7, 9, 100, 8)]);
}

#[test]
fn a_request_that_is_turned_down_again_and_again_is_one() {
    let mut events = vec![(1, Queued, 100, 8), (2, Issued, 100, 8)];
    events.extend((3..10).map(|at| (at, Requeued, 100, 8)));
    events.extend([(10, Issued, 100, 8), (12, Completed, 100, 8), (13, Queued, 200, 8), (14, Requeued, 200, 8)]);
    let block = fed(&events);
    assert_eq!(block.done[0].requeue_count, 7);
    assert_eq!(times(block), [(1, 10, 12, 100, 8), (13, -1, -1, 200, 8)]);
}

#[test]
fn a_flush_has_no_place() {
    let mut block = Block::default();
    feed(&mut block, 1, Issued, 0, 8, b"R", None);
    feed(&mut block, 2, Issued, 0, 0, b"FF", None);
    feed(&mut block, 5, Completed, NO_PLACE, 0, b"FF", Some(0));
    feed(&mut block, 6, Completed, 0, 8, b"R", Some(0));
    assert_eq!(times(block), [(-1, 1, 6, 0, 8), (-1, 2, 5, 0, 0)]);
}

#[test]
fn the_end_of_a_write_with_flushes_ends_no_other_request() {
    // As jbd2 commits: the data complete, flushes follow, then the whole request completes with 0 sectors.
    let block = fed(&[
        (1, Issued, 100, 8),
        (2, Completed, 100, 8),
        (3, Issued, 100, 8),
        (4, Completed, 100, 0),
        (5, Completed, 100, 8),
    ]);
    assert_eq!(times(block), [(-1, 1, 2, 100, 8), (-1, 3, 5, 100, 8), (-1, -1, 4, 100, 0)]);
}

#[test]
fn two_at_one_place_are_told_apart_by_nothing() {
    let block = fed(&[(1, Issued, 100, 8), (3, Issued, 100, 8), (4, Completed, 100, 8)]);
    let requests = block.settled();
    let told: Vec<_> = requests.iter().map(|r| (r.issued, r.completed != NO_TIME, r.is_ambiguous)).collect();
    assert_eq!(told, [(1, false, true), (3, true, true)]);
}

#[test]
fn an_error_of_one_part_is_that_of_the_request() {
    let mut block = Block::default();
    feed(&mut block, 1, Issued, 100, 16, b"W", None);
    feed(&mut block, 2, Completed, 100, 8, b"W", Some(-5));
    feed(&mut block, 3, Completed, 108, 8, b"W", Some(0));
    assert_eq!(block.done[0].event.error, Some(-5));
}

#[test]
fn numbers_at_the_edge_do_not_overflow() {
    let block = fed(&[
        (1, Queued, u64::MAX - 1, u64::MAX),
        (2, Issued, u64::MAX - 1, u64::MAX),
        (3, Completed, u64::MAX - 1, 1),
        (4, Completed, u64::MAX, u64::MAX),
        (5, Requeued, 7, 0),
        (6, Merged, 9, 9),
    ]);
    assert!(times(block).len() <= 4);
}

#[test]
fn flags_say_what_is_asked() {
    let told: Vec<_> = [&b"RA"[..], b"WS", b"FWFSM", b"FF", b"F", b"DS", b"N", b"", b"WFS"].map(operation).to_vec();
    let expected =
        [&b"read"[..], b"write", b"write", b"flush", b"flush", b"discard", b"other", b"other", b"write"].to_vec();
    assert_eq!(told, expected);
}
