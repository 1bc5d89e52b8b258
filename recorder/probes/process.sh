# shellcheck shell=sh
# process.sh: what is slow to read of the recorded processes, at a lower rate than proc.sh: command lines, control groups,
# limits, exact memory, open files, and the sockets of their network namespaces. Never another process's, no environment.

probe_process_check() {
	source_set process kind proc_snapshots
	source_set process tool perfcase-helper
	source_set process tool_version "$version"
	if [ ! -r /proc/self/stat ]; then
		source_is process missing "/proc is not mounted" "mount -t proc proc /proc"
	elif [ "$uid" != 0 ]; then
		source_is process degraded "without root only your own processes show their files and memory" "run as root"
	else
		source_is process available
	fi
}

probe_process_start() {
	mkdir -p "$staging/process"
	source_run process "perfcase-helper details" \
		"$helper" details "$staging/process/snapshots" "$interval_ns" "$(target_sampler_scope)" "${numa_maps:--}" \
		${flight:+"$flight_ns" "$((flight_bytes / 4))" "$state/process.from"}
	source_awaits process "$helper" ready "$staging/process/snapshots${flight:+.0}" "" "$run_pid" "$START_TIMEOUT_S"
}

probe_process_ready() {
	source_is_up process && return
	source_gave_up process
	source_is process missing "the sampler of details ended: $(source_last_words process)"
	rm -rf "$staging/process"
}

probe_process_stop() { :; }

probe_process_collect() {
	source_set process events "$(grep -ac '^Z ' "$staging/process/snapshots")"
}
