//! User callchains that the kernel records apart from their samples (PERF_RECORD_CALLCHAIN_DEFERRED, Linux 6.19).
//!
//! Such a sample's callchain ends in PERF_CONTEXT_USER_DEFERRED and a cookie; the record with the same cookie follows
//! when the thread returns to user mode, and serves all samples since it entered the kernel.

use hashbrown::HashMap;

use super::bytes::Cursor;
use super::index::Entry;
use super::record::{self, Record};
use super::recording::Recording;

/// PERF_CONTEXT_USER_DEFERRED of perf_event.h.
const USER_DEFERRED: u64 = -640i64 as u64;
/// PERF_CONTEXT_USER.
const USER: u64 = -512i64 as u64;

/// Where the user callchains are, by thread and cookie.
#[derive(Debug, Default)]
pub struct Deferred {
    places: HashMap<(i32, u64), Entry>,
}

impl Deferred {
    /// Notes the place of a record.
    pub fn add(&mut self, tid: i32, cookie: u64, entry: Entry) {
        self.places.insert((tid, cookie), entry);
    }
}

/// Replaces the cookie by the user part. False where the record of the cookie is missing: then the chain ends with its
/// kernel part.
pub fn join(chain: &mut Vec<u64>, tid: i32, recording: &Recording, file: &[u8]) -> bool {
    let [.., USER_DEFERRED, cookie] = chain[..] else { return true };
    chain.truncate(chain.len() - 2);
    let entry = recording.deferred.places.get(&(tid, cookie));
    let Some((header, body)) = entry.and_then(|&entry| recording.record(file, entry)) else { return false };
    let Some(Record::CallchainDeferred { chain: user, .. }) =
        record::parse(header, &mut Cursor::new(body, recording.order))
    else {
        return false;
    };
    if user.get(0) != Some(USER) {
        chain.push(USER);
    }
    chain.extend(user.iter());
    true
}
