//! What descriptors are.

use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
use std::path::Path;

use super::calls::Thing;
use super::rows::{at, each, meaning, meanings};
use crate::ports;
use crate::writer::WriteError;

/// What each descriptor is, by its id: the number of its row.
#[derive(Default)]
pub(super) struct Descriptors {
    pub(super) things: Vec<Thing>,
    /// The end of a connection that was taken, not made.
    served: Vec<bool>,
    /// The same number for all descriptors of a file.
    files: Vec<u32>,
    /// The same number for all connections to an address.
    peers: Vec<u32>,
}

impl Descriptors {
    pub(super) fn read(folder: &Path) -> Result<Descriptors, WriteError> {
        let mut found = Descriptors::default();
        let hasher = BuildHasherDefault::<DefaultHasher>::default();
        let columns = ["descriptor_id", "kind", "target", "local", "peer", "opened_by"];
        each(folder, "descriptor", &columns, |batch| {
            let (Some(ids), Some(kinds)) = (batch.u32s("descriptor_id"), batch.symbols("kind")) else { return };
            let (Some(targets), Some(makers)) = (batch.texts("target"), batch.symbols("opened_by")) else { return };
            let (Some(locals), Some(peers)) = (batch.texts("local"), batch.texts("peer")) else { return };
            let kinds_mean = meanings(kinds, |kind| Thing::of(Some(kind)));
            let takes = meanings(makers, |call| matches!(call, "accept" | "accept4" | "socketpair"));
            for (row, ((local, peer), target)) in locals.iter().zip(peers).zip(targets).enumerate() {
                let Some(id) = at(ids, row).map(|id| id as usize) else { continue };
                if id >= found.things.len() {
                    found.things.resize(id + 1, Thing::Unknown);
                    found.served.resize(id + 1, false);
                    found.files.resize(id + 1, 0);
                    found.peers.resize(id + 1, 0);
                }
                found.things[id] = meaning(kinds, &kinds_mean, row).unwrap_or(Thing::Unknown).of_name(target);
                // One that was there before the capture: by its ports.
                found.served[id] = meaning(makers, &takes, row).unwrap_or_else(|| serves(local, peer));
                match found.things[id] {
                    Thing::File => found.files[id] = target.map_or(0, |target| hasher.hash_one(target) as u32),
                    Thing::Socket => found.peers[id] = peer.map_or(0, |peer| hasher.hash_one(peer) as u32),
                    _ => {}
                }
            }
        })?;
        Ok(found)
    }

    /// All sockets go to one address.
    #[cfg(test)]
    pub(super) fn of(things: Vec<Thing>, served: &[usize]) -> Descriptors {
        let is_served = |index| served.contains(&index);
        let served = (0..things.len()).map(is_served).collect();
        let peers = things.iter().map(|&thing| u32::from(thing == Thing::Socket)).collect();
        Descriptors { things, served, files: Vec::new(), peers }
    }

    pub(super) fn thing(&self, descriptor: u32) -> Thing {
        self.things.get(descriptor as usize).copied().unwrap_or_default()
    }

    pub(super) fn is_served(&self, descriptor: u32) -> bool {
        self.served.get(descriptor as usize).copied().unwrap_or_default()
    }

    /// Gives the number of a file; `None` of what is no file, or has no name.
    pub(super) fn file(&self, descriptor: u32) -> Option<u32> {
        self.files.get(descriptor as usize).copied().filter(|&file| file != 0)
    }

    /// Gives the number of the address at the other end of a connection; `None` where it is not known.
    pub(super) fn peer(&self, descriptor: u32) -> Option<u32> {
        self.peers.get(descriptor as usize).copied().filter(|&peer| peer != 0)
    }
}

/// Tells whether the end of a connection whose beginning was not seen looks like that of a service.
fn serves(local: Option<&str>, peer: Option<&str>) -> bool {
    let port = |address: Option<&str>| address.and_then(|address| address.rsplit(':').next()?.parse::<u16>().ok());
    port(local).zip(port(peer)).and_then(|(mine, theirs)| ports::serves(mine, theirs)).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_is_told_by_its_port() {
        let is = |local, peer| serves(Some(local), Some(peer));
        assert!(is("10.0.0.1:443", "10.0.0.9:40000") && is("[::1]:5432", "[::1]:32768"));
        assert!(!is("10.0.0.9:40000", "10.0.0.1:443") && !is("10.0.0.9:40000", "10.0.0.1:50000"));
        assert!(!is("/run/a.sock", "/run/b.sock") && !serves(None, Some("10.0.0.9:40000")));
    }
}
