//! What the bits of sched_switch's prev_state mean: Linux 4.14 gave them new places.
//!
//! The event's own print format lists them, `{ 1, "S" }, { 2, "D" }, …`. The bits of a kernel before 4.14 are moved to
//! the places of 4.14, so that tables and timelines know one set of bits. Two bits have no place there and are dropped:
//! "K", which says that a signal may end the wait, and "W", which no thread has when it leaves a CPU.

use super::EventFormat;

/// Bit 8 since 4.14: the thread could have continued to run, and the kernel took the CPU from it.
const PREEMPTED: u16 = 0x100;
/// Printed by the letter "D" alone, and with "N", which makes it an idle sleep.
const DISK_SLEEP: u16 = 0x02;
const IDLE_SLEEP: u16 = 0x80;
/// The part of a print format of 4.14 and later that is read.
pub const TODAY: &str = "{ 0x80, \"I\" }";
/// The most bits that a state has before 4.14.
const BITS: usize = 16;

/// Gives the bit of 4.14 for the state that an older kernel prints as a letter; 0 for a state without a bit
/// (fs/proc/array.c and include/trace/events/sched.h of both). "x" was a dead thread, "N" a sleep that does not count
/// as load.
pub fn bit_of(letter: char) -> u16 {
    match letter {
        'S' => 0x01,
        'D' => DISK_SLEEP,
        'T' => 0x04,
        't' => 0x08,
        'X' | 'x' => 0x10,
        'Z' => 0x20,
        'P' => 0x40,
        'I' | 'N' => IDLE_SLEEP,
        _ => 0,
    }
}

/// Joins the bits of a state. An idle sleep was a disk sleep with a second bit: of both only the second stays.
pub fn united(bits: impl IntoIterator<Item = u16>) -> i64 {
    let bits = bits.into_iter().fold(0, |all, bit| all | bit);
    i64::from(if bits & IDLE_SLEEP != 0 { bits & !DISK_SLEEP } else { bits })
}

/// The layout of a kernel before 4.14: for each of its bits, the bit since 4.14.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct OldBits([u16; BITS]);

impl OldBits {
    /// Gives the layout that the event's print format lists; where it lists none, the layout of the kernel's release.
    /// `None` for the layout of 4.14 and later, and for an unknown layout.
    pub fn of(format: &EventFormat, release: Option<&str>) -> Option<OldBits> {
        match listed(&format.print_fmt) {
            Some(old) => (!old.is_today()).then_some(old),
            None => of_release(release?),
        }
    }

    fn is_today(&self) -> bool {
        self.0.iter().enumerate().all(|(bit, &today)| today == 0 || u32::from(today) == 1 << bit)
    }

    /// Gives the bits as 4.14 and later have them.
    #[inline]
    pub fn today(&self, bits: i64) -> i64 {
        let is_set = |&(bit, _): &(usize, &u16)| bits >> bit & 1 == 1;
        united(self.0.iter().enumerate().filter(is_set).map(|(_, &today)| today))
    }
}

/// Reads the list `__print_flags(REC->prev_state …, "|", { 0x01, "S" }, …)` and the flag `REC->prev_state & 1024 ? "+"`.
fn listed(print_fmt: &str) -> Option<OldBits> {
    let mut layout = [0; BITS];
    let mut largest = None;
    for pair in print_fmt.split('{').skip(1).take(2 * BITS) {
        let Some((number, letter)) = pair.split_once('}').and_then(|(pair, _)| pair.split_once(',')) else { continue };
        let letter = letter.trim().trim_matches('"');
        let (Some(bit), Ok(letter)) = (place(number), letter.parse::<char>()) else { continue };
        layout[bit] = bit_of(letter);
        largest = largest.max(Some(bit));
    }
    // Since 4.14 the flag is a sum of constants. It is the highest bit.
    let before = print_fmt.split_once("? \"+\"").and_then(|(before, _)| before.rsplit_once('&'));
    let plus = before.and_then(|(_, number)| place(number)).unwrap_or(largest? + 1);
    if let Some(cell) = layout.get_mut(plus) {
        *cell = PREEMPTED;
    }
    Some(OldBits(layout))
}

/// Gives the place of the only bit that is set in a number.
fn place(number: &str) -> Option<usize> {
    let number = number.trim();
    let number: u32 = match number.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16).ok()?,
        None => number.parse().ok()?,
    };
    let place = number.trailing_zeros() as usize;
    (number.is_power_of_two() && place < BITS).then_some(place)
}

/// The layouts of include/linux/sched.h before 4.14. States were added at the end: parked in 3.9, noload in 4.2, new,
/// which no thread has when it leaves a CPU, in 4.8.
fn of_release(release: &str) -> Option<OldBits> {
    let (letters, plus) = match version(release)? {
        version if version >= (4, 14) => return None,
        version if version >= (4, 8) => ("SDTtZXxKWPN", 12),
        version if version >= (4, 2) => ("SDTtZXxKWPN", 11),
        version if version >= (3, 9) => ("SDTtZXxKWP", 10),
        _ => ("SDTtZXxKW", 9),
    };
    let mut layout = [0; BITS];
    for (cell, letter) in layout.iter_mut().zip(letters.chars()) {
        *cell = bit_of(letter);
    }
    layout[plus] = PREEMPTED;
    Some(OldBits(layout))
}

/// Tells whether the release is older than 4.14.
pub fn is_old(release: &str) -> bool {
    version(release).is_some_and(|version| version < (4, 14))
}

/// `4.4.0-210-generic`
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The print formats of sched_switch, the part about the state, as these kernels' tracefs has them.
    const V2_6_32: &str = r#""prev_state=%s", REC->prev_state ? __print_flags(REC->prev_state, "|", { 1, "S"} , { 2, "D" }, { 4, "T" }, { 8, "t" }, { 16, "Z" }, { 32, "X" }, { 64, "x" }, { 128, "W" }) : "R", REC->next_comm"#;
    const V3_2: &str = r#""prev_state=%s%s", REC->prev_state & (512-1) ? __print_flags(REC->prev_state & (512-1), "|", { 1, "S"} , { 2, "D" }, { 4, "T" }, { 8, "t" }, { 16, "Z" }, { 32, "X" }, { 64, "x" }, { 128, "W" }) : "R", REC->prev_state & 512 ? "+" : "", REC->next_comm"#;
    const V3_10: &str = r#""prev_state=%s%s", REC->prev_state & (1024-1) ? __print_flags(REC->prev_state & (1024-1), "|", { 1, "S"} , { 2, "D" }, { 4, "T" }, { 8, "t" }, { 16, "Z" }, { 32, "X" }, { 64, "x" }, { 128, "K" }, { 256, "W" }, { 512, "P" }) : "R", REC->prev_state & 1024 ? "+" : "", REC->next_comm"#;
    const V4_4: &str = r#""prev_state=%s%s", REC->prev_state & (2048-1) ? __print_flags(REC->prev_state & (2048-1), "|", { 1, "S"} , { 2, "D" }, { 4, "T" }, { 8, "t" }, { 16, "Z" }, { 32, "X" }, { 64, "x" }, { 128, "K" }, { 256, "W" }, { 512, "P" }, { 1024, "N" }) : "R", REC->prev_state & 2048 ? "+" : "", REC->next_comm"#;
    const V4_9: &str = r#""prev_state=%s%s", REC->prev_state & (4096-1) ? __print_flags(REC->prev_state & (4096-1), "|", { 1, "S"} , { 2, "D" }, { 4, "T" }, { 8, "t" }, { 16, "Z" }, { 32, "X" }, { 64, "x" }, { 128, "K" }, { 256, "W" }, { 512, "P" }, { 1024, "N" }) : "R", REC->prev_state & 4096 ? "+" : "", REC->next_comm"#;
    const V4_14: &str = r#""prev_state=%s%s", (REC->prev_state & ((((0x0000 | 0x0001 | 0x0002 | 0x0004 | 0x0008 | 0x0010 | 0x0020 | 0x0040) + 1) << 1) - 1)) ? __print_flags(REC->prev_state & ((((0x0000 | 0x0001 | 0x0002 | 0x0004 | 0x0008 | 0x0010 | 0x0020 | 0x0040) + 1) << 1) - 1), "|", { 0x0001, "S" }, { 0x0002, "D" }, { 0x0004, "T" }, { 0x0008, "t" }, { 0x0010, "X" }, { 0x0020, "Z" }, { 0x0040, "P" }, { 0x0080, "I" }) : "R", REC->prev_state & (((0x0000 | 0x0001 | 0x0002 | 0x0004 | 0x0008 | 0x0010 | 0x0020 | 0x0040) + 1) << 1) ? "+" : "", REC->next_comm"#;

    fn format(print_fmt: &str) -> EventFormat {
        let (system, name) = ("sched".to_string(), "sched_switch".to_string());
        EventFormat { system, name, id: 1, fields: Vec::new(), print_fmt: print_fmt.to_string() }
    }

    fn today(print_fmt: &str, bits: &[i64]) -> Vec<i64> {
        let old = OldBits::of(&format(print_fmt), None).expect("an old layout");
        bits.iter().map(|&bits| old.today(bits)).collect()
    }

    #[test]
    fn the_print_format_says_what_the_bits_mean() {
        // Sleeping, disk sleep, the same killable, stopped, traced, zombie, dead, dead and off its CPU for ever.
        let common = [1, 2, 0x82, 4, 8, 16, 32, 64, 0];
        let want = [1, 2, 2, 4, 8, 0x20, 0x10, 0x10, 0];
        for print_fmt in [V2_6_32, V3_2, V3_10, V4_4, V4_9] {
            assert_eq!(today(print_fmt, &common), want, "{print_fmt}");
        }
        // Waking; parked; disk sleep without load; preempted.
        assert_eq!(today(V2_6_32, &[128]), [0]);
        assert_eq!(today(V3_2, &[256, 512]), [0, 0x100]);
        assert_eq!(today(V3_10, &[256, 512, 1024]), [0, 0x40, 0x100]);
        assert_eq!(today(V4_4, &[256, 512, 1026, 2048]), [0, 0x40, 0x80, 0x100]);
        assert_eq!(today(V4_9, &[256, 512, 1026, 4096, 1 << 20, -1 << 32]), [0, 0x40, 0x80, 0x100, 0, 0]);
    }

    #[test]
    fn since_4_14_the_bits_stay_as_they_are() {
        // 5.x prints the same; 6.x with eight digits.
        let v6 = V4_14.replace("0x00", "0x000000");
        for print_fmt in [V4_14, &v6, TODAY] {
            assert_eq!(OldBits::of(&format(print_fmt), Some("4.4.0")), None, "the format's word comes first");
        }
    }

    #[test]
    fn without_a_print_format_the_release_tells() {
        let of = |release: &str| OldBits::of(&format(""), Some(release));
        let same = |release: &str, print_fmt: &str| assert_eq!(of(release), OldBits::of(&format(print_fmt), None));
        same("3.10.0-1160.el7.x86_64", V3_10);
        same("4.4.0-210-generic", V4_4);
        same("4.9.337", V4_9);
        assert_eq!(of("3.2.0").unwrap().today(512), 0x100);
        for release in ["4.14.336", "5.4.0-1-amd64", "6.18.0", "", "linux", "4"] {
            assert_eq!(of(release), None, "{release}");
        }
        assert_eq!(OldBits::of(&format("\"prev_comm=%s\", REC->prev_comm"), None), None);
    }

    #[test]
    fn hostile_formats_are_read_as_far_as_they_go() {
        for text in
            ["{", "{ 1, \"S\"", "{ 3, \"S\" }", "{ 1, \"SS\" }", "{ 99999999999, \"S\" }", "? \"+\"", "& ? \"+\""]
        {
            assert_eq!(listed(text), None, "{text}");
        }
        assert_eq!(listed("{ 0x8000, \"Z\" }").unwrap().today(0x8000), 0x20);
        assert!(listed(&"{ 1, \"S\" }".repeat(100_000)).is_some());
    }
}
