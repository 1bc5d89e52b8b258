//! Hands the samples of the text to the session.

use hashbrown::HashMap;
use perfcase_archive::{Content, Issue};
use perfcase_decode::format::state_bits::is_old;
use perfcase_decode::perf_data::sample::ids;
use perfcase_decode::perf_script::fields;
use perfcase_decode::perf_script::frame::Frame;
use perfcase_decode::perf_script::header::Fact;
use perfcase_decode::perf_script::reader::{Next, Reader};

use super::detail_rows;
use super::layout::Layouts;
use crate::model::Record;
use crate::session::{EventAttr, EventId, HostFacts, NO_TIME, Session, SourceId, SourceInfo};
use crate::source::Source;
use crate::syscall_names;
use crate::tables::SampleRow;

/// Starts to read `perf script` text. It never fails: unknown lines become issues.
pub fn open(content: Content, session: &mut Session, source: SourceId) -> Box<dyn Source> {
    let mut script = PerfScript {
        reader: Reader::new(content),
        source,
        next: None,
        events: HashMap::new(),
        layouts: Layouts::default(),
        call_numbers: None,
        is_old_kernel: false,
    };
    // The facts about the host are before the samples, and the architecture names the system calls.
    script.advance(session);
    Box::new(script)
}

struct PerfScript {
    reader: Reader<Content>,
    source: SourceId,
    next: Option<Next>,
    events: HashMap<String, EventId>,
    layouts: Layouts,
    /// The numbers of the system calls by name: the text of their tracepoints has only names.
    call_numbers: Option<HashMap<&'static str, i64>>,
    /// The header names a kernel before 4.14.
    is_old_kernel: bool,
}

impl PerfScript {
    /// Goes to the head of the next sample.
    fn advance(&mut self, session: &mut Session) {
        self.next = self.reader.advance(|fact| {
            let mut host = std::mem::take(&mut session.model.host);
            if let (Some(fact), Some(info)) = (fact, session.source_info(self.source)) {
                learn(fact, &mut host, info);
            }
            session.model.host = host;
            self.is_old_kernel = session.model.host.kernel_release.as_deref().is_some_and(is_old);
            if let Some(machine) = session.model.host.machine.clone() {
                session.set_machine(&machine);
            }
        });
        self.note_problems(session);
    }

    fn note_problems(&mut self, session: &mut Session) {
        for problem in self.reader.take_problems() {
            session.issue_of(self.source, problem);
        }
    }

    fn event(&mut self, session: &mut Session, name: &str, is_tracepoint: bool) -> EventId {
        if let Some(&id) = self.events.get(name) {
            return id;
        }
        let kind = is_tracepoint.then(|| "tracepoint".to_string());
        let id = session.event(EventAttr {
            source: self.source,
            name: name.to_string(),
            kind,
            is_tracepoint,
            ..EventAttr::default()
        });
        self.events.insert(name.to_string(), id);
        id
    }

    /// Gives the number of the system call of an event such as `sys_enter_openat`.
    fn call_number(&mut self, session: &Session, event: &str) -> Option<i64> {
        let numbers = self.call_numbers.get_or_insert_with(|| {
            let names = syscall_names::table(session.model.host.machine.as_deref());
            let mut numbers = HashMap::new();
            // The names of the machine's main convention come first.
            for (_, number, name, _) in names.each() {
                numbers.entry(name).or_insert(number);
            }
            numbers
        });
        fields::call_names(event)?.iter().find_map(|name| numbers.get(name)).copied()
    }

    fn sample(&mut self, session: &mut Session, next: Next) {
        let line = self.reader.first_line(next);
        let mut chain = Vec::new();
        let sample = self.reader.sample(next, &line, |frame| chain.push(frame_id(session, frame)));
        self.note_problems(session);
        let Some(sample) = sample else { return };
        let (head, tracepoint) = (&sample.head, sample.tracepoint());
        let frame_id = sample.own.as_ref().map(|frame| frame_id(session, frame)).or(chain.first().copied());
        let is_kernel = frame_id.is_some_and(|id| session.is_kernel_frame(id));
        let stack_id = session.named_stack(&chain);
        let (pid, tid) = ids((head.pid.unwrap_or(if head.tid == 0 { 0 } else { -1 }), head.tid));
        let utid = tid.map(|tid| session.utid(head.clock_ns, tid, pid));
        // perf prints the number of a thread if it does not know the name.
        let is_named = !head.comm.is_empty() && !head.comm.starts_with(':');
        if let (Some(tid), true) = (tid.filter(|&tid| tid != 0), is_named) {
            session.comm(head.clock_ns, pid, tid, head.comm.as_bytes());
        }
        let event_id = self.event(session, &sample.event, tracepoint.is_some());
        session.count_record(head.clock_ns, self.source, Some(event_id));
        let sample_id = session.next_sample_id();
        let ts_ns = session.ts(head.clock_ns);
        let name_id = utid.map(|utid| session.name_at(head.clock_ns, utid));
        session.sink.tables.sample.push(SampleRow {
            sample_id,
            ts_ns,
            cpu: head.cpu,
            utid,
            name_id,
            event_id,
            period: head.period,
            cpu_mode: match frame_id {
                None => 0,
                Some(_) if is_kernel => 1,
                Some(_) => 2,
            },
            frame_id,
            stack_id,
        });
        session.row_added();
        detail_rows::push(session, sample_id, &sample.details);
        let Some((system, name)) = tracepoint.filter(|_| head.clock_ns != NO_TIME) else { return };
        let mut printed = fields::parse(system, name, sample.fields, self.is_old_kernel);
        if system == "syscalls"
            && let Some(number) = self.call_number(session, name)
        {
            printed.insert(0, ("__syscall_nr".to_string(), fields::Value::Int(number)));
        }
        let laid_out = self.layouts.lay_out(session, self.source, (system, name), &printed);
        let Some((id, payload)) = laid_out else { return };
        let record = Record { clock_ns: head.clock_ns, cpu: head.cpu, tid, pid, stack: stack_id, payload };
        session.tracepoint(id, record);
    }
}

fn frame_id(session: &mut Session, frame: &Frame<'_>) -> u32 {
    session.named_frame(frame.object, frame.address, frame.is_kernel, frame.symbol, frame.offset)
}

/// Notes a fact of the header. Known facts about the host stay.
fn learn(fact: Fact<'_>, host: &mut HostFacts, source: &mut SourceInfo) {
    let keep = |known: &mut Option<String>, value: &str| {
        known.get_or_insert_with(|| value.to_string());
    };
    match fact {
        Fact::Hostname(name) => keep(&mut host.hostname, name),
        Fact::KernelRelease(release) => keep(&mut host.kernel_release, release),
        Fact::Machine(machine) => keep(&mut host.machine, machine),
        Fact::CpuModel(model) => keep(&mut host.cpu_model, model),
        Fact::Command(command) => keep(&mut host.command, command),
        Fact::CpuCount(count) => host.cpu_count = host.cpu_count.or(Some(count)),
        Fact::MemoryBytes(bytes) => host.memory_bytes = host.memory_bytes.or(Some(bytes)),
        Fact::PerfVersion(version) => {
            source.tool = Some("perf".to_string());
            source.tool_version = Some(version.to_string());
        }
        Fact::Clock(clock) => {
            source.clock = Some(clock.to_string());
            keep(&mut host.clock, clock);
        }
        Fact::ClockAndRealtime(clock_ns, realtime_ns) => {
            host.clock_and_realtime_ns = host.clock_and_realtime_ns.or(Some((clock_ns, realtime_ns)));
        }
    }
}

impl Source for PerfScript {
    fn next_ts(&self) -> Option<i64> {
        self.next.map(|next| next.clock_ns)
    }

    fn step(&mut self, session: &mut Session) {
        if let Some(next) = self.next.take() {
            self.sample(session, next);
        }
        self.advance(session);
    }

    fn finish(&mut self, session: &mut Session) {
        session.lost(self.source, self.reader.lost_count);
        let has_calls =
            self.events.keys().any(|name| name.starts_with("raw_syscalls:") || name.starts_with("syscalls:"));
        let has_machine = session.model.host.machine.is_some();
        for problem in self.reader.problems() {
            session.issue_of(self.source, problem);
        }
        if has_calls && !has_machine {
            let message =
                "system calls are not named, or not known at all: perf script --header tells the architecture";
            session.issue_of(self.source, Issue::warning("unknown_machine", message));
        }
        if let Some(problem) = self.reader.problem_with_times() {
            session.issue_of(self.source, problem);
        }
    }
}
