//! What the tests of this crate share.

#[allow(dead_code)]
pub mod build;
#[allow(dead_code)]
#[path = "../../../../../testing/fixture.rs"]
pub mod fixture;
#[allow(dead_code)]
pub mod rebuild;
#[allow(dead_code)]
pub mod swap;
#[allow(dead_code)]
pub mod tables;
