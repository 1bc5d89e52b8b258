//! What a system call says about descriptors.

use super::new::FdCall;
use crate::model::NO_TIME;

/// The commands of fcntl: F_DUPFD, F_SETFD, F_DUPFD_CLOEXEC.
const F_DUPFD: u64 = 0;
const F_SETFD: u64 = 2;
const F_DUPFD_CLOEXEC: u64 = 1030;
/// The commands of ioctl: FIONCLEX, FIOCLEX.
const FIONCLEX: u64 = 21584;
const FIOCLEX: u64 = 21585;
/// The flag of close_range that only sets close-on-exec.
const CLOSE_RANGE_CLOEXEC: u64 = 4;
/// O_CLOEXEC, and SOCK_CLOEXEC, EFD_CLOEXEC, … of the same value.
const O_CLOEXEC: u64 = 0o2_000_000;
const MFD_CLOEXEC: u64 = 1;
const PERF_FLAG_FD_CLOEXEC: u64 = 8;

/// A socket's type without known arguments.
pub(super) const NO_SOCKET_TYPE: u64 = 16;

/// Where a call that makes a descriptor says whether execve closes it.
enum CloseOnExec {
    Never,
    Always,
    /// In memory, which the trace does not have.
    Unknown,
    /// In a bit of the argument with this index.
    Bit(usize, u64),
    /// In the command of fcntl.
    Command,
}

/// A call that makes descriptors.
pub(super) struct Maker {
    pub name: &'static str,
    /// What it makes; `None` for a copy.
    pub kind: Option<&'static str>,
    close_on_exec: CloseOnExec,
    /// Whether a descriptor of its making begins another socket, or ends one, in a conversation.
    pub is_of_turns: bool,
}

const fn maker(name: &'static str, kind: &'static str, close_on_exec: CloseOnExec) -> Maker {
    Maker { name, kind: Some(kind), close_on_exec, is_of_turns: true }
}

const fn copier(name: &'static str, close_on_exec: CloseOnExec) -> Maker {
    Maker { name, kind: None, close_on_exec, is_of_turns: true }
}

const fn untold(name: &'static str, kind: &'static str, close_on_exec: CloseOnExec) -> Maker {
    Maker { name, kind: Some(kind), close_on_exec, is_of_turns: false }
}

/// The number of a maker in [`MAKERS`].
pub(super) type MakerId = u8;

use CloseOnExec::{Always, Bit, Command, Never, Unknown};

pub(super) const MAKERS: [Maker; 29] = [
    maker("open", "file", Bit(1, O_CLOEXEC)),
    maker("openat", "file", Bit(2, O_CLOEXEC)),
    maker("openat2", "file", Unknown),
    maker("creat", "file", Never),
    untold("open_by_handle_at", "file", Bit(2, O_CLOEXEC)),
    maker("socket", "socket", Bit(1, O_CLOEXEC)),
    maker("accept", "socket", Never),
    maker("accept4", "socket", Bit(3, O_CLOEXEC)),
    maker("epoll_create", "eventpoll", Never),
    maker("epoll_create1", "eventpoll", Bit(0, O_CLOEXEC)),
    maker("eventfd", "eventfd", Never),
    maker("eventfd2", "eventfd", Bit(1, O_CLOEXEC)),
    maker("signalfd", "signalfd", Never),
    maker("signalfd4", "signalfd", Bit(3, O_CLOEXEC)),
    maker("inotify_init", "inotify", Never),
    maker("inotify_init1", "inotify", Bit(0, O_CLOEXEC)),
    maker("timerfd_create", "timerfd", Bit(1, O_CLOEXEC)),
    maker("memfd_create", "memfd", Bit(1, MFD_CLOEXEC)),
    untold("io_uring_setup", "io_uring", Always),
    untold("pidfd_open", "pidfd", Always),
    untold("perf_event_open", "perf_event", Bit(4, PERF_FLAG_FD_CLOEXEC)),
    copier("dup", Never),
    copier("dup2", Never),
    copier("dup3", Bit(2, O_CLOEXEC)),
    copier("fcntl", Command),
    copier("fcntl64", Command),
    untold("pipe", "pipe", Never),
    untold("pipe2", "pipe", Bit(1, O_CLOEXEC)),
    untold("socketpair", "socket", Bit(1, O_CLOEXEC)),
];

impl Maker {
    /// Tells whether it accepts a connection.
    pub fn accepts(&self) -> bool {
        matches!(self.name, "accept" | "accept4")
    }

    /// Tells whether it copies a descriptor.
    pub fn is_copier(&self) -> bool {
        self.kind.is_none()
    }

    /// Tells whether it writes two descriptors to memory.
    pub fn is_of_pairs(&self) -> bool {
        matches!(self.name, "pipe" | "pipe2" | "socketpair")
    }

    /// Tells whether it replaces an open descriptor.
    pub fn replaces(&self) -> bool {
        matches!(self.name, "dup2" | "dup3")
    }

    /// Tells whether the first two arguments are a socket's family and type.
    pub fn has_family(&self) -> bool {
        matches!(self.name, "socket" | "socketpair")
    }

    fn closes_on_exec(&self, args: &[u64]) -> Option<bool> {
        match self.close_on_exec {
            Never => Some(false),
            Always => Some(true),
            Unknown => None,
            Bit(index, bit) => args.get(index).map(|flags| flags & bit > 0),
            Command => args.get(1).map(|&command| command == F_DUPFD_CLOEXEC),
        }
    }
}

/// The kind of descriptor that alone allows a call. The order is that of the kinds' names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum UseKind {
    EventPoll,
    File,
    Socket,
    TimerFd,
}

impl UseKind {
    pub(super) fn name(self) -> &'static str {
        match self {
            UseKind::EventPoll => "eventpoll",
            UseKind::File => "file",
            UseKind::Socket => "socket",
            UseKind::TimerFd => "timerfd",
        }
    }

    fn of(name: &str) -> Option<UseKind> {
        match name {
            "epoll_wait" | "epoll_pwait" | "epoll_pwait2" | "epoll_ctl" => Some(UseKind::EventPoll),
            "timerfd_settime" | "timerfd_gettime" => Some(UseKind::TimerFd),
            "getdents" | "getdents64" => Some(UseKind::File),
            "bind" | "listen" | "accept" | "accept4" | "connect" | "getsockname" | "getpeername" | "send"
            | "sendto" | "sendmsg" | "sendmmsg" | "recv" | "recvfrom" | "recvmsg" | "recvmmsg" | "shutdown"
            | "setsockopt" | "getsockopt" => Some(UseKind::Socket),
            _ => None,
        }
    }
}

/// What a call does to descriptors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Deed {
    Use,
    Make(MakerId),
    Close,
    CloseRange,
    Exec,
    /// It says whether execve closes the descriptor.
    SetCloseOnExec,
}

/// What a call says about descriptors. It is small, because there may be millions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fact {
    /// When the call began and ended, in ns; the end is [`NO_TIME`] if it did not return.
    pub begin: i64,
    pub end: i64,
    /// The first and the last descriptor that close_range closes, or a socket's family and type.
    pub low: u64,
    pub high: u64,
    pub ret: i64,
    pub utid: u32,
    /// The process; it is known at the end of the import.
    pub upid: u32,
    /// The first descriptor among the arguments; negative without one.
    pub fd: i32,
    pub deed: Deed,
    pub close_on_exec: Option<bool>,
    pub use_kind: Option<UseKind>,
    pub is_connect: bool,
    /// Whether it may end a connection: close, shutdown.
    pub ends_connection: bool,
}

impl Fact {
    /// Gives what a call says; `None` if that is nothing.
    pub(super) fn of(call: &FdCall<'_>) -> Option<Fact> {
        let fd = call.of.fd_of(call.args).unwrap_or(-1);
        let mut fact = Fact {
            begin: call.at.0,
            end: if call.ret.is_some() { call.at.1 } else { NO_TIME },
            low: 0,
            high: 0,
            ret: call.ret.unwrap_or(0),
            utid: call.utid,
            upid: 0,
            fd,
            deed: Deed::Use,
            close_on_exec: None,
            use_kind: UseKind::of(call.of.name),
            is_connect: call.of.is_connect,
            ends_connection: matches!(call.of.name, "close" | "shutdown"),
        };
        fact.deed = fact.read(call);
        (fd >= 0 || fact.deed != Deed::Use).then_some(fact)
    }

    /// Finds what the call does, and notes its arguments.
    fn read(&mut self, call: &FdCall<'_>) -> Deed {
        let (name, args) = (call.of.name, call.args);
        let argument = |index: usize| args.get(index).copied();
        let is_zero = call.ret == Some(0);
        if let Some(id) = MAKERS.iter().position(|maker| maker.name == name)
            && call.ret.is_some_and(|ret| (0..=i64::from(i32::MAX)).contains(&ret))
            && (!matches!(MAKERS[id].close_on_exec, Command) || matches!(argument(1), Some(F_DUPFD | F_DUPFD_CLOEXEC)))
        {
            self.close_on_exec = MAKERS[id].closes_on_exec(args);
            if MAKERS[id].has_family() {
                self.low = argument(0).unwrap_or(0);
                self.high = if args.is_empty() { NO_SOCKET_TYPE } else { argument(1).unwrap_or(u64::MAX) & 15 };
            }
            return Deed::Make(id as MakerId);
        }
        match name {
            "close" => Deed::Close,
            "close_range" if is_zero && args.len() > 2 => {
                (self.low, self.high) = (args[0], args[1]);
                self.close_on_exec = Some(args[2] & CLOSE_RANGE_CLOEXEC > 0);
                Deed::CloseRange
            }
            "execve" | "execveat" if is_zero => Deed::Exec,
            "fcntl" | "fcntl64" if is_zero && argument(1) == Some(F_SETFD) => {
                self.close_on_exec = argument(2).map(|flags| flags & 1 > 0);
                Deed::SetCloseOnExec
            }
            "ioctl" if is_zero && matches!(argument(1), Some(FIONCLEX | FIOCLEX)) => {
                self.close_on_exec = argument(1).map(|command| command == FIOCLEX);
                Deed::SetCloseOnExec
            }
            _ => Deed::Use,
        }
    }

    pub(super) fn has_returned(&self) -> bool {
        self.end != NO_TIME
    }

    fn errno(&self) -> Option<i64> {
        (self.has_returned() && (-4095..0).contains(&self.ret)).then_some(-self.ret)
    }

    /// Tells whether the call shows that its descriptor is open.
    pub(super) fn shows_open(&self) -> bool {
        self.fd >= 0 && self.has_returned()
    }

    /// Gives the kind of descriptor that alone allows the call, if it succeeded.
    pub(super) fn proven_kind(&self) -> Option<UseKind> {
        self.use_kind.filter(|_| self.has_returned() && self.errno().is_none())
    }

    /// Tells whether the arguments of the call that made a socket are known.
    pub(super) fn has_family(&self) -> bool {
        self.high != NO_SOCKET_TYPE
    }

    /// Gives the maker and the descriptor that it returned.
    pub(super) fn made(&self) -> Option<(MakerId, i32)> {
        let Deed::Make(maker) = self.deed else { return None };
        if MAKERS[maker as usize].is_of_pairs() { None } else { Some((maker, self.ret as i32)) }
    }

    /// Tells whether the call made nothing, although it returned a descriptor: signalfd changes the one that it gets,
    /// dup2 onto itself does nothing. Nobody knows that of a dup2 without a known entry.
    pub(super) fn changes_nothing(&self) -> bool {
        let Deed::Make(maker) = self.deed else { return false };
        match MAKERS[maker as usize].name {
            "signalfd" | "signalfd4" => self.fd >= 0,
            "dup2" => self.fd < 0 || i64::from(self.fd) == self.ret,
            _ => false,
        }
    }
}
