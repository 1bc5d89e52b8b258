#!/bin/sh
# About four seconds of work that a report has something to say about: threads that compute and crowd each other, a pipe
# between two processes, writes that wait for storage, sleeps. It writes into a folder of its own and removes it.
set -eu
folder=$(mktemp -d "${TMPDIR:-/tmp}/perfcase-demo.XXXXXX")
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT TERM

compute() { i=0; while [ $i -lt 400000 ]; do i=$((i + 1)); done; }

# One more process that computes than there are CPUs: somebody must wait.
cpus=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
[ "$cpus" -le 8 ] || cpus=8
while [ "$cpus" -ge 0 ]; do
    compute &
    cpus=$((cpus - 1))
done

dd if=/dev/zero bs=4k count=20000 2>/dev/null | gzip -1 | wc -c >/dev/null &
dd if=/dev/zero of="$folder/file" bs=64k count=200 oflag=dsync 2>/dev/null &
(for _ in 1 2 3 4 5 6 7 8 9 10; do sleep 0.2; ls -lR /etc >/dev/null 2>&1; done) &
wait
