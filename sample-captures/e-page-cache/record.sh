#!/bin/sh
# Records passes over a file of so many MiB for 4 s; at the begin the first is under way.
# usage: record.sh PERFCASE_RECORD MEBIBYTES OUT_FILE     (as root; `passes` is built beside passes.c if it is not there)
# `free -m` says what fits: take a tenth of `available`, then as much as all memory.
set -e
here=$(cd "$(dirname "$0")" && pwd)
[ -x "$here/passes" ] || cc -O1 -fno-omit-frame-pointer -o "$here/passes" "$here/passes.c"
file=${TMPDIR:-/var/tmp}/passes.file
dd if=/dev/zero of="$file" bs=1048576 count="$2" conv=fsync 2>/dev/null
"$here/passes" "$file" &
passes=$!
sleep 2
# It stands still until every source records, which is when the manifest comes. Raw ring-buffer pages and no symbol tables: the
# capture is small, and the question is not which function.
kill -STOP $passes
PERFCASE_NO_TRACE_CMD=1 "$1" --duration 4 --with page-cache --symbols none --note "passes over a file of $2 MiB" -o "$3" &
recorder=$!
until [ -e "$3.recording/manifest.json" ]; do sleep 0.1; done
kill -CONT $passes
sleep 4
kill $passes
wait $recorder
wait $passes
rm "$file"
