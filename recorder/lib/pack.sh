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

# Each member for itself, in few processes. Below 1 KB a member is not worth it; the log stays, as --salvage knows a folder by it. From inside the folder: its own name may hold
# anything, and what these commands delete must be the members.
compress_members() {
	case $(compressor) in
	zstd) set -- zstd -q --rm -- ;;
	gzip) set -- gzip -4 -f -- ;; # half the CPU time of its default for a twentieth more
	*) return 0 ;;
	esac
	await_into "$state/compress.log" "$helper" inside "$staging" find . -path ./.state -prune -o \
		-type f -size +2 ! -name '*.zst' ! -name '*.gz' ! -name manifest.json ! -path ./recorder/log -exec "$@" {} + ||
		warn "some members stay uncompressed: $(tail -n 1 "$state/compress.log")"
}

pack_capture() {
	piece_wait
	say_progress "packing"
	restore_knobs
	write_overhead
	# the log ends here: what is packed is as it was measured
	log_file=
	"$helper" sizes "$staging" >"$state/sizes" || die 1 "cannot write to $state"
	write_manifest recorded # should the disk be full, the folder is a whole capture
	compress_members
	write_manifest packed
	write_archive
}

write_archive() {
	[ -z "$flight" ] || flight_name # of now
	if [ -n "$stream" ]; then
		stream_archive
		return
	fi
	# in our own folder, where nobody can have put a link or a pipe in its place
	if ! await "$helper" pack "$staging" >"$state/packed"; then
		rm -f "$state/packed"
		die 1 "could not write $output"
	fi
	redact_archive
	place_capture
}

# Gives the archive its name. What came there during the recording keeps it, and the archive gets another name.
place_capture() {
	place_name=$output
	place_number=1
	# now: where it goes, anybody may put another file in its place
	[ -z "$piece" ] || place_identity=$("$helper" identity "$state/packed")
	until "$helper" place "$state/packed" "$place_name" ${force:+force}; do
		[ -e "$place_name" ] || [ -L "$place_name" ] || die 1 "could not write $output"
		force=
		place_number=$((place_number + 1))
		place_name=${output%.perfcase}-$place_number.perfcase
	done
	packed=1
	if [ "$place_name" = "$output" ] || [ -n "$flight" ]; then
		output=$place_name
		[ -z "$piece" ] || piece_is_made "$place_identity"
		flight_wrote
		return
	fi
	exit_status=1
	warn "$output came into being during the recording and was left alone: the capture has another name"
	output=$place_name
}

say_progress() {
	[ -n "$quiet" ] || [ ! -t 2 ] || printf '%s ...\r' "$1" >&2
}

report_result() {
	case $stopped_by in
	budget) say "stopped: the budget of $budget was reached" ;;
	disk_space) warn "stopped early: the disk of $output is nearly full" ;;
	trigger) say "stopped: $flight_trigger" ;;
	signal) say "stopped by $interrupted_by" ;;
	esac
	[ -z "$command_status" ] || [ "$command_status" = 0 ] || say "the command's exit status was $command_status"
	if [ -n "$stream" ]; then
		say "wrote the capture to $stream_name"
		return
	fi
	say "wrote $output ($(wc -c <"$output" | tr -d ' ') bytes). Next: perfcase report $output"
	redact_report
	[ -z "$upload" ] || upload_file "$output"
}
