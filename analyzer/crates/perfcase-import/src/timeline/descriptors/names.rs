//! The things that descriptors refer to, each of them once.

use std::borrow::Cow;

use hashbrown::HashMap;

use super::facts::{Fact, MAKERS, MakerId, NO_SOCKET_TYPE};

/// The number of a thing in [`Things`].
pub(super) type ThingId = u32;

/// What a descriptor refers to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Thing {
    pub kind: Option<Box<str>>,
    pub target: Option<Box<str>>,
    pub inode: Option<u64>,
}

/// All things that snapshots or calls have told.
#[derive(Default)]
pub(super) struct Things {
    all: Vec<Thing>,
    ids: HashMap<Thing, ThingId>,
}

impl Things {
    pub(super) fn get(&self, id: ThingId) -> Option<&Thing> {
        self.all.get(id as usize)
    }

    /// Gives the number of a thing. A new one is added.
    pub(super) fn id(&mut self, kind: Option<&str>, target: Option<&str>, inode: Option<u64>) -> ThingId {
        let thing = Thing { kind: kind.map(Box::from), target: target.map(Box::from), inode };
        let next = self.all.len() as ThingId;
        let id = *self.ids.entry_ref(&thing).or_insert(next);
        if id == next {
            self.all.push(thing);
        }
        id
    }

    /// Gives what a call has made; `None` for a copy.
    pub(super) fn made_by(&mut self, maker: MakerId, fact: &Fact) -> Option<ThingId> {
        let maker = &MAKERS[maker as usize];
        let target = maker.has_family().then(|| socket_name(fact)).flatten();
        maker.kind.map(|kind| self.id(Some(kind), target.as_deref(), None))
    }

    /// Gives a thing's kind as text.
    pub(super) fn kind_of(&self, id: ThingId) -> &str {
        self.get(id).and_then(|thing| thing.kind.as_deref()).unwrap_or_default()
    }
}

impl From<&Thing> for Thing {
    fn from(thing: &Thing) -> Thing {
        thing.clone()
    }
}

/// Gives the family of a socket, as the kernel numbers it (AF_UNIX, AF_INET, …).
pub(super) fn family_name(number: u64) -> Cow<'static, str> {
    match number {
        1 => "unix".into(),
        2 => "inet".into(),
        10 => "inet6".into(),
        16 => "netlink".into(),
        17 => "packet".into(),
        other => format!("family {other}").into(),
    }
}

/// Gives the family and the type of a new socket.
fn socket_name(fact: &Fact) -> Option<String> {
    let kind = match fact.high {
        NO_SOCKET_TYPE => return None,
        1 => " stream",
        2 => " dgram",
        3 => " raw",
        5 => " seqpacket",
        _ => "",
    };
    Some(family_name(fact.low).into_owned() + kind)
}
