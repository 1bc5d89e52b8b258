//! All integration tests of this crate in one program, which is linked once.

mod names;
mod objects;
mod split;
mod support;
