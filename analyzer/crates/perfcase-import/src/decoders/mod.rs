//! A module for each input format: what perfcase-decode reads of it, handed to the session.

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
