//! Every integration test of this crate, in one program: linked once.

mod names;
mod objects;
mod split;
mod support;
