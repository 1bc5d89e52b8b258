#!/bin/sh
# bench-sampler.sh [THREADS [SECONDS [PROC_LIST]]]: what the sampler costs. Starts a process with so many threads (1,000),
# of which a tenth wakes up ten times a second, samples it at 1 Hz for so long (20 s), and prints the sampler's CPU time as
# a share of one CPU. The limit is 1 %.
set -eu
cd "$(dirname "$0")"
threads=${1:-1000}
seconds=${2:-20}
list=${3:-proc.list}
work=$(mktemp -d)
trap 'kill "$load" 2>/dev/null; rm -rf "$work"' EXIT
make -s

cat >"$work/load.c" <<'C'
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static void *turn(void *number)
{
	for (;;)
		usleep((long)number % 10 ? 3600000000u : 100000u);
}

int main(int argc, char **argv)
{
	pthread_attr_t small;
	pthread_t thread;

	(void)argc;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	for (long i = 1; i < atol(argv[1]); i++)
		pthread_create(&thread, &small, turn, (void *)i);
	pause();
}
C
cc -O1 -pthread -o "$work/load" "$work/load.c"
"$work/load" "$threads" &
load=$!
sleep 1
build/perfcase-helper sample "$list" "$work/snapshots" 1000000000 "$load" &
sampler=$!
run_ns() { cut -d' ' -f1 "/proc/$1/schedstat"; }
sleep 1 # its first snapshot
before_ns=$(run_ns $sampler)
sleep "$seconds"
after_ns=$(run_ns $sampler)
kill $sampler
wait $sampler || true
awk -v ns=$((after_ns - before_ns)) -v s="$seconds" -v threads="$(awk '/^Threads:/ { print $2 }' "/proc/$load/status")" \
	-v bytes="$(wc -c <"$work/snapshots")" -v shots="$(grep -ac '^Z ' "$work/snapshots")" 'BEGIN {
	printf "%d threads at 1 Hz: %.2f %% of one CPU, %.1f ms and %d kB a snapshot\n", threads, ns / s / 1e7, ns / s / 1e6,
		bytes / shots / 1000
	exit ns / s / 1e7 >= 1
}'
