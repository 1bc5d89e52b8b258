# shellcheck shell=sh
# stacks.sh: callchains of context switches and wakeups by perfcase-helper, as many as are worth their cost (--stacks long). When they
# happened, and for how long a thread waited, ftrace tells; so without ftrace perf takes them all.

probe_stacks_check() {
	source_set stacks kind perf_data
	source_set stacks tool perfcase-helper
	source_set stacks tool_version "$version"
	if source_is_missing ftrace; then
		source_is stacks missing "ftrace does not record the waits: perf takes each callchain" "see ftrace"
	elif ! await "$helper" stacks try 2>"$state/trial.log"; then
		source_is stacks missing "$(tail -n 1 "$state/trial.log" | sed 's/^perfcase-helper: //'): perf takes each callchain, at its cost" \
			"run as root on Linux 4.17 or later, or choose --stacks none or all"
	else
		source_is stacks available
	fi
}

# Whether perf need not take the callchains of switches and wakeups.
stacks_are_taken() {
	[ "$stacks" = none ] || { [ "$stacks" = long ] && ! source_is_missing stacks; }
}

probe_stacks_start() {
	mkdir -p "$staging/stacks"
	stacks_graph=$call_graph
	[ "$call_graph" != lbr ] || stacks_graph=fp # a switch has no branch records
	source_run stacks "perfcase-helper stacks" "$helper" stacks "$staging/stacks/perf.data" "$(perf_helper_scope)" \
		"$perf_buffer_kb" "$stacks_graph" "$state/stacks.ready"
	source_awaits stacks "$helper" ready "$state/stacks.ready" ready "$run_pid" "$START_TIMEOUT_S"
}

probe_stacks_ready() {
	source_is_up stacks && return
	source_gave_up stacks
	source_is stacks missing "it did not start: $(source_last_words stacks)" "--stacks all"
	rm -rf "$staging/stacks"
}

probe_stacks_stop() { :; }

probe_stacks_collect() { perf_count stacks; }
