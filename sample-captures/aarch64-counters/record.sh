#!/bin/sh
# Records the workload on an otherwise idle machine, with raw ring-buffer pages instead of trace.dat.
# usage: record.sh PERFCASE_RECORD OUT_FILE
sh "$(dirname "$0")/workload" &
PERFCASE_NO_TRACE_CMD=1 "$1" --duration 4 --ticket DEMO-2 --note 'three CPU hogs on two CPUs, a pipe, file I/O' -o "$2"
wait
