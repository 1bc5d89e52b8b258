#!/bin/sh
# Records two threads that read from a disk whose controller loses a command now and then, and which has bad sectors: the
# kernel's scsi_debug, a SCSI disk in memory. Its commands take 2 ms; each 40th gets no answer, until the kernel gives up after
# a second, aborts it and asks again.
# usage: record.sh PERFCASE_RECORD [OUT_FILE]          root, on an otherwise idle machine whose kernel has scsi_debug
set -eu
recorder=$1 out=${2:-reader.perfcase} here=$(dirname "$0")
[ -x "$here/reader" ] || cc -O2 -Wall -static -pthread -o "$here/reader" "$here/reader.c"
modprobe sd_mod
modprobe scsi_debug dev_size_mb=64 ndelay=2000000 statistics=1 medium_error_start=20000 medium_error_count=3000
sleep 1
disk=
for model in /sys/block/sd*/device/model; do
	grep -q scsi_debug "$model" && disk=${model%/device/model} && disk=${disk##*/}
done
[ -n "$disk" ] || { echo 'scsi_debug made no disk' >&2; exit 1; }
echo 1 >"/sys/block/$disk/device/timeout"
echo 6 >/sys/bus/pseudo/drivers/scsi_debug/opts # 2: bad sectors fail; 4: each 40th command gets no answer
echo 40 >/sys/bus/pseudo/drivers/scsi_debug/every_nth
"$here/reader" "/dev/$disk" &
reader=$!
"$recorder" --duration 5 --symbols none --note 'reads take a second now and then' -o "$out"
kill "$reader"
wait || true
echo 0 >/sys/bus/pseudo/drivers/scsi_debug/every_nth
rmmod scsi_debug
