//! The targets, a file for each crate that they try.

mod archive;
mod decode;
mod symbols;

use std::time::Duration;

use crate::{Bound, Target};

/// What most targets may take: debug assertions and coverage make everything several times slower.
const SMALL: Bound = Bound {
    memory_bytes: 4 << 20,
    memory_per_byte: 256,
    time: Duration::from_millis(200),
    time_per_byte: Duration::from_micros(5),
};

/// What targets may take that decompress: `LEAST_ROOM_BYTES` of perfcase-decode, once more where a buffer grows.
const UNPACKED: Bound = Bound { memory_bytes: 600 << 20, time: Duration::from_secs(4), ..SMALL };

/// What look-ups in debug information may take: each reads `LEAST_READ_BYTES` of perfcase-symbols at most.
const LOOK_UPS: Bound = Bound { memory_bytes: 64 << 20, time: Duration::from_secs(4), ..SMALL };

/// All targets.
pub const TARGETS: &[Target] = &[
    Target { name: "archive", run: archive::archive, bound: UNPACKED },
    Target { name: "elf", run: symbols::elf, bound: LOOK_UPS },
    Target { name: "lists", run: symbols::lists, bound: SMALL },
    Target { name: "perf_data", run: decode::perf_data, bound: UNPACKED },
    Target { name: "printed", run: decode::printed, bound: SMALL },
    Target { name: "proc", run: decode::proc, bound: SMALL },
    Target { name: "raw_folder", run: decode::raw_folder, bound: SMALL },
    Target { name: "trace_dat", run: decode::trace_dat, bound: UNPACKED },
    Target { name: "unwind", run: symbols::unwind, bound: LOOK_UPS },
];
