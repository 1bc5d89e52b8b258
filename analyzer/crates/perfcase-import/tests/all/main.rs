//! Every integration test of this crate, in one program: linked once.

mod events_text;
mod ftrace_import;
mod perf_data;
mod perf_data_built;
mod perf_data_damage;
mod perf_data_rebuilt;
mod perf_data_who;
#[path = "../../../../testing/scale.rs"]
mod scale;
mod simpleperf;
mod support;
