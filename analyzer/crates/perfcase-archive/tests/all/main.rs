//! Every integration test of this crate, in one program: linked once.

mod check;
mod common;
mod hostile;
mod open;
#[path = "../../../../testing/scale.rs"]
mod scale;
