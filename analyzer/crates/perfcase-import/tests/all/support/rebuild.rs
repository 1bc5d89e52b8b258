//! Recordings that perf 6.1 cannot make, built from ones that it made.

use perfcase_decode::perf_data::record::kind;
use perfcase_decode::perf_data::scan::scan;

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

fn put(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

/// The same recording with attributes of `size` bytes: grown with zeros, or cut where that loses nothing.
pub fn with_attr_size(file: &[u8], size: usize) -> Vec<u8> {
    let (stride, attrs, length) = (word(file, 16) as usize, word(file, 24) as usize, word(file, 32) as usize);
    let mut out = file.to_vec();
    let new_at = out.len();
    for at in (attrs..attrs + length).step_by(stride) {
        let old = &file[at..at + stride - 16];
        let mut attr = old.to_vec();
        assert!(attr.iter().skip(size).all(|&byte| byte == 0), "the attribute needs more than {size} bytes");
        attr.resize(size, 0);
        attr[4..8].copy_from_slice(&(size as u32).to_le_bytes());
        out.extend(attr);
        out.extend(&file[at + stride - 16..at + stride]);
    }
    // Sections may lie anywhere: the new attributes follow the file.
    let grown = out.len() - new_at;
    put(&mut out, 16, size as u64 + 16);
    put(&mut out, 24, new_at as u64);
    put(&mut out, 32, grown as u64);
    out
}

/// The same recording with COMPRESSED records as COMPRESSED2: padded to 8 bytes, with the size of the payload.
///
/// `overflow` writes the size 0 that perf 6.16 writes where the padded record is larger than 16 bits hold.
pub fn with_compressed_2(file: &[u8], overflow: bool) -> Vec<u8> {
    let (start, size) = (word(file, 40) as usize, word(file, 48) as usize);
    let mut data = Vec::new();
    let mut at = start;
    while at < start + size {
        let number = u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
        let length = usize::from(u16::from_le_bytes(file[at + 6..at + 8].try_into().unwrap()));
        if number == kind::COMPRESSED {
            let payload = &file[at + 8..at + length];
            let padded = (16 + payload.len()).next_multiple_of(8);
            let header_size = if overflow { 0 } else { padded as u16 };
            data.extend(kind::COMPRESSED2.to_le_bytes());
            data.extend([0, 0]);
            data.extend(header_size.to_le_bytes());
            data.extend((payload.len() as u64).to_le_bytes());
            data.extend(payload);
            if !overflow {
                data.resize(data.len().next_multiple_of(8), 0);
            }
        } else {
            data.extend(&file[at..at + length]);
        }
        at += length;
    }
    let features = word(file, 72).count_ones() as usize * 16;
    let mut out = file.to_vec();
    let new_at = out.len();
    put(&mut out, 40, new_at as u64);
    put(&mut out, 48, data.len() as u64);
    out.extend(data);
    // The table of the features follows the records.
    out.extend(&file[start + size..start + size + features]);
    out
}

/// The same recording as a kernel of 4.9 would have made it: sched_switch has the state's bits in its places, and lists
/// them in its format. A thread that sleeps for good is killable and a dead one dead at last, as that kernel has them.
pub fn with_states_of_4_9(file: &[u8]) -> Vec<u8> {
    let mut out = file.to_vec();
    let text = |at: usize| &file[at..];
    let find = |from: usize, needle: &[u8]| {
        from + file[from..]
            .windows(needle.len())
            .position(|window| window == needle)
            .expect("the format of sched_switch")
    };
    let name = find(0, b"name: sched_switch\n");
    let id: u32 = number(text(find(name, b"ID: ") + 4));
    let offset: usize = number(text(find(find(name, b"prev_state;"), b"offset:") + 7));
    let (from, to) = (find(name, b"print fmt: "), find(name, b"REC->next_comm, REC->next_pid"));
    let old = br#"print fmt: "%s", __print_flags(REC->prev_state & (4096-1), "|", { 1, "S"} , { 2, "D" }, { 4, "T" }, { 8, "t" }, { 16, "Z" }, { 32, "X" }, { 64, "x" }, { 128, "K" }, { 256, "W" }, { 512, "P" }, { 1024, "N" }) : "R", REC->prev_state & 4096 ? "+" : "","#;
    out[from..to].fill(b' ');
    out[from..from + old.len()].copy_from_slice(old);
    let recording = scan(file).unwrap();
    for entry in recording.entries(file) {
        let Some((header, body)) = recording.record(file, entry) else { continue };
        let event = recording.events.of_record(header, body).and_then(|event| recording.events.get(event));
        let Some(event) = event.filter(|event| header.kind == kind::SAMPLE && event.attr.config == u64::from(id))
        else {
            continue;
        };
        let raw = event.plan.sample(body).0.raw.expect("a tracepoint's bytes");
        let at = raw.as_ptr() as usize - file.as_ptr() as usize + offset;
        let states =
            [(1, 1 | 128), (2, 2), (4, 4 | 128), (8, 8), (16, 64), (32, 16), (64, 512), (128, 2 | 1024), (256, 4096)];
        let today = word(file, at);
        let old = states.iter().filter(|(bit, _)| today & bit != 0).fold(0, |all, (_, old)| all | old);
        put(&mut out, at, old);
    }
    out
}

fn number<T: std::str::FromStr>(text: &[u8]) -> T {
    let digits: String = text.iter().take_while(|byte| byte.is_ascii_digit()).map(|&byte| char::from(byte)).collect();
    digits.parse().unwrap_or_else(|_| panic!("no number"))
}
