#!/bin/sh
# bench-sampler.sh [THREADS [SECONDS [PROC_LIST]]]: what the sampler costs. Starts a process with so many threads (1,000),
# of which a tenth wakes up ten times a second, samples it at 1 Hz for so long (20 s), and prints the sampler's CPU time as
# a share of one CPU. The limit is 1 %. Then what a snapshot costs without a pause between them, and what it costs here to
# touch a page that nobody touched for a second: of a virtual machine that its host swaps or moves, that is microseconds
# a page without any page fault to be seen inside, and the 1 Hz figure is more the host's than the sampler's.
set -eu
sampler=
cd "$(dirname "$0")"
threads=${1:-1000}
seconds=${2:-20}
list=${3:-proc.list}
work=$(mktemp -d)
trap 'kill "$load" $sampler 2>/dev/null || true; rm -rf "$work"' EXIT
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
cat >"$work/idle-page.c" <<'C'
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { PAGES = 1000, PAGE = 4096 };

static double cpu_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

int main(void)
{
	volatile char *memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	double used_us[2];

	madvise((void *)memory, PAGES * PAGE, MADV_NOHUGEPAGE);
	memset((void *)memory, 1, PAGES * PAGE);
	for (int second = 0; second < 2; second++) {
		sleep(second);
		used_us[second] = -cpu_us();
		for (int i = 0; i < PAGES; i++)
			memory[i * PAGE]++;
		used_us[second] += cpu_us();
	}
	printf("touching a page: %.2f us, after a second alone %.2f us\n", used_us[0] / PAGES, used_us[1] / PAGES);
}
C
cc -O1 -o "$work/idle-page" "$work/idle-page.c"
cc -O1 -pthread -o "$work/load" "$work/load.c"
"$work/load" "$threads" &
load=$!
sleep 1
run_ns() { cut -d' ' -f1 "/proc/$1/schedstat"; }

# sample NAME INTERVAL_NS SECONDS: sets used_ns, the CPU time of so many seconds after the first, and bytes and shots in all.
sample() {
	build/perfcase-helper sample "$list" "$work/$1" "$2" "$load" &
	sampler=$!
	sleep 1 # its first snapshot
	used_ns=-$(run_ns $sampler)
	first=$(shots_of "$1")
	sleep "$3"
	used_ns=$((used_ns + $(run_ns $sampler)))
	shots=$(($(shots_of "$1") - first))
	kill $sampler
	wait $sampler || true
	bytes=$(($(wc -c <"$work/$1") / $(shots_of "$1")))
}
shots_of() { grep -ac '^Z ' "$work/$1" || true; }

sample steady 1000000000 "$seconds"
steady_ns=$used_ns
awk -v ns="$steady_ns" -v s="$seconds" -v threads="$(awk '/^Threads:/ { print $2 }' "/proc/$load/status")" -v bytes="$bytes" 'BEGIN {
	printf "%d threads at 1 Hz: %.2f %% of one CPU, %.1f ms and %d kB a snapshot\n", threads, ns / s / 1e7, ns / s / 1e6, bytes / 1000
}'
sample packed 1000000 2
awk -v ns="$used_ns" -v shots="$shots" 'BEGIN { printf "without a pause: %.1f ms a snapshot\n", ns / shots / 1e6 }'
"$work/idle-page"
test $((steady_ns / seconds)) -lt 10000000
