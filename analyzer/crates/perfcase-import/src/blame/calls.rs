//! What a thread waits for in each system call.

use arrow_array::types::Int32Type;
use arrow_array::{Array, DictionaryArray, StringArray};
use hashbrown::HashMap;

use crate::syscall_names::{awaits_signal, polls, polls_epoll};

/// What a call does, as far as it says why a thread waits in it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum CallKind {
    /// Takes a new connection.
    Accept,
    /// Reads from a descriptor.
    Read,
    /// Waits for one of several descriptors.
    Poll,
    /// Waits for time to pass.
    Sleep,
    /// Waits for a signal or for input that has no descriptor.
    Signal,
    /// Gives data to another end, or ends a connection: what the other end then does may happen within the call.
    Send,
    /// Has the kernel do something at once, or take the lock of a file: a thread without work makes no such call.
    Demand,
    /// Waits for a lock or a condition, or wakes who waits.
    Futex,
    Other,
}

impl CallKind {
    fn of(name: &str) -> CallKind {
        match name {
            "accept" | "accept4" => CallKind::Accept,
            "read" | "readv" | "preadv2" | "recv" | "recvfrom" | "recvmsg" | "recvmmsg" | "recvmmsg_time64" => {
                CallKind::Read
            }
            "io_uring_enter" => CallKind::Poll,
            name if polls(name) || polls_epoll(name) => CallKind::Poll,
            "nanosleep" | "clock_nanosleep" | "clock_nanosleep_time64" => CallKind::Sleep,
            name if awaits_signal(name) => CallKind::Signal,
            "write" | "writev" | "send" | "sendto" | "sendmsg" | "sendmmsg" | "sendfile" | "sendfile64" | "splice"
            | "tee" | "vmsplice" | "connect" | "shutdown" | "close" | "exit_group" | "exit" => CallKind::Send,
            "flock" | "fcntl" | "fcntl64" | "fsync" | "fdatasync" | "sync" | "syncfs" | "sync_file_range" | "msync"
            | "open" | "openat" | "openat2" | "creat" | "unlink" | "unlinkat" | "rename" | "renameat" | "renameat2"
            | "mkdir" | "mkdirat" | "rmdir" | "ftruncate" | "fallocate" => CallKind::Demand,
            "futex" | "futex_time64" | "futex_wait" | "futex_wake" => CallKind::Futex,
            _ => CallKind::Other,
        }
    }
}

/// What a descriptor is.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum Thing {
    #[default]
    Unknown,
    Socket,
    File,
    Pipe,
    /// An eventfd, a pipe's like within a process.
    Event,
    /// A timer, a terminal and other sources of input.
    Input,
    /// The device of a network whose packets a program carries: tun(4), which a VPN has.
    Tunnel,
}

impl Thing {
    pub(super) fn of(kind: Option<&str>) -> Thing {
        match kind {
            Some("socket") => Thing::Socket,
            Some("file") => Thing::File,
            Some("pipe") => Thing::Pipe,
            Some("eventfd") => Thing::Event,
            Some("timerfd" | "signalfd" | "inotify" | "device") => Thing::Input,
            _ => Thing::Unknown,
        }
    }

    /// What a device or file of this name is.
    pub(super) fn of_name(self, target: Option<&str>) -> Thing {
        match self {
            // Below the root of a container its path does not begin with /dev.
            Thing::Input | Thing::File if target.is_some_and(|target| target.ends_with("/dev/net/tun")) => {
                Thing::Tunnel
            }
            _ => self,
        }
    }
}

/// The name of a call, as a number.
pub(super) type CallName = u32;

/// No call, or none that is known.
pub(super) const NO_CALL: CallName = CallName::MAX;

/// The names of calls.
#[derive(Clone, Default)]
pub(super) struct CallNames {
    names: Vec<(Box<str>, CallKind)>,
    numbers: HashMap<Box<str>, CallName>,
}

impl CallNames {
    pub(super) fn number(&mut self, name: &str) -> CallName {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let number = self.names.len() as CallName;
        self.names.push((name.into(), CallKind::of(name)));
        self.numbers.insert(name.into(), number);
        number
    }

    /// Gives the numbers of a column's values, in the order of its dictionary.
    pub(super) fn numbers(&mut self, column: &DictionaryArray<Int32Type>) -> Vec<CallName> {
        let values = column.values().as_any().downcast_ref::<StringArray>();
        values.into_iter().flat_map(|values| values.iter()).map(|name| self.number(name.unwrap_or(""))).collect()
    }

    pub(super) fn kind(&self, call: CallName) -> CallKind {
        self.names.get(call as usize).map_or(CallKind::Other, |(_, kind)| *kind)
    }

    pub(super) fn name(&self, call: CallName) -> Option<&[u8]> {
        self.names.get(call as usize).map(|(name, _)| name.as_bytes())
    }
}
