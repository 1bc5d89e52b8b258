//! Records in the order of time, handed to the session.

use std::ops::Deref;

use perfcase_archive::Issue;
use perfcase_decode::perf_data::behind::Behind;
use perfcase_decode::perf_data::bytes::Cursor;
use perfcase_decode::perf_data::index::{Entry, InTimeOrder};
use perfcase_decode::perf_data::loss::Losses;
use perfcase_decode::perf_data::record::{self, FileIdentity, Mmap, Record, RecordHeader, kind, misc};
use perfcase_decode::perf_data::recording::{LATEST_NS, Recording};
use perfcase_decode::perf_data::sample::SampleDamage;
use perfcase_decode::perf_data::scan::HINT_DAMAGE;

use super::group::LastValues;
use super::open::Known;
use super::sample_rows::Scratch;
use crate::session::{Mapping, NO_TIME, Session, SourceId};
use crate::source::Source;

const KSYMBOL_BPF: u16 = 1;
const KSYMBOL_UNREGISTER: u16 = 1;

/// A perf.data as a source.
pub struct PerfSource<C> {
    content: C,
    pub(super) recording: Recording,
    pub(super) known: Vec<Known>,
    pub(super) source: SourceId,
    pub(super) last_values: LastValues,
    pub(super) scratch: Scratch,
    losses: Losses,
    order: InTimeOrder,
    in_file: Behind,
    in_arena: Behind,
}

impl<C: Deref<Target = [u8]>> PerfSource<C> {
    pub(super) fn new(
        content: C,
        mut recording: Recording,
        known: Vec<Known>,
        source: SourceId,
        in_file: Behind,
    ) -> Self {
        let (last_values, scratch) = (LastValues::default(), Scratch::default());
        let order = std::mem::take(&mut recording.index).in_time_order(&recording, &content);
        PerfSource {
            content,
            recording,
            known,
            source,
            last_values,
            scratch,
            losses: Losses::default(),
            order,
            in_file,
            in_arena: Behind::default(),
        }
    }

    /// Notes what the file says about itself: host, command, clocks.
    pub fn recording(&self) -> &Recording {
        &self.recording
    }

    fn decode(&mut self, entry: Entry, session: &mut Session) {
        let PerfSource { content, recording, .. } = self;
        // The scan found the complete record, so this fails only if the file changed since.
        let Some((header, body)) = recording.record(content, entry) else { return };
        *recording_count(&mut self.scratch, header.kind) += 1;
        let Some(event) = recording.events.of_record(header, body) else {
            return self.unknown_event(entry, header);
        };
        if header.kind == kind::SAMPLE {
            // The borrowed file is separate from the state that changes with rows.
            let (known, source) = (&self.known, self.source);
            let rows = super::sample_rows::Rows {
                session,
                known,
                source,
                last_values: &mut self.last_values,
                scratch: &mut self.scratch,
            };
            let damage = rows.sample((recording, content), event, header, body);
            if let Some(damage) = damage {
                self.damaged(entry, "damaged_sample", || match damage {
                    SampleDamage::EndsIn(field) => {
                        format!("a sample ends inside its {field}; the fields before it are kept")
                    }
                    SampleDamage::GoesOn(bytes) => format!(
                        "{bytes} bytes lie behind the fields of a sample, which is kept; records that were there are lost"
                    ),
                });
            }
            return;
        }
        let plan = recording.events.get(event).map(|event| &event.plan);
        let trailer = plan.map(|plan| plan.trailer(body)).unwrap_or_default();
        let mut fields = Cursor::new(body, recording.order);
        let name = kind::name(header.kind).unwrap_or("?");
        let parsed = record::parse(header, &mut fields);
        let parsed = match plan {
            Some(plan) if header.kind == kind::READ => parsed.filter(|_| plan.skip_values(&mut fields).is_some()),
            _ => parsed,
        };
        let Some(parsed) = parsed else {
            return self.damaged(entry, "damaged_record", || {
                format!("a {name} record is shorter than its fields; it is not used")
            });
        };
        // Without an event the length of the trailer is unknown.
        let end = plan.map_or(0, |plan| body.len().saturating_sub(plan.trailer_bytes()));
        let left = end.saturating_sub(fields.at().next_multiple_of(8));
        let is_used = left == 0 || record::ends_in_text(header.kind);
        let damage = |what| {
            format!("{left} bytes lie behind the fields of a {name} record: its size or its type is damaged; {what}")
        };
        if !is_used {
            return self.damaged(entry, "damaged_record", || damage("it is not used"));
        }
        let time = recording.events.time(header, body);
        let clock_ns = time.filter(|&time| time != 0 && time < LATEST_NS).map_or(NO_TIME, |time| time as i64);
        session.count_record(clock_ns, self.source, None);
        apply(&parsed, header, clock_ns, session);
        super::side_rows::write(&parsed, header, clock_ns, &trailer, session);
        self.losses.take(&parsed, header, clock_ns != NO_TIME, recording.file_offset(entry));
        if left > 0 {
            self.damaged(entry, "damaged_record", || damage("records that were there are lost"));
        }
    }

    /// Frees the memory of records long before this one.
    fn release(&mut self, entry: Entry) {
        let bytes = self.recording.record(&self.content, entry).map_or(0, |(header, _)| header.size.into());
        match self.recording.arena_offset(entry) {
            None => self.in_file.pass(self.recording.file_offset(entry), bytes),
            Some(offset) => {
                if let Some(end) = self.in_arena.passed(offset, bytes) {
                    self.recording.arena.release(end);
                }
            }
        }
    }

    #[cold]
    fn unknown_event(&mut self, entry: Entry, header: RecordHeader) {
        let name = kind::name(header.kind).unwrap_or("?");
        let at = self.recording.file_offset(entry);
        let message = || format!("{name} records have the id of no event in the file; they are left out");
        let problems = &mut self.recording.problems;
        problems
            .note("unknown_event", header.kind.into(), |kind| Issue::error(kind, message()).at(at).hint(HINT_DAMAGE));
    }

    #[cold]
    fn damaged(&mut self, entry: Entry, kind: &'static str, message: impl FnOnce() -> String) {
        let at = self.recording.file_offset(entry);
        self.recording.problems.note(kind, at, |kind| Issue::error(kind, message()).at(at).hint(HINT_DAMAGE));
    }
}

fn recording_count(scratch: &mut Scratch, kind: u32) -> &mut u64 {
    let last = scratch.counts.len() - 1;
    &mut scratch.counts[(kind as usize).min(last)]
}

impl<C: Deref<Target = [u8]>> Source for PerfSource<C> {
    fn next_ts(&self) -> Option<i64> {
        let entry = self.order.peek()?;
        Some(if entry.time == 0 { NO_TIME } else { entry.time as i64 })
    }

    fn step(&mut self, session: &mut Session) {
        if let Some(entry) = self.order.next(&self.recording, &self.content) {
            self.decode(entry, session);
            self.release(entry);
        }
    }

    fn finish(&mut self, session: &mut Session) {
        super::totals::note(&mut self.recording, &self.scratch);
        self.losses.note(&mut self.recording.problems);
        session.lost(self.source, self.losses.total());
        for problem in self.recording.problems.take() {
            session.issue_of(self.source, problem);
        }
    }
}

/// Gives the session a record that is not a sample.
fn apply(record: &Record, header: RecordHeader, clock_ns: i64, session: &mut Session) {
    match *record {
        Record::Mmap(ref map) => mapping(map, header, session),
        Record::Comm { pid, tid, name } => {
            session.comm(clock_ns, positive(pid), tid, name);
        }
        Record::Fork(task) => {
            let child = session.fork(clock_ns, positive(task.pid), task.tid, positive(task.ppid));
            session.inherit_name(clock_ns, child, task.ptid);
        }
        Record::Exit(task) => session.exit(clock_ns, task.tid),
        Record::Ksymbol { address, length, kind, flags, name } if flags & KSYMBOL_UNREGISTER == 0 => {
            session.map(&Mapping {
                pid: None,
                start: address,
                length: length.into(),
                page_offset: 0,
                build_id: None,
                inode: None,
                path: name,
                kind: (kind == KSYMBOL_BPF).then_some("bpf"),
                is_data: false,
                is_function: true,
            });
        }
        Record::Ksymbol { address, length, .. } => session.unmap_kernel(address, length.into()),
        _ => {}
    }
}

fn positive(id: i32) -> Option<i32> {
    (id >= 0).then_some(id)
}

fn mapping(map: &Mmap, header: RecordHeader, session: &mut Session) {
    let cpu_mode = header.misc & misc::CPUMODE_MASK;
    // Mappings of guests (modes 4 and 5) are not of the recorded kernel and its processes.
    if cpu_mode > 3 {
        return;
    }
    let (build_id, inode) = match map.more.map(|more| more.identity) {
        Some(FileIdentity::BuildId(bytes)) => (Some(bytes), None),
        Some(FileIdentity::Inode { inode, generation, .. }) => (None, Some((inode, generation))),
        None => (None, None),
    };
    session.map(&Mapping {
        pid: if cpu_mode == 1 { None } else { positive(map.pid) },
        start: map.start,
        length: map.length,
        page_offset: map.page_offset,
        build_id,
        inode,
        path: map.path,
        kind: None,
        is_data: header.misc & misc::MMAP_DATA != 0,
        is_function: false,
    });
}
