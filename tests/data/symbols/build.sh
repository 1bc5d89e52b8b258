#!/bin/sh
# usage: build.sh DIR [c] [cxx] [rust] [jit] [go] [java]      builds the workloads of src/ into DIR (default: c cxx rust jit)
# Programs named *-dwarf have no frame pointers. The default rpath and fixed flags make the build ids those of the sources.
set -eu
from=$(dirname "$(realpath "$0")")/src
into=$1; shift
[ $# -gt 0 ] || set -- c cxx rust jit
mkdir -p "$into"
cd "$into"
fp='-O2 -g -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -fno-optimize-sibling-calls -fno-ipa-icf -fno-partial-inlining'
case $(uname -m) in x86_64) ;; *) fp=$(echo "$fp" | sed 's/-mno-omit-leaf-frame-pointer//');; esac
nofp='-O2 -g -fomit-frame-pointer -fasynchronous-unwind-tables -fno-optimize-sibling-calls'
here='-Wl,-rpath,$ORIGIN'

c_programs() {
    # shellcheck disable=SC2086  # lists of flags
    {
        gcc $fp -fPIC -shared -Wl,-soname,libwork.so -o libwork.so "$from/library.c"
        gcc $fp -o c "$from/work.c" -L. -lwork "$here"
        gcc $fp -no-pie -fno-pie -o c-nopie "$from/work.c" -L. -lwork "$here"
        gcc $fp -static-pie -o c-static-pie "$from/work.c" "$from/library.c"
        gcc $fp -static -o c-static "$from/work.c" "$from/library.c"
        # An address of its own for a function, so that its segment's distance of address to file offset differs.
        gcc $fp -DFAR -Wl,-z,noseparate-code -Wl,--section-start=.far=0x740000 -o c-segments "$from/work.c" -L. -lwork "$here"
        # A library that asks for an address, as prelink made them.
        mkdir -p prelinked
        gcc $fp -fPIC -shared -Wl,-soname,libwork.so -Wl,-Ttext-segment=0x3000000 -o prelinked/libwork.so "$from/library.c"
        gcc $fp -o c-prelinked "$from/work.c" -Lprelinked -lwork '-Wl,-rpath,$ORIGIN/prelinked'
        # Without .symtab, alone and with the table compressed within (MiniDebugInfo) or in a file beside.
        mkdir -p stripped
        strip -o stripped/libwork.so libwork.so
        gcc $fp -o c-stripped "$from/work.c" -Lstripped -lwork '-Wl,-rpath,$ORIGIN/stripped'
        objcopy --only-keep-debug c-stripped c-stripped.debug
        strip c-stripped
        if command -v xz >/dev/null; then
            gcc $fp -o c-minidebug "$from/work.c" -Lstripped -lwork '-Wl,-rpath,$ORIGIN/stripped'
            objcopy --only-keep-debug -S -R .comment c-minidebug mini.tmp 2>/dev/null
            nm -D c-minidebug --format=posix --defined-only | awk '{print $1}' | sort >dynamic.tmp
            nm c-minidebug --format=posix --defined-only | awk '$2 ~ /[TtD]/ {print $1}' | sort >all.tmp
            comm -13 dynamic.tmp all.tmp >keep.tmp
            objcopy --only-keep-debug c-minidebug mini.tmp
            objcopy -S --remove-section .comment --keep-symbols=keep.tmp mini.tmp
            xz -f mini.tmp
            strip c-minidebug
            objcopy --add-section .gnu_debugdata=mini.tmp.xz c-minidebug
            rm -f ./*.tmp mini.tmp.xz
        fi
        gcc $fp -fno-align-functions -o ends "$from/ends.c"
        gcc $nofp -fno-align-functions -o ends-dwarf "$from/ends.c"
        gcc $nofp -o c-dwarf "$from/work.c" "$from/library.c"
    }
}
cxx_programs() {
    # shellcheck disable=SC2086
    { g++ $fp -std=c++17 -o cxx "$from/names.cpp"; g++ $nofp -std=c++17 -o cxx-dwarf "$from/names.cpp"; }
}
rust_programs() {
    for mangling in legacy v0; do
        unstable=''
        [ $mangling = v0 ] || unstable='-Z unstable-options'
        # shellcheck disable=SC2086
        RUSTC_BOOTSTRAP=1 rustc --edition 2021 -O -g -C force-frame-pointers=yes $unstable \
            -C symbol-mangling-version=$mangling -o rust-$mangling "$from/names.rs"
    done
    rustc --edition 2021 -O -g -C force-frame-pointers=no -C force-unwind-tables=yes -C symbol-mangling-version=v0 \
        -o rust-dwarf "$from/names.rs"
}
jit_programs() { gcc -O2 -g -fno-omit-frame-pointer -o jit "$from/jit.c"; }
go_programs() { (cd "$from/go" && GOFLAGS=-trimpath CGO_ENABLED=0 go build -o "$into/go" .); }
java_programs() { javac -d . "$from/Names.java"; }
for language; do "${language}_programs"; done
