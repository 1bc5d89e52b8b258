//! Finds the system calls that say something new about a descriptor. Most calls only repeat an earlier one: the first
//! of a million reads from a socket already says that the descriptor is open. The calls that are chosen here tell the
//! same about the descriptors as all calls.
//!
//! More calls than necessary may be chosen, but never fewer. A call repeats another one only if it is the same call of
//! the same thread on the same number with the same outcome, and no call that made or ended a descriptor of this number
//! has ended in between, in any process. A connect repeats nothing: it may be to another peer. Calls come in the order in which they ended. A close counts from its end: a
//! call that another thread made on the number after the close began, and that did not fail, had the descriptor that
//! was being closed.
//!
//! A call that failed because its number is not open (EBADF) says nothing: such a number is no descriptor. Programs that
//! close all that may be open name a million of them.

use hashbrown::HashMap;

use crate::model::Utid;
use crate::syscall_names::{Call, FdRole};

const EBADF: i64 = 9;
/// The commands of fcntl, and of ioctl, that say something: F_DUPFD, F_SETFD, F_DUPFD_CLOEXEC; FIONCLEX, FIOCLEX.
const FCNTL_COMMANDS: [u32; 3] = [0, 2, 1030];
const IOCTL_COMMANDS: [u32; 2] = [21584, 21585];
/// Descriptors from this number on count as one: when one of them changes, all of them may have changed.
const FDS_MAX: usize = 1 << 16;
/// The most calls that are remembered. When there are more, all are forgotten, so that some calls are chosen once more.
const SEEN_MAX: usize = 1 << 20;

/// A call, with the facts that are necessary here.
pub(in crate::timeline) struct FdCall<'a> {
    pub utid: Utid,
    pub of: &'a Call,
    pub number: i64,
    pub args: &'a [u64],
    /// `None` when it did not return.
    pub ret: Option<i64>,
    /// When the call began and ended, in ns, as far as that is known.
    pub at: (i64, i64),
}

/// A change of the descriptor of one number, or of any number: its turn and its time in ns.
#[derive(Clone, Copy)]
struct Change {
    turn: u64,
    ns: i64,
}

const NEVER: Change = Change { turn: 0, ns: i64::MIN };

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Outcome {
    Success,
    Error,
    Unknown,
}

/// What the calls so far have shown.
pub(in crate::timeline) struct Novelty {
    turn: u64,
    of_any: Change,
    /// The changes by descriptor.
    of_one: Vec<Change>,
    /// The turn in which a call was first made.
    seen: HashMap<(Utid, i32, i64, Outcome), u64>,
}

impl Default for Novelty {
    fn default() -> Novelty {
        Novelty { turn: 1, of_any: NEVER, of_one: Vec::new(), seen: HashMap::new() }
    }
}

impl Novelty {
    /// Tells whether the call says something new.
    pub(super) fn tells(&mut self, call: &FdCall<'_>) -> bool {
        if call.ret == Some(-EBADF) {
            return false;
        }
        let fd = call.of.fd_of(call.args);
        let has_succeeded = call.ret.is_some_and(|ret| ret >= 0);
        match call.of.fd_role {
            FdRole::Maker if has_succeeded => self.change(call.ret, call.at.1),
            FdRole::PairMaker if has_succeeded => self.change(None, call.at.1),
            FdRole::ManyCloser if has_succeeded => self.change(None, call.at.1),
            FdRole::Closer => self.change(fd.map(i64::from), call.at.1),
            FdRole::Controller if has_succeeded && changes(call) => self.change(call.ret, call.at.1),
            _ => return fd.is_some_and(|fd| self.is_first(call, fd)),
        }
        true
    }

    /// Notes that the descriptor, or any descriptor with `None`, is another one from now on.
    fn change(&mut self, fd: Option<i64>, ns: i64) {
        self.turn += 1;
        let change = Change { turn: self.turn, ns };
        match fd {
            Some(fd) => {
                let index = slot(fd);
                if index >= self.of_one.len() {
                    self.of_one.resize(index + 1, NEVER);
                }
                self.of_one[index] = change;
            }
            None => self.of_any = change,
        }
    }

    fn is_first(&mut self, call: &FdCall<'_>, fd: i32) -> bool {
        let of_one = self.of_one.get(slot(fd.into())).copied().unwrap_or(NEVER);
        let latest = if of_one.turn > self.of_any.turn { of_one } else { self.of_any };
        let outcome = match call.ret {
            None => Outcome::Unknown,
            Some(ret) if (-4095..0).contains(&ret) => Outcome::Error,
            Some(_) => Outcome::Success,
        };
        if self.seen.len() >= SEEN_MAX {
            self.seen.clear();
        }
        let key = (call.utid, fd, call.number, outcome);
        let before = self.seen.get(&key).copied().filter(|_| !call.of.is_connect);
        if before.is_some_and(|turn| turn >= latest.turn) {
            return false;
        }
        // A call that began before the change may have had the old descriptor.
        if call.at.0 > latest.ns {
            self.seen.insert(key, self.turn);
        }
        true
    }
}

fn slot(fd: i64) -> usize {
    usize::try_from(fd).unwrap_or(FDS_MAX).min(FDS_MAX)
}

/// Tells whether a command of fcntl or ioctl makes a descriptor, or says whether a descriptor stays open after an exec.
fn changes(call: &FdCall<'_>) -> bool {
    let commands: &[u32] = if call.of.name == "ioctl" { &IOCTL_COMMANDS } else { &FCNTL_COMMANDS };
    call.args.get(1).is_some_and(|&command| commands.contains(&(command as u32)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syscall_names::{self, Names};

    struct Host {
        names: Names,
        novelty: Novelty,
        now: i64,
    }

    impl Host {
        fn new() -> Host {
            Host { names: syscall_names::table(Some("x86_64")), novelty: Novelty::default(), now: 0 }
        }

        fn call(&mut self, utid: Utid, name: &str, args: &[u64], ret: i64) -> bool {
            self.now += 10;
            self.call_from(self.now - 5, utid, name, args, Some(ret))
        }

        fn call_from(&mut self, begin: i64, utid: Utid, name: &str, args: &[u64], ret: Option<i64>) -> bool {
            let is_it = |(abi, _, of, _): &(&str, i64, &str, _)| (*abi, *of) == ("x86_64", name);
            let (_, number, ..) = self.names.each().find(is_it).unwrap();
            let (_, of) = self.names.get(number, false);
            self.novelty.tells(&FdCall { utid, of: of.unwrap(), number, args, ret, at: (begin, self.now) })
        }
    }

    #[test]
    fn what_only_repeats_tells_nothing() {
        let mut host = Host::new();
        assert!(host.call(1, "read", &[5, 0, 9], 9));
        assert!(!host.call(1, "read", &[5, 0, 9], 1));
        assert!(host.call(1, "write", &[5, 0, 9], 9), "another call");
        assert!(host.call(1, "read", &[5, 0, 9], -11), "another outcome");
        assert!(!host.call(1, "read", &[7, 0, 9], -9), "a number that is not open");
        assert!(!host.call(1, "close", &[5], -9), "nothing was closed");
        assert!(!host.call(1, "read", &[5, 0, 9], -5));
        assert!(host.call(1, "read", &[6, 0, 9], 9), "another descriptor");
        assert!(host.call(2, "read", &[5, 0, 9], 9), "another thread");
        assert!(!host.call(1, "getpid", &[], 3), "no descriptor");
        assert!(!host.call(1, "openat", &[u64::MAX - 99, 0, 0], -2), "none was made");
    }

    #[test]
    fn what_makes_or_ends_a_descriptor_is_told_and_makes_its_uses_new() {
        for (name, args, ret) in [
            ("openat", &[u64::MAX - 99, 0, 0][..], 5),
            ("dup2", &[3, 5], 5),
            ("fcntl", &[3, 1030, 0], 5),
            ("accept4", &[3, 0, 0, 0], 5),
            ("close", &[5], 0),
            ("close", &[5], -5),
            ("pipe2", &[1 << 40, 0], 0),
            ("socketpair", &[1, 1, 0, 1 << 40], 0),
            ("close_range", &[3, 9, 0], 0),
            ("execve", &[1 << 40, 0, 0], 0),
        ] {
            let mut host = Host::new();
            assert!(host.call(1, "read", &[5, 0, 9], 9) && !host.call(1, "read", &[5, 0, 9], 9));
            assert!(host.call(2, name, args, ret), "{name}");
            assert!(host.call(2, name, args, ret), "{name} is told each time");
            assert!(host.call(1, "read", &[5, 0, 9], 9), "{name} by another thread, maybe of another process");
            assert!(!host.call(1, "read", &[5, 0, 9], 9));
        }
    }

    #[test]
    fn flags_are_told_and_other_commands_are_uses() {
        let mut host = Host::new();
        for (name, command) in [("fcntl", 2), ("ioctl", 21585), ("ioctl", 21584)] {
            assert!(host.call(1, name, &[5, command, 1], 0) && host.call(1, name, &[5, command, 1], 0));
        }
        assert!(host.call(1, "fcntl", &[5, 3, 0], 2) && !host.call(1, "fcntl", &[5, 3, 0], 2));
    }

    #[test]
    fn a_call_that_began_before_the_change_does_not_speak_for_those_after() {
        let mut host = Host::new();
        host.call(1, "close", &[5], 0);
        assert!(host.call_from(1, 2, "read", &[5, 0, 9], Some(9)), "its descriptor was the old one");
        assert!(host.call(2, "read", &[5, 0, 9], 9), "this one's is the new one");
        assert!(!host.call(2, "read", &[5, 0, 9], 9));
        assert!(host.call_from(host.now, 2, "read", &[5, 0, 9], None), "it did not return");
    }

    #[test]
    fn numbers_beyond_all_bounds_take_no_memory() {
        let mut host = Host::new();
        for fd in [1 << 20, i64::from(i32::MAX), i64::MAX] {
            assert!(host.call(1, "openat", &[0, 0, 0], fd));
        }
        assert!(host.call(1, "read", &[1 << 30, 0, 9], 9) && !host.call(1, "read", &[1 << 30, 0, 9], 9));
        host.call(1, "openat", &[0, 0, 0], i64::MAX);
        assert!(host.call(1, "read", &[1 << 30, 0, 9], 9), "they are taken for one");
        assert!(host.novelty.of_one.len() <= FDS_MAX + 1);
        for fd in 0..=SEEN_MAX as u64 {
            host.call(1, "read", &[fd, 0, 9], 9);
        }
        assert!(host.novelty.seen.len() <= SEEN_MAX);
    }
}
