//! The way from one frame to its caller: a row of the table, small enough to keep.

use gimli::{
    CfaRule, Encoding, Evaluation, EvaluationResult, FrameDescriptionEntry, RegisterRule, UnwindTableRow, Value,
};

use super::machine::{Machine, Registers};
use super::tables::{Bytes, Form, Tables};
use super::{End, ObjectId, StackCopy};

/// Registers from this number on are not kept: AArch64's pseudo register RA_SIGN_STATE (AADWARF64), and everything
/// beyond.
const REGISTERS_KEPT: u16 = 33;
/// `mov x8, #139` (rt_sigreturn), `svc #0`: the code that handlers return to on aarch64's kernel. It intentionally has
/// no table: unwinders recognize its instructions (arch/arm64/kernel/vdso/sigreturn.S).
pub(crate) const SIGRETURN_AARCH64: [u8; 8] = [0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4];
/// AArch64's register with the return address.
const LINK_REGISTER: u16 = 30;
/// The largest distance in bytes from the stack pointer up to a frame pointer, in code where no table confirms the
/// frame pointer.
const MAX_GUESSED_FRAME_BYTES: u64 = 1 << 14;
/// The most operations of one DWARF expression before it counts as endless: real expressions have ten.
const MAX_OPERATIONS: u32 = 1000;
const ENCODING: Encoding = Encoding { address_size: 8, format: gimli::Format::Dwarf32, version: 4 };

#[derive(Clone, Copy, Debug)]
struct Expression {
    form: Form,
    start: u32,
    length: u32,
}

#[derive(Clone, Copy, Debug)]
enum Cfa {
    Register(u16, i64),
    Expression(Expression),
}

#[derive(Clone, Copy, Debug)]
enum Saved {
    Undefined,
    AtCfa(i64),
    CfaPlus(i64),
    InRegister(u16),
    At(Expression),
    Is(Expression),
    Constant(u64),
}

/// The way from the frame of one instruction to its caller.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    cfa: Cfa,
    first: u32,
    count: u16,
    return_register: u16,
    /// There is no return address: this is the thread's first function.
    is_first: bool,
    /// The frame is that of a signal: its "caller" was interrupted, at any instruction.
    pub is_signal: bool,
}

/// The places where the registers of all rules are saved, one rule after another.
#[derive(Default)]
pub(crate) struct Rules {
    saved: Vec<(u16, Saved)>,
    context: gimli::UnwindContext<usize>,
}

/// The reason why a value is not available.
#[derive(Clone, Copy)]
enum Fault {
    NotInCopy,
    Damaged,
}

impl Rules {
    pub(crate) fn clear(&mut self) {
        self.saved.clear();
    }

    /// Gives the rule for an address of an object.
    pub(crate) fn find(&mut self, tables: &Tables, object: ObjectId, address: u64) -> Result<Rule, End> {
        let Rules { saved, context } = self;
        let first = saved.len();
        let make = |form, fde: &FrameDescriptionEntry<Bytes<'_>>, row: &UnwindTableRow<usize>| compact(form, fde, row);
        match tables.row(context, address, make) {
            None => Err(End::NoInformation(object)),
            Some(Err(_)) => Err(End::Damaged(object)),
            Some(Ok((mut rule, registers))) => {
                saved.extend(registers);
                rule.first = first as u32;
                rule.count = (saved.len() - first) as u16;
                Ok(rule)
            }
        }
    }

    /// Gives the return address of a frame, and the caller's registers.
    pub(crate) fn apply(
        &self,
        rule: &Rule,
        (tables, object): (&Tables, ObjectId),
        callee: Registers,
        stack: StackCopy<'_>,
    ) -> Result<(u64, Registers), End> {
        let end = |fault| match fault {
            Fault::NotInCopy => End::StackCopyEnded,
            Fault::Damaged => End::Damaged(object),
        };
        let mut registers = callee;
        if rule.is_first {
            return Err(End::Complete);
        }
        let frame = Frame { tables, callee, stack };
        let cfa = match rule.cfa {
            Cfa::Register(register, offset) => {
                callee.get(register).map(|base| base.wrapping_add_signed(offset)).ok_or(Fault::Damaged)
            }
            Cfa::Expression(expression) => frame.evaluate(expression, None),
        };
        let cfa = cfa.map_err(end)?;
        registers.set(tables.machine().stack_pointer().into(), cfa);
        let first = rule.first as usize;
        let mut return_address = callee.get(rule.return_register).ok_or(Fault::Damaged);
        for &(register, place) in &self.saved[first..first + usize::from(rule.count)] {
            let value = frame.value(place, cfa);
            if register == rule.return_register {
                return_address = match value {
                    Ok(Some(address)) => Ok(address),
                    Ok(None) => return Err(End::Complete),
                    Err(fault) => Err(fault),
                };
            }
            // The registers that a function saves are below its caller's stack pointer. If a table has the return
            // address above it (that of glibc's code which binds functions), the table leaves out the registers that
            // were pushed before the first instruction.
            let is_above = tables.machine() == Machine::Aarch64 && register == rule.return_register && !rule.is_signal;
            if let (true, Saved::AtCfa(offset @ 0..)) = (is_above, place) {
                let above = cfa.wrapping_add_signed(offset).wrapping_add(8);
                registers.set(tables.machine().stack_pointer().into(), above);
            }
            // A register that is not available matters only if a caller's rule needs it. At the end of a function,
            // tables still name the places of registers that were popped already: a register whose place is below the
            // stack pointer has its old value again.
            let is_back = |offset: i64| cfa.wrapping_add_signed(offset) < callee.stack_pointer(tables.machine());
            match value {
                Ok(Some(value)) => registers.set(register, value),
                Err(_) if matches!(place, Saved::AtCfa(offset) if is_back(offset)) => {}
                _ => registers.forget(register),
            }
        }
        Ok((return_address.map_err(end)?, registers))
    }
}

fn compact(
    form: Form,
    fde: &FrameDescriptionEntry<Bytes<'_>>,
    row: &UnwindTableRow<usize>,
) -> Option<(Rule, Vec<(u16, Saved)>)> {
    let expression = |from: &gimli::UnwindExpression<usize>| {
        let (start, length) = (u32::try_from(from.offset).ok()?, u32::try_from(from.length).ok()?);
        Some(Expression { form, start, length })
    };
    let cfa = match row.cfa() {
        CfaRule::RegisterAndOffset { register, offset } => Cfa::Register(register.0, *offset),
        CfaRule::Expression(from) => Cfa::Expression(expression(from)?),
    };
    let mut saved = Vec::new();
    for (register, rule) in row.registers().filter(|(register, _)| register.0 < REGISTERS_KEPT) {
        let place = match rule {
            RegisterRule::Undefined => Saved::Undefined,
            RegisterRule::Offset(offset) => Saved::AtCfa(*offset),
            RegisterRule::ValOffset(offset) => Saved::CfaPlus(*offset),
            RegisterRule::Register(other) => Saved::InRegister(other.0),
            RegisterRule::Expression(from) => Saved::At(expression(from)?),
            RegisterRule::ValExpression(from) => Saved::Is(expression(from)?),
            RegisterRule::Constant(value) => Saved::Constant(*value),
            RegisterRule::SameValue => continue,
            _ => return None,
        };
        saved.push((register.0, place));
    }
    let return_register = fde.cie().return_address_register().0;
    let is_first =
        saved.iter().any(|(register, place)| *register == return_register && matches!(place, Saved::Undefined));
    Some((Rule { cfa, first: 0, count: 0, return_register, is_first, is_signal: fde.is_signal_trampoline() }, saved))
}

struct Frame<'a> {
    tables: &'a Tables,
    callee: Registers,
    stack: StackCopy<'a>,
}

impl Frame<'_> {
    fn read(&self, address: u64) -> Result<u64, Fault> {
        self.stack.word(address).ok_or(Fault::NotInCopy)
    }

    /// Gives the caller's value of a register; `None` where the table says that there is none.
    fn value(&self, place: Saved, cfa: u64) -> Result<Option<u64>, Fault> {
        let value = match place {
            Saved::Undefined => return Ok(None),
            Saved::AtCfa(offset) => self.read(cfa.wrapping_add_signed(offset))?,
            Saved::CfaPlus(offset) => cfa.wrapping_add_signed(offset),
            Saved::InRegister(register) => self.callee.get(register).ok_or(Fault::Damaged)?,
            Saved::At(expression) => self.read(self.evaluate(expression, Some(cfa))?)?,
            Saved::Is(expression) => self.evaluate(expression, Some(cfa))?,
            Saved::Constant(value) => value,
        };
        Ok(Some(value))
    }

    fn evaluate(&self, expression: Expression, cfa: Option<u64>) -> Result<u64, Fault> {
        let (start, length) = (expression.start as usize, expression.length as usize);
        let code =
            self.tables.expression(expression.form, start..start.saturating_add(length)).ok_or(Fault::Damaged)?;
        let mut evaluation = Evaluation::new(code, ENCODING);
        evaluation.set_max_iterations(MAX_OPERATIONS);
        if let Some(cfa) = cfa {
            evaluation.set_initial_value(cfa);
        }
        let mut state = evaluation.evaluate().map_err(|_| Fault::Damaged)?;
        loop {
            let next = match state {
                EvaluationResult::Complete => break,
                EvaluationResult::RequiresRegister { register, .. } => {
                    let value = self.callee.get(register.0).ok_or(Fault::Damaged)?;
                    evaluation.resume_with_register(Value::Generic(value))
                }
                EvaluationResult::RequiresMemory { address, size: 8, .. } => {
                    evaluation.resume_with_memory(Value::Generic(self.read(address)?))
                }
                _ => return Err(Fault::Damaged),
            };
            state = next.map_err(|_| Fault::Damaged)?;
        }
        match evaluation.as_result() {
            [piece] => match piece.location {
                gimli::Location::Address { address } => Ok(address),
                _ => Err(Fault::Damaged),
            },
            _ => Err(Fault::Damaged),
        }
    }
}

/// Gives what a signal interrupted on aarch64: the registers that the kernel saved on the stack (struct rt_sigframe of
/// arch/arm64/kernel/signal.c: siginfo 128 bytes, 176 bytes of struct ucontext, the fault's address, x0 to x30, sp,
/// pc).
pub(crate) fn interrupted_aarch64(registers: &Registers, stack: StackCopy<'_>) -> Option<(u64, Registers)> {
    let saved = registers.get(Machine::Aarch64.stack_pointer().into())?.checked_add(128 + 176 + 8)?;
    let mut interrupted = *registers;
    for number in 0..32 {
        interrupted.set(number, stack.word(saved.checked_add(u64::from(number) * 8)?)?);
    }
    Some((stack.word(saved.checked_add(32 * 8)?)?, interrupted))
}

/// Finds the caller of a frame in code that no table describes.
///
/// If the tables of an object leave the place out, linkage stubs and small assembly are there (`is_bare`): on aarch64
/// the return address is in its register. All other code may keep frame pointers.
pub(crate) fn without_table(
    machine: Machine,
    registers: &mut Registers,
    stack: StackCopy<'_>,
    is_bare: bool,
) -> Option<u64> {
    if machine == Machine::Aarch64 && is_bare {
        return registers.get(LINK_REGISTER);
    }
    let (frame_pointer, stack_pointer) = (machine.frame_pointer().into(), machine.stack_pointer().into());
    let frame = registers.get(frame_pointer)?;
    let distance = frame.checked_sub(registers.stack_pointer(machine))?;
    if distance > MAX_GUESSED_FRAME_BYTES || frame % 8 != 0 {
        return None;
    }
    let (above, caller) = (stack.word(frame)?, stack.word(frame.checked_add(8)?)?);
    registers.set(frame_pointer, above);
    registers.set(stack_pointer, frame.checked_add(16)?);
    if machine == Machine::Aarch64 {
        registers.set(LINK_REGISTER, caller);
        // The pair is at the lower end of the frame there: it is unknown how far the frame reaches above it.
        registers.forget(stack_pointer);
    }
    Some(caller)
}
