//! The capture's sources and the events that each recorded.

use super::{NO_TIME, Session};
use crate::tables::{PerfEventRow, SourceRow, Tables};

/// The capture's own number of a source.
pub type SourceId = u16;
/// The capture's own key of an event.
pub type EventId = u32;

/// A source, as the manifest or the file itself describes it; the counts are the importer's.
#[derive(Clone, Debug, Default)]
pub struct SourceInfo {
    /// perf, ftrace, pmc, proc, host.
    pub name: String,
    /// perf_data, trace_dat, ….
    pub kind: String,
    /// Where it lies in the archive.
    pub member: Option<String>,
    /// available, degraded, missing.
    pub status: String,
    /// Why it is degraded or missing.
    pub reason: Option<String>,
    /// What would make it available.
    pub remedy: Option<String>,
    /// The program that recorded it.
    pub tool: Option<String>,
    /// Its version.
    pub tool_version: Option<String>,
    /// The clock of its times.
    pub clock: Option<String>,
    /// Decompressed size in bytes.
    pub size_bytes: Option<u64>,
    /// Since when it recorded, as the recorder says: the clock's reading.
    pub started_ns: Option<i64>,
    /// Until when.
    pub ended_ns: Option<i64>,
}

#[derive(Default)]
pub(crate) struct SourceState {
    pub info: SourceInfo,
    pub event_count: u64,
    pub lost_count: u64,
    first: Option<i64>,
    last: Option<i64>,
}

/// An event: a perf attribute or an ftrace event.
#[derive(Clone, Debug, Default)]
pub struct EventAttr {
    /// The source that recorded it.
    pub source: SourceId,
    /// Its name, as perf and trace-cmd print it.
    pub name: String,
    /// perf's event type in words.
    pub kind: Option<String>,
    /// perf's config.
    pub config: Option<u64>,
    /// Fixed period.
    pub sample_period: Option<u64>,
    /// Asked frequency, per second.
    pub sample_freq: Option<u64>,
    /// PERF_SAMPLE_* bits.
    pub sample_type: Option<u64>,
    /// Recorded size of perf_event_attr in bytes.
    pub attr_size_bytes: Option<u32>,
    /// The leader of its group.
    pub group_leader: Option<EventId>,
    /// True for tracepoints.
    pub is_tracepoint: bool,
}

#[derive(Default)]
pub(crate) struct Events {
    pub sources: Vec<SourceState>,
    all: Vec<(EventAttr, u64)>,
}

/// What the choice between sources needs to know of them.
pub(crate) struct EventsView<'a>(&'a Events);

impl Events {
    pub(crate) fn view(&self) -> EventsView<'_> {
        EventsView(self)
    }
}

impl EventsView<'_> {
    /// Events that a source lost.
    pub(crate) fn lost(&self, source: SourceId) -> u64 {
        self.0.sources.get(source as usize).map_or(0, |state| state.lost_count)
    }

    /// Whether events of these systems may come from a source. perf.data lists its events; a name that the user chose
    /// does not tell.
    fn may_have(&self, source: SourceId, systems: &[&str]) -> bool {
        let mut events = self.0.all.iter().filter(|(event, _)| event.source == source && event.is_tracepoint);
        let is_of = |name: &str| !name.contains(':') || systems.iter().any(|system| name.starts_with(system));
        self.kind(source) != Some("perf_data") || events.any(|(event, _)| is_of(&event.name))
    }

    /// What kind a source is of.
    pub(crate) fn kind(&self, source: SourceId) -> Option<&str> {
        self.0.sources.get(source as usize).map(|state| state.info.kind.as_str())
    }
}

impl Session {
    /// Registers a source; the number is its key from now on.
    pub fn source(&mut self, info: SourceInfo) -> SourceId {
        let id = self.events.sources.len() as SourceId;
        self.events.sources.push(SourceState { info, ..SourceState::default() });
        id
    }

    /// What a source's decoder learned about it after it was registered: its clock, its tool.
    pub fn source_info(&mut self, source: SourceId) -> Option<&mut SourceInfo> {
        self.events.sources.get_mut(source as usize).map(|state| &mut state.info)
    }

    /// The name of a source, for issues: its member where it has one.
    pub fn source_name(&self, source: SourceId) -> Option<String> {
        let info = &self.events.sources.get(source as usize)?.info;
        Some(info.member.clone().unwrap_or_else(|| info.name.clone()))
    }

    /// Registers an event.
    pub fn event(&mut self, attr: EventAttr) -> EventId {
        let id = self.events.all.len() as EventId;
        self.events.all.push((attr, 0));
        id
    }

    /// Counts a record of a source and of one of its events.
    #[inline]
    pub fn count_record(&mut self, clock_ns: i64, source: SourceId, event: Option<EventId>) {
        if let Some((_, count)) = event.and_then(|id| self.events.all.get_mut(id as usize)) {
            *count += 1;
        }
        let ts = if clock_ns == NO_TIME { None } else { self.ts(clock_ns) };
        if let Some(state) = self.events.sources.get_mut(source as usize) {
            state.event_count += 1;
            if ts.is_some() {
                state.first = state.first.or(ts);
                state.last = state.last.max(ts);
            }
        }
    }

    /// Where one source alone can have switches, or system calls, their rows need not wait until a source is chosen.
    pub(crate) fn stream_from_only_sources(&mut self, with_events: &[SourceId]) {
        let events = self.events.view();
        let only = |systems: &[&str]| {
            let mut having = with_events.iter().copied().filter(|&source| events.may_have(source, systems));
            having.next().filter(|_| having.next().is_none())
        };
        (self.timelines.only_sched, self.timelines.only_syscall) =
            (only(&["sched:"]), only(&["raw_syscalls:", "syscalls:"]));
        if self.timelines.sampled.are_to_come {
            self.timelines.only_sched = None;
        }
    }

    /// Events that a source says it lost. The decoder also notes an issue that says where.
    pub fn lost(&mut self, source: SourceId, count: u64) {
        if let Some(state) = self.events.sources.get_mut(source as usize) {
            state.lost_count = state.lost_count.saturating_add(count);
        }
    }

    pub(crate) fn write_events(&mut self) {
        let chosen = self.timelines.chosen(&self.events.view());
        let start_ns = self.start_ns();
        let (events, tables): (&Events, &mut Tables) = (&self.events, &mut self.tables);
        for (id, state) in events.sources.iter().enumerate() {
            let id = id as SourceId;
            let info = &state.info;
            // What is recorded may sleep: then the records do not tell since when and until when.
            let told = |clock_ns: Option<i64>| Some(clock_ns?.saturating_sub(start_ns));
            tables.source.push(SourceRow {
                source_id: id,
                name: &info.name,
                kind: &info.kind,
                member: info.member.as_deref(),
                status: &info.status,
                reason: info.reason.as_deref(),
                remedy: info.remedy.as_deref(),
                tool: info.tool.as_deref(),
                tool_version: info.tool_version.as_deref(),
                clock: info.clock.as_deref(),
                size_bytes: info.size_bytes,
                event_count: state.event_count,
                lost_count: state.lost_count,
                first_ts_ns: state.first,
                last_ts_ns: state.last,
                since_ts_ns: told(info.started_ns).into_iter().chain(state.first).min(),
                until_ts_ns: told(info.ended_ns).into_iter().chain(state.last).max(),
                is_timeline: chosen.sched == Some(id),
                is_syscall_source: chosen.syscall == Some(id),
                is_block_source: chosen.block == Some(id),
            });
        }
        for (id, (attr, count)) in events.all.iter().enumerate() {
            tables.perf_event.push(PerfEventRow {
                event_id: id as EventId,
                source_id: attr.source,
                name: &attr.name,
                r#type: attr.kind.as_deref().map(str::as_bytes),
                config: attr.config,
                sample_period: attr.sample_period,
                sample_freq: attr.sample_freq,
                sample_type: attr.sample_type,
                attr_size_bytes: attr.attr_size_bytes,
                group_leader_event_id: attr.group_leader,
                is_tracepoint: attr.is_tracepoint,
                sample_count: *count,
            });
        }
    }
}
