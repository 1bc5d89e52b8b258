//! Names for addresses.

mod kallsyms;

pub use kallsyms::Kallsyms;
