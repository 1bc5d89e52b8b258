//! Folders of copied /proc files, a folder for each moment, as people make them by hand. They become a stream as the
//! sampler writes it (`schema/README.md`), and the decoder of this stream reads them.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use perfcase_archive::{ArchiveError, Capture, CaptureKind, Content, Issue, Member, MemberKind};
use perfcase_decode::proc::copies::{Boot, host_path, is_host_stat, release, uptime};
use perfcase_decode::proc::socket::PATH_UNKNOWN;
use perfcase_decode::proc::socket_text::{Sockets, Text};
use perfcase_decode::proc::{fd, stream};

use super::inputs::note_unreadable;
use super::{Opened, bare_source};
use crate::decoders::proc;
use crate::session::Session;

/// The files of one moment, by their paths on the host.
pub(super) type Files = [(String, Content)];

/// The most links of a moment's processes: a bound for hostile folders.
const MOST_LINKS: usize = 1 << 20;

/// One moment: the files of a folder.
struct Moment<'a> {
    folder: &'a str,
    /// Time since its boot, in ns.
    uptime_ns: i64,
    boot: Boot,
    files: Vec<(String, Content)>,
}

/// Opens the capture's folders of /proc files: a source for each boot of the host.
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
        moments.push(Moment { folder, uptime_ns, boot: Boot::of(&by_path(&files).collect::<Vec<_>>()), files });
    }
    moments.sort_by_key(|moment| (moment.uptime_ns, moment.folder.to_string()));
    for (_, content) in moments.iter().flat_map(|moment| &moment.files).filter(|(path, _)| path == "/proc/version") {
        let release = release(content).map(str::to_string);
        session.model.host.kernel_release = session.model.host.kernel_release.take().or(release);
    }
    // All boots are on one axis of time: the clock of the first boot continues.
    let mut opened = Vec::new();
    let boots = by_boot(moments);
    for boot in &boots {
        let source = session.source(bare_source(first));
        let shift_ns = boot[0].boot.after_ns(&boots[0][0].boot).unwrap_or(0);
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

/// Gives an issue with the files of a folder its source: the folder, if it is not the capture's own.
fn of_folder(issue: Issue, folder: &str) -> Issue {
    if folder.is_empty() { issue } else { issue.of(folder) }
}

/// Sorts the moments by boot, the earliest boot first.
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

/// Gives the files of each folder with a copy of /proc/stat, by their paths on the host.
fn by_folder<'a>(contents: &[(&'a Member, Content)]) -> BTreeMap<&'a str, Vec<(String, Content)>> {
    let is_root = |(member, content): &&(&Member, Content)| is_host_stat(&member.path, content);
    let root = |(member, _): &(&'a Member, Content)| member.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let roots: Vec<&str> = contents.iter().filter(is_root).map(root).collect();
    let mut folders: BTreeMap<&str, Vec<(String, Content)>> = BTreeMap::new();
    for (member, content) in contents {
        let below = |root: &&str| match root.is_empty() {
            true => true,
            false => member.path.strip_prefix(*root).is_some_and(|rest| rest.starts_with('/')),
        };
        // The longest: a folder may contain others.
        let Some(root) = roots.iter().copied().filter(|root| below(root)).max_by_key(|root| root.len()) else {
            continue;
        };
        let name = member.path[root.len()..].trim_start_matches('/');
        folders.entry(root).or_default().push((host_path(name), content.clone()));
    }
    folders
}

/// Replaces the files with sockets by one file in the recorder's form; also gives the number of unreadable lines of
/// sockets.
fn with_sockets(files: Vec<(String, Content)>) -> (Vec<(String, Content)>, u64) {
    let (texts, mut others): (Vec<_>, Vec<_>) = files.into_iter().partition(|(path, _)| Text::of_path(path).is_some());
    let mut of_sockets: Vec<_> =
        texts.iter().filter_map(|(path, content)| Some((Text::of_path(path)?, content))).collect();
    // ss has the most figures of a socket.
    of_sockets.sort_by_key(|(kind, _)| *kind != Text::Ss);
    let mut sockets = Sockets::default();
    for (kind, content) in of_sockets {
        sockets.read(kind, &String::from_utf8_lossy(content));
    }
    let unread_count = sockets.unread_count;
    if !texts.is_empty() {
        others.push((PATH_UNKNOWN.to_string(), Content::from_bytes(sockets.into_text().into_bytes())));
    }
    (others, unread_count)
}

/// Gives the descriptors of each process: the texts of the links below PID/fd. The links are not followed.
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
                fd::write(&mut text, number, target.as_os_str().as_bytes());
                left -= 1;
            }
            if !text.is_empty() {
                files.push((format!("/proc/{pid}/fd"), Content::from_bytes(text)));
            }
        }
    }
    files
}

/// Tells whether a path is a folder, and not a link to one.
fn is_folder(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|of| of.is_dir())
}

/// Gives the entries of a folder that are numbers.
fn numbered(folder: &Path) -> Vec<u32> {
    let entries = is_folder(folder).then(|| std::fs::read_dir(folder).ok()).flatten();
    let names = entries.into_iter().flatten().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut numbers: Vec<u32> = names.take(MOST_LINKS).collect();
    numbers.sort_unstable();
    numbers
}

/// Makes the stream of snapshots from the moments.
fn stream(moments: &[Moment<'_>], shift_ns: i64) -> Vec<u8> {
    let mut out = Vec::new();
    for (seq, moment) in moments.iter().enumerate() {
        stream::write(&mut out, moment.uptime_ns.saturating_add(shift_ns), seq, by_path(&moment.files));
    }
    out
}

/// Gives the paths and bytes of files.
fn by_path(files: &Files) -> impl Iterator<Item = (&str, &[u8])> {
    files.iter().map(|(path, content)| (path.as_str(), &content[..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_of_descriptors_are_read_and_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let fd = folder.path().join("12/fd");
        std::fs::create_dir_all(&fd).unwrap();
        for (number, target) in [("10", "pipe:[7]"), ("3", "/var/log/a\nb\\c"), ("x", "/dev/null")] {
            std::os::unix::fs::symlink(target, fd.join(number)).unwrap();
        }
        std::fs::write(fd.join("4"), "no link").unwrap();
        // A link instead of a process may lead out of the copy.
        std::os::unix::fs::symlink(folder.path().join("12"), folder.path().join("13")).unwrap();
        let files = descriptors(folder.path());
        assert_eq!(files.len(), 1);
        assert_eq!(
            (files[0].0.as_str(), &files[0].1[..]),
            ("/proc/12/fd", &b"3 /var/log/a\\012b\\134c\n10 pipe:[7]\n"[..])
        );
    }
}
