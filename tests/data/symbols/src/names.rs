//! Rust: generics, closures, trait objects, inlined functions. Built with each of the two manglings.

use std::collections::BTreeMap;
use std::hint::black_box;

extern "C" {
    /// CPU time of the process in microseconds, on Linux.
    fn clock() -> std::ffi::c_long;
}

mod shop {
    use std::hint::black_box;

    pub trait Price {
        fn cents(&self) -> u64;
    }

    pub struct Fixed(pub u64);
    pub struct Pair<A, B>(pub A, pub B);

    #[inline(always)]
    fn churn_inner(mut value: u64, turns: u32) -> u64 {
        for _ in 0..turns {
            value = black_box(value.wrapping_mul(6364136223846793005).wrapping_add(1));
        }
        value
    }

    #[inline(always)]
    fn churn_outer(value: u64) -> u64 {
        churn_inner(value, 3000) ^ 7
    }

    #[inline(never)]
    pub fn churn(value: u64) -> u64 {
        churn_outer(value) + 1
    }

    impl Price for Fixed {
        #[inline(never)]
        fn cents(&self) -> u64 {
            churn(self.0) & 0xffff
        }
    }

    impl<A: Price, B: Price> Price for Pair<A, B> {
        #[inline(never)]
        fn cents(&self) -> u64 {
            self.0.cents() + self.1.cents()
        }
    }

    #[inline(never)]
    pub fn total<T: Price + ?Sized, const N: usize>(items: &[Box<T>; N]) -> u64 {
        items.iter().map(|item| item.cents()).sum()
    }
}

#[inline(never)]
fn recurse(depth: u32, value: u64) -> u64 {
    if depth == 0 { shop::churn(value) } else { black_box(recurse(depth - 1, value) + 1) }
}

fn main() {
    let limit: std::ffi::c_long = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(300);
    let mut value = 1;
    while unsafe { clock() } / 1000 < limit {
        let items: [Box<dyn shop::Price>; 2] =
            [Box::new(shop::Fixed(value)), Box::new(shop::Pair(shop::Fixed(1), shop::Pair(shop::Fixed(2), shop::Fixed(3))))];
        value = shop::total(&items) + recurse(9, value);
        let mut numbers: Vec<u64> = (0..24).map(|index| index ^ value).collect();
        numbers.sort_by_key(|number| shop::churn(*number));
        let map: BTreeMap<u64, u64> = numbers.iter().map(|number| (shop::churn(*number), *number)).collect();
        value = black_box(map.len() as u64 + numbers[0]);
    }
}
