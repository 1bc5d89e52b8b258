//! The mappings of one address space.
//!
//! A child starts with the mappings of its parent and changes few of them, so copies share them: the mappings are in
//! small blocks, and a change copies one block and the list of blocks.

use std::rc::Rc;

use super::code::CodeId;
use super::maps::DsoId;

/// The most mappings of a block. A new mapping in a process with a thousand of them costs about 3 KB.
const MOST_OF_A_BLOCK: usize = 64;

/// A mapping, without its first address.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Region {
    pub(crate) end: u64,
    pub(crate) page_offset: u64,
    pub(crate) dso: DsoId,
    /// Generated code or a heap: its addresses are not offsets in a file.
    pub(crate) is_identity: bool,
    pub(crate) is_data: bool,
    /// Its function, if a record names it.
    pub(crate) code: CodeId,
}

/// Mappings by their first addresses; none overlaps another.
#[derive(Clone, Default)]
pub(crate) struct Regions {
    blocks: Vec<Block>,
    count: usize,
}

/// Mappings in the order of their addresses; never empty.
#[derive(Clone)]
struct Block {
    first: u64,
    regions: Rc<Vec<(u64, Region)>>,
}

impl Regions {
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Gives the last mapping that begins at or before an address, and its beginning.
    #[inline]
    pub(crate) fn before(&self, address: u64) -> Option<(u64, &Region)> {
        let block = self.blocks.get(self.block_of(address)?)?;
        let (start, region) = block.regions.get(place(block, address).checked_sub(1)?)?;
        Some((*start, region))
    }

    /// Gives the mapping that covers an address, and its beginning.
    #[inline]
    pub(crate) fn at(&self, address: u64) -> Option<(u64, &Region)> {
        self.before(address).filter(|(_, region)| address < region.end)
    }

    /// Adds a mapping of `start..region.end`, which replaces earlier mappings there.
    pub(crate) fn insert(&mut self, start: u64, region: Region) {
        self.carve(start, region.end);
        self.add(start, region);
    }

    /// Makes room for a mapping of `start..end`: covered mappings are removed, others are shortened or split.
    pub(crate) fn carve(&mut self, start: u64, end: u64) {
        while let Some(last) = end.checked_sub(1)
            && let Some((old_start, old)) = self.before(last).filter(|(_, region)| region.end > start)
        {
            let old = old.clone();
            self.remove(old_start);
            if old.end > end {
                let page_offset = old.page_offset.wrapping_add(end - old_start);
                self.add(end, Region { page_offset, ..old.clone() });
            }
            if old_start < start {
                self.add(old_start, Region { end: start, ..old });
            }
        }
    }

    fn block_of(&self, address: u64) -> Option<usize> {
        self.blocks.partition_point(|block| block.first <= address).checked_sub(1)
    }

    fn remove(&mut self, start: u64) {
        let Some(index) = self.block_of(start) else { return };
        let block = &mut self.blocks[index];
        let Some(at) = place(block, start).checked_sub(1) else { return };
        self.count -= 1;
        if block.regions.len() == 1 {
            self.blocks.remove(index);
            return;
        }
        let regions = Rc::make_mut(&mut block.regions);
        regions.remove(at);
        block.first = regions[0].0;
    }

    /// Adds a mapping at a free place.
    fn add(&mut self, start: u64, region: Region) {
        self.count += 1;
        let index = self.block_of(start).unwrap_or(0);
        let Some(block) = self.blocks.get_mut(index) else {
            self.blocks.push(Block { first: start, regions: Rc::new(vec![(start, region)]) });
            return;
        };
        let at = place(block, start);
        let regions = Rc::make_mut(&mut block.regions);
        regions.insert(at, (start, region));
        block.first = regions[0].0;
        if regions.len() > MOST_OF_A_BLOCK {
            // Mappings that come in the order of their addresses leave full blocks behind.
            let half = if at + 1 == regions.len() { at } else { regions.len() / 2 };
            let rest = regions.split_off(half);
            self.blocks.insert(index + 1, Block { first: rest[0].0, regions: Rc::new(rest) });
        }
    }
}

/// Gives the number of mappings of a block that begin at or before an address.
#[inline]
fn place(block: &Block, address: u64) -> usize {
    block.regions.partition_point(|(start, _)| *start <= address)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn region(end: u64, page_offset: u64) -> Region {
        Region { end, page_offset, dso: 1, is_identity: false, is_data: false, code: 2 }
    }

    #[test]
    fn each_address_is_in_the_mapping_that_came_last() {
        // The mapping of each page, and the page in it, by simple code.
        let mut pages: BTreeMap<u64, u64> = BTreeMap::new();
        let mut regions = Regions::default();
        let mut seed = 5u64;
        for number in 0..3_000u64 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (start, length) = ((seed >> 40) % 2_000, 1 + (seed >> 20) % [3, 3, 3, 40, 300][(number % 5) as usize]);
            if number % 7 == 0 {
                regions.carve(start, start + length);
                pages.retain(|page, _| !(start..start + length).contains(page));
            } else {
                regions.insert(start, region(start + length, number << 20));
                pages.extend((start..start + length).map(|page| (page, (number << 20) + page - start)));
            }
            if number % 50 == 0 {
                let mapped = |page| regions.at(page).map(|(start, region)| region.page_offset + page - start);
                assert!((0..2_400).all(|page| mapped(page) == pages.get(&page).copied()), "after {number}");
                assert_eq!(regions.blocks.iter().map(|block| block.regions.len()).sum::<usize>(), regions.len());
                assert!(regions.blocks.iter().all(|block| block.first == block.regions[0].0));
            }
        }
    }

    #[test]
    fn a_copy_shares_all_but_the_block_that_changes() {
        let mut parent = Regions::default();
        for number in 0..10_000u64 {
            parent.insert(number * 8192, region(number * 8192 + 4096, 0));
        }
        let mut child = parent.clone();
        child.insert(4096, region(8192, 0));
        let shared = |(one, other): &(&Block, &Block)| Rc::ptr_eq(&one.regions, &other.regions);
        let pairs = parent.blocks.iter().rev().zip(child.blocks.iter().rev());
        assert_eq!(pairs.filter(shared).count(), parent.blocks.len() - 1);
        assert_eq!((parent.at(4096), child.at(4096).is_some(), child.len()), (None, true, 10_001));
        assert!(parent.blocks.len() < 200);
    }
}
