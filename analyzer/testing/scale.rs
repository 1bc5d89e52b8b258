//! How often tests try what they try at random: `PERFCASE_TEST_SCALE` (tests/support/scale.py), a tenth where it is not set.

/// So many of `count` tries, which is what `make test-long` takes; one at least.
pub fn scaled(count: usize) -> usize {
    let scale = std::env::var("PERFCASE_TEST_SCALE").map_or(0.1, |text| text.parse().expect("PERFCASE_TEST_SCALE"));
    ((count as f64 * scale).round() as usize).max(1)
}
