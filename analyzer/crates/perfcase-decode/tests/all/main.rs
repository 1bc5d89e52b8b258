//! Every integration test of this crate, in one program: linked once.

#[path = "../../../../testing/chance.rs"]
mod chance;
#[path = "../../../../testing/fixture.rs"]
#[allow(dead_code)]
mod fixture;
mod perf_data_alone;
#[path = "../../../../testing/scale.rs"]
mod scale;
#[path = "../../../../testing/texts.rs"]
mod texts;
mod texts_alone;
