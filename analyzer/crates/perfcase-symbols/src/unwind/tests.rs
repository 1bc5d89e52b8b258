//! Stacks that were worked out by hand, over ELF files that are built here.

use super::*;
use crate::scale::scaled;
use perfcase_archive::Content;

const EH_FRAME: u64 = 0x3000;
const STACK: u64 = 0x7000_0000;
/// The address at which the object is mapped, and the offset of its code in the file.
const BASE: u64 = 0x5555_0000_0000;

// Call frame instructions (DWARF 5, 7.24).
const DEF_CFA: u8 = 0x0c;
const DEF_CFA_EXPRESSION: u8 = 0x0f;
const UNDEFINED: u8 = 0x07;
const OFFSET: u8 = 0x80;
const ADVANCE: u8 = 0x40;
const DEF_CFA_OFFSET: u8 = 0x0e;

struct Function {
    start: u64,
    length: u64,
    is_signal: bool,
    instructions: Vec<u8>,
}

fn function(start: u64, instructions: &[u8]) -> Function {
    Function { start, length: 0x100, is_signal: false, instructions: instructions.to_vec() }
}

fn entry(id: u32, body: &[u8]) -> Vec<u8> {
    let padded = body.len().next_multiple_of(4);
    let mut bytes = (4 + padded as u32).to_le_bytes().to_vec();
    bytes.extend(id.to_le_bytes());
    bytes.extend(body);
    bytes.resize(8 + padded, 0);
    bytes
}

/// Makes .eh_frame (or .debug_frame) of functions. Each function has its own CIE and absolute addresses of 8 bytes.
fn frames(machine: Machine, functions: &[Function], is_eh: bool) -> Vec<u8> {
    let mut section = Vec::new();
    for function in functions {
        let return_register = if machine == Machine::X86_64 { 16 } else { 30 };
        let augmentation: &[u8] = if function.is_signal { b"S\0" } else { b"\0" };
        let head = [&[1][..], augmentation, &[1, 0x78, return_register]].concat();
        let initial: &[u8] = match machine {
            Machine::X86_64 => &[DEF_CFA, 7, 8, OFFSET | 16, 1],
            Machine::Aarch64 => &[DEF_CFA, 31, 0],
        };
        let cie_at = section.len();
        let cie = entry(if is_eh { 0 } else { u32::MAX }, &[&head[..], initial].concat());
        section.extend(cie);
        let pointer = if is_eh { section.len() + 4 - cie_at } else { cie_at };
        let mut body = function.start.to_le_bytes().to_vec();
        body.extend(function.length.to_le_bytes());
        body.extend(&function.instructions);
        section.extend(entry(pointer as u32, &body));
    }
    section
}

/// Makes an ELF file with code at 0x1000, which is not in the file, and one section.
fn elf(machine: Machine, name: &str, section: &[u8]) -> Vec<u8> {
    let number: u16 = if machine == Machine::X86_64 { 62 } else { 183 };
    let strings = [b"\0", name.as_bytes(), b"\0.shstrtab\0"].concat();
    let section_at = 64 + 56;
    let strings_at = section_at + section.len();
    let headers_at = (strings_at + strings.len()).next_multiple_of(8);
    let words = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let halves = |halves: &[u16]| halves.iter().flat_map(|half| half.to_le_bytes()).collect::<Vec<u8>>();
    let pair = |low: u64, high: u64| low | high << 32;
    let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    file.extend(halves(&[3, number, 1, 0]));
    file.extend(words(&[0, 64, headers_at as u64]));
    file.extend(halves(&[0, 0, 64, 56, 1, 64, 3, 2]));
    file.extend(words(&[pair(1, 5), 0x1000, 0x1000, 0x1000, 0x2000, 0x2000, 0x1000]));
    file.extend(section);
    file.extend(&strings);
    file.resize(headers_at, 0);
    file.extend(words(&[0; 8]));
    file.extend(words(&[pair(1, 1), 2, EH_FRAME, section_at as u64, section.len() as u64, 0, 8, 0]));
    let name_at = 2 + name.len() as u64;
    file.extend(words(&[pair(name_at, 3), 0, 0, strings_at as u64, strings.len() as u64, 0, 1, 0]));
    file
}

/// One object at [`BASE`], and a page of generated code after it.
struct Process(Option<Vec<u8>>);

impl Space for Process {
    fn place(&self, address: u64) -> Option<(ObjectId, u64)> {
        let offset = address.checked_sub(BASE)?;
        match offset {
            0..0x3000 => Some((0, offset)),
            0x3000..0x4000 => Some((1, offset)),
            _ => None,
        }
    }

    fn is_code(&self, address: u64) -> bool {
        self.place(address).is_some()
    }

    fn tables(&self, object: ObjectId) -> Option<Tables> {
        let bytes = self.0.as_ref().filter(|_| object == 0)?;
        Tables::parse(&Content::from_bytes(bytes.clone()), None)
    }
}

fn x86_64(pc: u64, sp: u64, bp: u64) -> Registers {
    Registers::from_perf(Machine::X86_64, 0b1_1100_0000, [bp, sp, pc].into_iter()).unwrap()
}

fn unwind(machine: Machine, registers: Registers, file: Option<Vec<u8>>, stack: &[u64]) -> (Vec<u64>, Outcome) {
    let bytes: Vec<u8> = stack.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut frames = Vec::new();
    let stack = StackCopy { start: STACK, bytes: &bytes };
    let outcome = Unwinder::default().unwind(machine, registers, stack, &Process(file), &mut frames);
    (frames.iter().map(|frame| frame.wrapping_sub(BASE)).collect(), outcome)
}

/// A leaf that has pushed two words, its caller that keeps four, and the first function.
fn three(is_eh: bool) -> Vec<u8> {
    let functions = [
        function(0x1000, &[ADVANCE | 4, DEF_CFA_OFFSET, 24]),
        function(0x1100, &[DEF_CFA_OFFSET, 40]),
        function(0x1200, &[UNDEFINED, 16]),
    ];
    let section = frames(Machine::X86_64, &functions, is_eh);
    elf(Machine::X86_64, if is_eh { ".eh_frame" } else { ".debug_frame" }, &section)
}

const THREE: [u64; 9] = [1, 2, BASE + 0x1110, 3, 4, 5, 6, BASE + 0x1220, 0];

#[test]
fn callers_are_the_calls_and_not_where_they_return() {
    for is_eh in [true, false] {
        let (frames, outcome) = unwind(Machine::X86_64, x86_64(BASE + 0x1010, STACK, 0), Some(three(is_eh)), &THREE);
        assert_eq!(frames, [0x1010, 0x110f, 0x121f], "with .eh_frame: {is_eh}");
        assert_eq!(outcome, Outcome { end: End::Complete, guessed_count: 0 });
    }
}

#[test]
fn the_row_of_the_instruction_counts() {
    // Before the first push, the return address is on top of the stack.
    let (frames, outcome) = unwind(Machine::X86_64, x86_64(BASE + 0x1003, STACK, 0), Some(three(true)), &THREE[2..]);
    assert_eq!((frames, outcome.end), (vec![0x1003, 0x110f, 0x121f], End::Complete));
}

#[test]
fn a_stack_copy_that_is_too_short_says_so() {
    let registers = x86_64(BASE + 0x1010, STACK, 0);
    let (frames, outcome) = unwind(Machine::X86_64, registers, Some(three(true)), &THREE[..7]);
    assert_eq!((frames, outcome.end), (vec![0x1010, 0x110f], End::StackCopyEnded));
    let (frames, outcome) = unwind(Machine::X86_64, registers, Some(three(true)), &[]);
    assert_eq!((frames, outcome.end), (vec![0x1010], End::StackCopyEnded));
}

#[test]
fn without_tables_only_frame_pointers_lead_on() {
    let registers = x86_64(BASE + 0x1010, STACK, 0);
    assert_eq!(
        unwind(Machine::X86_64, registers, None, &THREE),
        (vec![0x1010], Outcome { end: End::NoFile(0), guessed_count: 0 })
    );
    // Between functions, and in code that no file describes.
    let registers = x86_64(BASE + 0x1f00, STACK, 0);
    assert_eq!(unwind(Machine::X86_64, registers, Some(three(true)), &THREE).1.end, End::NoInformation(0));
    let stack = [9, STACK + 25, BASE + 0x3100, 0, 0, BASE + 0x1220];
    let registers = x86_64(BASE + 0x3008, STACK, STACK + 8);
    let (frames, outcome) = unwind(Machine::X86_64, registers, Some(three(true)), &stack);
    assert_eq!(frames, [0x3008, 0x30ff]);
    assert_eq!(outcome, Outcome { end: End::NoFile(1), guessed_count: 1 });
    let stack = [9, STACK + 32, BASE + 0x3100, 0, 0, BASE + 0x1220];
    let (frames, outcome) = unwind(Machine::X86_64, registers, Some(three(true)), &stack);
    assert_eq!((frames, outcome.guessed_count), (vec![0x3008, 0x30ff, 0x121f], 2));
    assert_eq!(outcome.end, End::Complete);
}

#[test]
fn what_a_signal_interrupted_is_where_it_was() {
    // The handler's frame leads to 0x1100 itself, the first instruction of a function: one byte before it is another
    // function.
    let functions = [
        Function { is_signal: true, ..function(0x1000, &[]) },
        function(0x1100, &[]),
        function(0x1200, &[UNDEFINED, 16]),
    ];
    let file = elf(Machine::X86_64, ".eh_frame", &frames(Machine::X86_64, &functions, true));
    let stack = [BASE + 0x1100, BASE + 0x1205, 0];
    let (frames, outcome) = unwind(Machine::X86_64, x86_64(BASE + 0x1010, STACK, 0), Some(file), &stack);
    assert_eq!((frames, outcome.end), (vec![0x1010, 0x1100, 0x1204], End::Complete));
}

#[test]
fn signatures_of_return_addresses_are_taken_off() {
    // x29 and x30 at the stack pointer, 32 bytes of frame; AArch64's data alignment is -8 here as well.
    let saves = [DEF_CFA_OFFSET, 32, OFFSET | 29, 4, OFFSET | 30, 3];
    let functions = [function(0x1000, &[]), function(0x1100, &saves), function(0x1200, &[UNDEFINED, 30])];
    let file = elf(Machine::Aarch64, ".eh_frame", &frames(Machine::Aarch64, &functions, true));
    let signed = |address: u64| address | 0x0045_0000_0000_0000;
    let stack = [0, signed(BASE + 0x1210), 7, 7];
    // x29, x30, sp and pc: the leaf has saved nothing, so its caller is in x30.
    let values = [0, signed(BASE + 0x1104), STACK, BASE + 0x1010];
    let registers = Registers::from_perf(Machine::Aarch64, 0b1111 << 29, values.into_iter()).unwrap();
    let (frames, outcome) = unwind(Machine::Aarch64, registers, Some(file), &stack);
    assert_eq!((frames, outcome.end), (vec![0x1010, 0x1103, 0x120f], End::Complete));
}

#[test]
fn a_register_that_was_popped_is_back() {
    // The leaf has popped rbp, but its table still says CFA-16. Its caller's frame counts from rbp.
    let functions =
        [function(0x1000, &[OFFSET | 6, 2]), function(0x1100, &[DEF_CFA, 6, 16]), function(0x1200, &[UNDEFINED, 16])];
    let file = elf(Machine::X86_64, ".eh_frame", &frames(Machine::X86_64, &functions, true));
    let stack = [BASE + 0x1110, 7, 7, BASE + 0x1204, 0];
    let (frames, outcome) = unwind(Machine::X86_64, x86_64(BASE + 0x1010, STACK, STACK + 16), Some(file), &stack);
    assert_eq!((frames, outcome.end), (vec![0x1010, 0x110f, 0x1203], End::Complete));
}

#[test]
fn a_handler_of_aarch64_returns_to_code_without_a_table() {
    let functions = [function(0x1000, &[]), function(0x1200, &[UNDEFINED, 30])];
    let mut file = elf(Machine::Aarch64, ".eh_frame", &frames(Machine::Aarch64, &functions, true));
    file.resize(0x1f00, 0);
    file.extend(rule::SIGRETURN_AARCH64);
    let mut stack = vec![0; 72];
    // x0 is word 39 of the signal's frame, x30 is word 69. The stack pointer and the interrupted place follow.
    stack[69] = BASE + 0x1204;
    stack[70] = STACK + 72 * 8;
    stack[71] = BASE + 0x1000;
    let values = [0, BASE + 0x1f00, STACK, BASE + 0x1010];
    let registers = Registers::from_perf(Machine::Aarch64, 0b1111 << 29, values.into_iter()).unwrap();
    let (frames, outcome) = unwind(Machine::Aarch64, registers, Some(file.clone()), &stack);
    assert_eq!(frames, [0x1010, 0x1f00, 0x1000, 0x1203], "the handler returns to 0x1f00: no call is before it");
    assert_eq!(outcome, Outcome { end: End::Complete, guessed_count: 0 });
    let (frames, outcome) = unwind(Machine::Aarch64, registers, Some(file), &stack[..71]);
    assert_eq!((frames, outcome.end), (vec![0x1010, 0x1eff], End::StackCopyEnded));
}

#[test]
fn after_a_guess_the_stack_pointer_of_aarch64_is_not_known() {
    // Generated code with a frame pointer. The table of its caller counts from the stack pointer, so only the frame
    // pointer leads further. 16 bytes above the pair of the generated code there is nothing where the table would have
    // it.
    let saves = [DEF_CFA_OFFSET, 32, OFFSET | 29, 4, OFFSET | 30, 3];
    let functions = [function(0x1100, &saves), function(0x1200, &[UNDEFINED, 30])];
    let file = elf(Machine::Aarch64, ".eh_frame", &frames(Machine::Aarch64, &functions, true));
    let stack = [STACK + 48, BASE + 0x1110, 0, 0, 0, 0, 0, BASE + 0x1204, 0];
    let values = [STACK, 0, STACK, BASE + 0x3010];
    let registers = Registers::from_perf(Machine::Aarch64, 0b1111 << 29, values.into_iter()).unwrap();
    let (frames, outcome) = unwind(Machine::Aarch64, registers, Some(file.clone()), &stack);
    assert_eq!((frames, outcome), (vec![0x3010, 0x110f, 0x1203], Outcome { end: End::Complete, guessed_count: 2 }));
    // In a stub between functions the return address is still in its register.
    let values = [0, BASE + 0x1204, STACK, BASE + 0x1300];
    let registers = Registers::from_perf(Machine::Aarch64, 0b1111 << 29, values.into_iter()).unwrap();
    let (frames, outcome) = unwind(Machine::Aarch64, registers, Some(file), &stack);
    assert_eq!((frames, outcome.end), (vec![0x1300, 0x1203], End::Complete));
}

#[test]
fn what_was_pushed_before_the_first_instruction_belongs_to_the_frame() {
    // glibc's code that binds functions. The PLT has pushed two registers, and the table says only that one of them is
    // the return address. Its caller keeps 32 bytes.
    const OFFSET_EXTENDED_SF: u8 = 0x11;
    let saves = [DEF_CFA_OFFSET, 32, OFFSET | 29, 4, OFFSET | 30, 3];
    let binding = function(0x1000, &[DEF_CFA_OFFSET, 16, OFFSET_EXTENDED_SF, 30, 0x7f]);
    let functions = [binding, function(0x1100, &saves), function(0x1200, &[UNDEFINED, 30])];
    let file = elf(Machine::Aarch64, ".eh_frame", &frames(Machine::Aarch64, &functions, true));
    let stack = [0, 0, 7, BASE + 0x1104, 0, BASE + 0x1204, 7, 7];
    let values = [0, 0, STACK, BASE + 0x1010];
    let registers = Registers::from_perf(Machine::Aarch64, 0b1111 << 29, values.into_iter()).unwrap();
    let (frames, outcome) = unwind(Machine::Aarch64, registers, Some(file), &stack);
    assert_eq!((frames, outcome), (vec![0x1010, 0x1103, 0x1203], Outcome { end: End::Complete, guessed_count: 0 }));
}

#[test]
fn endless_tables_and_stacks_end() {
    // DW_OP_skip -3, repeated without end.
    let functions = [function(0x1000, &[DEF_CFA_EXPRESSION, 3, 0x2f, 0xfd, 0xff])];
    let file = elf(Machine::X86_64, ".eh_frame", &frames(Machine::X86_64, &functions, true));
    let registers = x86_64(BASE + 0x1010, STACK, 0);
    assert_eq!(unwind(Machine::X86_64, registers, Some(file), &THREE).1.end, End::Damaged(0));
    // A caller at the same place as its callee.
    let functions = [function(0x1000, &[DEF_CFA_OFFSET, 0, OFFSET | 16, 0])];
    let file = elf(Machine::X86_64, ".eh_frame", &frames(Machine::X86_64, &functions, true));
    let (frames, outcome) = unwind(Machine::X86_64, registers, Some(file), &[BASE + 0x1010; 9]);
    assert_eq!((frames.len(), outcome.end), (1, End::NoProgress));
    let stack = vec![BASE + 0x1110; 8 * MAX_FRAMES];
    let (frames, outcome) = unwind(Machine::X86_64, registers, Some(three(true)), &stack);
    assert_eq!((frames.len(), outcome.end), (MAX_FRAMES, End::TooDeep));
}

#[test]
fn damaged_files_cost_no_more_than_whole_ones() {
    let file = three(true);
    let mut random = 1u64;
    let mut next = |below: usize| {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (random >> 33) as usize % below
    };
    let mut whole = 0;
    let tries = scaled(200_000);
    for _ in 0..tries {
        let mut bytes = file.clone();
        for _ in 0..1 + next(4) {
            let at = next(bytes.len());
            bytes[at] = [0, 0x7f, 0x80, 0xff, next(256) as u8][next(5)];
        }
        bytes.truncate(bytes.len() - if next(8) == 0 { next(bytes.len()) } else { 0 });
        let (frames, _) = unwind(Machine::X86_64, x86_64(BASE + 0x1010, STACK, STACK + 8), Some(bytes), &THREE);
        assert!((1..=MAX_FRAMES).contains(&frames.len()));
        whole += usize::from(frames == [0x1010, 0x110f, 0x121f]);
    }
    assert!((1..tries).contains(&whole), "of mutations some matter and some do not");
}

#[test]
fn an_outcome_is_read_from_its_mark() {
    let ends = [End::Complete, End::StackCopyEnded, End::NoFile(7), End::NoInformation(7), End::Damaged(7)];
    for end in ends.into_iter().chain([End::NotMapped, End::NoProgress, End::TooDeep]) {
        for guessed_count in [0, 1] {
            let outcome = Outcome { end, guessed_count };
            assert_eq!(Outcome::of_mark(&outcome.mark(), Some(7)), Some(outcome));
        }
    }
    let of_object = Outcome { end: End::NoFile(7), guessed_count: 0 }.mark();
    assert_eq!(Outcome::of_mark(&of_object, None).map(|outcome| outcome.end), Some(End::NotMapped));
    for other in [&b""[..], b"unwound", b"unwound\x08", b"unwound\x7f", b"unwound\0\0", b"unwound1", &[0; 8]] {
        assert_eq!(Outcome::of_mark(other, Some(7)), None, "{other:?}");
    }
}
