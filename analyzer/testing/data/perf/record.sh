#!/bin/sh
# Records the fixtures of this folder and asks perf what is in them. Run as root; see README.md.
set -eu
out=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"

cat > work.sh <<'END'
i=0
while [ $i -lt 12 ]; do /bin/true; i=$((i + 1)); done
dd if=/dev/zero of=/dev/null bs=64k count=300 2>/dev/null
END
work="sh work.sh"
events="-e cpu-clock/freq=499/ -e sched:sched_switch -e raw_syscalls:sys_enter -e sched:sched_process_exec"

ask() { # name, fields of perf script
    perf report -i "$1.data" --stats 2>/dev/null | sed -n 's/^ *\([A-Z_0-9]*\) events: *\([0-9]*\).*/\1 \2/p' \
        | awk '$1 == "TOTAL" || !seen[$1]++' > "$out/$1.stats"
    perf script -i "$1.data" --ns -F "$2" 2>/dev/null | zstd -q -19 -f -o "$out/$1.script.zst"
}
keep() {
    ask "$1" "$2"
    zstd -q -19 -f "$1.data" -o "$out/$1.data.zst"
}
keep_directory() {
    ask "$1" "$2"
    for file in "$1.data"/*; do zstd -q -19 -f "$file" -o "$out/$1.${file##*/}.zst"; done
}
plain=pid,tid,cpu,time,event,period

# shellcheck disable=SC2086
perf record -q --sample-cpu -k CLOCK_MONOTONIC -g -o file.data $events -- $work
keep file "$plain,ip"
# shellcheck disable=SC2086
perf record -q --sample-cpu -k CLOCK_MONOTONIC -g -z -o compressed.data $events -- $work
keep compressed "$plain,ip"
# shellcheck disable=SC2086
perf record -q --sample-cpu -k CLOCK_MONOTONIC -g -o - $events -- $work > pipe.data
keep pipe "$plain"
# shellcheck disable=SC2086
perf record -q --sample-cpu -k CLOCK_MONOTONIC -g -z -o - $events -- $work > compressed-pipe.data
keep compressed-pipe "$plain"
perf record -q --sample-cpu -e '{page-faults,context-switches,cpu-clock}:S' -c 20 -o group.data -- $work
keep group "$plain"
perf record -q --sample-cpu --call-graph dwarf,1024 -e page-faults -c 50 -o dwarf.data -- $work
keep dwarf "$plain,addr"
perf record -q --sample-cpu -e page-faults -c 10 --switch-events --namespaces --all-cgroups -d --phys-data --data-page-size \
    --code-page-size --intr-regs=ax,sp,ip --user-regs=ax,sp,ip -o rich.data -- $work
keep rich "$plain,addr"
perf record -q --sample-cpu -a -e page-faults -c 10 --switch-events -o switch-cpu-wide.data -- $work
keep switch-cpu-wide "$plain"
perf record -q --sample-cpu -e page-faults -c 10 --buildid-mmap -o build-id-mmap.data -- $work
keep build-id-mmap "$plain"
perf record -q --sample-cpu -e page-faults -c 10 --no-timestamp -o no-time.data -- $work
keep no-time pid,tid,cpu,event,period
perf record -q --sample-cpu -e page-faults -c 10 --threads -o directory.data -- $work
keep_directory directory "$plain"
perf stat -e task-clock,page-faults record -o stat.data -- $work > /dev/null 2>&1
keep stat time
perf record -q --sample-cpu -k CLOCK_MONOTONIC -g -o killed.data -e context-switches -e page-faults -c 1 -- \
    timeout 1 sh -c 'while :; do /bin/true; done' &
perf=$!
sleep 0.4
kill -9 $perf
wait $perf || true
sleep 1
# perf does not read the file as it is: it is asked about a copy with the size filled in and no features.
cp killed.data as-killed.data
python3 - killed.data <<'END'
import struct, sys
with open(sys.argv[1], "r+b") as file:
    data = file.read()
    start, = struct.unpack_from("<Q", data, 40)
    file.seek(48)
    file.write(struct.pack("<Q", len(data) - start) + bytes(16) + bytes(32))
END
keep killed "$plain"
zstd -q -19 -f as-killed.data -o "$out/killed.data.zst"
