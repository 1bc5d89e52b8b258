//! Registers, by the numbers of perf and by those of DWARF.

/// An architecture whose stacks can be unwound.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Machine {
    /// 64-bit x86.
    X86_64,
    /// 64-bit ARM.
    Aarch64,
}

/// The DWARF numbers of x86_64 (psABI, table 3.36) in the order of arch/x86/include/uapi/asm/perf_regs.h. 16 is the
/// return address. Flags and segments have no place here.
const X86_64: [Option<u8>; 24] = {
    let mut numbers = [None; 24];
    let general: [u8; 9] = [0, 3, 2, 1, 4, 5, 6, 7, 16];
    let mut at = 0;
    while at < 9 {
        numbers[at] = Some(general[at]);
        at += 1;
    }
    let mut number = 8;
    while number < 16 {
        numbers[8 + number] = Some(number as u8);
        number += 1;
    }
    numbers
};
/// The place of aarch64's program counter in this crate: DWARF's number for it (AADWARF64) is 32.
const AARCH64_PC: u8 = 32;
/// The number of registers that have a place.
const PLACES: usize = 33;

impl Machine {
    /// Gives the machine for the e_machine of an ELF header; `None` for other machines.
    pub(crate) fn of_elf(number: u16) -> Option<Machine> {
        match number {
            62 => Some(Machine::X86_64),
            183 => Some(Machine::Aarch64),
            _ => None,
        }
    }

    /// Gives the machine for a name of `uname -m`, or for perf's form of it; `None` for other machines.
    pub fn of_name(name: &str) -> Option<Machine> {
        match name {
            "x86_64" => Some(Machine::X86_64),
            "aarch64" | "arm64" => Some(Machine::Aarch64),
            _ => None,
        }
    }

    /// Gives DWARF's number of a register for its number in perf's masks.
    fn dwarf_number(self, perf_number: u32) -> Option<u8> {
        match self {
            Machine::X86_64 => X86_64.get(perf_number as usize).copied().flatten(),
            Machine::Aarch64 => (perf_number <= 32).then_some(perf_number as u8),
        }
    }

    pub(crate) fn stack_pointer(self) -> u8 {
        if self == Machine::X86_64 { 7 } else { 31 }
    }

    pub(crate) fn frame_pointer(self) -> u8 {
        if self == Machine::X86_64 { 6 } else { 29 }
    }

    fn pc(self) -> u8 {
        if self == Machine::X86_64 { 16 } else { AARCH64_PC }
    }
}

/// The values of registers by DWARF's numbers, as far as they are known.
#[derive(Clone, Copy, Debug)]
pub struct Registers {
    values: [u64; PLACES],
    known: u64,
    pc: u8,
}

impl Registers {
    /// Takes the registers of a sample: perf's mask, and a value for each of its bits from the lowest. `None` where the
    /// program counter or the stack pointer is missing.
    pub fn from_perf(machine: Machine, mask: u64, values: impl Iterator<Item = u64>) -> Option<Registers> {
        let mut registers = Registers { values: [0; PLACES], known: 0, pc: machine.pc() };
        let numbers = (0..64).filter(|number| mask >> number & 1 == 1);
        for (number, value) in numbers.zip(values) {
            if let Some(number) = machine.dwarf_number(number) {
                registers.set(number.into(), value);
            }
        }
        let has = |number: u8| registers.get(number.into()).is_some();
        (has(registers.pc) && has(machine.stack_pointer())).then_some(registers)
    }

    /// Gives the program counter.
    pub fn pc(&self) -> u64 {
        self.values[usize::from(self.pc)]
    }

    /// Gives the stack pointer. Where it is not known, gives its lowest possible value.
    pub fn stack_pointer(&self, machine: Machine) -> u64 {
        self.values[usize::from(machine.stack_pointer())]
    }

    pub(crate) fn get(&self, number: u16) -> Option<u64> {
        (usize::from(number) < PLACES && self.known >> number & 1 == 1).then(|| self.values[usize::from(number)])
    }

    pub(crate) fn set(&mut self, number: u16, value: u64) {
        if usize::from(number) < PLACES {
            self.values[usize::from(number)] = value;
            self.known |= 1 << number;
        }
    }

    pub(crate) fn forget(&mut self, number: u16) {
        if usize::from(number) < PLACES {
            self.known &= !(1 << number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_get_the_numbers_of_dwarf() {
        // perf's order is: ax bx cx dx si di bp sp ip flags cs ss r8..r15, without the other segments.
        let values = (0..20).map(|index| 100 + index);
        let registers = Registers::from_perf(Machine::X86_64, 0xff_0fff, values).unwrap();
        let dwarf: Vec<u64> = (0..17).map(|number| registers.get(number).unwrap()).collect();
        let (general, high): (&[u64], Vec<u64>) = (&[100, 103, 102, 101, 104, 105, 106, 107], (112..120).collect());
        assert_eq!(dwarf, [general, &high, &[108]].concat());
        assert_eq!(registers.pc(), 108);
        let registers = Registers::from_perf(Machine::Aarch64, 0x1_ffff_ffff, 0..33).unwrap();
        assert_eq!((registers.get(29), registers.get(31), registers.pc()), (Some(29), Some(31), 32));
        assert_eq!((registers.get(33), registers.get(u16::MAX)), (None, None));
        assert!(Registers::from_perf(Machine::X86_64, 0xff, 0..8).is_none(), "there is no program counter");
    }
}
