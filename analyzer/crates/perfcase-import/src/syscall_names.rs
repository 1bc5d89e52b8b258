//! Names of system calls and errors, by the recorded architecture and never by that of the analyzing machine.

use hashbrown::HashMap;

use crate::syscall_arguments::{Arguments, Form, Value};

/// The bit of a number that means x32 on x86_64.
const X32_BIT: i64 = 0x4000_0000;

const NO_FD: u8 = u8::MAX;

/// Tells whether a call waits for one of some descriptors, which it has a list of.
pub(crate) fn polls(name: &str) -> bool {
    matches!(name, "poll" | "ppoll" | "ppoll_time64" | "select" | "_newselect" | "pselect6" | "pselect6_time64")
}

/// Tells whether a call waits for one of the descriptors of an epoll descriptor.
pub(crate) fn polls_epoll(name: &str) -> bool {
    matches!(name, "epoll_wait" | "epoll_pwait" | "epoll_pwait2")
}

/// Tells whether a call waits for a signal, a message of another process, or requests of its own to end.
pub(crate) fn awaits_signal(name: &str) -> bool {
    matches!(
        name,
        "pause"
            | "sigsuspend"
            | "rt_sigsuspend"
            | "rt_sigtimedwait"
            | "rt_sigtimedwait_time64"
            | "io_getevents"
            | "io_pgetevents"
            | "mq_timedreceive"
            | "msgrcv"
    )
}

macro_rules! list {
    ($name:literal) => {
        include_str!(concat!("../../../../schema/syscalls/", $name, ".txt"))
    };
}

/// What a call does to the descriptors of its process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FdRole {
    /// It uses one descriptor, or none.
    User,
    /// It returns a descriptor.
    Maker,
    /// It writes two descriptors to memory: pipe, pipe2, socketpair.
    PairMaker,
    /// close.
    Closer,
    /// It closes many: close_range, and the exec calls.
    ManyCloser,
    /// fcntl and ioctl: some of their commands make a descriptor, or change whether it stays open after an exec.
    Controller,
}

/// A call of one calling convention.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// Its name; empty for a number without a call.
    pub name: &'static str,
    /// What it does to descriptors.
    pub fd_role: FdRole,
    fd: u8,
    /// It is connect.
    pub is_connect: bool,
}

const NO_CALL: Call = Call { name: "", fd_role: FdRole::User, fd: NO_FD, is_connect: false };

impl Call {
    /// The index of the argument that is the first descriptor.
    pub fn fd(&self) -> Option<usize> {
        (self.fd != NO_FD).then_some(self.fd as usize)
    }

    /// Gives the first descriptor among these arguments. Negative values have another meaning: the current directory,
    /// no file.
    pub fn fd_of(&self, args: &[u64]) -> Option<i32> {
        self.fd().and_then(|index| args.get(index)).map(|&fd| fd as i32).filter(|&fd| fd >= 0)
    }
}

/// The calls of one convention: what the kernel calls an ABI.
#[derive(Default)]
pub struct Abi {
    /// Its name: an architecture as uname -m prints it, x32, i386, arm or s390.
    pub name: &'static str,
    /// Indexed by number.
    calls: Vec<Call>,
    /// Calls with numbers far from the others (arm's own).
    odd: HashMap<i64, Call>,
}

/// The calls that a machine's threads make.
#[derive(Default)]
pub struct Names {
    native: Abi,
    compat: Abi,
    x32: Option<Abi>,
    errors: Vec<&'static str>,
    arguments: Arguments,
}

fn numbered(text: &'static str) -> impl Iterator<Item = (usize, &'static str)> {
    text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let (number, name) = line.split_once(' ')?;
        Some((number.parse().ok()?, name))
    })
}

impl Abi {
    fn parse(name: &'static str, text: &'static str, arguments: &Arguments) -> Abi {
        let mut abi = Abi { name, ..Abi::default() };
        for (number, name) in numbered(text) {
            let is_fd = |argument: &str| argument.starts_with("f:");
            let form = arguments.of(abi.name, name);
            let list = form.and_then(|form| form.arguments);
            let fd = list.and_then(|list| list.split(' ').position(is_fd)).map_or(NO_FD, |index| index as u8);
            let fd_role = match name {
                "pipe" | "pipe2" | "socketpair" => FdRole::PairMaker,
                "close" => FdRole::Closer,
                "close_range" | "execve" | "execveat" => FdRole::ManyCloser,
                "fcntl" | "fcntl64" | "ioctl" => FdRole::Controller,
                _ if form.and_then(|form| form.result) == Some("f") => FdRole::Maker,
                _ => FdRole::User,
            };
            let call = Call { name, fd_role, fd, is_connect: name == "connect" };
            if number >= 1024 {
                abi.odd.insert(number as i64, call);
                continue;
            }
            if abi.calls.len() <= number {
                abi.calls.resize(number + 1, NO_CALL);
            }
            abi.calls[number] = call;
        }
        abi
    }

    #[inline]
    fn get(&self, number: i64) -> Option<&Call> {
        let index = usize::try_from(number).ok()?;
        self.calls.get(index).or_else(|| self.odd.get(&number)).filter(|call| !call.name.is_empty())
    }

    fn each(&self) -> impl Iterator<Item = (i64, &Call)> {
        let plain = self.calls.iter().enumerate().map(|(number, call)| (number as i64, call));
        let mut odd: Vec<_> = self.odd.iter().map(|(&number, call)| (number, call)).collect();
        odd.sort_by_key(|(number, _)| *number);
        plain.chain(odd).filter(|(_, call)| !call.name.is_empty())
    }
}

impl Names {
    /// Gives the convention of a call, and the call if the convention has it.
    #[inline]
    pub fn get(&self, number: i64, is_compat: bool) -> (&'static str, Option<&Call>) {
        if let Some(x32) = &self.x32
            && number & X32_BIT != 0
            && number > 0
        {
            return (x32.name, x32.get(number & !X32_BIT));
        }
        if is_compat {
            return (self.compat.name, self.compat.get(number));
        }
        (self.native.name, self.native.get(number))
    }

    /// Tells whether the machine's kernel runs programs of 32 and of 64 bits.
    pub fn has_compat(&self) -> bool {
        !self.compat.calls.is_empty()
    }

    /// Gives the name of an error number.
    #[inline]
    pub fn error(&self, errno: i32) -> Option<&'static str> {
        let name = *self.errors.get(usize::try_from(errno).ok()?)?;
        (!name.is_empty()).then_some(name)
    }

    fn abis(&self) -> impl Iterator<Item = (&Abi, i64)> {
        let plain = [&self.native, &self.compat].into_iter().map(|abi| (abi, 0));
        plain.chain(self.x32.iter().map(|abi| (abi, X32_BIT))).filter(|(abi, _)| !abi.name.is_empty())
    }

    /// Gives every call of every convention of the machine, in each of its forms: convention, number as in a capture,
    /// name, form.
    pub fn each(&self) -> impl Iterator<Item = (&'static str, i64, &'static str, Form)> {
        self.abis().flat_map(move |(abi, bit)| {
            abi.each().flat_map(move |(number, call)| {
                self.arguments.forms(abi.name, call.name).map(move |form| (abi.name, number | bit, call.name, form))
            })
        })
    }

    /// Gives the names of values of arguments, in each convention of the machine.
    pub fn values(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.abis().flat_map(|(abi, _)| self.arguments.values(abi.name).map(|value| (abi.name, value)))
    }
}

/// Gives the names for an architecture as uname -m prints it. An unknown one has no names: its calls have only numbers.
pub fn table(machine: Option<&str>) -> Names {
    let arguments = Arguments::parse(list!("arguments"), list!("values"));
    let abi = |name, text| Abi::parse(name, text, &arguments);
    let mut errors = Vec::new();
    for (number, name) in numbered(list!("errno")) {
        errors.resize(number + 1, "");
        errors[number] = name;
    }
    let (native, compat, x32) = match machine {
        Some("x86_64" | "amd64") => {
            (abi("x86_64", list!("x86_64")), abi("i386", list!("i386")), Some(abi("x32", list!("x32"))))
        }
        Some("aarch64" | "arm64") => (abi("aarch64", list!("aarch64")), abi("arm", list!("arm")), None),
        // Both have the generic numbers, as aarch64 does.
        Some("riscv64") => (abi("riscv64", list!("aarch64")), Abi::default(), None),
        Some("loongarch64") => (abi("loongarch64", list!("aarch64")), Abi::default(), None),
        Some("s390x") => (abi("s390x", list!("s390x")), abi("s390", list!("s390")), None),
        Some("i386" | "i486" | "i586" | "i686") => (abi("i386", list!("i386")), Abi::default(), None),
        Some(name) if name.starts_with("armv") => (abi("arm", list!("arm")), Abi::default(), None),
        _ => (Abi::default(), Abi::default(), None),
    };
    Names { native, compat, x32, errors, arguments }
}

#[cfg(test)]
mod tests {
    use super::{Value, table};

    fn name(machine: Option<&str>, number: i64, is_compat: bool) -> (&'static str, Option<&'static str>) {
        let names = table(machine);
        let (abi, call) = names.get(number, is_compat);
        (abi, call.map(|call| call.name))
    }

    #[test]
    fn one_number_has_another_name_on_another_architecture() {
        assert_eq!(name(Some("x86_64"), 1, false), ("x86_64", Some("write")));
        assert_eq!(name(Some("aarch64"), 64, false), ("aarch64", Some("write")));
        assert_eq!(name(Some("s390x"), 4, false), ("s390x", Some("write")));
        assert_eq!(name(Some("x86_64"), -1, false).1, None);
        assert_eq!(name(None, 1, false).1, None);
        // i386 has none, and tables have gaps.
        assert_eq!(name(Some("i686"), 1 << 40, false).1, None);
        assert_eq!(name(Some("aarch64"), 245, false).1, None);
    }

    #[test]
    fn programs_of_32_bits_have_numbers_of_their_own() {
        assert_eq!(name(Some("x86_64"), 4, true), ("i386", Some("write")));
        // Programs of x32 are laid out as those of 32 bits are.
        assert_eq!(name(Some("x86_64"), 0x4000_0000 + 1, true), ("x32", Some("write")));
        assert_eq!(name(Some("x86_64"), 0x4000_0000 + 1, false), ("x32", Some("write")));
        assert_eq!(name(Some("x86_64"), 0x4000_0000 + 520, false), ("x32", Some("execve")));
        assert_eq!(name(Some("aarch64"), 4, true), ("arm", Some("write")));
        assert_eq!(name(Some("aarch64"), 0x000f_0005, true), ("arm", Some("set_tls")));
        assert_eq!(name(Some("s390x"), 192, true), ("s390", Some("mmap2")));
        assert_eq!(name(Some("riscv64"), 64, true).1, None);
    }

    #[test]
    fn the_first_descriptor_among_the_arguments() {
        let names = table(Some("x86_64"));
        let fd = |number| names.get(number, false).1.and_then(super::Call::fd);
        assert_eq!((fd(0), fd(9), fd(233), fd(39)), (Some(0), Some(4), Some(0), None));
    }

    #[test]
    fn errors_have_names() {
        let names = table(Some("aarch64"));
        assert_eq!(names.error(2), Some("ENOENT"));
        assert_eq!(names.error(11), Some("EAGAIN"));
        assert_eq!(names.error(512), Some("ERESTARTSYS"));
        assert_eq!((names.error(41), names.error(4095), names.error(-1)), (None, None, None));
    }

    #[test]
    fn every_number_of_a_machine_is_listed_once() {
        let names = table(Some("x86_64"));
        let plain = names.each().filter(|(.., form)| form.test.is_none());
        let all: Vec<_> = plain.map(|(abi, number, ..)| (abi, number)).collect();
        let mut unique = all.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), all.len());
        assert!(
            all.contains(&("x32", 0x4000_0000 + 520)) && all.contains(&("i386", 5)) && all.contains(&("x86_64", 0))
        );
    }

    #[test]
    fn names_of_values_are_those_of_the_convention() {
        let directory = |machine, abi| {
            let names = table(Some(machine));
            let is_it = |(of, value): &(&str, &Value)| *of == abi && value.set == "open" && value.name == "O_DIRECTORY";
            let values: Vec<_> = names.values().filter(is_it).map(|(_, value)| value.value).collect();
            values
        };
        assert_eq!(directory("x86_64", "x86_64"), [0x10000]);
        assert_eq!(directory("x86_64", "i386"), [0x10000]);
        assert_eq!(directory("aarch64", "aarch64"), [0x4000]);
        assert_eq!(directory("s390x", "s390x"), [0x10000]);
        assert_eq!(table(None).values().count(), 0);
    }
}
