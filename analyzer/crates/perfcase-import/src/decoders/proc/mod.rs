//! The sampler's stream of /proc and /sys files, to rows of `proc_cpu`, `proc_load`, `proc_memory`, `proc_thread`, ….

mod cgroups;
mod counters;
mod cpus;
mod devices;
mod fd;
mod function_profile;
mod meminfo;
mod memory;
mod process;
mod rows;
mod socket;
pub mod stat;
pub mod stream;
mod system;
mod text;
pub mod thread;

use std::collections::BTreeMap;

use perfcase_archive::Content;

use crate::session::{Issue, Session, Severity, SourceId};
use crate::source::Source;
use rows::{Outcome, Rows};
use stream::{Damage, Frame};

/// Different paths that are told apart in the reports at the end.
const PATHS_MAX: usize = 1024;

/// What the stream itself does not say.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// USER_HZ of the recorded host; 100 where it is unknown, which is what every architecture in use has.
    pub clock_ticks_per_s: Option<u64>,
}

/// Starts to read a stream of snapshots. It never fails: damage becomes issues.
pub fn open(content: Content, session: &Session, source: SourceId, options: Options) -> Box<dyn Source> {
    let ticks_per_s = options.clock_ticks_per_s.filter(|ticks| (1..=1_000_000).contains(ticks)).unwrap_or(100);
    let mut snapshots = Snapshots {
        content,
        at: 0,
        next: None,
        clock_ns: i64::MIN,
        source,
        rows: Rows::new(source, ticks_per_s, session.page_size_bytes),
        open_since: None,
        damage: Vec::new(),
        damaged_files: BTreeMap::new(),
        other_files: BTreeMap::new(),
        unreadable: BTreeMap::new(),
        vanished_count: 0,
        snapshot_count: 0,
    };
    snapshots.find_next();
    Box::new(snapshots)
}

struct Snapshots {
    content: Content,
    /// Where the next frame is.
    at: usize,
    /// Its time.
    next: Option<i64>,
    /// Times never go back, whatever a damaged line says.
    clock_ns: i64,
    source: SourceId,
    rows: Rows,
    /// Number of the snapshot that has begun and not ended.
    open_since: Option<u32>,
    damage: Vec<(u64, Damage)>,
    /// Files by a name that leaves out process numbers, with the offset of the first and their number.
    damaged_files: BTreeMap<String, (u64, u64)>,
    other_files: BTreeMap<String, (u64, u64)>,
    unreadable: BTreeMap<(String, i32), (u64, u64)>,
    vanished_count: u64,
    snapshot_count: u64,
}

/// ENOENT and ESRCH: the thread ended between the listing and the reading.
const VANISHED: [i32; 2] = [2, 3];

impl Snapshots {
    /// Goes to the next frame, noting damage on the way.
    fn find_next(&mut self) {
        self.next = None;
        while let Some(step) = stream::read(&self.content, self.at) {
            if let Some(frame) = &step.frame {
                self.next = Some(frame.clock_ns().max(self.clock_ns));
                return;
            }
            self.damage.extend(step.damage.map(|damage| (self.at as u64, damage)));
            self.at = step.next;
        }
    }

    fn frame(&mut self, session: &mut Session, frame: Frame<'_>, at: u64) {
        match frame {
            Frame::Start { seq, .. } => {
                self.rows.begin(session, seq);
                self.open_since = Some(seq);
                self.snapshot_count += 1;
            }
            Frame::File { clock_ns, path, bytes } => {
                let counts = match self.rows.file(session, clock_ns.max(self.clock_ns), path, bytes) {
                    Outcome::Read => return,
                    Outcome::Damaged => &mut self.damaged_files,
                    Outcome::Other => &mut self.other_files,
                };
                count(counts, generic(path), at);
            }
            Frame::Unreadable { errno, path, .. } => {
                if VANISHED.contains(&errno) && thread::parse_path(path).is_some() {
                    self.vanished_count += 1;
                } else if devices::link_path(path).is_none() {
                    // A link that is down or virtual has no speed: that is no loss.
                    count(&mut self.unreadable, (generic(path), errno), at);
                }
            }
            Frame::End { .. } => {
                self.rows.end(session);
                self.open_since = None;
            }
        }
    }

    fn report_damage(&self, session: &mut Session) {
        for (at, damage) in &self.damage {
            let (kind, message) = match damage {
                Damage::Cut => {
                    ("truncated", "the stream ends within a file: the sampler was killed or the file was cut".into())
                }
                Damage::Skipped(bytes) => {
                    ("damaged", format!("{bytes} bytes are no part of a snapshot and were skipped"))
                }
            };
            session.note(Severity::Error, self.source, kind, Some(*at), message);
        }
        if let (Some(snapshot), true) = (self.open_since, self.damage.is_empty()) {
            let message = format!("snapshot {snapshot} has no end: the recording ended while it was taken");
            session.note(Severity::Info, self.source, "truncated", Some(self.content.len() as u64), message);
        }
        if self.snapshot_count == 0 {
            session.note(Severity::Warning, self.source, "no_records", None, "there is no snapshot in it".into());
        }
    }

    fn report_files(&self, session: &mut Session) {
        for (path, (at, count)) in &self.damaged_files {
            let message = format!("{path} is not as the kernel writes it: it was damaged or cut");
            self.issue(session, Severity::Warning, "damaged_file", *at, *count, message);
        }
        for ((path, errno), (at, count)) in &self.unreadable {
            let message = format!("{path} could not be read while recording (errno {errno})");
            self.issue(session, Severity::Info, "unreadable_file", *at, *count, message);
        }
        if let Some((at, _)) = self.other_files.values().min() {
            let total = self.other_files.values().map(|(_, count)| count).sum();
            let names: Vec<&str> = self.other_files.keys().take(12).map(String::as_str).collect();
            let more = if self.other_files.len() > names.len() { ", …" } else { "" };
            let message = format!("files that no table holds yet stay in the capture: {}{more}", names.join(", "));
            self.issue(session, Severity::Info, "other_files", *at, total, message);
        }
        if self.vanished_count > 0 {
            let message = "files of threads that ended while a snapshot was taken".to_string();
            self.issue(session, Severity::Info, "vanished_thread", 0, self.vanished_count, message);
        }
        if self.rows.unknown_stat_lines > 0 {
            let message = "lines of /proc/stat that this version does not know".to_string();
            self.issue(session, Severity::Info, "unknown_line", 0, self.rows.unknown_stat_lines, message);
        }
        if !self.rows.unknown_memory.is_empty() {
            let names = self.rows.unknown_memory.join(", ");
            let message = format!("lines of /proc/meminfo that have no column: {names}");
            self.issue(session, Severity::Info, "unknown_line", 0, self.rows.unknown_memory.len() as u64, message);
        }
    }

    fn issue(
        &self,
        session: &mut Session,
        severity: Severity,
        kind: &'static str,
        at: u64,
        count: u64,
        message: String,
    ) {
        let source = session.source_name(self.source);
        let byte_offset = (at > 0).then_some(at);
        session.issue(Issue { severity, source, kind, byte_offset, count, message, hint: None });
    }
}

impl Source for Snapshots {
    fn next_ts(&self) -> Option<i64> {
        self.next
    }

    fn step(&mut self, session: &mut Session) {
        let content = self.content.clone();
        let at = self.at;
        if let Some(step) = stream::read(&content, at) {
            self.damage.extend(step.damage.map(|damage| (at as u64, damage)));
            self.at = step.next;
            if let Some(frame) = step.frame {
                self.clock_ns = self.clock_ns.max(frame.clock_ns());
                session.count_record(self.clock_ns, self.source, None);
                self.frame(session, frame, at as u64);
            }
        }
        self.find_next();
    }

    fn finish(&mut self, session: &mut Session) {
        self.rows.end(session);
        self.report_damage(session);
        self.report_files(session);
    }
}

/// A path without the numbers of processes and threads, for counting.
fn generic(path: &str) -> String {
    match thread::parse_path(path) {
        Some(at) if at.tid.is_some() => format!("/proc/PID/task/TID/{}", at.file),
        Some(at) => format!("/proc/PID/{}", at.file),
        None => path.to_string(),
    }
}

fn count<K: Ord>(counts: &mut BTreeMap<K, (u64, u64)>, key: K, at: u64) {
    if counts.len() < PATHS_MAX || counts.contains_key(&key) {
        counts.entry(key).or_insert((at, 0)).1 += 1;
    }
}

#[cfg(test)]
mod tests;
