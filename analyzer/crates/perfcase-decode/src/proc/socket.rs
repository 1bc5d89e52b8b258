//! The recorder's list of sockets in a network namespace (schema/README.md): `key=value` words, a socket a line.

use std::borrow::Cow;
use std::str::FromStr;

use hashbrown::HashMap;

use super::text::unescape;

/// The path of sockets of an unknown namespace: those of a folder of copies.
pub const PATH_UNKNOWN: &str = "/perfcase/netns/unknown/sockets";

/// The most words of a line that are read.
const MOST_WORDS: usize = 96;

/// Gives the inode of the namespace and what is told of it in `/perfcase/netns/INODE/sockets`; `None` as the inode where it
/// is unknown.
pub fn parse_path(path: &str) -> Option<(Option<u64>, &str)> {
    if path == PATH_UNKNOWN {
        return Some((None, "sockets"));
    }
    let (inode, name) = path.strip_prefix("/perfcase/netns/")?.split_once('/')?;
    Some((Some(inode.parse().ok()?), name))
}

/// Gives the inode that the link /proc/PID/ns/net names: `net:[4026531840]`.
pub fn parse_link(target: &[u8]) -> Option<u64> {
    std::str::from_utf8(target).ok()?.strip_prefix("net:[")?.strip_suffix(']')?.parse().ok()
}

/// Reads the list: a socket for each line, `None` for a line that is no socket.
pub fn parse(text: &[u8]) -> impl Iterator<Item = Option<Socket<'_>>> {
    let lines = text.split(|&b| b == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| std::str::from_utf8(line).ok().and_then(Socket::parse))
}

/// A socket: its words by their keys. A socket has `family`, `protocol` and `state`.
#[derive(Clone, Debug)]
pub struct Socket<'a> {
    words: HashMap<&'a str, &'a str>,
}

impl<'a> Socket<'a> {
    fn parse(line: &'a str) -> Option<Socket<'a>> {
        let words = line.split(' ').take(MOST_WORDS).filter_map(|word| word.split_once('='));
        let words: HashMap<&str, &str> = words.collect();
        ["family", "protocol", "state"].iter().all(|key| words.contains_key(key)).then_some(Socket { words })
    }

    /// Gives the word of that key, with its escapes.
    pub fn symbol(&self, key: &str) -> Option<&'a [u8]> {
        self.words.get(key).map(|word| word.as_bytes())
    }

    /// Gives the word of that key, without escapes.
    pub fn text(&self, key: &str) -> Option<Cow<'a, str>> {
        self.words.get(key).map(|word| unescape(word))
    }

    /// Gives the word of that key as a number, in the unit at the end of the key.
    pub fn number<T: FromStr>(&self, key: &str) -> Option<T> {
        self.words.get(key).and_then(|word| word.parse().ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths() {
        assert_eq!(parse_path("/perfcase/netns/4026531840/sockets"), Some((Some(4_026_531_840), "sockets")));
        assert_eq!(parse_path(PATH_UNKNOWN), Some((None, "sockets")));
        assert_eq!(parse_path("/perfcase/netns/7/snmp"), Some((Some(7), "snmp")));
        assert_eq!(parse_path("/perfcase/netns/x/sockets"), None);
        assert_eq!(parse_link(b"net:[7]"), Some(7));
        assert_eq!([&b"net:[7"[..], b"mnt:[7]", b"net:[-7]", b"net:[\xff]", b""].map(parse_link), [None; 5]);
        assert_eq!(parse_path("/proc/net/tcp"), None);
    }

    #[test]
    fn sockets_and_other_lines() {
        let text = b"family=inet protocol=tcp state=ESTAB local_address=::1 local_port=80 rtt_ns=x\n\n\
                     family=unix protocol=stream state=LISTEN local_address=@a\\040b inode=0\nfamily=inet\n\xff\n";
        let sockets: Vec<Option<Socket<'_>>> = parse(text).collect();
        assert_eq!(sockets.iter().map(Option::is_some).collect::<Vec<_>>(), [true, true, false, false]);
        let (tcp, unix) = (sockets[0].as_ref().unwrap(), sockets[1].as_ref().unwrap());
        assert_eq!((tcp.symbol("state"), tcp.number("local_port")), (Some(&b"ESTAB"[..]), Some(80)));
        assert_eq!((tcp.number::<i64>("rtt_ns"), tcp.number::<u64>("inode")), (None, None));
        assert_eq!((unix.text("local_address").as_deref(), unix.number("inode")), (Some("@a b"), Some(0)));
    }
}
