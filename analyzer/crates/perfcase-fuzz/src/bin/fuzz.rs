//! One target under libFuzzer: `PERFCASE_FUZZ_TARGET` names it, the words are libFuzzer's. scripts/fuzz.sh runs it.
#![no_main]

use std::sync::OnceLock;

use perfcase_fuzz::Target;

static TARGET: OnceLock<&Target> = OnceLock::new();

fn target() -> &'static Target {
    TARGET.get_or_init(|| {
        let name = std::env::var("PERFCASE_FUZZ_TARGET").unwrap_or_default();
        Target::named(&name).unwrap_or_else(|| panic!("PERFCASE_FUZZ_TARGET={name}: there is no such target"))
    })
}

libfuzzer_sys::fuzz_target!(|input: &[u8]| target().check(input));
