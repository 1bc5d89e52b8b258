#!/bin/sh
# Records the service for 4 s, alone or among neighbours: 4 that compute, in a control group of their own.
# usage: record.sh PERFCASE_RECORD alone|crowded OUT_FILE     (as root; `service` is built beside service.c if it is not there)
set -e
here=$(cd "$(dirname "$0")" && pwd)
[ -x "$here/service" ] || cc -O1 -fno-omit-frame-pointer -pthread -o "$here/service" "$here/service.c"
groups=$(sed -n 's,^cgroup2 \([^ ]*\) .*,\1,p' /proc/mounts | head -n 1)

# in_group NAME COMMAND...: runs it in a control group below the root, where there is one.
in_group() {
	[ -z "$groups" ] || { mkdir -p "$groups/$1" && echo 0 >"$groups/$1/cgroup.procs"; }
	shift
	exec "$@"
}

started=
(in_group service "$here/service") &
service=$!
if [ "$2" = crowded ]; then
	for i in 1 2 3 4; do
		(in_group neighbours "$here/service" neighbour) &
		started="$started $!"
	done
fi
sleep 1
# They stand still until every source records, which is when the manifest comes. Raw ring-buffer pages and no symbol tables: the
# capture is small, and the question is not which function.
kill -STOP $service $started
PERFCASE_NO_TRACE_CMD=1 "$1" --duration 4 --symbols none --note "a service, $2" -o "$3" &
recorder=$!
until [ -e "$3.recording/manifest.json" ]; do sleep 0.1; done
kill -CONT $service $started
sleep 4
kill $service $started
wait $recorder
wait $service
