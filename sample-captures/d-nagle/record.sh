#!/bin/sh
# Records the same 60 requests through a pipe and through TCP. Only these two processes are recorded.
# usage: record.sh PERFCASE_RECORD [OUT_FOLDER]
set -eu
recorder=$1 out=${2:-.} here=$(dirname "$0")
[ -x "$here/nagle" ] || cc -O2 -fno-omit-frame-pointer -Wall -o "$here/nagle" "$here/nagle.c"
for through in pipe tcp; do
	"$recorder" --interval 0.5 --with tcp --note "60 requests of two writes each through $through" -o "$out/$through.perfcase" \
		-- "$here/nagle" "$through" 60
done
