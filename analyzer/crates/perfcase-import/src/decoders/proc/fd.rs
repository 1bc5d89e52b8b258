//! The links below /proc/PID/fd: a line each, `FD TARGET` (schema/README.md).

use super::process::unescape;
use super::system::At;
use crate::session::Upid;
use crate::tables::ProcFdRow;

/// The kind of a socket.
pub const SOCKET: &str = "socket";

/// An open file descriptor.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Link<'a> {
    /// The descriptor.
    pub fd: i32,
    /// What the link says.
    pub target: std::borrow::Cow<'a, str>,
    /// What it is.
    pub kind: &'a str,
    /// Inode of a socket or pipe.
    pub inode: Option<u64>,
}

impl Link<'_> {
    /// Its row.
    pub fn row(&self, at: At, upid: Upid, pid: i32) -> ProcFdRow<'_> {
        ProcFdRow {
            ts_ns: at.ts_ns,
            snapshot: at.snapshot,
            source_id: at.source_id,
            upid,
            pid,
            fd: self.fd,
            target: &self.target,
            kind: self.kind.as_bytes(),
            inode: self.inode,
        }
    }
}

/// Reads a line; `None` when it is none.
pub fn parse_link(line: &[u8]) -> Option<Link<'_>> {
    let line = std::str::from_utf8(line).ok()?;
    let (fd, target) = line.split_once(' ')?;
    let fd = fd.parse().ok()?;
    let (kind, inode) = kind(target);
    Some(Link { fd, target: unescape(target), kind, inode })
}

/// What a link's text says that the descriptor is.
fn kind(target: &str) -> (&str, Option<u64>) {
    for kind in [SOCKET, "pipe"] {
        let inode = target.strip_prefix(kind).and_then(|rest| rest.strip_prefix(":[")?.strip_suffix(']'));
        if let Some(inode) = inode.and_then(|inode| inode.parse().ok()) {
            return (kind, Some(inode));
        }
    }
    if let Some(name) = target.strip_prefix("anon_inode:") {
        let name = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
        return (name, None);
    }
    if target.starts_with("/memfd:") {
        ("memfd", None)
    } else if target.starts_with("/dev/") && !target.starts_with("/dev/shm/") {
        ("device", None)
    } else {
        // Also a namespace such as net:[4026531840], which is a file of nsfs.
        ("file", None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_say_what_they_are() {
        for (line, kind, inode, target) in [
            ("0 /dev/null", "device", None, "/dev/null"),
            ("3 socket:[123]", "socket", Some(123), "socket:[123]"),
            ("4 pipe:[9]", "pipe", Some(9), "pipe:[9]"),
            ("5 anon_inode:[eventfd]", "eventfd", None, "anon_inode:[eventfd]"),
            ("6 anon_inode:inotify", "inotify", None, "anon_inode:inotify"),
            ("7 /memfd:x (deleted)", "memfd", None, "/memfd:x (deleted)"),
            ("8 /a\\012b\\134c d", "file", None, "/a\nb\\c d"),
            ("9 net:[4026531840]", "file", None, "net:[4026531840]"),
            ("10 /dev/shm/q", "file", None, "/dev/shm/q"),
        ] {
            let link = parse_link(line.as_bytes()).unwrap();
            assert_eq!((link.kind, link.inode, &*link.target), (kind, inode, target), "{line}");
        }
        for bad in [&b""[..], b"x /a", b"5", b"\xff \xfe"] {
            assert_eq!(parse_link(bad), None);
        }
    }
}
