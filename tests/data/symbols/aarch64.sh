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
    perf record -q -N -k CLOCK_MONOTONIC -e cycles -F 99 --call-graph dwarf,8192 -o "$2/c-dwarf.data" -- $bin/c-dwarf 1300
    for name in c c-dwarf; do
        perf script -i "$2/$name.data" --ns --no-inline -F comm,tid,time,ip,sym,symoff,dso >"$2/$name.txt"
    done
    cat /proc/kallsyms >"$2/kallsyms"
    ;;
esac
