#!/bin/sh
# Records the server alone, not the rest of the host.
# usage: record.sh PERFCASE_RECORD [OUT_FILE]
set -eu
recorder=$1 out=${2:-server.perfcase} here=$(dirname "$0")
[ -x "$here/server" ] || g++ -std=c++17 -O2 -fno-omit-frame-pointer \
	-fno-optimize-sibling-calls -pthread -o "$here/server" "$here/server.cpp"
"$recorder" --note 'the server uses all of its CPU time, and no request handler stands out' -o "$out" -- "$here/server" "${MESSAGES:-800}"
