//! Requests on sockets and their answers: rows of `socket_turn` and of `request`.
//!
//! A turn is one write or several without a read between them, then the first read. A request is the other way round, at the end
//! that serves: reads, then the writes up to the next read. A descriptor counts as a socket if a
//! snapshot says so, or if socket, accept or connect made or used it.

use hashbrown::HashMap;

use super::connects::{Begun, ConnectId, Connects};
use super::due::{Answer, Asked as AskedOnce, Awaits, Due, LastCall};
use super::facts::{Deed, Fact, MAKERS};
use super::history::{BEFORE, Key, Listed};
use super::names::{Things, family_name};
use super::sockets::{Connection, Sockets, bracketed};
use crate::model::NameId;
use crate::ports;
use crate::tables::{RequestRow, SocketTurnRow, Tables};

const NO_SOCKET: u32 = u32::MAX;

/// A descriptor, from the call that made or closed it until the next one.
struct Birth {
    since: i64,
    /// The socket that it was.
    socket: u32,
    written: Written,
    asked: Asked,
    /// It had a request that was answered.
    has_answered: bool,
}

/// The reads since the last write.
#[derive(Clone, Copy, Default)]
struct Asked {
    count: i64,
    bytes: i64,
    first_ts: i64,
    last_ts: i64,
    utid: u32,
    name_id: u32,
    name: &'static str,
}

/// The writes since the last read.
#[derive(Clone, Copy, Default)]
struct Written {
    count: i64,
    bytes: i64,
    last_ts: i64,
    last_bytes: i64,
    last_utid: u32,
    last_name: &'static str,
}

/// A socket's ends, and which of them opened the connection.
struct Socket {
    family: Option<String>,
    local: Option<String>,
    peer: Option<String>,
    is_client: Option<bool>,
    /// A number of its process's end of a connection: equal for all connections that were made to the same address.
    service: u32,
}

/// A call that has moved bytes. The time is that of its return, in ns since the capture's start, as the beginning.
pub(crate) struct Moved {
    pub upid: u32,
    pub fd: i32,
    pub utid: u32,
    pub name_id: u32,
    pub name: &'static str,
    pub begin: i64,
    pub end: i64,
    pub bytes: i64,
}

/// The turns under way.
#[derive(Default)]
pub(crate) struct Turns {
    /// The first birth of each descriptor that was ever a socket, and the number of its births.
    places: HashMap<Key, (u32, u32)>,
    births: Vec<Birth>,
    sockets: Vec<Socket>,
    /// The names of each process's main thread, with the times from when on it had them, in the order of time.
    names: HashMap<u32, Vec<(i64, NameId)>>,
    /// When processes ended.
    ends: HashMap<u32, i64>,
    services: HashMap<(u32, Option<String>), u32>,
    due: Due,
    /// The calls in which threads were in the end.
    last_calls: HashMap<u32, LastCall>,
}

/// What a fact or a snapshot says about a descriptor here.
#[derive(Clone, Copy)]
enum Sign<'a> {
    /// Another thing has this number from now on: the fact that made or closed it, or none before the capture.
    Born(Option<&'a Fact>),
    Listed(Listed),
    Connect,
    /// A connection began, or the accepted one ended.
    Begun(ConnectId),
}

impl Sign<'_> {
    fn is_birth(&self) -> bool {
        matches!(self, Sign::Born(_))
    }
}

fn is_write(name: &str) -> bool {
    matches!(name, "write" | "writev" | "send" | "sendto" | "sendmsg" | "sendmmsg" | "sendfile" | "sendfile64")
}

pub(super) fn is_read(name: &str) -> bool {
    matches!(name, "read" | "readv" | "recv" | "recvfrom" | "recvmsg" | "recvmmsg")
}

impl Turns {
    pub(super) fn of(
        facts: &[Fact],
        listed: &[Listed],
        begun: &Begun,
        things: &Things,
        seen: (&Sockets, &Connects),
    ) -> Turns {
        let mut signs: Vec<(Key, i64, Sign<'_>)> = Vec::new();
        let returned = facts.iter().filter(|fact| fact.has_returned());
        let mut keys: Vec<Key> =
            returned.clone().filter(|fact| fact.fd >= 0).map(|fact| (fact.upid, fact.fd)).collect();
        keys.extend(listed.iter().map(|listed| listed.key));
        keys.sort_unstable();
        keys.dedup();
        signs.extend(keys.iter().map(|&key| (key, BEFORE, Sign::Born(None))));
        signs.extend(listed.iter().map(|listed| (listed.key, listed.ts, Sign::Listed(*listed))));
        signs.extend(begun.iter().map(|&(key, at, id)| (key, at, Sign::Begun(id))));
        for fact in returned {
            let key = (fact.upid, fact.fd);
            if let Some((maker, fd)) = fact.made()
                && MAKERS[maker as usize].is_of_turns
            {
                signs.push(((fact.upid, fd), fact.end, Sign::Born(Some(fact))));
            }
            if fact.fd >= 0 && fact.deed == Deed::Close && fact.ret == 0 {
                // The number is free before the call returns: another thread may have got it by then.
                signs.push((key, fact.begin.saturating_add(1), Sign::Born(Some(fact))));
            }
            if fact.fd >= 0 && fact.is_connect {
                signs.push((key, fact.begin, Sign::Connect));
            }
        }
        signs.sort_by_key(|(key, ts, sign)| (*key, *ts, !sign.is_birth()));
        let mut turns = Turns::default();
        for signs in signs.chunk_by(|a, b| a.0 == b.0) {
            turns.add(signs, things, seen);
        }
        turns
    }

    /// Adds a descriptor, if it was ever a socket.
    fn add(&mut self, signs: &[(Key, i64, Sign<'_>)], things: &Things, seen: (&Sockets, &Connects)) {
        let first = self.births.len();
        let mut is_socket = false;
        for signs in signs.chunk_by(|_, next| !next.2.is_birth()) {
            let (_, since, Sign::Born(birth)) = signs[0] else { continue };
            let socket = socket(birth, &signs[1..], things, seen);
            is_socket |= socket.is_some();
            let number = socket.map_or(NO_SOCKET, |mut socket| {
                // Where the address is not known, the process is.
                let address = socket.local.clone().filter(|_| socket.is_client == Some(false));
                let upid = if address.is_some() { 0 } else { signs[0].0.0 };
                let next = self.services.len() as u32;
                socket.service = *self.services.entry((upid, address)).or_insert(next);
                self.sockets.push(socket);
                self.sockets.len() as u32 - 1
            });
            let (written, asked) = (Written::default(), Asked::default());
            self.births.push(Birth { since, socket: number, written, asked, has_answered: false });
        }
        if is_socket {
            self.places.insert(signs[0].0, (first as u32, (self.births.len() - first) as u32));
        } else {
            self.births.truncate(first);
        }
    }

    /// Adds the names of a process. Times are in ns since the capture's start.
    pub(crate) fn add_name(&mut self, upid: u32, since: i64, name: NameId) {
        self.names.entry(upid).or_default().push((since, name));
    }

    /// Adds when a process ended, in ns since the capture's start.
    pub(crate) fn add_end(&mut self, upid: u32, ts: i64) {
        self.ends.insert(upid, ts);
    }

    /// Adds the call in which a thread was in the end.
    pub(crate) fn add_last(&mut self, call: LastCall) {
        self.last_calls.insert(call.utid, call);
    }

    /// Puts the names in the order of time.
    pub(crate) fn sort_names(&mut self) {
        self.names.values_mut().for_each(|names| names.sort_unstable());
    }

    /// Gives the name that a process had at a time. The first one also holds for the time before it.
    fn name_at(&self, upid: u32, ts: i64) -> Option<NameId> {
        let names = self.names.get(&upid)?;
        let later = names.partition_point(|(since, _)| *since <= ts);
        names.get(later.saturating_sub(1)).map(|(_, name)| *name)
    }

    /// Tells whether no descriptor was a socket.
    pub(crate) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Follows a call that has moved bytes. Calls come in the order of their return. Adds a row if the call ends a turn
    /// or a request.
    pub(crate) fn follow(&mut self, call: &Moved, tables: &mut Tables) {
        self.due.returned(call);
        let Some(&(first, count)) = self.places.get(&(call.upid, call.fd)) else { return };
        let births = &mut self.births[first as usize..][..count as usize];
        let Some(index) = births.partition_point(|birth| birth.since <= call.begin).checked_sub(1) else { return };
        let birth = &mut births[index];
        let Some(socket) = self.sockets.get(birth.socket as usize) else { return };
        if is_read(call.name) {
            self.due.read(call, socket.is_client == Some(false));
        }
        if is_read(call.name) && socket.is_client == Some(false) {
            let asked = birth.asked;
            if birth.written.count > 0 || asked.count == 0 {
                note_request(birth, socket, None, &mut self.due);
                push_request((call.upid, call.fd), birth, socket, None, tables);
                birth.has_answered |= asked.count > 0;
                let Moved { end: first_ts, utid, name_id, name, .. } = *call;
                birth.asked = Asked { count: 1, bytes: call.bytes, first_ts, last_ts: first_ts, utid, name_id, name };
            } else {
                let (count, bytes) = (asked.count + 1, asked.bytes.saturating_add(call.bytes));
                birth.asked = Asked { count, bytes, last_ts: call.end, ..asked };
            }
        }
        if is_write(call.name) {
            birth.written = Written {
                count: birth.written.count + 1,
                bytes: birth.written.bytes.saturating_add(call.bytes),
                last_ts: call.end,
                last_bytes: call.bytes,
                last_utid: call.utid,
                last_name: call.name,
            };
            return;
        }
        if !is_read(call.name) {
            return;
        }
        let written = std::mem::take(&mut birth.written);
        if written.count == 0 {
            return;
        }
        let since = birth.since;
        tables.socket_turn.push(SocketTurnRow {
            ts_ns: written.last_ts,
            answer_ts_ns: call.end,
            gap_ns: call.end.saturating_sub(written.last_ts),
            upid: call.upid,
            utid: call.utid,
            name_id: Some(call.name_id),
            process_name_id: self.name_at(call.upid, call.end),
            writer_utid: written.last_utid,
            fd: call.fd,
            since_ts_ns: (since != BEFORE).then_some(since),
            family: socket.family.as_deref().map(str::as_bytes),
            local: socket.local.as_deref().map(str::as_bytes),
            peer: socket.peer.as_deref().map(str::as_bytes),
            is_client: socket.is_client,
            write_count: written.count,
            write_bytes: written.bytes,
            write_last_bytes: written.last_bytes,
            write_name: written.last_name.as_bytes(),
            read_name: call.name.as_bytes(),
        });
    }

    /// Adds the requests whose descriptor was not read again: the last of each. `end`: of the recording, in ns since the capture's start.
    pub(crate) fn finish(&mut self, end: i64, tables: &mut Tables) {
        let mut places: Vec<_> = self.places.iter().map(|(&key, &place)| (key, place)).collect();
        places.sort_unstable();
        for &(_, (first, count)) in &places {
            let births = &self.births[first as usize..][..count as usize];
            for (index, birth) in births.iter().enumerate() {
                if let Some(socket) = self.sockets.get(birth.socket as usize) {
                    note_request(birth, socket, births.get(index + 1).map(|next| next.since), &mut self.due);
                }
            }
        }
        let asking = self.asking(&places);
        for (key, (first, count)) in places {
            for index in first..first + count {
                let birth = &self.births[index as usize];
                if let Some(socket) = self.sockets.get(birth.socket as usize) {
                    let end = self.ends.get(&key.0).map_or(end, |&own| own.min(end));
                    let is_due = index + 1 == first + count && self.is_due(birth, socket, &asking, end);
                    let unanswered_ns = is_due.then(|| end.saturating_sub(birth.asked.first_ts));
                    push_request(key, birth, socket, unanswered_ns, tables);
                }
            }
        }
    }

    /// Gives, for each thread that has asked something as a client and read nothing there since, when it did so last.
    fn asking(&self, places: &[(Key, (u32, u32))]) -> HashMap<u32, i64> {
        let mut found = HashMap::new();
        for &(_, (first, count)) in places {
            let Some(birth) = self.births[first as usize..][..count as usize].last() else { continue };
            let is_client = self.sockets.get(birth.socket as usize).is_some_and(|of| of.is_client == Some(true));
            if is_client && birth.written.count > 0 {
                let ts = found.entry(birth.written.last_utid).or_insert(birth.written.last_ts);
                *ts = birth.written.last_ts.max(*ts);
            }
        }
        found
    }

    /// Tells whether the request at a descriptor that is still open has no answer, and one was due.
    fn is_due(&self, birth: &Birth, socket: &Socket, asking: &HashMap<u32, i64>, end: i64) -> bool {
        let Asked { count, utid, last_ts, .. } = birth.asked;
        let Some(call) = self.last_calls.get(&utid).filter(|_| count > 0 && birth.written.count == 0) else {
            return false;
        };
        let waits_for_no_client = match call.awaits() {
            Awaits::Client => false,
            Awaits::Other => true,
            Awaits::Descriptor(fd) => !self.is_served((call.upid, fd)),
            Awaits::Epoll(fd) => self.due.is_other_epoll(utid, fd),
            Awaits::Any => asking.get(&utid).is_some_and(|&ts| ts >= last_ts),
        };
        waits_for_no_client && self.due.is_due(kind_of(birth, socket), &birth.asked.once(), call, end)
    }

    /// Tells whether a descriptor is, in the end, a connection that its process serves, or may be one.
    fn is_served(&self, key: Key) -> bool {
        let place = self.places.get(&key);
        let birth = place.and_then(|&(first, count)| self.births[first as usize..][..count as usize].last());
        let socket = birth.and_then(|birth| self.sockets.get(birth.socket as usize));
        socket.is_some_and(|socket| socket.is_client != Some(true))
    }
}

impl Asked {
    fn once(&self) -> AskedOnce {
        let Asked { utid, first_ts, last_ts, count: read_count, .. } = *self;
        AskedOnce { utid, first_ts, last_ts, read_count }
    }
}

fn kind_of(birth: &Birth, socket: &Socket) -> (u32, bool) {
    (socket.service, !birth.has_answered)
}

/// Notes what was asked at a descriptor, and whether it was answered, or when the descriptor was closed.
fn note_request(birth: &Birth, socket: &Socket, closed: Option<i64>, due: &mut Due) {
    let Birth { asked, written, .. } = birth;
    if asked.count > 0 {
        let answer = match closed {
            _ if written.count > 0 => Answer::By(written.last_utid, written.last_ts),
            Some(ts) => Answer::Closed(ts),
            None => Answer::None,
        };
        due.note(kind_of(birth, socket), &asked.once(), &answer);
    }
}

/// Adds what was asked at the descriptor `upid`, `fd` and how it was answered until now, if anything was asked.
fn push_request((upid, fd): Key, birth: &Birth, socket: &Socket, unanswered_ns: Option<i64>, tables: &mut Tables) {
    let Birth { asked, written, .. } = birth;
    if asked.count == 0 {
        return;
    }
    let is_answered = written.count > 0;
    tables.request.push(RequestRow {
        ts_ns: asked.first_ts,
        end_ts_ns: is_answered.then_some(written.last_ts),
        duration_ns: is_answered.then(|| written.last_ts.saturating_sub(asked.first_ts)),
        unanswered_ns,
        upid,
        utid: asked.utid,
        name_id: Some(asked.name_id),
        writer_utid: is_answered.then_some(written.last_utid),
        fd,
        since_ts_ns: (birth.since != BEFORE).then_some(birth.since),
        family: socket.family.as_deref().map(str::as_bytes),
        local: socket.local.as_deref().map(str::as_bytes),
        peer: socket.peer.as_deref().map(str::as_bytes),
        read_count: asked.count,
        read_bytes: asked.bytes,
        write_count: written.count,
        write_bytes: written.bytes,
        read_name: asked.name.as_bytes(),
        write_name: is_answered.then_some(written.last_name.as_bytes()),
    });
}

/// Gives the socket that a descriptor was from its birth on; `None` if it was none.
fn socket(
    birth: Option<&Fact>,
    signs: &[(Key, i64, Sign<'_>)],
    things: &Things,
    (seen, connects): (&Sockets, &Connects),
) -> Option<Socket> {
    let maker_id = birth.and_then(Fact::made).map(|(maker, _)| maker);
    let maker = maker_id.map_or("", |maker| MAKERS[maker as usize].name);
    let has_connected = signs.iter().any(|(.., sign)| matches!(sign, Sign::Connect));
    let listed = signs.iter().filter_map(|(.., sign)| match sign {
        Sign::Listed(listed) if things.kind_of(listed.thing) == "socket" => things.get(listed.thing),
        _ => None,
    });
    let is_made = matches!(maker, "socket" | "accept" | "accept4");
    if !is_made && !has_connected && listed.clone().next().is_none() {
        return None;
    }
    let inode = listed.filter_map(|thing| thing.inode).next_back();
    let connection = inode.and_then(|inode| seen.connections.get(&inode));
    let family = birth.filter(|_| maker == "socket").filter(|fact| fact.has_family());
    let family = family.map(|fact| family_name(fact.low).into_owned());
    let port = |port: Option<u16>| port.filter(|&port| port > 0);
    let mine = connection.and_then(|connection| connection.local_port);
    let theirs = port(connection.and_then(|connection| connection.peer_port));
    let is_listening = |port: Option<u16>| port.is_some_and(|port| seen.listening.contains(&port));
    let is_client = if maker_id.is_some_and(|maker| MAKERS[maker as usize].accepts()) {
        Some(false)
    } else if has_connected {
        Some(true)
    } else if is_listening(mine) {
        Some(false)
    } else if is_listening(theirs) {
        Some(true)
    } else {
        mine.zip(theirs).and_then(|(mine, theirs)| ports::serves(theirs, mine))
    };
    let has_peer = |connection: &&Connection| connection.family == "unix" || port(connection.peer_port).is_some();
    let began = signs.iter().rev().find_map(|(.., sign)| match sign {
        Sign::Begun(id) => connects.get(*id).filter(|connect| connect.is_of(maker_id)),
        _ => None,
    });
    if let Some(began) = began
        && connection.filter(has_peer).is_none()
    {
        let family = Some(began.family().to_string());
        return Some(Socket { family, local: began.local(), peer: Some(began.peer()), is_client, service: 0 });
    }
    let Some(connection) = connection else {
        return Some(Socket { family, local: None, peer: None, is_client, service: 0 });
    };
    let is_unix = connection.family == "unix";
    let named = |address: &Option<String>| address.clone().filter(|address| !address.is_empty());
    let with_port =
        |address: &Option<String>, port: Option<u16>| Some(format!("{}:{}", bracketed(address.as_deref()?), port?));
    let (local, peer) = if is_unix {
        let other = connection.peer_inode.and_then(|inode| seen.connections.get(&inode));
        (named(&connection.local_address), other.and_then(|other| named(&other.local_address)))
    } else {
        (with_port(&connection.local_address, connection.local_port), with_port(&connection.peer_address, theirs))
    };
    Some(Socket { family: Some(connection.family.clone()), local, peer, is_client, service: 0 })
}

#[cfg(test)]
#[path = "turns_tests.rs"]
mod tests;
