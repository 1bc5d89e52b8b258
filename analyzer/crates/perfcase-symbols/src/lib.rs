//! Names for addresses and callers of stacks, from object files that came with the capture or that the user gave.
//!
//! An object is found by its build id and never used when that differs: a wrong name is worse than none.

pub mod build_id;
mod debug_dir;
pub mod listing;
pub mod objects;
pub mod unwind;

pub use objects::{Missing, Object, Objects};
