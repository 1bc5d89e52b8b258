# shellcheck shell=sh
# proc.sh: /proc and /sys snapshots by perfcase-helper, of the files in proc.list.

probe_proc_check() {
	source_set proc kind proc_snapshots
	source_set proc tool perfcase-helper
	source_set proc tool_version "$version"
	if [ ! -r /proc/stat ]; then
		source_is proc missing "/proc is not mounted" "mount -t proc proc /proc"
	elif [ ! -e /proc/pressure/cpu ]; then
		source_is proc degraded "the kernel keeps no pressure stall information (/proc/pressure)" \
			"boot with psi=1 (needs CONFIG_PSI)"
	else
		source_is proc available
	fi
}

probe_proc_start() {
	mkdir -p "$staging/proc"
	source_run proc "perfcase-helper sample" \
		"$helper" sample "$home/proc.list" "$staging/proc/snapshots" "$interval_ns" "$(target_sampler_scope)" \
		${flight:+"$flight_ns" "$((flight_bytes / 2))" "$state/proc.from"}
	source_awaits proc "$helper" ready "$staging/proc/snapshots${flight:+.0}" "" "$run_pid" "$START_TIMEOUT_S"
}

probe_proc_ready() {
	source_is_up proc && return
	source_gave_up proc
	source_is proc missing "the sampler ended: $(source_last_words proc)"
	rm -rf "$staging/proc" # as with the other sources: what is called missing has no files
}

probe_proc_stop() { :; }

probe_proc_collect() {
	source_set proc events "$(grep -ac '^Z ' "$staging/proc/snapshots")"
}
