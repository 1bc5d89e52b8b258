#!/bin/sh
# Records the workload on an otherwise idle machine.
# usage: record.sh PERFCASE_RECORD OUT_FILE
ZSTD_CLEVEL=19 "$1" --duration 9 --interval 2 --with locks,page-cache --ticket DEMO-1 --note 'three CPU hogs on two CPUs, a pipe, file I/O' -o "$2" &
# the manifest comes when every source records
until [ -e "$2.recording/manifest.json" ]; do sleep 0.1; done
sh "$(dirname "$0")/workload"
wait
