//! The capture's sources and the events that each recorded.

/// The capture's own number of a source.
pub type SourceId = u16;
/// The capture's own key of an event.
pub type EventId = u32;

/// A source, as the manifest or the file itself describes it.
#[derive(Clone, Debug, Default)]
pub struct SourceInfo {
    /// perf, ftrace, pmc, proc, host.
    pub name: String,
    /// perf_data, trace_dat, ….
    pub kind: String,
    /// Its path in the archive.
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
    /// The clock when it began to record, as the recorder says, in ns.
    pub started_ns: Option<i64>,
    /// The clock when it ended, in ns.
    pub ended_ns: Option<i64>,
}

#[derive(Default)]
pub(crate) struct SourceState {
    pub info: SourceInfo,
    pub event_count: u64,
    pub lost_count: u64,
    pub(crate) first: Option<i64>,
    pub(crate) last: Option<i64>,
}

impl SourceState {
    /// Gives when its recording ended, in ns since the capture's start at `start_ns`; `None` if nothing tells.
    pub(crate) fn until(&self, start_ns: i64) -> Option<i64> {
        let told = self.info.ended_ns.map(|clock_ns| clock_ns.saturating_sub(start_ns));
        told.max(self.last)
    }
}

/// An event: a perf attribute or an ftrace event.
#[derive(Clone, Debug, Default)]
pub struct EventAttr {
    /// The source that recorded it.
    pub source: SourceId,
    /// Its name, as perf and trace-cmd print it.
    pub name: String,
    /// The event type in words.
    pub kind: Option<String>,
    /// perf's config.
    pub config: Option<u64>,
    /// Fixed period.
    pub sample_period: Option<u64>,
    /// The requested frequency, per second.
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
    pub(crate) all: Vec<(EventAttr, u64)>,
}

/// The facts about a source that decide which source is chosen.
pub(crate) struct EventsView<'a>(&'a Events);

impl Events {
    pub(crate) fn view(&self) -> EventsView<'_> {
        EventsView(self)
    }
}

impl EventsView<'_> {
    /// The number of events that a source lost.
    pub(crate) fn lost(&self, source: SourceId) -> u64 {
        self.0.sources.get(source as usize).map_or(0, |state| state.lost_count)
    }

    /// Tells whether events of these systems may come from a source. A perf.data lists its events, but a user may
    /// choose a name that does not contain the system.
    pub(crate) fn may_have(&self, source: SourceId, systems: &[&str]) -> bool {
        let mut events = self.0.all.iter().filter(|(event, _)| event.source == source && event.is_tracepoint);
        let is_of = |name: &str| !name.contains(':') || systems.iter().any(|system| name.starts_with(system));
        self.kind(source) != Some("perf_data") || events.any(|(event, _)| is_of(&event.name))
    }

    /// Gives the kind of a source.
    pub(crate) fn kind(&self, source: SourceId) -> Option<&str> {
        self.0.sources.get(source as usize).map(|state| state.info.kind.as_str())
    }
}
