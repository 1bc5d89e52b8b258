//! perfcase-symbols.

use perfcase_archive::Content;
use perfcase_symbols::unwind::{Machine, ObjectId, Registers, Space, StackCopy, Tables, Unwinder};
use perfcase_symbols::{At, Kallsyms, Object, Parts, PerfMap, Placement, build_id, demangle, names_and_code};

/// An input, and a few words of it: addresses for an ELF file that follows.
fn words<const COUNT: usize>(input: &[u8]) -> Option<([u64; COUNT], &[u8])> {
    let (words, rest) = input.split_at_checked(8 * COUNT)?;
    let (words, _) = words.as_chunks::<8>();
    Some((std::array::from_fn(|at| u64::from_le_bytes(words[at])), rest))
}

/// Names of addresses in an ELF file, and the code there.
pub(super) fn elf(input: &[u8]) {
    let Some((words, file)) = words::<4>(input) else { return };
    build_id::of_file(file);
    let bytes = Content::from_bytes(file);
    let object = |debug| Object {
        bytes: bytes.clone(),
        origin: String::new(),
        debug,
        whole: None,
        parts: Parts { package: Some(bytes.clone()), shared: Some(bytes.clone()), ..Parts::default() },
    };
    let mut addresses: Vec<At> = words.map(At::from).into();
    addresses.extend((0..file.len() as u64).step_by(256).map(|address| At { address, is_return: address & 256 == 0 }));
    let kernel = Placement::Kernel { symbol: "_text".to_string(), address: words[0] };
    for placement in [Placement::File, Placement::Module { text: words[0] }, kernel] {
        names_and_code(&object(None), &placement, &addresses);
    }
    names_and_code(&object(Some(bytes.clone())), &Placement::File, &addresses[..4]);
}

/// One object that is mapped from 0 on.
struct Process(Content);

impl Space for Process {
    fn place(&self, address: u64) -> Option<(ObjectId, u64)> {
        (address < 1 << 47).then_some((0, address))
    }

    fn is_code(&self, address: u64) -> bool {
        address < 1 << 47
    }

    fn tables(&self, _: ObjectId) -> Option<Tables> {
        Tables::parse(&self.0, Some(&self.0))
    }
}

/// The callers of threads in an ELF file.
pub(super) fn unwind(input: &[u8]) {
    let Some((words, file)) = words::<4>(input) else { return };
    let process = Process(Content::from_bytes(file));
    let mut unwinder = Unwinder::default();
    let stack: Vec<u8> =
        (0..512).flat_map(|word: u64| words[word as usize % 4].wrapping_add(word * 8).to_le_bytes()).collect();
    for (name, mask) in [("x86_64", 0b1_1100_0000), ("aarch64", 0b1_1111 << 28)] {
        let Some(machine) = Machine::of_name(name) else { continue };
        for pc in words.into_iter().chain((0..file.len() as u64).step_by(512)) {
            let values = match name {
                "x86_64" => vec![words[1], words[0], pc],
                _ => vec![words[0], words[1], words[2], words[0], pc],
            };
            let Some(registers) = Registers::from_perf(machine, mask, values.into_iter()) else { continue };
            let mut frames = Vec::new();
            let copy = StackCopy { start: words[0], bytes: &stack };
            unwinder.unwind(machine, registers, copy, &process, &mut frames);
            assert!(frames.len() <= perfcase_symbols::unwind::MAX_FRAMES);
        }
    }
}

/// A list of names: of the kernel, or of generated code; and each name without its mangling.
pub(super) fn lists(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let map = PerfMap::parse(input);
    let kernel = Kallsyms::parse(&text);
    for line in text.lines().take(64) {
        demangle(line.rsplit(' ').next().unwrap_or_default());
        let first = line.split(' ').next().unwrap_or_default();
        let Ok(address) = u64::from_str_radix(first, 16) else { continue };
        map.find(address);
        kernel.as_ref().and_then(|kernel| kernel.find(address));
    }
}
