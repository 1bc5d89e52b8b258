//! The printed fields of a tracepoint. Most events print `key=value`, system calls print `key: value, …`, and some of
//! the oldest events have other forms.

use crate::format::state_bits::{bit_of, united};

/// A value as it was printed.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number.
    Int(i64),
    /// Numbers.
    Ints(Vec<i64>),
    /// Anything else.
    Text(String),
}

/// A field's name and value.
pub type Field = (String, Value);

/// Reads what a tracepoint printed. An unknown form becomes one field `text`. `is_old_kernel` says that the kernel is
/// older than 4.14.
pub fn parse(system: &str, event: &str, text: &str, is_old_kernel: bool) -> Vec<Field> {
    let text = text.trim();
    let known = match (system, event) {
        ("sched", "sched_switch") => switch(text, is_old_kernel),
        ("sched", "sched_wakeup" | "sched_wakeup_new" | "sched_waking") => wakeup(text),
        ("raw_syscalls", "sys_enter") => sys_enter(text),
        ("raw_syscalls", "sys_exit") => sys_exit(text),
        ("syscalls", name) if name.starts_with("sys_exit_") => number(text).map(|ret| vec![int("ret", ret)]),
        ("block", name) if name.starts_with("block_rq_") => block(name, text),
        ("irq", "irq_handler_exit") => pairs(text).map(handled),
        _ => None,
    };
    known.or_else(|| pairs(text)).or_else(|| listed(text)).unwrap_or_else(|| {
        if text.is_empty() { Vec::new() } else { vec![("text".to_string(), Value::Text(text.to_string()))] }
    })
}

/// Gives the two possible names of the system call of an event like `sys_enter_openat` or `sys_exit_openat`: the
/// printed name, and the name without `new` or `64`, which only the kernel's function has (`newfstat`, `sendfile64`).
pub fn call_names(event: &str) -> Option<[&str; 2]> {
    let name = event.strip_prefix("sys_enter_").or_else(|| event.strip_prefix("sys_exit_"))?;
    let plain = name.strip_prefix("new").unwrap_or(name);
    Some([name, plain.strip_suffix("64").unwrap_or(plain)])
}

fn int(name: &str, value: i64) -> Field {
    (name.to_string(), Value::Int(value))
}

fn string(name: &str, value: &str) -> Field {
    (name.to_string(), Value::Text(value.to_string()))
}

/// Reads a text that is a decimal or `0x` number.
fn number(text: &str) -> Option<i64> {
    let text = text.trim();
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok().map(|value| value as i64),
        None => text.parse().ok().filter(|_| !text.starts_with('+')),
    }
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Reads `a=1 b=two words c=0x3`. A value ends before the next name.
fn pairs(text: &str) -> Option<Vec<Field>> {
    let mut starts: Vec<(usize, usize)> = Vec::new();
    let mut at = 0;
    for piece in text.split_inclusive(char::is_whitespace) {
        let name = piece.trim_start_matches(['[', '(', '{']);
        if let Some((name, _)) = name.split_once('=')
            && is_name(name)
        {
            let start = at + (piece.len() - piece.trim_start_matches(['[', '(', '{']).len());
            starts.push((start, start + name.len()));
        }
        at += piece.len();
    }
    // Words before the first name would be lost.
    if starts.is_empty()
        || !text[..starts[0].0].trim_matches(|c: char| c.is_whitespace() || "[({".contains(c)).is_empty()
    {
        return None;
    }
    let mut fields: Vec<Field> = Vec::new();
    for (i, &(start, equals)) in starts.iter().enumerate() {
        let end = starts.get(i + 1).map_or(text.len(), |next| next.0);
        let value = text[equals + 1..end].trim_end_matches(['[', '(', '{']).trim().trim_end_matches("==>").trim_end();
        let name = text[start..equals].to_string();
        if !fields.iter().any(|(known, _)| *known == name) {
            fields.push((name, value_of(value)));
        }
    }
    Some(fields)
}

/// Reads a number, which may have its unit in brackets, or a text.
fn value_of(text: &str) -> Value {
    let text = text.trim_end_matches(',');
    let (first, rest) = text.split_once(' ').unwrap_or((text, ""));
    let is_unit = rest.is_empty() || (rest.starts_with('[') && rest.ends_with(']') && !rest.contains(' '));
    match number(first) {
        Some(value) if is_unit => Value::Int(value),
        _ => {
            let closed = text.strip_suffix(']').filter(|inner| !inner.contains('[')).unwrap_or(text);
            Value::Text(closed.to_string())
        }
    }
}

/// Reads `fd: 0x00000003, buf: 0x7ffd, count: 0x400`.
fn listed(text: &str) -> Option<Vec<Field>> {
    let field = |part: &str| {
        let (name, value) = part.split_once(": ").or_else(|| part.split_once(':'))?;
        is_name(name.trim()).then(|| (name.trim().to_string(), value_of(value.trim())))
    };
    text.split(", ").map(field).collect()
}

/// Gives the bits of the letters that sched_switch prints, in the places of Linux 4.14 and later.
fn state_bits(text: &str) -> i64 {
    let bits = united(text.trim_end_matches('+').split('|').flat_map(str::chars).map(bit_of));
    if text.ends_with('+') { bits | 0x100 } else { bits }
}

/// libtraceevent's plugin has a letter of 4.14 for each of the low 8 bits, on every kernel. Before 4.14 its "P" means a
/// dead thread, and its "I" means that a signal may end the wait.
fn old_letters(state: &str) -> String {
    state.replace('P', "x").replace('I', "K")
}

fn switch(text: &str, is_old_kernel: bool) -> Option<Vec<Field>> {
    let (prev, next) = text.split_once(" ==> ")?;
    if let Some(comm) = prev.strip_prefix("prev_comm=") {
        let (comm, rest) = comm.rsplit_once(" prev_pid=")?;
        let mut fields = vec![string("prev_comm", comm)];
        fields.extend(pairs(&format!("prev_pid={rest}"))?);
        as_number(&mut fields, "prev_state", state_bits);
        let (comm, rest) = next.strip_prefix("next_comm=")?.rsplit_once(" next_pid=")?;
        fields.push(string("next_comm", comm));
        fields.extend(pairs(&format!("next_pid={rest}"))?);
        return Some(fields);
    }
    // As libtraceevent's plugin prints it: `perf:12 [120] S ==> swapper/0:0 [120]`.
    let (who, state) = prev.rsplit_once(' ')?;
    let state = if is_old_kernel { old_letters(state) } else { state.to_string() };
    let (comm, pid, prio) = comm_pid_prio(who)?;
    let (next_comm, next_pid, next_prio) = comm_pid_prio(next)?;
    Some(vec![
        string("prev_comm", comm),
        int("prev_pid", pid),
        int("prev_prio", prio),
        int("prev_state", state_bits(&state)),
        string("next_comm", next_comm),
        int("next_pid", next_pid),
        int("next_prio", next_prio),
    ])
}

/// Reads `swapper/0:0 [120]`.
fn comm_pid_prio(text: &str) -> Option<(&str, i64, i64)> {
    let (name, prio) = text.trim().rsplit_once(" [")?;
    let (comm, pid) = name.rsplit_once(':')?;
    Some((comm, pid.parse().ok()?, prio.strip_suffix(']')?.parse().ok()?))
}

fn wakeup(text: &str) -> Option<Vec<Field>> {
    if let Some(comm) = text.strip_prefix("comm=") {
        let (comm, rest) = comm.rsplit_once(" pid=")?;
        let mut fields = vec![string("comm", comm)];
        fields.extend(pairs(&format!("pid={rest}"))?);
        return Some(fields);
    }
    // `perf:12 [120] success=1 CPU:001`
    let end = text.find(']')?;
    let (comm, pid, prio) = comm_pid_prio(&text[..=end])?;
    let mut fields = vec![string("comm", comm), int("pid", pid), int("prio", prio)];
    if let Some(cpu) = text.rsplit_once("CPU:").and_then(|(_, cpu)| cpu.trim().parse().ok()) {
        fields.push(int("target_cpu", cpu));
    }
    Some(fields)
}

/// Reads `NR 29 (e, 2400, 0, aaab2160cb50, aaab2160cb50, 0)`, with hexadecimal arguments.
fn sys_enter(text: &str) -> Option<Vec<Field>> {
    let (id, args) = text.strip_prefix("NR ")?.split_once(" (")?;
    let args = args.strip_suffix(')')?.split(", ");
    let args: Option<Vec<i64>> = args.map(|arg| u64::from_str_radix(arg.trim(), 16).ok().map(|v| v as i64)).collect();
    let mut args = args?;
    args.resize(6, 0);
    Some(vec![int("id", id.parse().ok()?), ("args".to_string(), Value::Ints(args))])
}

/// Reads `NR 29 = -11`.
fn sys_exit(text: &str) -> Option<Vec<Field>> {
    let (id, ret) = text.strip_prefix("NR ")?.split_once(" = ")?;
    Some(vec![int("id", id.parse().ok()?), int("ret", number(ret)?)])
}

/// Reads `254,0 WS 1310720 () 5775360 + 2560 [dd]`, without the bytes at completion and an I/O priority since 6.x:
/// `259,0 WS () 2048 + 8 none,0,0 [0]`.
fn block(event: &str, text: &str) -> Option<Vec<Field>> {
    let (major, rest) = text.split_once(',')?;
    let (minor, rest) = rest.split_once(' ')?;
    // The kernel's own form of a device's number: 12 and 20 bits.
    let device = major.parse::<i64>().ok()? << 20 | minor.parse::<i64>().ok()?;
    let (rwbs, rest) = rest.trim_start().split_once(' ')?;
    let (before, rest) = rest.split_once('(')?;
    let (_, rest) = rest.split_once(") ")?;
    let (sector, rest) = rest.split_once(" + ")?;
    let (count, rest) = rest.split_once(' ')?;
    let last = rest.rsplit_once('[')?.1.strip_suffix(']')?;
    let mut fields = vec![
        int("dev", device),
        // A flush has the sector -1, printed without its sign.
        int("sector", sector.trim().parse::<u64>().ok()? as i64),
        int("nr_sector", count.parse().ok()?),
        string("rwbs", rwbs),
    ];
    match (before.trim(), last.parse::<i64>()) {
        // Completion and requeue have an error instead of bytes and a name.
        ("", Ok(error)) if matches!(event, "block_rq_complete" | "block_rq_requeue" | "block_rq_error") => {
            fields.push(int("error", error));
        }
        (bytes, _) => {
            if let Ok(bytes) = bytes.parse() {
                fields.push(int("bytes", bytes));
            }
            fields.push(string("comm", last));
        }
    }
    Some(fields)
}

/// Replaces the word of `irq=1 ret=handled` by 1 or 0.
fn handled(mut fields: Vec<Field>) -> Vec<Field> {
    as_number(&mut fields, "ret", |word| i64::from(word == "handled"));
    fields
}

/// Replaces the word of a field by its number.
fn as_number(fields: &mut [Field], name: &str, number: impl Fn(&str) -> i64) {
    for (_, value) in fields.iter_mut().filter(|(field, _)| field == name) {
        if let Value::Text(words) = value {
            *value = Value::Int(number(words));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(system: &str, event: &str, printed: &str) -> String {
        let show = |(name, value): &Field| match value {
            Value::Int(v) => format!("{name}={v}"),
            Value::Ints(v) => format!("{name}={v:?}"),
            Value::Text(v) => format!("{name}'{v}'"),
        };
        parse(system, event, printed, false).iter().map(show).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn names_of_calls() {
        assert_eq!(call_names("sys_enter_openat"), Some(["openat", "openat"]));
        assert_eq!(call_names("sys_exit_newfstat"), Some(["newfstat", "fstat"]));
        assert_eq!(call_names("sys_enter_sendfile64"), Some(["sendfile64", "sendfile"]));
        assert_eq!(call_names("sched_switch"), None);
    }

    #[test]
    fn scheduler() {
        assert_eq!(
            text(
                "sched",
                "sched_switch",
                "prev_comm=a b prev_pid=7 prev_prio=120 prev_state=R+ ==> next_comm=x= next_pid=0 next_prio=120"
            ),
            "prev_comm'a b' prev_pid=7 prev_prio=120 prev_state=256 next_comm'x=' next_pid=0 next_prio=120"
        );
        assert_eq!(
            text("sched", "sched_switch", "perf:12 [120] D|S ==> swapper/0:0 [120]"),
            "prev_comm'perf' prev_pid=12 prev_prio=120 prev_state=3 next_comm'swapper/0' next_pid=0 next_prio=120"
        );
        assert_eq!(
            text("sched", "sched_waking", "comm=kworker/0:1 pid=16 prio=0 target_cpu=001"),
            "comm'kworker/0:1' pid=16 prio=0 target_cpu=1"
        );
        assert_eq!(
            text("sched", "sched_wakeup", "perf:12 [120] success=1 CPU:003"),
            "comm'perf' pid=12 prio=120 target_cpu=3"
        );
        assert_eq!(
            text("sched", "sched_stat_runtime", "comm=perf pid=1942 runtime=913562 [ns] vruntime=141991926670 [ns]"),
            "comm'perf' pid=1942 runtime=913562 vruntime=141991926670"
        );
    }

    #[test]
    fn states_of_kernels_before_4_14() {
        let state = |printed: &str, is_old| {
            let fields = parse("sched", "sched_switch", printed, is_old);
            fields.into_iter().find(|(name, _)| name == "prev_state").map(|(_, value)| value)
        };
        let kernel = |letters: &str| {
            let before = "prev_comm=a prev_pid=7 prev_prio=120 prev_state=";
            state(&format!("{before}{letters} ==> next_comm=b next_pid=0 next_prio=120"), true)
        };
        let plugin = |letters: &str, is_old| state(&format!("a:7 [120] {letters} ==> b:0 [120]"), is_old);
        for (letters, bits) in [("x", 0x10), ("P", 0x40), ("D|K", 2), ("D|N", 0x80), ("R+", 0x100), ("S|W", 1)] {
            assert_eq!(kernel(letters), Some(Value::Int(bits)), "{letters}");
        }
        assert_eq!((plugin("P", true), plugin("P", false)), (Some(Value::Int(0x10)), Some(Value::Int(0x40))));
        assert_eq!((plugin("D|I", true), plugin("D|I", false)), (Some(Value::Int(2)), Some(Value::Int(0x80))));
    }

    #[test]
    fn calls_and_requests() {
        assert_eq!(
            text("raw_syscalls", "sys_enter", "NR 29 (e, 2400, 0, ffffffffffffff9c, 1, 0)"),
            "id=29 args=[14, 9216, 0, -100, 1, 0]"
        );
        assert_eq!(text("raw_syscalls", "sys_exit", "NR 29 = -11"), "id=29 ret=-11");
        assert_eq!(
            text("syscalls", "sys_enter_read", "fd: 0x00000003, buf: 0x7ffd, count: 0x400"),
            "fd=3 buf=32765 count=1024"
        );
        assert_eq!(text("syscalls", "sys_exit_read", "0xfffffffffffffff5"), "ret=-11");
        assert_eq!(
            text("block", "block_rq_issue", "254,0 WS 1310720 () 5775360 + 2560 [dd]"),
            "dev=266338304 sector=5775360 nr_sector=2560 rwbs'WS' bytes=1310720 comm'dd'"
        );
        assert_eq!(
            text("block", "block_rq_complete", "254,0 FF () 18446744073709551615 + 0 [0]"),
            "dev=266338304 sector=-1 nr_sector=0 rwbs'FF' error=0"
        );
        assert_eq!(
            text("block", "block_rq_complete", "254,0 WS () 5775360 + 2560 none,0,0 [-5]"),
            "dev=266338304 sector=5775360 nr_sector=2560 rwbs'WS' error=-5"
        );
    }

    #[test]
    fn other_forms() {
        assert_eq!(text("irq", "irq_handler_exit", "irq=1 ret=handled"), "irq=1 ret=1");
        assert_eq!(text("irq", "softirq_entry", "vec=7 [action=SCHED]"), "vec=7 action'SCHED'");
        assert_eq!(text("workqueue", "workqueue_activate_work", "work struct 0xff"), "text'work struct 0xff'");
        assert_eq!(text("probe", "f", "(ffffffff81) a=0x10 s=\"x y\""), "text'(ffffffff81) a=0x10 s=\"x y\"'");
        assert_eq!(text("x", "y", ""), "");
    }
}
