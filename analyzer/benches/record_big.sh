#!/bin/sh
# Records the large perf.data that `make bench` measures the importer on: about
# 350 MB, at least 1.6 million samples with callchains of scheduler switches,
# system calls, block requests and interrupts of `stress-ng --switch`.
#
# Scope: only the workload's own process tree is recorded (no -a), so it can
# run on a machine that others share. Needs root or perf_event_paranoid < 0,
# perf, stress-ng and about 500 MB in $PERFCASE_BENCH_DIR.
#
# usage: record_big.sh [OUTPUT]     default $PERFCASE_BENCH_DIR/big.data
set -eu

target_bytes=${PERFCASE_BENCH_BYTES:-360000000}
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
        -e sched:sched_switch -e sched:sched_wakeup \
        -e raw_syscalls:sys_enter -e raw_syscalls:sys_exit \
        -e 'block:*' -e 'irq:*' -o "$2" -- \
        stress-ng --quiet --switch 2 --switch-freq 0 --switch-method pipe \
        --switch-ops "$1" --timeout 120 >&2
}

# A short run tells how many bytes one hand-over costs on this kernel.
probe_ops=20000
partial=$output.partial
trap 'rm -f "$partial" "$partial.old"' EXIT
record $probe_ops "$partial"
probe_bytes=$(stat -c %s "$partial")
record $((target_bytes * (probe_ops / 100) / (probe_bytes / 100))) "$partial"
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
