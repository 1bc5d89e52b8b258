#!/bin/sh
# Records the workload on an otherwise idle machine, with raw ring-buffer pages instead of trace.dat.
# usage: record.sh PERFCASE_RECORD OUT_FILE
ZSTD_CLEVEL=12 PERFCASE_NO_TRACE_CMD=1 "$1" --duration 5 --ticket DEMO-2 --note 'three CPU hogs on two CPUs, a pipe, file I/O' -o "$2" &
# the manifest comes when every source records
until [ -e "$2.recording/manifest.json" ]; do sleep 0.1; done
sh "$(dirname "$0")/workload"
wait
