//! Tracepoints that say more than their own row: which thread runs, which thread wakes which, and which calls and
//! requests are under way.

use std::net::{IpAddr, SocketAddr};

use perfcase_decode::format::state_bits::OldBits;
use perfcase_decode::format::{EventFormat, FieldKind};

use super::plan::IntField;
use crate::model::until_nul;
use crate::timeline::{BlockStep, WakeKind};

/// A name of fixed size in a payload: offset and size in bytes.
pub(crate) type TextField = (usize, usize);

/// The place of a system call's arguments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Args {
    offset: usize,
    /// The size of one argument, in bytes.
    width: usize,
    pub(crate) count: u8,
    is_big_endian: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Hook {
    None,
    Switch {
        prev: Side,
        next: Side,
        prev_state: IntField,
        /// The layout of the state's bits, if the kernel is older than 4.14; otherwise `None`.
        old_bits: Option<OldBits>,
    },
    Wakeup {
        pid: IntField,
        comm: Option<TextField>,
        kind: WakeKind,
        /// Where the waker's CPU was: `common_flags`.
        flags: Option<IntField>,
    },
    /// A thread was moved to the run queue of another CPU.
    Move {
        pid: IntField,
        cpu: IntField,
    },
    Fork {
        child: IntField,
        comm: Option<TextField>,
    },
    Exit {
        pid: IntField,
    },
    /// A program was executed. The thread then has the name of the program's file (begin_new_exec in fs/exec.c).
    Exec {
        pid: IntField,
        filename: Located,
    },
    Rename {
        pid: IntField,
        comm: TextField,
    },
    SysEnter {
        number: IntField,
        args: Args,
        is_typed: bool,
    },
    SysExit {
        number: IntField,
        ret: IntField,
        is_typed: bool,
    },
    Block {
        step: BlockStep,
        fields: BlockFields,
    },
    /// A socket got another state.
    SocketState(SocketFields),
    /// The function tracer: the function that was called, and the return address in its caller.
    Call {
        function: IntField,
        caller: IntField,
    },
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Side {
    pub(crate) pid: IntField,
    pub(crate) comm: TextField,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockFields {
    pub(crate) device: IntField,
    pub(crate) sector: IntField,
    pub(crate) sector_count: IntField,
    pub(crate) bytes: Option<IntField>,
    pub(crate) error: Option<IntField>,
    pub(crate) rwbs: TextField,
    pub(crate) comm: Option<TextField>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct SocketFields {
    pub(crate) skaddr: IntField,
    pub(crate) old: IntField,
    pub(crate) new: IntField,
    pub(crate) family: IntField,
    pub(crate) protocol: IntField,
    /// The own end and the peer's: port, IPv4 address, IPv6 address.
    pub(crate) ends: [(IntField, BytesField, BytesField); 2],
}

/// An array of `N` bytes begins here in a payload.
pub(crate) type BytesField = usize;

fn bytes_field(format: &EventFormat, name: &str, size: u32) -> Option<BytesField> {
    let field = format.fields.iter().find(|field| field.name == name)?;
    (matches!(field.kind, FieldKind::Bytes) && field.size == size).then_some(field.offset as usize)
}

/// Reads an address.
fn address<const N: usize>(payload: &[u8], at: BytesField) -> Option<IpAddr>
where
    IpAddr: From<[u8; N]>,
{
    let bytes: [u8; N] = payload.get(at..at + N)?.try_into().ok()?;
    Some(IpAddr::from(bytes))
}

impl SocketFields {
    /// Reads both ends of a socket; an IPv6 socket has IPv6 addresses, also of an IPv4 peer.
    pub(crate) fn ends(&self, payload: &[u8], is_v6: bool) -> Option<[SocketAddr; 2]> {
        let end = |(port, v4, v6): (IntField, BytesField, BytesField)| {
            let ip = if is_v6 { address::<16>(payload, v6)? } else { address::<4>(payload, v4)? };
            Some(SocketAddr::new(ip, u16::try_from(port.read(payload)?).ok()?))
        };
        Some([end(self.ends[0])?, end(self.ends[1])?])
    }
}

fn text_field(format: &EventFormat, name: &str) -> Option<TextField> {
    let field = format.fields.iter().find(|field| field.name == name)?;
    matches!(field.kind, FieldKind::CharArray).then_some((field.offset as usize, field.size as usize))
}

/// The most characters of a thread's name: TASK_COMM_LEN without its NUL (include/linux/sched.h).
pub(crate) const COMM_MAX: usize = 15;

/// A text that follows the fixed part of a record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Located {
    at: usize,
    is_big_endian: bool,
    /// The place from which its offset counts, in bytes.
    base: usize,
}

impl Located {
    fn find(format: &EventFormat, name: &str, is_big_endian: bool) -> Option<Located> {
        let field = format.fields.iter().find(|field| field.name == name)?;
        let base = match field.kind {
            FieldKind::DataLoc { .. } => 0,
            FieldKind::RelLoc { .. } => (field.offset + field.size) as usize,
            _ => return None,
        };
        Some(Located { at: field.offset as usize, is_big_endian, base })
    }

    pub(crate) fn read(self, payload: &[u8]) -> Option<&[u8]> {
        let bytes: [u8; 4] = payload.get(self.at..self.at + 4)?.try_into().ok()?;
        let place = if self.is_big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) };
        let start = self.base.checked_add((place & 0xffff) as usize)?;
        payload.get(start..start.checked_add((place >> 16) as usize)?).map(until_nul)
    }
}

pub(crate) fn text(payload: &[u8], (offset, size): TextField) -> &[u8] {
    until_nul(payload.get(offset..offset + size).unwrap_or_default())
}

impl Hook {
    /// Gives what an event of this format says. An event that lacks a field that it should have says nothing.
    pub(crate) fn of(format: &EventFormat, is_big_endian: bool, old_bits: Option<OldBits>) -> Hook {
        Hook::find(format, is_big_endian, old_bits).unwrap_or(Hook::None)
    }

    fn find(format: &EventFormat, is_big_endian: bool, old_bits: Option<OldBits>) -> Option<Hook> {
        let int = |name: &str| IntField::find(format, name, is_big_endian);
        let comm = |name: &str| text_field(format, name);
        let side = |pid: &str, name: &str| Some(Side { pid: int(pid)?, comm: comm(name)? });
        Some(match (format.system.as_str(), format.name.as_str()) {
            ("sched", "sched_switch") => Hook::Switch {
                prev: side("prev_pid", "prev_comm")?,
                next: side("next_pid", "next_comm")?,
                prev_state: int("prev_state")?,
                old_bits,
            },
            ("sched", name @ ("sched_waking" | "sched_wakeup" | "sched_wakeup_new")) => {
                let kind = match name {
                    "sched_waking" => WakeKind::Waking,
                    "sched_wakeup" => WakeKind::Wakeup,
                    _ => WakeKind::New,
                };
                Hook::Wakeup { pid: int("pid")?, comm: comm("comm"), kind, flags: int("common_flags") }
            }
            ("sched", "sched_migrate_task") => Hook::Move { pid: int("pid")?, cpu: int("dest_cpu")? },
            ("sched", "sched_process_fork") => Hook::Fork { child: int("child_pid")?, comm: comm("child_comm") },
            ("sched", "sched_process_exit") => Hook::Exit { pid: int("pid")? },
            ("sched", "sched_process_exec") => {
                Hook::Exec { pid: int("pid")?, filename: Located::find(format, "filename", is_big_endian)? }
            }
            ("task", "task_rename") => Hook::Rename { pid: int("pid")?, comm: comm("newcomm")? },
            ("raw_syscalls", "sys_enter") => {
                let args = format.fields.iter().find(|field| field.name == "args")?;
                let (offset, width) = (args.offset as usize, args.size as usize / 6);
                Hook::SysEnter {
                    number: int("id")?,
                    args: Args { offset, width, count: 6, is_big_endian },
                    is_typed: false,
                }
            }
            ("raw_syscalls", "sys_exit") => Hook::SysExit { number: int("id")?, ret: int("ret")?, is_typed: false },
            ("syscalls", name) => {
                // Kernels before 3.7 called the number nr.
                let number = int("__syscall_nr").or_else(|| int("nr"))?;
                if name.starts_with("sys_exit_") {
                    return Some(Hook::SysExit { number, ret: int("ret")?, is_typed: true });
                }
                if !name.starts_with("sys_enter_") {
                    return None;
                }
                Hook::SysEnter { number, args: typed_args(format, is_big_endian), is_typed: true }
            }
            ("ftrace", "function") => Hook::Call { function: int("ip")?, caller: int("parent_ip")? },
            ("sock", "inet_sock_set_state") => {
                let end = |port: &str, v4: &str, v6: &str| {
                    Some((int(port)?, bytes_field(format, v4, 4)?, bytes_field(format, v6, 16)?))
                };
                Hook::SocketState(SocketFields {
                    skaddr: int("skaddr")?,
                    old: int("oldstate")?,
                    new: int("newstate")?,
                    family: int("family")?,
                    protocol: int("protocol")?,
                    ends: [end("sport", "saddr", "saddr_v6")?, end("dport", "daddr", "daddr_v6")?],
                })
            }
            ("block", name) => {
                let step = match name {
                    "block_rq_insert" => BlockStep::Queued,
                    "block_rq_merge" => BlockStep::Merged,
                    "block_rq_issue" => BlockStep::Issued,
                    "block_rq_requeue" => BlockStep::Requeued,
                    "block_rq_complete" => BlockStep::Completed,
                    _ => return None,
                };
                let fields = BlockFields {
                    device: int("dev")?,
                    sector: int("sector")?,
                    sector_count: int("nr_sector")?,
                    bytes: int("bytes"),
                    error: int("error").or_else(|| int("errors")),
                    rwbs: comm("rwbs")?,
                    comm: comm("comm"),
                };
                Hook::Block { step, fields }
            }
            _ => return None,
        })
    }

    /// Tells whether another table has everything that the event's own table would have.
    #[inline]
    pub(crate) fn replaces_table(&self) -> bool {
        matches!(self, Hook::SysEnter { is_typed: false, .. } | Hook::SysExit { is_typed: false, .. })
    }
}

#[inline]
pub(crate) fn pid_of(field: IntField, payload: &[u8]) -> Option<i32> {
    field.read(payload).and_then(|pid| i32::try_from(pid).ok()).filter(|&pid| pid >= 0)
}

/// Gives the place of the arguments in a tracepoint of one call: the fields after the number, each as wide as a
/// register.
fn typed_args(format: &EventFormat, is_big_endian: bool) -> Args {
    let fields = format.fields.iter().filter(|field| !field.is_common);
    let fields: Vec<_> = fields.filter(|field| !matches!(field.name.as_str(), "__syscall_nr" | "nr")).collect();
    let (offset, width) = fields.first().map_or((0, 0), |first| (first.offset as usize, first.size as usize));
    // Newer kernels add the target of a pointer after the arguments, as data of variable size.
    let is_next = |&(index, field): &(usize, &&perfcase_decode::format::Field)| {
        field.offset as usize == offset + index * width && field.size as usize == width
    };
    let count = fields.iter().enumerate().take(6).take_while(is_next).count() as u8;
    Args { offset, width, count, is_big_endian }
}

/// Reads the arguments. Those of a 32-bit kernel are 4 bytes wide.
#[inline]
pub(crate) fn read_args(payload: &[u8], Args { offset, width, count, is_big_endian }: Args) -> [u64; 6] {
    let mut args = [0; 6];
    let size = usize::from(count) * width;
    if let (Some(bytes), true) = (payload.get(offset..offset + size), width > 0) {
        for (arg, bytes) in args.iter_mut().zip(bytes.chunks_exact(width)) {
            *arg = super::plan::integer(bytes, false, is_big_endian) as u64;
        }
    }
    args
}
