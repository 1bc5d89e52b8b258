//! Requests to block devices: queued, issued, completed.

use hashbrown::HashMap;

use crate::session::{NO_TIME, Session, Utid};
use crate::tables::BlockIoRow;

/// Which of a request's events it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum BlockStep {
    Queued,
    Issued,
    Completed,
}

/// One event of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockEvent {
    pub clock_ns: i64,
    pub step: BlockStep,
    /// The kernel's dev_t: major in the high 12 bits, minor in the low 20.
    pub device: u32,
    pub sector: u64,
    pub sector_count: u64,
    pub size_bytes: u64,
    pub error: Option<i32>,
    pub utid: Option<Utid>,
    pub cpu: Option<u32>,
}

struct Request {
    event: BlockEvent,
    queued: i64,
    issued: i64,
    completed: i64,
    rwbs: Box<[u8]>,
    comm: Box<[u8]>,
}

#[derive(Default)]
pub(crate) struct Block {
    /// Requests under way, by device and first sector.
    pending: HashMap<(u32, u64), Request>,
    done: Vec<Request>,
    count: u64,
}

impl Block {
    /// Number of events.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    pub(crate) fn event(&mut self, event: BlockEvent, rwbs: &[u8], comm: &[u8]) {
        self.count += 1;
        let key = (event.device, event.sector);
        let new = || Request {
            event,
            queued: NO_TIME,
            issued: NO_TIME,
            completed: NO_TIME,
            rwbs: rwbs.into(),
            comm: comm.into(),
        };
        match event.step {
            BlockStep::Queued => {
                let old = self.pending.insert(key, Request { queued: event.clock_ns, ..new() });
                self.done.extend(old);
            }
            BlockStep::Issued => {
                let queued = match self.pending.remove(&key) {
                    Some(request) if request.issued == NO_TIME => request.queued,
                    Some(lost) => {
                        self.done.push(lost);
                        NO_TIME
                    }
                    None => NO_TIME,
                };
                self.pending.insert(key, Request { queued, issued: event.clock_ns, ..new() });
            }
            BlockStep::Completed => {
                let mut request = self.pending.remove(&key).unwrap_or_else(new);
                request.completed = event.clock_ns;
                request.event.error = event.error;
                // A request that completes in parts: the rest is still under way, further on.
                let rest = request.event.sector_count.saturating_sub(event.sector_count);
                if rest > 0 && event.sector_count > 0 && request.issued != NO_TIME {
                    let sector = event.sector.saturating_add(event.sector_count);
                    let size_bytes = rest.saturating_mul(512);
                    let remaining = BlockEvent { sector, sector_count: rest, size_bytes, ..request.event };
                    let (rwbs, comm) = (request.rwbs.clone(), request.comm.clone());
                    let (queued, issued) = (request.queued, request.issued);
                    let part = Request { event: remaining, queued, issued, completed: NO_TIME, rwbs, comm };
                    self.pending.insert((event.device, sector), part);
                    request.event.sector_count = event.sector_count;
                    request.event.size_bytes = event.sector_count.saturating_mul(512);
                }
                self.done.push(request);
            }
        }
    }

    pub(crate) fn write(mut self, session: &mut Session) {
        self.done.extend(self.pending.drain().map(|(_, request)| request));
        let first = |request: &Request| {
            [request.issued, request.queued, request.completed].into_iter().find(|&t| t != NO_TIME).unwrap_or(0)
        };
        self.done.sort_by_key(|request| (first(request), request.event.device, request.event.sector));
        let start = session.start_ns();
        let ts = |clock_ns: i64| (clock_ns != NO_TIME).then(|| clock_ns.saturating_sub(start));
        let between = |from: i64, to: i64| (from != NO_TIME && to != NO_TIME).then(|| to.saturating_sub(from));
        for request in &self.done {
            let event = &request.event;
            let device = format!("{},{}", event.device >> 20, event.device & 0xf_ffff);
            session.tables.block_io.push(BlockIoRow {
                ts_ns: first(request).saturating_sub(start),
                queued_ts_ns: ts(request.queued),
                completed_ts_ns: ts(request.completed),
                queue_ns: between(request.queued, request.issued),
                latency_ns: between(request.issued, request.completed),
                device: &device,
                sector: event.sector,
                size_bytes: event.size_bytes,
                rwbs: &request.rwbs,
                error: if request.completed == NO_TIME { None } else { event.error },
                utid: event.utid,
                cpu: event.cpu,
                comm: (!request.comm.is_empty()).then_some(&*request.comm),
            });
            session.row_added();
        }
    }
}
