//! Sources and events, as their decoders register them.

use super::{NO_TIME, Session};
use crate::model::events::{EventAttr, EventId, Events, SourceId, SourceInfo, SourceState};
use crate::tables::{PerfEventRow, SourceRow, Tables};

impl Session {
    /// Registers a source. The returned number is its key.
    pub fn source(&mut self, info: SourceInfo) -> SourceId {
        let id = self.model.events.sources.len() as SourceId;
        self.model.events.sources.push(SourceState { info, ..SourceState::default() });
        id
    }

    /// Gives the description of a source, to which its decoder adds what it learns: its clock, its tool.
    pub fn source_info(&mut self, source: SourceId) -> Option<&mut SourceInfo> {
        self.model.events.sources.get_mut(source as usize).map(|state| &mut state.info)
    }

    /// Gives the name of a source for issues: its member, if it has one.
    pub fn source_name(&self, source: SourceId) -> Option<String> {
        let info = &self.model.events.sources.get(source as usize)?.info;
        Some(info.member.clone().unwrap_or_else(|| info.name.clone()))
    }

    /// Registers an event.
    pub fn event(&mut self, attr: EventAttr) -> EventId {
        let id = self.model.events.all.len() as EventId;
        self.model.events.all.push((attr, 0));
        id
    }

    /// Counts a record of a source and of one of its events.
    #[inline]
    pub fn count_record(&mut self, clock_ns: i64, source: SourceId, event: Option<EventId>) {
        if let Some((_, count)) = event.and_then(|id| self.model.events.all.get_mut(id as usize)) {
            *count += 1;
        }
        let ts = if clock_ns == NO_TIME { None } else { self.ts(clock_ns) };
        if let Some(state) = self.model.events.sources.get_mut(source as usize) {
            state.event_count += 1;
            if ts.is_some() {
                state.first = state.first.or(ts);
                state.last = state.last.max(ts);
            }
        }
    }

    /// Notes the sources with events. If only one source can have switches, their rows need not wait until a source is
    /// chosen.
    pub(crate) fn stream_from_only_source(&mut self, with_events: &[SourceId]) {
        let events = self.model.events.view();
        let mut having = with_events.iter().copied().filter(|&source| events.may_have(source, &["sched:"]));
        let only = having.next().filter(|_| having.next().is_none());
        self.timelines.only_sched = only.filter(|_| !self.timelines.sampled.are_to_come);
    }

    /// Adds events that a source lost. The decoder also notes an issue with the place.
    pub fn lost(&mut self, source: SourceId, count: u64) {
        if let Some(state) = self.model.events.sources.get_mut(source as usize) {
            state.lost_count = state.lost_count.saturating_add(count);
        }
    }

    pub(crate) fn write_events(&mut self) {
        let chosen = self.timelines.chosen(&self.model.events.view());
        let start_ns = self.start_ns();
        let (events, tables): (&Events, &mut Tables) = (&self.model.events, &mut self.sink.tables);
        for (id, state) in events.sources.iter().enumerate() {
            let id = id as SourceId;
            let info = &state.info;
            // The recorded threads may sleep: then the records do not show the beginning and the end of the recording.
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
                until_ts_ns: state.until(start_ns),
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
