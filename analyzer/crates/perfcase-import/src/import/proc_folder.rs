//! Folders of copied /proc files, a folder for each moment, as people make them by hand. They become the stream that the
//! sampler writes (`schema/README.md`), and take its way from there.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use perfcase_archive::{ArchiveError, Capture, CaptureKind, Content, Issue, Member, MemberKind};
use perfcase_decode::proc::socket::PATH_UNKNOWN;
use perfcase_decode::proc::socket_text::Sockets;

use super::inputs::note_unreadable;
use super::proc_facts::Boot;
use super::{Opened, bare_source};
use crate::decoders::proc;
use crate::session::Session;

/// The files of one moment, by their paths on the host.
pub(super) type Files = [(String, Content)];

/// Links of a moment's processes that are read: a bound for a folder that goes on and on.
const MOST_LINKS: usize = 1 << 20;

/// One moment: the files of a folder.
struct Moment<'a> {
    folder: &'a str,
    /// Time since its boot.
    uptime_ns: i64,
    boot: Boot,
    files: Vec<(String, Content)>,
}

/// Opens the capture's folders of /proc files: a source for each time that the host was booted.
pub(super) fn open(session: &mut Session, capture: &Capture) -> Result<Vec<Opened>, ArchiveError> {
    let members = capture.members.iter().filter(|member| member.kind == MemberKind::ProcFile);
    let mut contents = Vec::new();
    for member in members {
        match capture.read(member) {
            Ok(content) => contents.push((member, content)),
            Err(error) => note_unreadable(session, member, error)?,
        }
    }
    let Some((first, _)) = contents.first() else { return Ok(Vec::new()) };
    let mut moments = Vec::new();
    for (folder, files) in by_folder(&contents) {
        let Some(uptime_ns) = files.iter().find(|(path, _)| path == "/proc/uptime").and_then(|(_, text)| uptime(text))
        else {
            let message = "nothing says when these files of /proc were copied: they are not read";
            let issue = Issue::error("no_time", message).count(files.len() as u64);
            session.issue(of_folder(issue, folder).hint("copy /proc/uptime together with the other files"));
            continue;
        };
        let (mut files, unread_count) = with_sockets(files);
        if capture.kind == CaptureKind::Folder {
            files.extend(descriptors(&capture.path().join(folder)));
        }
        if unread_count > 0 {
            let message = "lines of sockets are not as ss -n and /proc/net have them: these sockets are missing";
            let issue = Issue::warning("damaged_line", message).count(unread_count);
            session.issue(of_folder(issue, folder).hint("ss with numbers for ports: ss -tiepnO"));
        }
        moments.push(Moment { folder, uptime_ns, boot: Boot::of(&files), files });
    }
    moments.sort_by_key(|moment| (moment.uptime_ns, moment.folder.to_string()));
    for (_, content) in moments.iter().flat_map(|moment| &moment.files).filter(|(path, _)| path == "/proc/version") {
        let release = std::str::from_utf8(content).ok().and_then(|text| text.split(' ').nth(2));
        session.model.host.kernel_release = session.model.host.kernel_release.take().or(release.map(str::to_string));
    }
    // One boot after the other on one axis of time: the clock of the first goes on.
    let mut opened = Vec::new();
    let boots = by_boot(moments);
    for boot in &boots {
        let source = session.source(bare_source(first));
        let shift_ns = boot[0].boot.after(&boots[0][0].boot).unwrap_or(0);
        let is_after_reboot = !opened.is_empty();
        if is_after_reboot {
            let told = format!(
                "{}: this is another boot, or another host, than the moments before: processes are others, and nothing is compared across it",
                boot[0].folder
            );
            session.issue_of(source, Issue::warning("reboot", told));
        }
        let options = proc::Options { is_after_reboot, ..proc::Options::default() };
        opened.push(proc::open(Content::from_bytes(stream(boot, shift_ns)), session, source, options));
    }
    Ok(opened)
}

/// An issue with the files of a folder; those of the capture's own folder have none.
fn of_folder(issue: Issue, folder: &str) -> Issue {
    if folder.is_empty() { issue } else { issue.of(folder) }
}

/// The moments of each boot, the earliest first.
fn by_boot(moments: Vec<Moment<'_>>) -> Vec<Vec<Moment<'_>>> {
    let mut boots: Vec<Vec<Moment<'_>>> = Vec::new();
    for moment in moments {
        match boots.iter_mut().find(|boot| boot[0].boot.is_same(&moment.boot)) {
            Some(boot) => boot.push(moment),
            None => boots.push(vec![moment]),
        }
    }
    boots.sort_by_key(|boot| boot[0].boot.time_s);
    boots
}

/// The files of each folder that has a copy of /proc/stat, by their paths on the host.
fn by_folder<'a>(contents: &[(&'a Member, Content)]) -> BTreeMap<&'a str, Vec<(String, Content)>> {
    let is_root = |(member, content): &&(&Member, Content)| {
        (member.path == "stat" || member.path.ends_with("/stat")) && content.starts_with(b"cpu  ")
    };
    let root = |(member, _): &(&'a Member, Content)| member.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let roots: Vec<&str> = contents.iter().filter(is_root).map(root).collect();
    let mut folders: BTreeMap<&str, Vec<(String, Content)>> = BTreeMap::new();
    for (member, content) in contents {
        let below = |root: &&str| match root.is_empty() {
            true => true,
            false => member.path.strip_prefix(*root).is_some_and(|rest| rest.starts_with('/')),
        };
        // The longest: a folder may hold others.
        let Some(root) = roots.iter().copied().filter(|root| below(root)).max_by_key(|root| root.len()) else {
            continue;
        };
        let name = member.path[root.len()..].trim_start_matches('/');
        folders.entry(root).or_default().push((host_path(name), content.clone()));
    }
    folders
}

/// The files, those with sockets as one, in the recorder's form: of the same socket ss says most, and comes first; and how
/// many lines of sockets could not be read.
fn with_sockets(files: Vec<(String, Content)>) -> (Vec<(String, Content)>, u64) {
    let is_ss = |path: &str| {
        let name = path.strip_prefix("/proc/").filter(|name| !name.contains('/'));
        name.and_then(|name| name.strip_prefix("ss"))
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-', '_']))
    };
    let net = |path: &str| {
        path.strip_prefix("/proc/net/")
            .filter(|name| matches!(*name, "tcp" | "tcp6" | "udp" | "udp6" | "unix"))
            .map(str::to_string)
    };
    let (told, mut others): (Vec<_>, Vec<_>) =
        files.into_iter().partition(|(path, _)| is_ss(path) || net(path).is_some());
    let mut sockets = Sockets::default();
    for (path, content) in
        told.iter().filter(|(path, _)| is_ss(path)).chain(told.iter().filter(|(path, _)| !is_ss(path)))
    {
        let text = String::from_utf8_lossy(content);
        match net(path).as_deref() {
            None => sockets.ss(&text),
            Some("unix") => sockets.unix(&text),
            Some(name) => sockets.inet(name.trim_end_matches('6'), &text),
        }
    }
    let unread_count = sockets.unread_count;
    if !told.is_empty() {
        others.push((PATH_UNKNOWN.to_string(), Content::from_bytes(sockets.into_text().into_bytes())));
    }
    (others, unread_count)
}

/// What the descriptors of each process were: the links below PID/fd, which say it themselves and are not followed.
fn descriptors(folder: &Path) -> Vec<(String, Content)> {
    let mut left = MOST_LINKS;
    let mut files = Vec::new();
    for place in [folder.to_path_buf(), folder.join("pid")] {
        for pid in numbered(&place) {
            let process = place.join(pid.to_string());
            if !is_folder(&process) {
                continue;
            }
            let links = process.join("fd");
            let mut text = Vec::new();
            for number in numbered(&links).into_iter().take(left) {
                let Ok(target) = std::fs::read_link(links.join(number.to_string())) else { continue };
                text.extend_from_slice(format!("{number} ").as_bytes());
                for &byte in target.as_os_str().as_bytes() {
                    match byte {
                        b'\n' => text.extend_from_slice(b"\\012"),
                        b'\\' => text.extend_from_slice(b"\\134"),
                        byte => text.push(byte),
                    }
                }
                text.push(b'\n');
                left -= 1;
            }
            if !text.is_empty() {
                files.push((format!("/proc/{pid}/fd"), Content::from_bytes(text)));
            }
        }
    }
    files
}

/// Whether it is one itself, and no link to one.
fn is_folder(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|of| of.is_dir())
}

/// Entries of a folder that are numbers.
fn numbered(folder: &Path) -> Vec<u32> {
    let entries = is_folder(folder).then(|| std::fs::read_dir(folder).ok()).flatten();
    let names = entries.into_iter().flatten().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut numbers: Vec<u32> = names.take(MOST_LINKS).collect();
    numbers.sort_unstable();
    numbers
}

/// Where the host has the file. Copies in one flat folder have `_` for `/`; processes may lie below `pid`.
fn host_path(name: &str) -> String {
    let name = name.strip_prefix("pid/").unwrap_or(name);
    if let Some(file) = name.strip_prefix("cgroup_") {
        return format!("/sys/fs/cgroup/{file}");
    }
    for folder in ["net", "pressure"] {
        if let Some(file) = name.strip_prefix(folder).and_then(|rest| rest.strip_prefix('_')) {
            return format!("/proc/{folder}/{file}");
        }
    }
    format!("/proc/{name}")
}

/// Seconds since boot, with two digits.
fn uptime(text: &[u8]) -> Option<i64> {
    let word = std::str::from_utf8(text).ok()?.split_ascii_whitespace().next()?;
    let (seconds, digits) = word.split_once('.').unwrap_or((word, ""));
    let fraction: i64 = format!("{digits:0<9}").get(..9)?.parse().ok()?;
    seconds.parse::<i64>().ok()?.checked_mul(1_000_000_000)?.checked_add(fraction).filter(|ns| *ns >= 0)
}

fn stream(moments: &[Moment<'_>], shift_ns: i64) -> Vec<u8> {
    let mut out = Vec::new();
    for (seq, moment) in moments.iter().enumerate() {
        let clock = moment.uptime_ns.saturating_add(shift_ns);
        // Writing to memory does not fail.
        let _ = writeln!(out, "S {clock} 0 {seq}");
        for (path, bytes) in &moment.files {
            let _ = writeln!(out, "F {clock} {} {path}", bytes.len());
            out.extend_from_slice(bytes);
            out.push(b'\n');
        }
        let _ = writeln!(out, "Z {clock} {seq} {} 0", moment.files.len());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_copies() {
        for (name, path) in [
            ("stat", "/proc/stat"),
            ("net_dev", "/proc/net/dev"),
            ("net/dev", "/proc/net/dev"),
            ("pressure_io", "/proc/pressure/io"),
            ("cgroup_cpu.stat", "/sys/fs/cgroup/cpu.stat"),
            ("pid/12/status", "/proc/12/status"),
            ("12/task/13/stat", "/proc/12/task/13/stat"),
            ("network", "/proc/network"),
        ] {
            assert_eq!(host_path(name), path);
        }
    }

    #[test]
    fn times() {
        assert_eq!(uptime(b"108.50 41.74\n"), Some(108_500_000_000));
        assert_eq!(uptime(b"7\n"), Some(7_000_000_000));
        for bad in [&b""[..], b"x", b"-1.00 2", b"1.x", b"99999999999999999.00"] {
            assert_eq!(uptime(bad), None);
        }
    }

    #[test]
    fn links_of_descriptors_are_read_and_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let fd = folder.path().join("12/fd");
        std::fs::create_dir_all(&fd).unwrap();
        for (number, target) in [("10", "pipe:[7]"), ("3", "/var/log/a\nb\\c"), ("x", "/dev/null")] {
            std::os::unix::fs::symlink(target, fd.join(number)).unwrap();
        }
        std::fs::write(fd.join("4"), "no link").unwrap();
        // A process that is a link may lead out of the copy.
        std::os::unix::fs::symlink(folder.path().join("12"), folder.path().join("13")).unwrap();
        let files = descriptors(folder.path());
        assert_eq!(files.len(), 1);
        assert_eq!(
            (files[0].0.as_str(), &files[0].1[..]),
            ("/proc/12/fd", &b"3 /var/log/a\\012b\\134c\n10 pipe:[7]\n"[..])
        );
    }
}
