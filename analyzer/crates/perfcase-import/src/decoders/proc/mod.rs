//! The sampler's stream of /proc and /sys files, to rows of `proc_cpu`, `proc_load`, `proc_memory`, `proc_thread`, ….

mod memory;
mod process;
mod rows;
mod socket;
mod system;

use std::collections::BTreeMap;

use perfcase_archive::{Content, Issue};
use perfcase_decode::proc::socket::parse_path as parse_socket_path;
use perfcase_decode::proc::stream::{self, Damage, Frame};
use perfcase_decode::proc::{devices, page, thread};

use crate::session::{Session, SourceId};
use crate::source::Source;
use rows::{Outcome, Rows};

/// The smallest step of the wall clock, in ns. Smaller differences between the two clocks are normal: they are read one
/// after the other, by a process that may be interrupted.
pub const CLOCK_STEP_NS: u128 = 20_000_000;

/// The most paths that the issues at the end tell apart.
const PATHS_MAX: usize = 1024;

/// What the importer knows and the stream does not say.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// USER_HZ of the recorded host; 100 where it is unknown, which is the value of every current architecture.
    pub clock_ticks_per_s: Option<u64>,
    /// The host was booted before this stream: a process id means another process now.
    pub is_after_reboot: bool,
}

/// Starts to read a stream of snapshots. It never fails: damage becomes issues.
pub fn open(content: Content, session: &mut Session, source: SourceId, options: Options) -> Box<dyn Source> {
    if session.model.host.page_size_bytes.is_none() {
        find_page_size(&content, session, source);
    }
    let ticks_per_s = options.clock_ticks_per_s.filter(|ticks| (1..=1_000_000).contains(ticks)).unwrap_or(100);
    let mut snapshots = Snapshots {
        content,
        at: 0,
        next: None,
        ahead: None,
        clock_ns: i64::MIN,
        source,
        rows: Rows::new(source, ticks_per_s, session.model.host.page_size_bytes),
        open_since: None,
        damage: Vec::new(),
        damaged_files: BTreeMap::new(),
        other_files: BTreeMap::new(),
        unreadable: BTreeMap::new(),
        vanished_count: 0,
        snapshot_count: 0,
        clocks: None,
        is_after_reboot: options.is_after_reboot,
    };
    snapshots.find_next();
    if snapshots.next.is_some() {
        session.timelines.awaited.push(source);
    }
    Box::new(snapshots)
}

/// Works out the size of a page from the first snapshot, where nothing states it.
fn find_page_size(content: &Content, session: &mut Session, source: SourceId) {
    let (mut at, mut files) = (0, Vec::new());
    while let Some(step) = stream::read(content, at) {
        match step.frame {
            Some(Frame::File { path, bytes, .. }) => files.push((path, bytes)),
            Some(Frame::End { .. }) => break,
            _ => {}
        }
        at = step.next;
    }
    session.model.host.page_size_bytes = page::page_size(&files);
    if session.model.host.page_size_bytes.is_none() && page::has_pages(&files) {
        let message = "nothing tells how many bytes a page has: what the kernel counts in pages, as resident memory, is not known";
        let hint = "copy /proc/meminfo and /proc/vmstat together with the other files";
        session.issue_of(source, Issue::warning("page_size_unknown", message).hint(hint));
    }
}

struct Snapshots {
    content: Content,
    /// The place of the next frame.
    at: usize,
    /// Its time.
    next: Option<i64>,
    /// The frame itself, if it is a complete file.
    ahead: Option<stream::FilePlace>,
    /// The latest time: times never go back, even if a damaged line has an earlier one.
    clock_ns: i64,
    source: SourceId,
    rows: Rows,
    /// The number of the snapshot that began and did not end yet.
    open_since: Option<u32>,
    damage: Vec<(u64, Damage)>,
    /// Files by a name without process numbers, with the offset of the first and their number.
    damaged_files: BTreeMap<String, (u64, u64)>,
    other_files: BTreeMap<String, (u64, u64)>,
    unreadable: BTreeMap<(String, i32), (u64, u64)>,
    vanished_count: u64,
    snapshot_count: u64,
    /// CLOCK_MONOTONIC and CLOCK_REALTIME at the beginning of the snapshot before.
    clocks: Option<(i64, i64)>,
    /// True until the first record after a boot: then the processes before it are forgotten.
    is_after_reboot: bool,
}

/// ENOENT and ESRCH: the thread ended after it was listed and before it was read.
const VANISHED: [i32; 2] = [2, 3];

impl Snapshots {
    /// Goes to the next frame, and notes damage before it.
    fn find_next(&mut self) {
        self.next = None;
        while let Some(step) = stream::read(&self.content, self.at) {
            if let Some(frame) = &step.frame {
                self.next = Some(frame.clock_ns().max(self.clock_ns));
                self.ahead = stream::FilePlace::of(&step, &self.content);
                return;
            }
            self.damage.extend(step.damage.map(|damage| (self.at as u64, damage)));
            self.at = step.next;
        }
    }

    /// Reports a step of the wall clock. The capture's own clock did not step, so all intervals are right.
    fn watch_clocks(&mut self, session: &mut Session, clock_ns: i64, realtime_ns: i64, at: u64) {
        let before = self.clocks.replace((clock_ns, realtime_ns));
        // A folder of copies has no wall clock.
        let Some((clock_before, realtime_before)) = before.filter(|_| realtime_ns > 0) else { return };
        let went = i128::from(realtime_ns) - i128::from(realtime_before);
        let step_ns = went - (i128::from(clock_ns) - i128::from(clock_before));
        if step_ns.unsigned_abs() >= CLOCK_STEP_NS {
            let between = [clock_before, clock_ns].map(|ns| seconds(i128::from(ns) - i128::from(session.start_ns())));
            let or_slept = if step_ns > 0 { ", or the host was suspended" } else { "" };
            let message = format!(
                "the wall clock was stepped by {} s between {} and {} s of the capture{or_slept}: intervals are of the monotonic \
                 clock and hold, wall-clock times after it are those of the clock before",
                signed_seconds(step_ns),
                between[0],
                between[1]
            );
            session.issue_of(self.source, Issue::warning("clock_step", message).at(at));
        }
    }

    fn frame(&mut self, session: &mut Session, frame: Frame<'_>, at: u64) {
        match frame {
            Frame::Start { seq, clock_ns, realtime_ns } => {
                self.watch_clocks(session, clock_ns, realtime_ns, at);
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
                    // A link that is down or virtual has no speed: this is no loss.
                    count(&mut self.unreadable, (generic(path), errno), at);
                }
            }
            Frame::End { .. } => {
                session.timelines.awaited.retain(|&source| source != self.source);
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
            session.issue_of(self.source, Issue::error(kind, message).at(*at));
        }
        if let (Some(snapshot), true) = (self.open_since, self.damage.is_empty()) {
            let message = format!("snapshot {snapshot} has no end: the recording ended while it was taken");
            session.issue_of(self.source, Issue::info("truncated", message).at(self.content.len() as u64));
        }
        if self.snapshot_count == 0 {
            session.issue_of(self.source, Issue::warning("no_records", "there is no snapshot in it"));
        }
    }

    fn report_files(&self, session: &mut Session) {
        let mut issue = |issue| session.issue_of(self.source, issue);
        for (path, (at, count)) in &self.damaged_files {
            let message = format!("{path} is not as the kernel writes it: it was damaged or cut");
            issue(Issue::warning("damaged_file", message).at(place(*at)).count(*count));
        }
        for ((path, errno), (at, count)) in &self.unreadable {
            let message = format!("{path} could not be read while recording (errno {errno})");
            issue(Issue::info("unreadable_file", message).at(place(*at)).count(*count));
        }
        if let Some((at, _)) = self.other_files.values().min() {
            let total = self.other_files.values().map(|(_, count)| count).sum();
            let names: Vec<&str> = self.other_files.keys().take(12).map(String::as_str).collect();
            let more = if self.other_files.len() > names.len() { ", …" } else { "" };
            let message = format!("files that no table holds yet stay in the capture: {}{more}", names.join(", "));
            issue(Issue::info("other_files", message).at(place(*at)).count(total));
        }
        if self.vanished_count > 0 {
            let message = "files of threads that ended while a snapshot was taken";
            issue(Issue::info("vanished_thread", message).count(self.vanished_count));
        }
        let [(_, namespaces), (_, processes)] = self.rows.networks_left_out;
        if namespaces > 0 {
            let message =
                "network namespaces of recorded processes whose counters were not read: there were too many at once";
            let hint = "record fewer containers with --cgroup or --pid";
            issue(Issue::info("networks_left_out", message).count(namespaces.unsigned_abs()).hint(hint));
        }
        if processes > 0 {
            let message =
                "processes whose network namespace the recorder was not allowed to see: its counters were not read";
            issue(Issue::info("networks_left_out", message).count(processes.unsigned_abs()));
        }
        let [(_, foreign), (_, surplus), (_, silent)] = self.rows.file_systems_left_out;
        let mut left_out = |count: i64, why: &str| {
            if count > 0 {
                let message = format!("file systems of which it is not known how full they are: {why}");
                issue(Issue::info("file_systems_left_out", message).count(count.unsigned_abs()));
            }
        };
        left_out(
            foreign,
            "they are not on a device of this host (a network, FUSE), or below such a one, and were not asked",
        );
        left_out(surplus, "there were too many");
        left_out(silent, "they did not answer in a second, or refused to");
        if self.rows.unknown_stat_lines > 0 {
            let message = "lines of /proc/stat that this version does not know";
            issue(Issue::info("unknown_line", message).count(self.rows.unknown_stat_lines));
        }
        if !self.rows.unknown_memory.is_empty() {
            let names = self.rows.unknown_memory.join(", ");
            let message = format!("lines of /proc/meminfo that have no column: {names}");
            issue(Issue::info("unknown_line", message).count(self.rows.unknown_memory.len() as u64));
        }
    }
}

impl Source for Snapshots {
    fn next_ts(&self) -> Option<i64> {
        self.next
    }

    fn step(&mut self, session: &mut Session) {
        let content = self.content.clone();
        let at = self.at;
        let found = self.ahead.take().and_then(|ahead| ahead.step(&content));
        if let Some(step) = found.or_else(|| stream::read(&content, at)) {
            self.damage.extend(step.damage.map(|damage| (at as u64, damage)));
            self.at = step.next;
            if let Some(frame) = step.frame {
                self.clock_ns = self.clock_ns.max(frame.clock_ns());
                if std::mem::take(&mut self.is_after_reboot) {
                    session.model.threads.forget();
                }
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

/// Writes seconds with three decimals.
fn seconds(ns: i128) -> String {
    format!("{}{}.{:03}", if ns < 0 { "-" } else { "" }, ns.abs() / 1_000_000_000, ns.abs() / 1_000_000 % 1000)
}

/// Writes seconds with a sign, for a difference.
pub fn signed_seconds(ns: i128) -> String {
    format!("{}{}", if ns < 0 { "" } else { "+" }, seconds(ns))
}

/// Gives a path without the numbers of processes, threads and network namespaces, for counts.
fn generic(path: &str) -> String {
    match thread::parse_path(path) {
        Some(at) if at.tid.is_some() => format!("/proc/PID/task/TID/{}", at.file),
        Some(at) => format!("/proc/PID/{}", at.file),
        None => match parse_socket_path(path) {
            Some((_, name)) => format!("/perfcase/netns/INODE/{name}"),
            None => path.to_string(),
        },
    }
}

/// Gives the place of a file. The first byte of a stream is in no file.
fn place(at: u64) -> Option<u64> {
    (at > 0).then_some(at)
}

fn count<K: Ord>(counts: &mut BTreeMap<K, (u64, u64)>, key: K, at: u64) {
    if counts.len() < PATHS_MAX || counts.contains_key(&key) {
        counts.entry(key).or_insert((at, 0)).1 += 1;
    }
}

#[cfg(test)]
mod tests;
