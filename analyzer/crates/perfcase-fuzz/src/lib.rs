//! Fuzz targets: decoders, archives and symbols on bytes from anywhere.
//!
//! A target reads its input as perfcase does. It may not panic, and for an input of so many bytes it may take so much
//! memory and so much time of the CPU: [`Target::check`]. `make test` tries each target for a few seconds, `make fuzz`
//! as long as one likes, with libFuzzer and the coverage that it asks for.

pub mod corpus;
mod cost;
pub mod mutate;
mod targets;

#[path = "../../../testing/texts.rs"]
pub mod texts;

use std::time::Duration;

pub use targets::TARGETS;

/// Something that reads bytes from anywhere.
pub struct Target {
    /// Its name, and that of its corpus.
    pub name: &'static str,
    /// Reads an input.
    pub run: fn(&[u8]),
    /// What it may take.
    pub bound: Bound,
}

/// What a target may take for an input: so much always, and so much for each byte.
#[derive(Clone, Copy)]
pub struct Bound {
    /// Bytes of memory for any input.
    pub memory_bytes: usize,
    /// Bytes of memory for each byte of the input.
    pub memory_per_byte: usize,
    /// Time of the CPU for any input.
    pub time: Duration,
    /// Time of the CPU for each byte of the input.
    pub time_per_byte: Duration,
}

impl Target {
    /// Finds a target by its name.
    pub fn named(name: &str) -> Option<&'static Target> {
        TARGETS.iter().find(|target| target.name == name)
    }

    /// Reads an input, and panics where that takes more than it may.
    pub fn check(&self, input: &[u8]) {
        let cost = cost::of(|| (self.run)(input));
        let Bound { memory_bytes, memory_per_byte, time, time_per_byte } = self.bound;
        let memory = memory_bytes + memory_per_byte * input.len();
        assert!(cost.memory_bytes <= memory, "{}: {} bytes of memory, of {memory}", self.name, cost.memory_bytes);
        let time = time + time_per_byte * input.len() as u32;
        assert!(cost.time <= time, "{}: {:?}, of {time:?}", self.name, cost.time);
    }
}
