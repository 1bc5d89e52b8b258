#!/bin/sh
# Records the trace.dat that `make bench` measures: switches, wakeups and system calls of a workload's own process tree.
#
# Some kernels refuse writes to the files of the function filter, which trace-cmd resets before each recording. No function is
# traced here, so those files are covered by empty ones, in a mount namespace that ends with the recording.
#
# usage: record_trace.sh OUTPUT     needs root, trace-cmd and stress-ng
set -eu

output=$1
for tool in trace-cmd stress-ng unshare; do
    command -v "$tool" >/dev/null || {
        echo "record_trace.sh: $tool is not installed (Debian: trace-cmd, stress-ng, util-linux)" >&2
        exit 3
    }
done
if [ "${PERFCASE_BENCH_COVERED:-}" != 1 ]; then
    PERFCASE_BENCH_COVERED=1 exec unshare --mount --propagation private "$0" "$output"
fi

tracing=/sys/kernel/tracing
mountpoint -q $tracing || mount -t tracefs tracefs $tracing
empty=$(mktemp -d)
trap 'rm -rf "$empty"' EXIT
for name in set_ftrace_filter set_ftrace_notrace set_ftrace_pid set_ftrace_notrace_pid set_graph_function set_graph_notrace; do
    [ ! -e $tracing/$name ] || { : > "$empty/$name" && mount --bind "$empty/$name" $tracing/$name; }
done
if [ -e /proc/sys/kernel/ftrace_enabled ]; then
    echo 1 > "$empty/ftrace_enabled"
    mount --bind "$empty/ftrace_enabled" /proc/sys/kernel/ftrace_enabled
fi
trace-cmd record -q -b 200000 -F -c -e sched -e raw_syscalls -o "$output" \
    stress-ng --quiet --switch 2 --switch-method pipe --switch-ops 400000 --timeout 60 >&2
