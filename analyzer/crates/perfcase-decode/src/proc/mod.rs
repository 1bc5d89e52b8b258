//! The sampler's [`stream`] of /proc and /sys files, and the texts of these files.

pub mod cgroups;
pub mod copies;
pub mod counters;
pub mod cpus;
pub mod devices;
pub mod fd;
pub mod file_systems;
pub mod function_profile;
pub mod meminfo;
pub mod page;
pub mod process;
pub mod socket;
pub mod socket_text;
pub mod stat;
pub mod stream;
pub mod text;
pub mod thread;
