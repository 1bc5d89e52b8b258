//! The other fields of a sample's text: the address of the data, the memory access, registers, branches.
//!
//! perf prints them in this order (`process_event` of tools/perf/builtin-script.c): address of the data, data_src,
//! weight, then the sampled address or, on lines of their own, the callchain; then the registers at the interrupt,
//! those of the user, the branches and the physical address. Numbers have no names in the text: a single number before
//! the sampled address is the address of the data, because a weight has a data_src before it.

use super::frame;

/// Registers of one kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Registers {
    /// 1: of a 32-bit task; 2: of a 64-bit task.
    pub abi: u8,
    /// The values, in the order of perf's mask.
    pub values: Vec<u64>,
}

/// An address and its object, if perf knew one.
pub type Place = (u64, Option<Box<str>>);

/// One branch, as `brstack` prints it.
#[derive(Clone, Debug, PartialEq)]
pub struct Branch {
    /// The address before the branch.
    pub from: Place,
    /// The address after the branch.
    pub to: Place,
    /// perf's flag word.
    pub flags: u64,
}

/// The fields; empty where they were not printed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Details {
    /// The address of the data.
    pub data: Option<Place>,
    /// The memory access, as perf encodes it.
    pub data_src: Option<u64>,
    /// Cost of the access.
    pub weight: Option<u64>,
    /// Physical address of the data.
    pub physical_address: Option<u64>,
    /// Registers in the printed order: at the interrupt, of the user.
    pub registers: Vec<Registers>,
    /// Registers at the interrupt, by [`Details::name_registers`].
    pub interrupt: Option<Registers>,
    /// Registers of the user, by [`Details::name_registers`].
    pub user: Option<Registers>,
    /// Branches, newest first.
    pub branches: Vec<Branch>,
    /// Older branches, beyond the bound.
    pub branches_left_out: u64,
}

/// The most branches of one sample. Processors have 32 or 64.
pub const MOST_BRANCHES: usize = 1024;
/// The most registers of one kind: perf's mask has this number of bits.
const MOST_REGISTERS: usize = 64;
/// The longest path of an object behind an address, in bytes.
const PATH_BYTES_MAX: usize = 4096;
/// Names of the types of branches, by number (`branch_type_name` of tools/perf/util/branch.c).
const TYPES: [&str; 15] = [
    "N/A",
    "COND",
    "UNCOND",
    "IND",
    "CALL",
    "IND_CALL",
    "RET",
    "SYSCALL",
    "SYSRET",
    "COND_CALL",
    "COND_RET",
    "ERET",
    "IRQ",
    "SERROR",
    "NO_TX",
];

impl Details {
    /// Reads what follows the event's name on a sample's line; gives the text of the sampled address.
    pub fn of_line<'a>(&mut self, text: &'a str, has_chain: bool) -> &'a str {
        let text = self.tail(text);
        if let Some(at) = text.find(" |OP ") {
            return self.access(&text[..at], &text[at..], has_chain);
        }
        if let (left, Some(_)) = frame::split_off(text)
            && left.trim_end().ends_with(')')
        {
            self.data = place_of(left);
            return &text[left.len()..];
        }
        let numbers = numbers(text);
        let before = if has_chain { &numbers[..] } else { &numbers[..numbers.len().saturating_sub(1)] };
        match *before {
            [] => return text,
            [(_, address)] => self.data = hex(address).map(|address| (address, None)),
            [(_, address), (_, weight)] => {
                self.data = hex(address).map(|address| (address, None));
                self.weight = weight.parse().ok();
            }
            // The meaning of the numbers is unknown.
            _ => return text,
        }
        if has_chain { "" } else { numbers.last().map_or("", |(at, _)| &text[*at..]) }
    }

    /// Reads a line of registers or branches behind a callchain; false for any other line.
    pub fn of_last_line(&mut self, text: &str) -> bool {
        let is_tail = text.starts_with(" ABI:") || branch(text.trim_start()).is_some();
        if is_tail {
            self.tail(text);
        }
        is_tail
    }

    /// Sorts the registers by their kind. A single kind has no name in the text: the header says which kinds were `recorded`, at the
    /// interrupt and of the user; without a header they are the user's, as dwarf stacks need. True where both were recorded and
    /// one is printed: then nothing says which it is, and it is left out.
    pub fn name_registers(&mut self, recorded: (bool, bool)) -> bool {
        let second = (self.registers.len() > 1).then(|| self.registers.pop()).flatten();
        let first = self.registers.pop();
        let is_unclear = first.is_some() && second.is_none() && recorded == (true, true);
        (self.interrupt, self.user) = match (first, second) {
            _ if is_unclear => (None, None),
            (first, Some(second)) => (first, Some(second)),
            (first, None) if recorded == (true, false) => (first, None),
            (first, None) => (None, first),
        };
        is_unclear
    }

    /// `7f43 [unknown] (/lib/x)      1e05080021` before ` |OP LOAD|LVL L1 hit|…|BLK  N/A      12     7f43 main (/bin/x)`.
    fn access<'a>(&mut self, before: &str, access: &'a str, has_chain: bool) -> &'a str {
        let (address, code) = before.rsplit_once(' ').unwrap_or(("", before));
        self.data_src = hex(code);
        self.data = place_of(address);
        // The last part is a name and one word: `LCK No`, `BLK  N/A`.
        let last = access.rfind('|').map_or("", |bar| &access[bar + 1..]);
        let rest = skip_word(skip_word(last));
        match (&numbers(rest)[..], has_chain) {
            ([(_, weight)], true) | ([(_, weight), _], false) => {
                self.weight = weight.parse().ok();
                skip_word(rest)
            }
            _ => rest,
        }
    }

    /// Reads the registers, the branches and the physical address; gives the text before them.
    fn tail<'a>(&mut self, text: &'a str) -> &'a str {
        let branches = text.match_indices(" 0x").map(|(at, _)| at).find(|at| branch(&text[at + 1..]).is_some());
        let Some(at) = [text.find(" ABI:"), branches].into_iter().flatten().min() else {
            return self.physical(text);
        };
        let mut tail = text[at..].trim();
        while let Some(rest) = tail.strip_prefix("ABI:") {
            let (found, rest) = registers(rest);
            if self.registers.len() < 2 {
                self.registers.push(found);
            }
            tail = rest.trim_start();
        }
        while let Some((found, rest)) = branch(tail) {
            match self.branches.len() < MOST_BRANCHES {
                true => self.branches.push(found),
                false => self.branches_left_out += 1,
            }
            tail = rest.trim_start();
        }
        self.physical_address = hex(tail);
        &text[..at]
    }

    /// Reads the physical address: a number behind the object of the sampled address.
    fn physical<'a>(&mut self, text: &'a str) -> &'a str {
        match text.rsplit_once(')') {
            Some((before, number)) if hex(number.trim()).is_some() => {
                self.physical_address = hex(number.trim());
                &text[..before.len() + 1]
            }
            _ => text,
        }
    }
}

fn hex(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_number.then(|| u64::from_str_radix(text, 16).ok())?
}

fn skip_word(text: &str) -> &str {
    let text = text.trim_start();
    text.find(char::is_whitespace).map_or("", |end| &text[end..])
}

/// Gives the numbers at the beginning of the text, and the place of each.
fn numbers(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut at = 0;
    for word in text.split_whitespace().take(4) {
        at += text[at..].find(word).unwrap_or(0);
        if hex(word).is_none() {
            break;
        }
        found.push((at, word));
        at += word.len();
    }
    found
}

/// Reads `7f43 main+0x1 (/bin/x)`, or the address alone.
fn place_of(text: &str) -> Option<Place> {
    let frame = frame::parse(text)?;
    Some((frame.address, frame.object.map(Box::from)))
}

/// Reads `2    AX:0xb5    BX:0x0 …`; also gives the text behind the registers.
fn registers(text: &str) -> (Registers, &str) {
    let mut rest = skip_word(text);
    let mut found = Registers {
        abi: text.split_whitespace().next().and_then(|abi| abi.parse().ok()).unwrap_or(0),
        values: Vec::new(),
    };
    while let Some(word) = rest.split_whitespace().next()
        && let Some((_, value)) = word.split_once(":0x")
        && let Some(value) = hex(value)
        && found.values.len() < MOST_REGISTERS
    {
        found.values.push(value);
        rest = skip_word(rest);
    }
    (found, rest)
}

/// Reads the branch `0x40(/bin/app)/0x10(/bin/app)/M/-/-/3/COND …`; also gives the text behind it.
fn branch(text: &str) -> Option<(Branch, &str)> {
    let (from, text) = end_of_branch(text)?;
    let (to, text) = end_of_branch(text)?;
    let length = text.find(char::is_whitespace).unwrap_or(text.len());
    let mut parts = text[..length].split('/');
    let mut flags = match parts.next()? {
        "M" => 1,
        "P" => 2,
        "-" => 0,
        _ => return None,
    };
    flags |= u64::from(parts.next()? == "X") << 2 | u64::from(parts.next()? == "A") << 3;
    flags |= u64::from(parts.next()?.parse::<u16>().ok()?) << 4;
    let kind = parts.next().and_then(|name| TYPES.iter().position(|kind| *kind == name));
    flags |= (kind.unwrap_or(0) as u64) << 20;
    Some((Branch { from, to, flags }, &text[length..]))
}

/// Reads an end of a branch: `0x40(/bin/app)/`.
fn end_of_branch(text: &str) -> Option<(Place, &str)> {
    let digits = text.strip_prefix("0x")?;
    let end = digits.find(|c: char| !c.is_ascii_hexdigit())?;
    let (address, rest) = (hex(&digits[..end])?, &digits[end..]);
    let (object, rest) = match rest.strip_prefix('(') {
        None => (None, rest),
        Some(path) => {
            let end = path.bytes().take(PATH_BYTES_MAX).position(|byte| byte == b')')?;
            (Some(&path[..end]).filter(|path| *path != "[unknown]"), &path[end + 1..])
        }
    };
    Some(((address, object.map(Box::from)), rest.strip_prefix('/')?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, has_chain: bool) -> (Details, String) {
        let mut details = Details::default();
        let rest = details.of_line(text, has_chain).trim().to_string();
        (details, rest)
    }

    #[test]
    fn memory_accesses() {
        let frame = "7f43272b0b70 [unknown] (/usr/lib/ld.so)";
        let access = "|OP N/A|LVL N/A or N/A|SNP N/A|TLB N/A|LCK N/A|BLK  N/A";
        let (details, rest) =
            read(&format!("   7f43 main+0x1 (/lib/x)      1e05080021 {access}        12     {frame}"), false);
        assert_eq!(rest, frame);
        assert_eq!(details.data, Some((0x7f43, Some("/lib/x".into()))));
        assert_eq!((details.data_src, details.weight), (Some(0x1e_0508_0021), Some(12)));
        let (details, rest) =
            read(&format!("   0      68100842 |OP LOAD|LVL L3 hit|LCK No     {frame}      1000"), false);
        assert_eq!((&*rest, details.data, details.data_src), (frame, Some((0, None)), Some(0x6810_0842)));
        assert_eq!((details.weight, details.physical_address), (None, Some(0x1000)));
        let (details, rest) = read(&format!(" 7f43    1e05080021 {access}    12"), true);
        assert_eq!((&*rest, details.weight, details.data), ("", Some(12), Some((0x7f43, None))));
        let (details, rest) = read(&format!("    7f43 [unknown] (/lib/x)      {frame}"), false);
        assert_eq!((&*rest, details.data), (frame, Some((0x7f43, Some("/lib/x".into())))));
        let (details, rest) = read("   10     7f43 ", false);
        assert_eq!((&*rest, details.data), ("7f43", Some((0x10, None))));
        for text in [frame, "7f43", "", "7f43 f(int (*)(char), T)+0x1f (/opt/my app)", "1 2 3 4"] {
            assert_eq!(read(text, false), (Details::default(), text.to_string()), "{text}");
        }
    }

    #[test]
    fn registers_and_branches() {
        let (details, rest) = read(
            " 55f9 [unknown] (/bin/app) ABI:2    AX:0xb5    BX:0x0 FLAGS:0x202  ABI:1    AX:0xb5 \
             0x40(/bin/app)/0xffff(/a b)/M/X/A/3/COND  0x60([unknown])/0x100/P/-/-/0/CALL/-  0x1/0x2/-/-/-/0        9",
            false,
        );
        assert_eq!(rest, "55f9 [unknown] (/bin/app)");
        let of = |abi, values: &[u64]| Registers { abi, values: values.to_vec() };
        assert_eq!(details.registers, [of(2, &[0xb5, 0, 0x202]), of(1, &[0xb5])]);
        let place = |address, object: Option<&str>| (address, object.map(Box::from));
        let branch = |from, to, flags| Branch { from, to, flags };
        assert_eq!(
            details.branches,
            [
                branch(place(0x40, Some("/bin/app")), place(0xffff, Some("/a b")), 1 | 4 | 8 | 3 << 4 | 1 << 20),
                branch(place(0x60, None), place(0x100, None), 2 | 4 << 20),
                branch(place(1, None), place(2, None), 0),
            ]
        );
        assert_eq!(details.physical_address, Some(9));
        let mut named = details.clone();
        assert!(!named.name_registers((true, true)));
        assert_eq!((named.interrupt, named.user), (Some(of(2, &[0xb5, 0, 0x202])), Some(of(1, &[0xb5]))));
        let mut details = Details::default();
        assert!(details.of_last_line(" ABI:2    AX:0x1 \n"));
        assert_eq!(details.registers, [of(2, &[1])]);
        for (recorded, is_unclear, interrupt, user) in [
            ((true, true), true, None, None),
            ((true, false), false, Some(of(2, &[1])), None),
            ((false, false), false, None, Some(of(2, &[1]))),
        ] {
            let mut named = details.clone();
            assert_eq!(named.name_registers(recorded), is_unclear);
            assert_eq!((named.interrupt, named.user), (interrupt, user));
        }
        for text in [" ABI", "\t 7f43 main (/x)", " 0x10/0x20/Q/-/-/1", " 0x10(/0x20/M/-/-/1", "0x"] {
            assert!(!details.of_last_line(text), "{text}");
        }
    }
}
