#!/bin/sh
# Records the large perf.data that `make bench` measures the importer on: about
# 350 MB, at least 1.6 million samples with callchains: all scheduler, system
# call, block and interrupt tracepoints of `stress-ng --switch`.
#
# Scope: only the workload's own process tree is recorded (no -a), so it can
# run on a machine that others share. Needs root or perf_event_paranoid < 0,
# perf, stress-ng and about 500 MB in $PERFCASE_BENCH_DIR.
#
# usage: record_big.sh [OUTPUT]     default $PERFCASE_BENCH_DIR/big.data
set -eu

target_bytes=${PERFCASE_BENCH_BYTES:-355000000}
directory=${PERFCASE_BENCH_DIR:-/var/tmp/perfcase-bench}
output=${1:-$directory/big.data}

for tool in perf stress-ng; do
    command -v "$tool" >/dev/null || {
        echo "record_big.sh: $tool is not installed (Debian: linux-perf, stress-ng)" >&2
        exit 3
    }
done
mkdir -p "$directory"

# record OPS FILE: a pair of threads per worker hands a token over a pipe OPS
# times; each hand-over is a write, a read, a switch and a wakeup.
record() {
    perf record -q -k CLOCK_MONOTONIC -m 8M -g \
        -e 'sched:*' -e 'raw_syscalls:*' -e 'block:*' -e 'irq:*' -o "$2" -- \
        stress-ng --quiet --switch 2 --switch-freq 0 --switch-method pipe \
        --switch-ops "$1" --timeout 900 >&2
}

# A short run tells how many bytes one hand-over costs here; on a busy machine
# that changes, so what comes out too small is recorded again with more.
ops=20000
partial=$output.partial
trap 'rm -f "$partial" "$partial.old"' EXIT
record $ops "$partial"
for _ in 1 2 3; do
    bytes=$(stat -c %s "$partial")
    ops=$((target_bytes * ops / bytes))
    record $ops "$partial"
    bytes=$(stat -c %s "$partial")
    [ $((bytes * 100 / target_bytes)) -lt 98 ] || break
done
mv "$partial" "$output"
{
    echo "file: $output"
    echo "bytes: $(stat -c %s "$output")"
    echo "recorded: $(date -u +%Y-%m-%dT%H:%M:%SZ)"
    echo "kernel: $(uname -srvm)"
    echo "cpu: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | sort -u | head -1) x $(nproc)"
    echo "perf: $(perf --version)"
    perf report --stats -i "$output" 2>/dev/null | sed -n 's/^ *\(SAMPLE\|LOST\|LOST_SAMPLES\|TOTAL\) events: */\1: /p' | awk '!seen[$1]++'
} > "$output.txt"
cat "$output.txt"
