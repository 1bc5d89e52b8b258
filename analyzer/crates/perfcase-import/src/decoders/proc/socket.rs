//! The sockets of a network namespace, to rows of `proc_socket`.

use hashbrown::HashMap;
use perfcase_decode::proc::socket::{self, Socket};

use super::process::Holder;
use super::system::At;
use crate::session::Session;
use crate::tables::ProcSocketRow;
use crate::timeline::descriptors::SeenSocket;

/// The values that the rows of a list have in common.
struct List<'a> {
    at: At,
    netns_inode: Option<u64>,
    /// The descriptors of each socket, by its inode.
    holders: &'a HashMap<u64, Vec<Holder>>,
}

/// Reads the list. False when it has lines that are no sockets.
pub fn read(
    session: &mut Session,
    at: At,
    netns_inode: Option<u64>,
    holders: &HashMap<u64, Vec<Holder>>,
    bytes: &[u8],
) -> bool {
    let list = List { at, netns_inode, holders };
    let mut is_whole = true;
    for socket in socket::parse(bytes) {
        match socket {
            Some(socket) => list.push(session, &socket),
            None => is_whole = false,
        }
    }
    is_whole
}

impl List<'_> {
    fn push(&self, session: &mut Session, socket: &Socket<'_>) {
        let inode: Option<u64> = socket.number("inode").filter(|&inode| inode != 0);
        let named = self.holder(session, socket);
        let listed = inode.and_then(|inode| self.holders.get(&inode)).map(Vec::as_slice);
        self.note(session, socket, inode);
        let held = listed.unwrap_or(named.as_slice());
        if held.is_empty() {
            self.push_held(session, socket, inode, None);
        }
        for holder in held {
            self.push_held(session, socket, inode, Some(*holder));
        }
    }

    /// The holder that the line itself names, as ss does.
    fn holder(&self, session: &mut Session, socket: &Socket<'_>) -> Option<Holder> {
        let (pid, fd) = (socket.number("pid")?, socket.number("fd")?);
        let utid = session.utid(self.at.ts_ns.saturating_add(session.start_ns()), pid, Some(pid));
        Some(Holder { upid: session.upid(utid, pid), pid, fd })
    }

    /// Notes the socket for the descriptors that refer to it.
    fn note(&self, session: &mut Session, socket: &Socket<'_>, inode: Option<u64>) {
        let (local_address, peer_address) = (socket.text("local_address"), socket.text("peer_address"));
        session.timelines.descriptors.see_socket(&SeenSocket {
            ts_ns: self.at.ts_ns,
            family: socket.symbol("family").unwrap_or_default(),
            protocol: socket.symbol("protocol").unwrap_or_default(),
            state: socket.symbol("state").unwrap_or_default(),
            local_address: local_address.as_deref(),
            local_port: socket.number("local_port"),
            peer_address: peer_address.as_deref(),
            peer_port: socket.number("peer_port"),
            inode,
            peer_inode: socket.number("peer_inode").filter(|&inode: &u64| inode != 0),
        });
    }

    fn push_held(&self, session: &mut Session, socket: &Socket<'_>, inode: Option<u64>, holder: Option<Holder>) {
        let (local_address, peer_address) = (socket.text("local_address"), socket.text("peer_address"));
        session.sink.tables.proc_socket.push(ProcSocketRow {
            ts_ns: self.at.ts_ns,
            snapshot: self.at.snapshot,
            source_id: self.at.source_id,
            netns_inode: self.netns_inode,
            family: socket.symbol("family").unwrap_or_default(),
            protocol: socket.symbol("protocol").unwrap_or_default(),
            state: socket.symbol("state").unwrap_or_default(),
            local_address: local_address.as_deref(),
            local_port: socket.number("local_port"),
            peer_address: peer_address.as_deref(),
            peer_port: socket.number("peer_port"),
            interface_index: socket.number("interface_index").filter(|&index: &u32| index != 0),
            inode,
            peer_inode: socket.number("peer_inode").filter(|&inode: &u64| inode != 0),
            upid: holder.map(|holder| holder.upid),
            pid: holder.map(|holder| holder.pid),
            fd: holder.map(|holder| holder.fd),
            user_id: socket.number("user_id"),
            recv_queue_bytes: socket.number("recv_queue_bytes"),
            send_queue_bytes: socket.number("send_queue_bytes"),
            recv_buffer_bytes: socket.number("recv_buffer_bytes"),
            send_buffer_bytes: socket.number("send_buffer_bytes"),
            recv_memory_bytes: socket.number("recv_memory_bytes"),
            send_memory_bytes: socket.number("send_memory_bytes"),
            drop_count: socket.number("drop_count"),
            timer: socket.symbol("timer"),
            timer_ns: socket.number("timer_ns"),
            retransmit_now_count: socket.number("retransmit_now_count"),
            rtt_ns: socket.number("rtt_ns"),
            rttvar_ns: socket.number("rttvar_ns"),
            rtt_min_ns: socket.number("min_rtt_ns"),
            rto_ns: socket.number("rto_ns"),
            ato_ns: socket.number("ato_ns"),
            mss_bytes: socket.number("mss_bytes"),
            congestion_window_count: socket.number("congestion_window_count"),
            slow_start_threshold_count: socket.number("slow_start_threshold_count"),
            unacknowledged_count: socket.number("unacknowledged_count"),
            lost_count: socket.number("lost_count"),
            retransmit_count: socket.number("retransmit_count"),
            reordering_count: socket.number("reordering_count"),
            segment_sent_count: socket.number("segment_sent_count"),
            segment_received_count: socket.number("segment_received_count"),
            sent_bytes: socket.number("sent_bytes"),
            acknowledged_bytes: socket.number("acknowledged_bytes"),
            received_bytes: socket.number("received_bytes"),
            retransmitted_bytes: socket.number("retransmitted_bytes"),
            unsent_bytes: socket.number("unsent_bytes"),
            delivery_rate_bytes_per_s: socket.number("delivery_rate_bytes_per_s"),
            pacing_rate_bytes_per_s: socket.number("pacing_rate_bytes_per_s"),
            busy_ns: socket.number("busy_ns"),
            receiver_limited_ns: socket.number("receiver_limited_ns"),
            buffer_limited_ns: socket.number("buffer_limited_ns"),
            since_send_ns: socket.number("last_send_ns"),
            since_receive_ns: socket.number("last_receive_ns"),
            congestion_control: socket.symbol("congestion_control"),
        });
        session.row_added();
    }
}
