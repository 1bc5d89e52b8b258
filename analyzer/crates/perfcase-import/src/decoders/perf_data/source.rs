//! Records in the order of time, handed to the session.

use std::ops::Deref;

use super::bytes::Cursor;
use super::group::LastValues;
use super::open::Known;
use super::record::{self, FileIdentity, Mmap, Record, RecordHeader, kind, misc};
use super::recording::{Entry, LATEST_NS, Recording};
use super::sample_rows::Scratch;
use super::scan::HINT_DAMAGE;
use crate::session::{Issue, Mapping, NO_TIME, Session, Severity, SourceId};
use crate::source::Source;

/// misc of LOST_SAMPLES: a BPF filter dropped them on purpose (6.16).
const LOST_BY_FILTER: u16 = 1 << 15;
const KSYMBOL_BPF: u16 = 1;
const KSYMBOL_UNREGISTER: u16 = 1;
const HINT_LOST: &str = "larger buffers (perf record -m), fewer events or a lower frequency";

/// A perf.data as a source.
pub struct PerfSource<C> {
    content: C,
    pub(super) recording: Recording,
    pub(super) known: Vec<Known>,
    pub(super) source: SourceId,
    pub(super) last_values: LastValues,
    pub(super) scratch: Scratch,
    at: usize,
}

impl<C: Deref<Target = [u8]>> PerfSource<C> {
    pub(super) fn new(content: C, recording: Recording, known: Vec<Known>, source: SourceId) -> Self {
        let (last_values, scratch) = (LastValues::default(), Scratch::default());
        PerfSource { content, recording, known, source, last_values, scratch, at: 0 }
    }

    /// What the file says about itself: host, command, clocks.
    pub fn recording(&self) -> &Recording {
        &self.recording
    }

    fn decode(&mut self, entry: Entry, session: &mut Session) {
        let PerfSource { content, recording, .. } = self;
        // The scan found the whole record, so this holds unless the file changed under us.
        let Some((header, body)) = recording.record(content, entry) else { return };
        *recording_count(&mut self.scratch, header.kind) += 1;
        let Some(event) = recording.events.of_record(header, body) else {
            return self.unknown_event(entry, header);
        };
        if header.kind == kind::SAMPLE {
            // The borrow of the file is separate from the state that rows change.
            let (known, source) = (&self.known, self.source);
            let rows = super::sample_rows::Rows {
                session,
                known,
                source,
                last_values: &mut self.last_values,
                scratch: &mut self.scratch,
            };
            let damage = rows.sample(recording, event, header, body);
            if let Some(field) = damage {
                self.damaged(entry, "damaged_sample", || {
                    format!("a sample ends inside its {field}; the fields before it are kept")
                });
            }
            return;
        }
        let order = recording.order;
        let trailer = recording.events.get(event).map(|event| event.plan.trailer(body)).unwrap_or_default();
        let Some(parsed) = record::parse(header, Cursor::new(body, order)) else {
            let name = kind::name(header.kind).unwrap_or("?");
            return self.damaged(entry, "damaged_record", || {
                format!("a {name} record is shorter than its fields; it is not used")
            });
        };
        let clock_ns = trailer.time.filter(|&time| time != 0 && time < LATEST_NS).map_or(NO_TIME, |time| time as i64);
        session.count_record(clock_ns, self.source, None);
        apply(&parsed, header, clock_ns, session);
        if let Some(loss) = loss(&parsed, header) {
            if loss.is_lost {
                session.lost(self.source, loss.count);
            }
            let at = Some(self.recording.file_offset(entry));
            let problems = &mut self.recording.problems;
            problems.note_many(loss.severity, loss.kind, 0, at, loss.count, || loss.message.to_string(), loss.hint);
        }
    }

    #[cold]
    fn unknown_event(&mut self, entry: Entry, header: RecordHeader) {
        let name = kind::name(header.kind).unwrap_or("?");
        let at = Some(self.recording.file_offset(entry));
        let message = || format!("{name} records have the id of no event in the file; they are left out");
        let detail = header.kind.into();
        self.recording.problems.note(Severity::Error, "unknown_event", detail, at, message, Some(HINT_DAMAGE));
    }

    #[cold]
    fn damaged(&mut self, entry: Entry, kind: &'static str, message: impl FnOnce() -> String) {
        let at = Some(self.recording.file_offset(entry));
        self.recording.problems.note(Severity::Error, kind, at.unwrap_or(0), at, message, Some(HINT_DAMAGE));
    }
}

fn recording_count(scratch: &mut Scratch, kind: u32) -> &mut u64 {
    let last = scratch.counts.len() - 1;
    &mut scratch.counts[(kind as usize).min(last)]
}

impl<C: Deref<Target = [u8]>> Source for PerfSource<C> {
    fn next_ts(&self) -> Option<i64> {
        let entry = self.recording.index.get(self.at)?;
        Some(if entry.time == 0 { NO_TIME } else { entry.time as i64 })
    }

    fn step(&mut self, session: &mut Session) {
        if let Some(&entry) = self.recording.index.get(self.at) {
            self.at += 1;
            self.decode(entry, session);
        }
    }

    fn finish(&mut self, session: &mut Session) {
        super::totals::note(&mut self.recording, &self.scratch.counts);
        let source = session.source_name(self.source);
        for problem in self.recording.problems.take() {
            session.issue(Issue {
                severity: problem.severity,
                source: source.clone(),
                kind: problem.kind,
                byte_offset: problem.byte_offset,
                count: problem.count,
                message: problem.message,
                hint: problem.hint.map(str::to_string),
            });
        }
    }
}

/// Tells the session what a record other than a sample says.
fn apply(record: &Record, header: RecordHeader, clock_ns: i64, session: &mut Session) {
    match *record {
        Record::Mmap(ref map) => mapping(map, header, session),
        Record::Comm { pid, tid, name } => {
            session.comm(clock_ns, positive(pid), tid, name, header.misc & misc::COMM_EXEC != 0);
        }
        Record::Fork(task) => {
            session.fork(clock_ns, positive(task.pid), task.tid, positive(task.ppid));
        }
        Record::Exit(task) => session.exit(clock_ns, task.tid),
        Record::Ksymbol { address, length, kind, flags, name } if flags & KSYMBOL_UNREGISTER == 0 => {
            session.map(&Mapping {
                pid: None,
                start: address,
                length: length.into(),
                page_offset: 0,
                build_id: None,
                path: name,
                kind: (kind == KSYMBOL_BPF).then_some("bpf"),
            });
        }
        _ => {}
    }
}

fn positive(id: i32) -> Option<i32> {
    (id >= 0).then_some(id)
}

fn mapping(map: &Mmap, header: RecordHeader, session: &mut Session) {
    let cpu_mode = header.misc & misc::CPUMODE_MASK;
    // Guests' mappings (modes 4 and 5) are not of the recorded kernel and its processes.
    if cpu_mode > 3 {
        return;
    }
    let build_id = match map.more.map(|more| more.identity) {
        Some(FileIdentity::BuildId(bytes)) => Some(bytes),
        _ => None,
    };
    session.map(&Mapping {
        pid: if cpu_mode == 1 { None } else { positive(map.pid) },
        start: map.start,
        length: map.length,
        page_offset: map.page_offset,
        build_id,
        path: map.path,
        kind: None,
    });
}

struct Loss {
    severity: Severity,
    kind: &'static str,
    count: u64,
    is_lost: bool,
    message: &'static str,
    hint: Option<&'static str>,
}

/// What a record says about records that are not there.
fn loss(record: &Record, header: RecordHeader) -> Option<Loss> {
    let new = |kind, count, message| Loss {
        severity: Severity::Warning,
        kind,
        count,
        is_lost: true,
        message,
        hint: Some(HINT_LOST),
    };
    Some(match *record {
        Record::Lost { lost, .. } => new("lost_events", lost, "perf's ring buffers were full: records were lost"),
        Record::LostSamples { lost } if header.misc & LOST_BY_FILTER != 0 => Loss {
            severity: Severity::Info,
            is_lost: false,
            hint: None,
            ..new("filtered_samples", lost, "a filter of the recording dropped samples on purpose")
        },
        Record::LostSamples { lost } => new("lost_samples", lost, "samples were lost in the kernel or the hardware"),
        Record::Throttle { .. } => Loss {
            is_lost: false,
            hint: Some("a lower frequency, or a higher kernel.perf_event_max_sample_rate"),
            ..new("throttled", 1, "the kernel stopped sampling for a while because it was too frequent")
        },
        _ => return None,
    })
}
