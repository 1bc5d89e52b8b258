//! The ends of sockets, by the snapshots of sock_diag.

use hashbrown::{HashMap, HashSet};

/// A socket in a snapshot.
#[derive(Clone, Debug, Default)]
pub(crate) struct SeenSocket<'a> {
    /// When it was read, in ns since the capture's start.
    pub ts_ns: i64,
    pub family: &'a [u8],
    pub protocol: &'a [u8],
    pub state: &'a [u8],
    pub local_address: Option<&'a str>,
    pub local_port: Option<u16>,
    pub peer_address: Option<&'a str>,
    pub peer_port: Option<u16>,
    pub inode: Option<u64>,
    pub peer_inode: Option<u64>,
}

/// The state of a socket that waits for connections, as ss names it.
const LISTENING: &[u8] = b"LISTEN";

/// The two ends of a socket, in the words of `descriptor`: of the last snapshot in which it was connected, else of the
/// last one.
pub(super) struct Ends {
    has_peer: bool,
    ts: i64,
    pub local: Option<String>,
    pub peer: Option<String>,
    pub peer_inode: Option<u64>,
    /// The protocol, as strace writes it.
    pub label: String,
}

/// The same for `socket_turn`, which also takes a unix socket for connected, by the inode of its other end.
pub(super) struct Connection {
    is_connected: bool,
    ts: i64,
    pub family: String,
    pub local_address: Option<String>,
    pub local_port: Option<u16>,
    pub peer_address: Option<String>,
    pub peer_port: Option<u16>,
    pub peer_inode: Option<u64>,
}

/// What the snapshots say about sockets, by inode.
#[derive(Default)]
pub(super) struct Sockets {
    pub ends: HashMap<u64, Ends>,
    pub connections: HashMap<u64, Connection>,
    /// The ports on which somebody waits for connections.
    pub listening: HashSet<u16>,
}

impl Sockets {
    pub(super) fn see(&mut self, socket: &SeenSocket<'_>) {
        if socket.state == LISTENING {
            self.listening.extend(socket.local_port.filter(|&port| port > 0));
        }
        let Some(inode) = socket.inode.filter(|&inode| inode > 0) else { return };
        let ends = Ends::of(socket);
        match self.ends.get_mut(&inode) {
            Some(known) if known.order() < ends.order() => *known = ends,
            Some(_) => {}
            None => {
                self.ends.insert(inode, ends);
            }
        }
        let is_connected = socket.peer_port.is_some_and(|port| port > 0) || socket.peer_inode.is_some();
        let known = self.connections.get(&inode).map(|known| (known.is_connected, known.ts));
        if known.is_none_or(|known| known < (is_connected, socket.ts_ns)) {
            let owned = |text: Option<&str>| text.map(str::to_string);
            let connection = Connection {
                is_connected,
                ts: socket.ts_ns,
                family: String::from_utf8_lossy(socket.family).into_owned(),
                local_address: owned(socket.local_address),
                local_port: socket.local_port,
                peer_address: owned(socket.peer_address),
                peer_port: socket.peer_port,
                peer_inode: socket.peer_inode,
            };
            self.connections.insert(inode, connection);
        }
    }
}

impl Ends {
    fn of(socket: &SeenSocket<'_>) -> Ends {
        let port = |port: Option<u16>| port.map(|port| format!(":{port}")).unwrap_or_default();
        let local = socket.local_address.map(|address| bracketed(address) + &port(socket.local_port));
        let peer_port = socket.peer_port.filter(|&port| port > 0);
        let peer = socket.peer_address.filter(|_| peer_port.is_some()).map(|peer| bracketed(peer) + &port(peer_port));
        let protocol = String::from_utf8_lossy(socket.protocol).to_uppercase();
        let label = match socket.family {
            b"unix" => format!("UNIX-{protocol}"),
            b"inet6" => protocol + "v6",
            _ => protocol,
        };
        Ends { has_peer: peer.is_some(), ts: socket.ts_ns, local, peer, peer_inode: socket.peer_inode, label }
    }

    fn order(&self) -> (bool, i64, &str) {
        (self.has_peer, self.ts, self.local.as_deref().unwrap_or_default())
    }
}

/// Gives an address as it stands before a port.
pub(super) fn bracketed(address: &str) -> String {
    if address.contains(':') { format!("[{address}]") } else { address.to_string() }
}
