#!/bin/sh
# Fuzz targets under libFuzzer, on stable Rust: analyzer/crates/perfcase-fuzz.
# usage: fuzz.sh [TARGET…]; all of them where none is named
#   MINUTES   for each target (30)
#   MINIMISE  set: the corpus in the repository becomes the smallest that reaches as much
# An input that brings a target down is left in build/fuzz/TARGET.found, and the script ends with 1.
set -eu
cd "$(dirname "$0")/.."

crate=analyzer/crates/perfcase-fuzz
host=$(rustc -vV | sed -n 's/^host: //p')
# What cargo-fuzz sets, without what needs a nightly compiler: counters of edges, and what is compared with what.
flags='-Cpasses=sancov-module -Ccodegen-units=1'
for level in level=4 inline-8bit-counters pc-table trace-compares; do
    flags="$flags -Cllvm-args=-sanitizer-coverage-$level"
done
# With --target the flags are not those of build scripts, which have no libFuzzer to count for.
RUSTFLAGS=$flags cargo build --quiet --locked --profile fuzz --target "$host" -p perfcase-fuzz --features libfuzzer --bin fuzz
built=${CARGO_TARGET_DIR:-target}/$host/fuzz
corpus() { cargo run --quiet --locked -p perfcase-fuzz --bin fuzz-corpus -- "$@"; }

# shellcheck disable=SC2046 # a word each
[ $# -gt 0 ] || set -- $(corpus list)
failed=0
for target; do
    inputs=build/fuzz/$target
    found=build/fuzz/$target.found
    mkdir -p "$found"
    corpus unpack "$target" "$inputs"
    echo "$target: ${MINUTES:-30} minutes"
    PERFCASE_FUZZ_TARGET=$target "$built/fuzz" -max_total_time=$((${MINUTES:-30} * 60)) -max_len=65536 -timeout=60 \
        -rss_limit_mb=3000 -use_value_profile=1 -print_final_stats=1 -artifact_prefix="$found/" "$inputs" \
        >"$found.log" 2>&1 || failed=1
    grep -E '^(stat::number|==|SUMMARY|thread)|panicked' "$found.log" || true
    [ -z "${MINIMISE:-}" ] && continue
    rm -rf "$inputs.small"
    mkdir "$inputs.small"
    PERFCASE_FUZZ_TARGET=$target "$built/fuzz" -merge=1 -max_len=65536 "$inputs.small" "$inputs" >>"$found.log" 2>&1
    corpus pack "$target" "$inputs.small"
    ls -l "$crate/corpus/$target.tar.zst"
done
exit $failed
