#!/bin/sh
# Records the two counting threads for 3 s; only them.
# usage: record.sh PERFCASE_RECORD shared|padded OUT_FILE     (as root; `counters` is built beside counters.c if it is not there)
set -e
here=$(cd "$(dirname "$0")" && pwd)
[ -x "$here/counters" ] || cc -O1 -fno-omit-frame-pointer -pthread -o "$here/counters" "$here/counters.c"
PERFCASE_NO_TRACE_CMD=1 "$1" --note "two threads count, $2" -o "$3" -- "$here/counters" "$2" 3
