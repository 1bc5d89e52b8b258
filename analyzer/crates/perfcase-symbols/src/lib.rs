//! Names for addresses and callers of stacks, from object files in the capture or from the user.
//!
//! An object is found by its build ID. An object with another build ID is never used: a wrong name is worse than none.

mod batch;
pub mod build_id;
pub mod code;
mod compressed;
mod debug_dir;
mod demangle;
mod dwarf;
mod generated;
mod guard;
mod kallsyms;
pub mod listing;
mod names;
pub mod objects;
mod perf_map;
mod placement;
mod plt;
mod relocatable;
#[cfg(test)]
#[path = "../../../testing/scale.rs"]
mod scale;
mod split;
mod symtab;
pub mod unwind;
pub mod xz;

pub use batch::{Named, Wanted, name_all};
pub use debug_dir::Unusable;
pub use demangle::demangle;
pub use dwarf::Place;
pub use kallsyms::Kallsyms;
pub use names::{At, INCOMPLETE, Name, names, names_and_code};
pub use objects::{Missing, Object, Objects};
pub use perf_map::PerfMap;
pub use placement::Placement;
pub use split::Parts;
