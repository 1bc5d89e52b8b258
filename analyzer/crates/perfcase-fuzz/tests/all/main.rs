//! Each target on its corpus, on what once brought it down, and on inputs made of these by chance.

#[path = "../../../../testing/scale.rs"]
mod scale;

use perfcase_fuzz::mutate::{Chance, mutated};
use perfcase_fuzz::{Target, corpus};
use scale::scaled;

fn try_target(name: &str, tries: usize) {
    let target = Target::named(name).unwrap();
    let inputs = corpus::inputs(name);
    assert!(!inputs.is_empty());
    for (_, input) in inputs.iter().chain(&corpus::regressions(name)) {
        target.check(input);
    }
    let mut chance = Chance::new(1);
    for _ in 0..scaled(tries) {
        let (one, other) = (chance.below(inputs.len()), chance.below(inputs.len()));
        target.check(&mutated(&mut chance, &inputs[one].1, &inputs[other].1));
    }
}

macro_rules! tests {
    ($($name:ident $tries:expr;)*) => {
        $(#[test] fn $name() { try_target(stringify!($name), $tries); })*

        #[test]
        fn each_target_has_a_test() {
            assert_eq!([$(stringify!($name)),*].to_vec(), perfcase_fuzz::TARGETS.iter().map(|target| target.name).collect::<Vec<_>>());
        }
    };
}

tests! {
    archive 20_000;
    elf 5_000;
    lists 100_000;
    perf_data 50_000;
    printed 100_000;
    proc 100_000;
    raw_folder 50_000;
    trace_dat 5_000;
    unwind 10_000;
}
