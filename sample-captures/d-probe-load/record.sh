#!/bin/sh
# Records a database alone, and with a probe that watches it. Only these processes are recorded; the machine should have two
# CPUs that do little else.
# usage: record.sh PERFCASE_RECORD [OUT_FOLDER]
set -eu
recorder=$1 out=${2:-.} here=$(dirname "$0")
[ -x "$here/database" ] || cc -O2 -fno-omit-frame-pointer -Wall -pthread -o "$here/database" "$here/database.c"
for case in alone probed; do
	"$recorder" --note "a database, $case" -o "$out/$case.perfcase" -- "$here/database" "$case" 4
done
