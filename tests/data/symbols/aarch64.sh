#!/bin/sh
# usage: aarch64.sh build DIR       on a machine with aarch64-linux-gnu-gcc: builds c and c-dwarf into DIR
#        aarch64.sh record OUT      on an aarch64 machine, as root, beside the two: records into OUT
# Then, with DIR/root the tree of that machine (the two programs at /tmp/perfcase-symbols/bin) and DIR/out what it recorded:
#        python -m tests.support.symbols.fixtures --aarch64 DIR
set -eu
here=$(dirname "$(realpath "$0")")
case $1 in
build)
    fixed='-O2 -g -fno-optimize-sibling-calls -fno-ipa-icf'
    # shellcheck disable=SC2086  # a list of flags
    aarch64-linux-gnu-gcc $fixed -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -o "$2/c" "$here/src/work.c" "$here/src/library.c"
    # shellcheck disable=SC2086
    aarch64-linux-gnu-gcc $fixed -fomit-frame-pointer -fasynchronous-unwind-tables -o "$2/c-dwarf" "$here/src/work.c" "$here/src/library.c"
    ;;
record)
    bin=/tmp/perfcase-symbols/bin
    mkdir -p $bin
    cp "$here/c" "$here/c-dwarf" $bin
    export HOME=/nonexistent
    perf record -q -N -k CLOCK_MONOTONIC -e cycles -F 199 -g -o "$2/c.data" -- $bin/c 900
    # Every 10,000,000 cycles: -F begins with a period of 1, hence with samples of execve.
    perf record -q -N -k CLOCK_MONOTONIC -e cycles -c 10000000 --call-graph dwarf,8192 -o "$2/c-dwarf.data" -- $bin/c-dwarf 1300
    python3 -c 'import sys
line = next(line for line in open("/proc/self/maps") if line.endswith("[vdso]\n"))
start, end = (int(word, 16) for word in line.split()[0].split("-"))
memory = open("/proc/self/mem", "rb")
memory.seek(start)
sys.stdout.buffer.write(memory.read(end - start))' >"$2/vdso"
    # perf reads the vDSO, its unwind tables too, only from where it keeps files by build id.
    build_id=$(perf buildid-list -i "$2/c-dwarf.data" | sed -n 's/ \[vdso\]$//p')
    kept=/tmp/kept/.build-id/$(echo "$build_id" | cut -c 1-2)/$(echo "$build_id" | cut -c 3-)
    mkdir -p "$kept"
    cp "$2/vdso" "$kept/vdso"
    for name in c c-dwarf; do
        perf --buildid-dir /tmp/kept script -i "$2/$name.data" --ns --no-inline -F comm,tid,time,ip,sym,symoff,dso >"$2/$name.txt"
    done
    cat /proc/kallsyms >"$2/kallsyms"
    ;;
esac
