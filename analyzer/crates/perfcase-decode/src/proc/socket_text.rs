//! Sockets as people copy them: the output of `ss`, and /proc/net/{tcp,udp,tcp6,udp6,unix}. They become lines of the
//! recorder (schema/README.md), which [`super::socket`] reads. Formats: ss(8) and iproute2's ss.c;
//! Documentation/networking/proc_net_tcp.rst.

use std::collections::HashSet;
use std::net::{Ipv4Addr, Ipv6Addr};

/// The most sockets of one moment. The recorder has the same bound.
const SOCKETS_MAX: usize = 50_000;

/// The kernel's numbers of states, by ss's names.
const STATES: [&str; 13] = [
    "UNKNOWN",
    "ESTAB",
    "SYN-SENT",
    "SYN-RECV",
    "FIN-WAIT-1",
    "FIN-WAIT-2",
    "TIME-WAIT",
    "UNCONN",
    "CLOSE-WAIT",
    "LAST-ACK",
    "LISTEN",
    "CLOSING",
    "SYN-RECV",
];

/// The kinds of sockets that the table has.
const NETIDS: [&str; 5] = ["tcp", "udp", "u_str", "u_dgr", "u_seq"];

/// The numbers that ss prints as `name:number`, the recorder's key, and the factor to its unit.
const NUMBERS: &[(&str, &str, f64)] = &[
    ("uid", "user_id", 1.0),
    ("rto", "rto_ns", 1e6),
    ("ato", "ato_ns", 1e6),
    ("mss", "mss_bytes", 1.0),
    ("cwnd", "congestion_window_count", 1.0),
    ("ssthresh", "slow_start_threshold_count", 1.0),
    ("bytes_sent", "sent_bytes", 1.0),
    ("bytes_retrans", "retransmitted_bytes", 1.0),
    ("bytes_acked", "acknowledged_bytes", 1.0),
    ("bytes_received", "received_bytes", 1.0),
    ("segs_out", "segment_sent_count", 1.0),
    ("segs_in", "segment_received_count", 1.0),
    ("lastsnd", "last_send_ns", 1e6),
    ("lastrcv", "last_receive_ns", 1e6),
    ("minrtt", "min_rtt_ns", 1e6),
    ("unacked", "unacknowledged_count", 1.0),
    ("lost", "lost_count", 1.0),
    ("reordering", "reordering_count", 1.0),
    ("notsent", "unsent_bytes", 1.0),
    ("busy", "busy_ns", 1e6),
    ("rwnd_limited", "receiver_limited_ns", 1e6),
    ("sndbuf_limited", "buffer_limited_ns", 1e6),
];

/// ss leaves these out when they are 0.
const LEFT_OUT: &[&str] = &[
    "sent_bytes",
    "retransmitted_bytes",
    "acknowledged_bytes",
    "received_bytes",
    "segment_sent_count",
    "segment_received_count",
    "unacknowledged_count",
    "lost_count",
    "retransmit_count",
    "unsent_bytes",
];

/// A text with sockets.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Text<'a> {
    /// The output of ss.
    Ss,
    /// /proc/net/{tcp,tcp6,udp,udp6}: the protocol.
    Inet(&'a str),
    /// Reads /proc/net/unix.
    Unix,
}

impl Text<'_> {
    /// Gives the kind of a copied file by its path on the host. The output of ss may be called `ss`, `ss.txt`, `ss-t`
    /// or `ss_t`.
    pub fn of_path(path: &str) -> Option<Text<'_>> {
        let name = path.strip_prefix("/proc/")?;
        match name.strip_prefix("net/") {
            Some("unix") => Some(Text::Unix),
            Some("tcp" | "tcp6") => Some(Text::Inet("tcp")),
            Some("udp" | "udp6") => Some(Text::Inet("udp")),
            _ => {
                let rest = name.strip_prefix("ss").filter(|rest| !rest.contains('/'))?;
                (rest.is_empty() || rest.starts_with(['.', '-', '_'])).then_some(Text::Ss)
            }
        }
    }
}

/// The sockets of one moment. Each is here once: its first text counts.
#[derive(Default)]
pub struct Sockets {
    lines: String,
    seen: HashSet<String>,
    /// The number of lines of sockets that the kernel and ss do not write like this.
    pub unread_count: u64,
}

impl Sockets {
    /// Reads a text. The first text with a socket counts: read the output of ss first, which has the most figures.
    pub fn read(&mut self, kind: Text<'_>, text: &str) {
        match kind {
            Text::Ss => self.ss(text),
            Text::Inet(protocol) => self.inet(protocol, text),
            Text::Unix => self.unix(text),
        }
    }

    /// Gives all sockets in the recorder's form.
    pub fn into_text(self) -> String {
        self.lines
    }

    /// Adds a socket: its family, state and addresses (`named`), further figures, and its holders (process,
    /// descriptor). A socket is known by its inode, or by its addresses if it has no inode.
    fn add(&mut self, named: &str, inode: Option<u64>, more: &str, holders: &[(i32, i32)]) {
        let known = inode.map_or_else(String::new, |inode| format!("{named} inode={inode}"));
        if self.seen.len() >= SOCKETS_MAX
            || self.seen.contains(named)
            || !self.seen.insert(known.clone()) && inode.is_some()
        {
            return;
        }
        let identity = if inode.is_some() { &known } else { named };
        self.seen.insert(identity.to_string());
        let mut line = |holder: &str| {
            self.lines += identity;
            self.lines += more;
            self.lines += holder;
            self.lines.push('\n');
        };
        if holders.is_empty() {
            line("");
        }
        for (pid, fd) in holders {
            line(&format!(" pid={pid} fd={fd}"));
        }
    }

    /// Reads the output of `ss`. The inner state of a connection may be on its own line, which is indented.
    fn ss(&mut self, text: &str) {
        let mut whole: Vec<String> = Vec::new();
        for line in text.lines() {
            match whole.last_mut() {
                Some(last) if line.starts_with([' ', '\t']) => {
                    last.push(' ');
                    last.push_str(line);
                }
                _ => whole.push(line.to_string()),
            }
        }
        for line in &whole {
            // Neither a heading nor a kind of socket that the table does not have.
            let first = line.split_ascii_whitespace().next().unwrap_or_default();
            let is_socket = STATES.contains(&first) || NETIDS.contains(&first);
            self.unread_count += u64::from(self.ss_line(line).is_none() && is_socket);
        }
    }

    fn ss_line(&mut self, line: &str) -> Option<()> {
        let (line, holders) = without_users(line);
        let mut words: Vec<&str> = line.split_ascii_whitespace().take(256).collect();
        let netid = words.first().copied().filter(|word| NETIDS.contains(word));
        if netid.is_some() {
            words.remove(0);
        }
        let (state, received, sent) = (*words.first()?, *words.get(1)?, *words.get(2)?);
        // Headings, and kinds of sockets that the table does not have.
        STATES.contains(&state).then_some(())?;
        let mut more = format!(" recv_queue_bytes={} send_queue_bytes={}", number(received)?, number(sent)?);
        let (named, inode, rest) = match netid {
            Some("u_str" | "u_dgr" | "u_seq") => {
                let protocol = match netid {
                    Some("u_str") => "stream",
                    Some("u_dgr") => "dgram",
                    _ => "seqpacket",
                };
                let rest = &words[3..];
                // NAME INODE PEER INODE; a name may have spaces.
                let is_number = |word: &&str| word.parse::<u64>().is_ok();
                let at = (1..rest.len()).find(|&at| is_number(&rest[at]) && rest.get(at + 2).is_some_and(is_number))?;
                let name = rest[..at].join(" ");
                more += &format!(" peer_inode={}", rest[at + 2]);
                (unix(protocol, state, if name == "*" { "" } else { &name }), number(rest[at]), &rest[at + 3..])
            }
            _ => {
                let (local, peer) = (Address::of_ss(words.get(3)?)?, Address::of_ss(words.get(4)?)?);
                let protocol = netid.unwrap_or(if state == "UNCONN" { "udp" } else { "tcp" });
                let inode =
                    words.iter().find_map(|word| number(word.strip_prefix("ino:")?)).filter(|&inode| inode != 0);
                (inet(protocol, state, &local, &peer), inode, &words[5..])
            }
        };
        ss_words(rest, &mut more);
        self.add(&named, inode, &more, &holders);
        Some(())
    }

    /// Reads /proc/net/tcp, tcp6, udp, udp6. Their addresses are hexadecimal, as a little-endian host prints them.
    fn inet(&mut self, protocol: &str, text: &str) {
        for line in text.lines() {
            let words: Vec<&str> = line.split_ascii_whitespace().take(32).collect();
            let is_socket = words.first().is_some_and(|word| word.ends_with(':'));
            self.unread_count += u64::from(self.inet_line(protocol, &words).is_none() && is_socket);
        }
    }

    fn inet_line(&mut self, protocol: &str, words: &[&str]) -> Option<()> {
        words.first()?.strip_suffix(':')?.parse::<u32>().ok()?;
        let (local, peer) = (Address::of_proc(words.get(1)?)?, Address::of_proc(words.get(2)?)?);
        let state = STATES.get(usize::from_str_radix(words.get(3)?, 16).ok()?)?;
        let hex = |text: &str| u32::from_str_radix(text, 16).ok();
        let (sent, received) = words.get(4)?.split_once(':')?;
        let mut more = format!(" recv_queue_bytes={}", hex(received)?);
        // For a listening socket ss has its backlog there; these files have 0 (get_tcp4_sock in net/ipv4/tcp_ipv4.c).
        let sent = hex(sent)?;
        if *state != "LISTEN" {
            more += &format!(" send_queue_bytes={sent}");
        }
        let (timer, when) = words.get(5)?.split_once(':')?;
        if let Some(timer) = ["on", "keepalive", "timewait", "persist"].get((hex(timer)? as usize).wrapping_sub(1))
            && protocol == "tcp"
        {
            // The unit is a hundredth of a second, independent of the kernel's tick.
            more += &format!(" timer={timer} timer_ns={}", u64::from(hex(when)?) * 10_000_000);
        }
        if protocol == "tcp" {
            more += &format!(" retransmit_now_count={}", hex(words.get(6)?)?);
        } else if let Some(drops) = words.get(12).and_then(|word| number(word)) {
            more += &format!(" drop_count={drops}");
        }
        more += &format!(" user_id={}", number(words.get(7)?)?);
        let inode = number(words.get(9)?).filter(|&inode| inode != 0);
        self.add(&inet(protocol, state, &local, &peer), inode, &more, &[]);
        Some(())
    }

    /// Reads /proc/net/unix.
    fn unix(&mut self, text: &str) {
        for line in text.lines() {
            let is_socket = line.split_ascii_whitespace().next().is_some_and(|word| word.ends_with(':'));
            self.unread_count += u64::from(self.unix_line(line).is_none() && is_socket);
        }
    }

    fn unix_line(&mut self, line: &str) -> Option<()> {
        let words: Vec<&str> = line.split_ascii_whitespace().take(7).collect();
        let hex = |at: usize| u64::from_str_radix(words.get(at)?, 16).ok();
        words.first()?.strip_suffix(':')?;
        let protocol = match hex(4)? {
            1 => "stream",
            2 => "dgram",
            5 => "seqpacket",
            _ => return None,
        };
        // SS_UNCONNECTED, SS_CONNECTING, SS_CONNECTED, SS_DISCONNECTING; __SO_ACCEPTCON.
        let state = match (hex(3)? & 0x1_0000, hex(5)?) {
            (0, 3) => "ESTAB",
            (0, 2) => "SYN-SENT",
            (0, 4) => "CLOSING",
            (0, _) => "UNCONN",
            _ => "LISTEN",
        };
        let inode = words.get(6)?;
        let after = inode.as_ptr() as usize - line.as_ptr() as usize + inode.len();
        let name = line[after..].strip_prefix(' ').unwrap_or("");
        self.add(&unix(protocol, state, name), Some(number(inode)?), "", &[]);
        Some(())
    }
}

/// Splits `users:(("name",pid=1,fd=2),("name",pid=1,fd=3))` off a line; gives the rest, and these processes and
/// descriptors.
fn without_users(line: &str) -> (String, Vec<(i32, i32)>) {
    let Some((before, (list, after))) = line.split_once("users:((").and_then(|(a, b)| Some((a, b.split_once("))")?)))
    else {
        return (line.to_string(), Vec::new());
    };
    let holder = |text: &str| {
        let (pid, fd) = text.split_once(",fd=")?;
        Some((pid.parse().ok()?, fd.split(')').next()?.parse().ok()?))
    };
    (format!("{before}{after}"), list.split(",pid=").skip(1).take(4096).filter_map(holder).collect())
}

/// Reads the words of ss behind the addresses.
fn ss_words(words: &[&str], more: &mut String) {
    let mut has_info = false;
    for (at, word) in words.iter().enumerate() {
        let next = words.get(at + 1).copied().unwrap_or_default();
        match word.split_once(':') {
            Some(("timer", list)) => {
                let mut parts = list.trim_matches(['(', ')']).split(',');
                let (name, when, again) = (parts.next(), parts.next(), parts.next());
                if let Some(name) = name.filter(|name| *name != "off") {
                    *more += &format!(" timer={name}");
                    *more += &when
                        .and_then(milliseconds)
                        .map_or(String::new(), |ms| format!(" timer_ns={}", ms * 1_000_000));
                    *more += &again.and_then(number).map_or(String::new(), |n| format!(" retransmit_now_count={n}"));
                }
            }
            Some(("skmem", list)) => {
                for (name, key) in [
                    ("r", "recv_memory_bytes"),
                    ("rb", "recv_buffer_bytes"),
                    ("t", "send_memory_bytes"),
                    ("tb", "send_buffer_bytes"),
                    ("d", "drop_count"),
                ] {
                    let parts = list.trim_matches(['(', ')']).split(',');
                    let found = parts.filter_map(|part| number(part.strip_prefix(name)?)).next();
                    *more += &found.map_or(String::new(), |n| format!(" {key}={n}"));
                }
            }
            Some(("rtt", pair)) => {
                has_info = true;
                for (key, part) in ["rtt_ns", "rttvar_ns"].iter().zip(pair.split('/')) {
                    *more += &scaled(part, 1e6).map_or(String::new(), |ns| format!(" {key}={ns}"));
                }
            }
            Some(("retrans", pair)) => {
                if let Some((now, total)) = pair.split_once('/') {
                    *more += &number(now).map_or(String::new(), |n| format!(" retransmit_now_count={n}"));
                    *more += &number(total).map_or(String::new(), |n| format!(" retransmit_count={n}"));
                }
            }
            Some((name, value)) => {
                if let Some((_, key, scale)) = NUMBERS.iter().find(|(known, ..)| *known == name) {
                    let digits = value.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(value.len());
                    *more += &scaled(&value[..digits], *scale).map_or(String::new(), |n| format!(" {key}={n}"));
                }
            }
            None => match *word {
                "delivery_rate" | "pacing_rate" => {
                    *more += &bytes_per_s(next).map_or(String::new(), |n| format!(" {word}_bytes_per_s={n}"));
                }
                "cubic" | "reno" | "bbr" | "bbr2" | "dctcp" | "vegas" | "westwood" | "htcp" | "bic" | "illinois"
                | "yeah" | "hybla" | "scalable" | "veno" | "lp" | "nv" | "cdg" | "highspeed" => {
                    *more += &format!(" congestion_control={word}")
                }
                _ => {}
            },
        }
    }
    for key in LEFT_OUT.iter().filter(|_| has_info) {
        if !more.contains(&format!(" {key}=")) {
            *more += &format!(" {key}=0");
        }
    }
}

fn number(text: &str) -> Option<u64> {
    text.parse().ok()
}

fn scaled(text: &str, scale: f64) -> Option<i64> {
    let value = text.parse::<f64>().ok()? * scale;
    // Above 2^53 a float does not have all whole numbers.
    (0.0..9e15).contains(&value).then_some(value.round() as i64)
}

/// Reads bits such as `4.2Gbps`, as ss rounds them; gives bytes/s.
fn bytes_per_s(text: &str) -> Option<i64> {
    let text = text.strip_suffix("bps")?;
    let (digits, scale) = match text.chars().last()? {
        'K' => (&text[..text.len() - 1], 1e3),
        'M' => (&text[..text.len() - 1], 1e6),
        'G' => (&text[..text.len() - 1], 1e9),
        'T' => (&text[..text.len() - 1], 1e12),
        _ => (text, 1.0),
    };
    scaled(digits, scale / 8.0)
}

/// Reads the time of a timer as ss writes it, in ms: `1min59sec`, `44sec`, `1.204ms` (which means 1 s 204 ms), `204ms`.
fn milliseconds(text: &str) -> Option<u64> {
    let (minutes, rest) = match text.split_once("min") {
        Some((minutes, rest)) => (number(minutes)?, rest),
        None => (0, text),
    };
    let (seconds, ms) = match (rest.strip_suffix("sec"), rest.strip_suffix("ms")) {
        (Some(seconds), _) => (number(seconds)?, 0),
        (_, Some(ms)) => match ms.split_once('.') {
            Some((seconds, ms)) => (number(seconds)?, number(ms)?),
            None => (0, number(ms)?),
        },
        _ if rest.is_empty() => (0, 0),
        _ => return None,
    };
    let total = minutes.checked_mul(60)?.checked_add(seconds)?.checked_mul(1000)?.checked_add(ms)?;
    (total < 1 << 40).then_some(total)
}

/// An address with its port.
struct Address {
    ip: String,
    is_v6: bool,
    port: u16,
}

impl Address {
    /// Reads `127.0.0.1:80`, `[::1]:80`, `*:*`, `127.0.0.53%lo:53`.
    fn of_ss(text: &str) -> Option<Address> {
        let (host, port) = text.rsplit_once(':')?;
        let host = host.split('%').next()?;
        let port = if port == "*" { 0 } else { port.parse().ok()? };
        // ss writes * for the address of a socket of both families.
        let bare = if host == "*" { "::" } else { host.trim_matches(['[', ']']) };
        let is_v6 = bare.contains(':');
        if is_v6 { bare.parse::<Ipv6Addr>().ok().map(drop) } else { bare.parse::<Ipv4Addr>().ok().map(drop) }?;
        Some(Address { ip: bare.to_string(), is_v6, port })
    }

    /// Reads `0100007F:0050`: words of 32 bits, in the host's byte order.
    fn of_proc(text: &str) -> Option<Address> {
        let (host, port) = text.split_once(':')?;
        let port = u16::from_str_radix(port, 16).ok()?;
        let word = |at: usize| Some(u32::from_str_radix(host.get(at * 8..at * 8 + 8)?, 16).ok()?.to_le_bytes());
        match host.len() {
            8 => Some(Address { ip: Ipv4Addr::from(word(0)?).to_string(), is_v6: false, port }),
            32 => {
                let mut bytes = [0; 16];
                for (at, four) in bytes.chunks_exact_mut(4).enumerate() {
                    four.copy_from_slice(&word(at)?);
                }
                Some(Address { ip: Ipv6Addr::from(bytes).to_string(), is_v6: true, port })
            }
            _ => None,
        }
    }
}

fn inet(protocol: &str, state: &str, local: &Address, peer: &Address) -> String {
    let family = if local.is_v6 { "inet6" } else { "inet" };
    format!(
        "family={family} protocol={protocol} state={state} local_address={} local_port={} peer_address={} peer_port={}",
        local.ip, local.port, peer.ip, peer.port
    )
}

fn unix(protocol: &str, state: &str, name: &str) -> String {
    let escaped = name.replace('\\', "\\134").replace(' ', "\\040");
    let name = if name.is_empty() { String::new() } else { format!(" local_address={escaped}") };
    format!("family=unix protocol={protocol} state={state}{name}")
}

#[cfg(test)]
mod tests;
