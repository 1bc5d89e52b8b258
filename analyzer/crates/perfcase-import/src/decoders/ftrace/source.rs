//! Hands the events of a trace to the session.

use std::ops::Deref;

use hashbrown::HashMap;
use perfcase_archive::Issue;
use perfcase_decode::format::EventFormat;
use perfcase_decode::ftrace::capture::{TscToNs, Uname};
use perfcase_decode::ftrace::events::{CommonFields, Events};
use perfcase_decode::ftrace::stream::Loss;

use crate::model::Record;
use crate::session::{EventAttr, EventId, NO_TIME, Session, SourceId};
use crate::source::Source;
use crate::tracepoint::TracepointId;
use perfcase_symbols::Kallsyms;

/// The events of a trace as a source of records.
pub struct FtraceSource<B> {
    events: Events<B>,
    source: SourceId,
    common: CommonFields,
    formats: HashMap<u32, EventFormat>,
    /// The events that had a record, by their number. An event gets its table with its first record, because a trace
    /// describes thousands of events.
    known: Vec<Option<(TracepointId, EventId)>>,
    tsc_to_ns: Option<TscToNs>,
    /// Records of unknown events, by the event's number: how many, and the place of the first.
    unknown: HashMap<u32, (u64, u64)>,
    /// The counted losses of each stream.
    counted_losses: Vec<u64>,
}

/// Notes the machine. What the capture's manifest says stays.
fn about_machine(session: &mut Session, uname: Uname<'_>) {
    if let Some(machine) = uname.machine {
        session.set_machine(machine);
    }
    let host = &mut session.model.host;
    host.hostname = host.hostname.take().or(uname.hostname.map(str::to_string));
    host.kernel_release = host.kernel_release.take().or(uname.release.map(str::to_string));
}

impl<B: Deref<Target = [u8]> + Clone> FtraceSource<B> {
    /// Gives the session what the trace says about itself.
    pub fn open(events: Events<B>, source: SourceId, session: &mut Session) -> FtraceSource<B> {
        let capture = &events.capture;
        let (formats, errors) = capture.parse_formats();
        for error in errors {
            session.issue_of(source, Issue::warning("bad_format", error.to_string()));
        }
        let common = CommonFields::of(&formats, capture.big_endian);
        let formats: HashMap<u32, EventFormat> = formats.into_iter().map(|f| (f.id, f)).collect();
        let clock = capture.buffers.iter().find(|b| !b.cpus.is_empty()).map_or("", |b| b.clock.as_str()).to_owned();
        let tsc_to_ns = capture.tsc_to_ns.filter(|_| clock == "x86-tsc");
        if matches!(clock.as_str(), "counter" | "uptime") || (clock == "x86-tsc" && tsc_to_ns.is_none()) {
            let text =
                format!("the trace's clock is {clock}, which does not count nanoseconds: times are its raw values");
            session.issue_of(source, Issue::warning("unknown_clock", text));
        }
        if let Some(uname) = &events.capture.uname {
            about_machine(session, Uname::parse(uname));
        }
        if let Some(info) = session.source_info(source) {
            info.clock = info.clock.take().or_else(|| clock_name(&clock));
            info.tool_version = info.tool_version.take().or_else(|| capture.tool_version.clone());
        }
        let stream_count = events.merge.stream_count();
        let mut opened = FtraceSource {
            known: vec![None; 1 + formats.keys().copied().filter(|id| *id < 1 << 16).max().unwrap_or(0) as usize],
            counted_losses: vec![0; stream_count],
            unknown: HashMap::new(),
            events,
            source,
            common,
            formats,
            tsc_to_ns,
        };
        for damage in std::mem::take(&mut opened.events.capture.damages) {
            session.issue_of(source, damage);
        }
        opened
    }

    fn clock_ns(&self, ts: u64) -> i64 {
        self.tsc_to_ns.map_or(ts, |tsc| tsc.convert(ts)) as i64
    }

    /// Gives the key of an event by its number. The first record registers the event.
    #[inline]
    fn event(&mut self, id: u32, session: &mut Session) -> Option<(TracepointId, EventId)> {
        match self.known.get(id as usize) {
            Some(Some(known)) => Some(*known),
            _ => self.register(id, session),
        }
    }

    #[cold]
    fn register(&mut self, id: u32, session: &mut Session) -> Option<(TracepointId, EventId)> {
        let format = self.formats.get(&id)?;
        if format.system == "ftrace" && format.name == "function" && session.model.kernel_symbols.is_none() {
            let text = String::from_utf8_lossy(&self.events.capture.kallsyms);
            session.model.kernel_symbols = Kallsyms::parse(&text);
        }
        let event = session.event(EventAttr {
            source: self.source,
            name: format!("{}:{}", format.system, format.name),
            kind: Some("tracepoint".to_owned()),
            config: Some(u64::from(id)),
            is_tracepoint: true,
            ..EventAttr::default()
        });
        let tracepoint = session.tracepoint_def(format, self.events.capture.big_endian, self.source);
        *self.known.get_mut(id as usize)? = Some((tracepoint, event));
        Some((tracepoint, event))
    }

    /// Notes the losses and damages before the current event of a stream.
    #[cold]
    fn news(&mut self, stream: usize, session: &mut Session) {
        let losses = self.events.merge.stream_mut(stream).take_losses();
        for Loss { ts, count } in losses {
            self.counted_losses[stream] += count.unwrap_or(0);
            let at = self.clock_ns(ts);
            let number = count.map_or("an unknown number of".to_owned(), |n| n.to_string());
            let what =
                format!("{number} events were overwritten before {}.{:09} s", at / 1_000_000_000, at % 1_000_000_000);
            self.lost(stream, count, &what, session);
        }
        for damage in self.events.merge.stream_mut(stream).take_damages() {
            session.issue_of(self.source, damage);
        }
    }

    /// Notes a loss of `count` events on the stream's CPU; `what` says how.
    fn lost(&self, stream: usize, count: Option<u64>, what: &str, session: &mut Session) {
        session.lost(self.source, count.unwrap_or(0));
        let cpu = self.events.merge.stream(stream).cpu;
        let place = match self.events.buffer(stream).name.as_str() {
            "" => format!("CPU {cpu}"),
            name => format!("instance {name}, CPU {cpu}"),
        };
        let message = format!("{place}: {what}; figures of this CPU are too small");
        let hint = "record with a larger ring buffer (trace-cmd record -b) or fewer events";
        let issue = Issue::warning("lost_events", message).count(count.unwrap_or(1)).hint(hint);
        session.issue_of(self.source, issue);
    }

    /// Notes the losses that only the kernel's counters have, and not the pages.
    fn compare_counters(&self, session: &mut Session) {
        for stats in &self.events.capture.stats {
            let of_this = |stream: &usize| {
                self.events.merge.stream(*stream).cpu == stats.cpu && self.events.buffer(*stream).name == stats.buffer
            };
            let Some(stream) = (0..self.events.merge.stream_count()).find(of_this) else { continue };
            let overrun = stats.overrun.unwrap_or(0).saturating_sub(self.counted_losses[stream]);
            if overrun > 0 {
                self.lost(
                    stream,
                    Some(overrun),
                    &format!("{overrun} events were overwritten, it is not known when"),
                    session,
                );
            }
            let dropped = stats.dropped.unwrap_or(0) + stats.commit_overrun.unwrap_or(0);
            if dropped > 0 {
                self.lost(
                    stream,
                    Some(dropped),
                    &format!("{dropped} events were dropped: the buffer was full"),
                    session,
                );
            }
            let expected = stats.entries.unwrap_or(0) + stats.read.unwrap_or(0);
            let found = self.events.merge.stream(stream).event_count();
            if stats.read.is_some() && found < expected {
                // No loss that is sure: a whole file, in which each call has its end, may also have some hundred less than the kernel counted.
                let text = format!(
                    "CPU {}: the kernel counted {expected} events, the file has {found}: its end may be missing",
                    stats.cpu
                );
                session.issue_of(self.source, Issue::info("missing_events", text).count(expected - found));
            }
        }
    }

    /// Names the threads that no event named, by the tracer's own list.
    fn name_threads(&self, session: &mut Session) {
        let comms: HashMap<i32, &[u8]> = self.events.capture.comms().filter(|(_, comm)| *comm != b"<...>").collect();
        for utid in 0..session.model.threads.all.len() {
            if let Some(comm) = comms.get(&session.model.threads.all[utid].tid) {
                session.name_if_unnamed(NO_TIME, utid as u32, comm);
            }
        }
    }
}

impl<B: Deref<Target = [u8]> + Clone> Source for FtraceSource<B> {
    fn next_ts(&self) -> Option<i64> {
        self.events.merge.peek().map(|(ts, _)| self.clock_ns(ts))
    }

    fn step(&mut self, session: &mut Session) {
        let Some((ts, index)) = self.events.merge.peek() else { return };
        if self.events.merge.stream(index).has_news() {
            self.news(index, session);
        }
        let clock_ns = self.clock_ns(ts);
        let record = self.events.merge.stream(index).record();
        let (id, tid) = (self.common.id(record), self.common.pid(record));
        match id.and_then(|id| self.event(id, session)) {
            Some((tracepoint, event)) => {
                let stream = self.events.merge.stream(index);
                session.count_record(clock_ns, self.source, Some(event));
                let (cpu, payload) = (Some(stream.cpu), stream.record());
                session.tracepoint(tracepoint, Record { clock_ns, cpu, tid, pid: None, stack: None, payload });
            }
            None => {
                let offset = self.events.merge.stream(index).offset();
                self.unknown.entry(id.unwrap_or(u32::MAX)).or_insert((0, offset)).0 += 1;
                session.count_record(clock_ns, self.source, None);
            }
        }
        self.events.merge.advance();
    }

    fn finish(&mut self, session: &mut Session) {
        for stream in 0..self.events.merge.stream_count() {
            self.news(stream, session);
        }
        let mut unknown: Vec<_> = self.unknown.drain().collect();
        unknown.sort_unstable();
        for (id, (count, offset)) in unknown {
            let message = format!("{count} records of event number {id}: the trace has no format of it");
            session.issue_of(self.source, Issue::warning("unknown_event", message).at(offset).count(count));
        }
        self.compare_counters(session);
        self.name_threads(session);
    }
}

/// Gives the clock's name in the manifest's words; `None` where the trace does not name it.
fn clock_name(clock: &str) -> Option<String> {
    Some(match clock {
        "" => return None,
        "mono" => "monotonic".to_owned(),
        "mono_raw" => "monotonic_raw".to_owned(),
        "boot" => "boottime".to_owned(),
        other => other.to_owned(),
    })
}
