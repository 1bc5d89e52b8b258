#!/bin/sh
# Records the workload on an otherwise idle machine. usage: record.sh PERFCASE_RECORD OUT_FILE
sh "$(dirname "$0")/workload" &
"$1" --duration 3 --ticket DEMO-1 --note 'three CPU hogs on two CPUs, a pipe, file I/O' -o "$2"
wait
