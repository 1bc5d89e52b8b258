# shellcheck shell=sh
# pack.sh: compresses the members and writes the one file.

# What this host compresses with. PERFCASE_COMPRESSION=zstd|gzip|none chooses.
compressor() {
	case ${PERFCASE_COMPRESSION-} in
	zstd | gzip | none) echo "$PERFCASE_COMPRESSION" && return ;;
	esac
	if command -v zstd >/dev/null 2>&1; then
		echo zstd
	elif command -v gzip >/dev/null 2>&1; then
		echo gzip
	else
		echo none
	fi
}

# Each member for itself, in few processes. Below 1 KB a member is not worth it.
compress_members() {
	find "$staging" -path "$state" -prune -o -type f -size +2 ! -name manifest.json -print >"$state/compress"
	[ -s "$state/compress" ] || return 0
	case $(compressor) in
	zstd) xargs zstd -q --rm -- <"$state/compress" >>"$state/compress.log" 2>&1 ;;
	gzip) xargs gzip -f <"$state/compress" >>"$state/compress.log" 2>&1 ;;
	esac || warn "some members stay uncompressed: $(tail -n 1 "$state/compress.log")"
}

pack_capture() {
	say_progress "packing"
	restore_knobs
	write_overhead
	# the log ends here: what is packed is as it was measured
	log_file=
	"$helper" sizes "$staging" >"$state/sizes"
	write_manifest recorded # should the disk be full, the folder is a whole capture
	compress_members
	write_packing_overhead
	write_manifest packed
	if "$helper" pack "$staging" "$output.partial" && mv -f "$output.partial" "$output"; then
		packed=1
	else
		rm -f "$output.partial"
		die 1 "could not write $output"
	fi
}

say_progress() {
	[ -n "$quiet" ] || [ ! -t 2 ] || printf '%s ...\r' "$1" >&2
}

report_result() {
	case $stopped_by in
	budget) say "stopped: the budget of $budget was reached" ;;
	disk_space) warn "stopped early: the disk of $output is nearly full" ;;
	signal) say "stopped by $interrupted_by" ;;
	esac
	[ -z "$command_status" ] || [ "$command_status" = 0 ] || say "the command's exit status was $command_status"
	say "wrote $output ($(wc -c <"$output" | tr -d ' ') bytes). Next: perfcase report $output"
}
