//! The links below /proc/PID/fd: a line each, `FD TARGET` (schema/README.md).

use std::borrow::Cow;

use super::text::unescape;

/// The kind of a socket.
pub const SOCKET: &str = "socket";

/// An open file descriptor.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Link<'a> {
    /// The descriptor.
    pub fd: i32,
    /// The link's text.
    pub target: Cow<'a, str>,
    /// The kind of its file: [`SOCKET`], `pipe`, `memfd`, `device`, `file`, or the name of an anonymous inode.
    pub kind: &'a str,
    /// Inode of a socket or pipe.
    pub inode: Option<u64>,
}

/// Reads the links. Other lines are left out.
pub fn parse(text: &[u8]) -> Vec<Link<'_>> {
    text.split(|&b| b == b'\n').filter_map(parse_link).collect()
}

/// Writes a link as the recorder does: a line that [`parse`] reads. `target` may be any bytes.
pub fn write(out: &mut Vec<u8>, fd: u32, target: &[u8]) {
    out.extend_from_slice(format!("{fd} ").as_bytes());
    for &byte in target {
        match byte {
            b'\n' => out.extend_from_slice(b"\\012"),
            b'\\' => out.extend_from_slice(b"\\134"),
            byte => out.push(byte),
        }
    }
    out.push(b'\n');
}

fn parse_link(line: &[u8]) -> Option<Link<'_>> {
    let line = std::str::from_utf8(line).ok()?;
    let (fd, target) = line.split_once(' ')?;
    let fd = fd.parse().ok()?;
    let (kind, inode) = kind(target);
    Some(Link { fd, target: unescape(target), kind, inode })
}

/// The kind of the file that a link leads to, and the inode of a socket or pipe.
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
        let mut text = Vec::new();
        write(&mut text, 8, b"/a\nb\\c d");
        assert_eq!(text, b"8 /a\\012b\\134c d\n");
        assert_eq!(parse(&text)[0].target, "/a\nb\\c d");
    }
}
