//! A runtime's record of its generated code, to the functions of the session.

use perfcase_archive::{Content, Issue};
use perfcase_decode::jitdump::{self, Event};

use crate::session::{NO_TIME, Session};
use crate::source::Source;

/// A jitdump as a source of the session.
pub struct Jitdump {
    name: String,
    dump: jitdump::Jitdump<Content>,
    pid: i32,
    /// Take its records without asking whether the process was recorded. Otherwise take them only if it was.
    is_sure: bool,
    /// Its times compare with those of the capture. Otherwise all its records come before the capture's.
    has_times: bool,
    latest: i64,
}

/// The process that generated the code of a jitdump.
#[derive(Clone, Copy, Debug)]
pub enum Owner {
    /// A process of the capture, by its id there; `None`: the id that the file names.
    Known(Option<i32>),
    /// The file lies beside the recording: its process may be one that was not recorded.
    Unsure,
}

/// Opens a jitdump of the member or file `name`.
pub fn open(name: &str, content: Content, owner: Owner, session: &mut Session) -> Option<Box<dyn Source>> {
    let dump = match jitdump::Jitdump::open(content) {
        Ok(dump) => dump,
        Err(issue) => {
            session.issue(issue.of(name));
            return None;
        }
    };
    // Runtimes read CLOCK_MONOTONIC; a recording by perf's own clock does not say when that was.
    let is_other_clock = session.model.host.clock.as_deref().is_some_and(|clock| clock != "monotonic");
    let has_times = !dump.has_counter_times && !is_other_clock;
    if dump.has_counter_times {
        let message = "its times are readings of the CPU's counter: of code at one address the last is taken";
        session.issue(Issue::warning(jitdump::ISSUE, message).of(name));
    } else if is_other_clock {
        let message = "its times are of CLOCK_MONOTONIC, the recording's of another clock: of code at one address the last is \
                       taken; perf record -k CLOCK_MONOTONIC records comparable times";
        session.issue(Issue::warning(jitdump::ISSUE, message).of(name));
    }
    let (pid, is_sure) = match owner {
        Owner::Known(pid) => (pid, true),
        // Without times its records come before those that name the process.
        Owner::Unsure => (None, !has_times),
    };
    let pid = pid.or(dump.pid)?;
    Some(Box::new(Jitdump { name: name.to_string(), dump, pid, is_sure, has_times, latest: NO_TIME }))
}

impl Source for Jitdump {
    fn next_ts(&self) -> Option<i64> {
        let time = self.dump.next_time()?;
        Some(if self.has_times { time.max(self.latest) } else { NO_TIME })
    }

    fn step(&mut self, session: &mut Session) {
        self.latest = self.latest.max(self.dump.next_time().unwrap_or(NO_TIME));
        if !self.is_sure && session.model.threads.find_process(self.pid).is_none() {
            self.dump.skip();
            return;
        }
        let at = self.dump.at();
        let is_known = match self.dump.read() {
            Some(Event::Load { start, size_bytes, name, lines }) => {
                session.code_loaded(self.pid, start, size_bytes, &name, lines);
                true
            }
            Some(Event::Move { old_start, start, size_bytes }) => {
                session.code_moved(self.pid, old_start, start, size_bytes)
            }
            None => true,
        };
        if !is_known {
            self.dump.count_damage(at);
        }
    }

    fn finish(&mut self, session: &mut Session) {
        if let Some(problem) = self.dump.problem() {
            session.issue(problem.of(&self.name));
        }
    }
}

#[cfg(test)]
#[path = "jitdump_tests.rs"]
mod tests;
