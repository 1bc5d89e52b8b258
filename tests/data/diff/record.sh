#!/bin/sh
# Records the captures of this folder (as root, with perf, in a folder on a disk): record.sh
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cc -O2 -pthread "$here/inject.c" -o inject
calls=raw_syscalls:sys_enter,raw_syscalls:sys_exit

serve() { # NAME THREADS lock|free sync|async
	perf record -q -B -m 2M -k CLOCK_MONOTONIC -o "$1.data" -e "$calls" -- ./inject "$2" "$3" "$4"
}

serve base 4 free async
serve again 4 free async
serve lock 4 lock async
serve slow 4 free sync

read_passes() { # NAME drop|keep: reads a file ten times, from the page cache or after it was dropped
	dd if=/dev/zero of=read.tmp bs=64k count=8 conv=fsync 2> /dev/null
	cat read.tmp > /dev/null
	perf record -q -B -m 2M -k CLOCK_MONOTONIC -o "$1.data" -e "$calls" \
		-e filemap:mm_filemap_add_to_page_cache,filemap:mm_filemap_delete_from_page_cache,filemap:mm_filemap_get_pages \
		-- python3 -IS -c '
import os, sys, time
fd = os.open("read.tmp", os.O_RDONLY)
for n in range(20):
    if n == 0 or sys.argv[1] == "drop":
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    for block in range(8):
        os.pread(fd, 65536, block * 65536)
    time.sleep(0.05)
' "$2"
}

threads() { # NAME THREADS: the files of /proc of a process with so many threads, six times
	./inject "$2" free async 4 &
	sleep 0.2
	for n in 1 2 3 4 5 6; do
		mkdir -p "$1/$n/$!"
		cp /proc/uptime "$1/$n"
		head -n 1 /proc/stat > "$1/$n/stat" # of all CPUs: what others do on the machine is not the point
		for file in stat status; do
			cp "/proc/$!/$file" "$1/$n/$!/"
		done
		for task in /proc/$!/task/*; do
			mkdir -p "$1/$n/$!/task/${task##*/}"
			cp "$task/stat" "$task/status" "$1/$n/$!/task/${task##*/}/"
		done
		sleep 0.2
	done
	wait
	tar -cJf "$1.tar.xz" "$1"
	rm -r "$1"
}

threads threads-4 4
threads threads-8 8

read_passes cached keep
read_passes dropped drop

xz -f base.data again.data lock.data slow.data cached.data dropped.data
rm -f inject inject.tmp read.tmp
