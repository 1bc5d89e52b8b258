//! The recorder's list of sockets in a network namespace (schema/README.md): `key=value` words, a socket a line.

use hashbrown::HashMap;

use super::process::{Holder, unescape};
use super::system::At;
use crate::session::Session;
use crate::tables::ProcSocketRow;

/// Where sockets are whose namespace is not known: those of a folder of copies.
pub const OF_UNKNOWN: &str = "/perfcase/netns/unknown/sockets";

/// The namespace of `/perfcase/netns/INODE/sockets`; `Some(None)` where it is not known.
pub fn parse_path(path: &str) -> Option<Option<u64>> {
    if path == OF_UNKNOWN {
        return Some(None);
    }
    path.strip_prefix("/perfcase/netns/")?.strip_suffix("/sockets")?.parse().ok().map(Some)
}

/// Reads the list. False when it has lines that are no sockets.
pub fn read(
    session: &mut Session,
    at: At,
    netns_inode: Option<u64>,
    holders: &HashMap<u64, Vec<Holder>>,
    bytes: &[u8],
) -> bool {
    let mut is_whole = true;
    for line in bytes.split(|&b| b == b'\n').filter(|line| !line.is_empty()) {
        match std::str::from_utf8(line).ok().and_then(Socket::parse) {
            Some(socket) => socket.push(session, at, netns_inode, holders),
            None => is_whole = false,
        }
    }
    is_whole
}

/// The words of a line.
struct Socket<'a> {
    words: HashMap<&'a str, &'a str>,
}

impl<'a> Socket<'a> {
    fn parse(line: &'a str) -> Option<Socket<'a>> {
        let words: HashMap<&str, &str> = line.split(' ').take(96).filter_map(|word| word.split_once('=')).collect();
        ["family", "protocol", "state"].iter().all(|key| words.contains_key(key)).then_some(Socket { words })
    }

    fn symbol(&self, key: &str) -> Option<&'a [u8]> {
        self.words.get(key).map(|word| word.as_bytes())
    }

    fn number<T: std::str::FromStr>(&self, key: &str) -> Option<T> {
        self.words.get(key).and_then(|word| word.parse().ok())
    }

    fn push(&self, session: &mut Session, at: At, netns_inode: Option<u64>, holders: &HashMap<u64, Vec<Holder>>) {
        let inode: Option<u64> = self.number("inode").filter(|&inode| inode != 0);
        let named = self.holder(session, at);
        let listed = inode.and_then(|inode| holders.get(&inode)).map(Vec::as_slice);
        let held = listed.unwrap_or(named.as_slice());
        if held.is_empty() {
            self.push_held(session, at, netns_inode, inode, None);
        }
        for holder in held {
            self.push_held(session, at, netns_inode, inode, Some(*holder));
        }
    }

    /// The one that the line itself names, as ss does.
    fn holder(&self, session: &mut Session, at: At) -> Option<Holder> {
        let (pid, fd) = (self.number("pid")?, self.number("fd")?);
        let utid = session.utid(at.ts_ns.saturating_add(session.start_ns()), pid, Some(pid));
        Some(Holder { upid: session.upid(utid, pid), pid, fd })
    }

    fn push_held(
        &self,
        session: &mut Session,
        at: At,
        netns_inode: Option<u64>,
        inode: Option<u64>,
        holder: Option<Holder>,
    ) {
        let text = |key: &str| self.words.get(key).map(|word| unescape(word));
        let (local_address, peer_address) = (text("local_address"), text("peer_address"));
        session.sink.tables.proc_socket.push(ProcSocketRow {
            ts_ns: at.ts_ns,
            snapshot: at.snapshot,
            source_id: at.source_id,
            netns_inode,
            family: self.symbol("family").unwrap_or_default(),
            protocol: self.symbol("protocol").unwrap_or_default(),
            state: self.symbol("state").unwrap_or_default(),
            local_address: local_address.as_deref(),
            local_port: self.number("local_port"),
            peer_address: peer_address.as_deref(),
            peer_port: self.number("peer_port"),
            interface_index: self.number("interface_index").filter(|&index: &u32| index != 0),
            inode,
            peer_inode: self.number("peer_inode").filter(|&inode: &u64| inode != 0),
            upid: holder.map(|holder| holder.upid),
            pid: holder.map(|holder| holder.pid),
            fd: holder.map(|holder| holder.fd),
            user_id: self.number("user_id"),
            recv_queue_bytes: self.number("recv_queue_bytes"),
            send_queue_bytes: self.number("send_queue_bytes"),
            recv_buffer_bytes: self.number("recv_buffer_bytes"),
            send_buffer_bytes: self.number("send_buffer_bytes"),
            recv_memory_bytes: self.number("recv_memory_bytes"),
            send_memory_bytes: self.number("send_memory_bytes"),
            drop_count: self.number("drop_count"),
            timer: self.symbol("timer"),
            timer_ns: self.number("timer_ns"),
            retransmit_now_count: self.number("retransmit_now_count"),
            rtt_ns: self.number("rtt_ns"),
            rttvar_ns: self.number("rttvar_ns"),
            rtt_min_ns: self.number("min_rtt_ns"),
            rto_ns: self.number("rto_ns"),
            ato_ns: self.number("ato_ns"),
            mss_bytes: self.number("mss_bytes"),
            congestion_window_count: self.number("congestion_window_count"),
            slow_start_threshold_count: self.number("slow_start_threshold_count"),
            unacknowledged_count: self.number("unacknowledged_count"),
            lost_count: self.number("lost_count"),
            retransmit_count: self.number("retransmit_count"),
            reordering_count: self.number("reordering_count"),
            segment_sent_count: self.number("segment_sent_count"),
            segment_received_count: self.number("segment_received_count"),
            sent_bytes: self.number("sent_bytes"),
            acknowledged_bytes: self.number("acknowledged_bytes"),
            received_bytes: self.number("received_bytes"),
            retransmitted_bytes: self.number("retransmitted_bytes"),
            unsent_bytes: self.number("unsent_bytes"),
            delivery_rate_bytes_per_s: self.number("delivery_rate_bytes_per_s"),
            pacing_rate_bytes_per_s: self.number("pacing_rate_bytes_per_s"),
            busy_ns: self.number("busy_ns"),
            receiver_limited_ns: self.number("receiver_limited_ns"),
            buffer_limited_ns: self.number("buffer_limited_ns"),
            since_send_ns: self.number("last_send_ns"),
            since_receive_ns: self.number("last_receive_ns"),
            congestion_control: self.symbol("congestion_control"),
        });
        session.row_added();
    }
}
