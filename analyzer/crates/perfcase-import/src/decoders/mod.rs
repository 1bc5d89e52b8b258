//! One folder for each input format.

pub mod ftrace;
pub mod host;
pub mod jitdump;
pub mod perf_data;
pub mod perf_script;
pub mod perf_stat;
pub mod proc;
pub mod symbol_list;
#[cfg(test)]
mod testing;
