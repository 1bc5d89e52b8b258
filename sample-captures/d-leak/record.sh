#!/bin/sh
# Records the two processes for ten seconds, with a callchain for each page that they touch first.
# usage: record.sh PERFCASE_RECORD [OUT_FILE]
set -eu
recorder=$1 out=${2:-sessions.perfcase} here=$(dirname "$0")
[ -x "$here/sessions" ] || g++ -std=c++17 -O2 -fno-omit-frame-pointer \
	-fno-optimize-sibling-calls -o "$here/sessions" "$here/sessions.cpp"
"$recorder" --interval 0.5 --with page-faults --note 'the session server grows, and a leak checker finds nothing' \
	-o "$out" -- "$here/sessions" 10
