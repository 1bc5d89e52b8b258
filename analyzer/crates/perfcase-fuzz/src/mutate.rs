//! Inputs made of other inputs by chance, the same in every run: for tests without libFuzzer.

#[path = "../../../testing/chance.rs"]
mod chance;

pub use chance::Chance;

/// Numbers at which lengths and counts go wrong.
const EDGES: [u64; 10] =
    [0, 1, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fff_ffff, 0xffff_ffff, 0x7fff_ffff_ffff_ffff, 0xffff_ffff_ffff_ffff];

/// Another input, of two.
pub fn mutated(chance: &mut Chance, input: &[u8], other: &[u8]) -> Vec<u8> {
    if chance.below(8) == 0 {
        return chance.damaged(input);
    }
    let mut bytes = input.to_vec();
    for _ in 0..1 + chance.below(5) {
        let at = chance.below(bytes.len());
        let end = (at + 1 + chance.below(64)).min(bytes.len());
        match chance.below(7) {
            0 if at < end => bytes[at] ^= 1 << chance.below(8),
            1 if at < end => bytes[at] = chance.below(256) as u8,
            2 => {
                let edge = EDGES[chance.below(EDGES.len())].to_le_bytes();
                let width = [1, 2, 4, 8][chance.below(4)].min(bytes.len() - at);
                bytes[at..at + width].copy_from_slice(&edge[..width]);
            }
            3 => drop(bytes.drain(at..end)),
            4 => {
                let copy = bytes[at..end].to_vec();
                bytes.splice(at..at, copy);
            }
            5 => {
                let from = chance.below(other.len());
                let part = &other[from..(from + chance.below(256)).min(other.len())];
                bytes.splice(at..end, part.iter().copied());
            }
            _ if chance.below(4) == 0 => bytes.truncate(at),
            _ => {}
        }
    }
    bytes
}
