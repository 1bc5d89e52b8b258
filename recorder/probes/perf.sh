# shellcheck shell=sh
# perf.sh: perf record: CPU samples with callchains, and scheduler tracepoints with callchains. Where perf is absent, or does not
# work, by perfcase-helper, which opens the same events.
# A frequency goes to the sampling event only: with -F perf would sample the tracepoints as well.
SAMPLE_HZ=99 # the helper's too

probe_perf_check() {
	source_set perf kind perf_data
	source_set perf tool perf
	perf_is_absent || source_set perf tool_version "$(perf_version)"
	paranoid=$(cat /proc/sys/kernel/perf_event_paranoid 2>/dev/null)
	if [ -z "$paranoid" ]; then
		source_is perf missing "the kernel has no perf events" "a kernel with CONFIG_PERF_EVENTS"
		return
	fi
	if [ "$uid" != 0 ] && [ "$mode" != command ] && [ "$paranoid" -gt 0 ]; then
		source_is perf missing "perf_event_paranoid is $paranoid: only root may record other processes" \
			"run as root, or: sysctl kernel.perf_event_paranoid=-1"
		return
	fi
	# perf's own rings forget what was mapped by processes that ended before they reach back
	[ -z "$flight" ] || perf_why="a flight has rings that nobody reads before the end"
	# the poll of perf (5.9 and later) no longer waits then: fdarray__filter leaves the descriptor of the ended thread in it
	if [ -z "$perf_why" ] && [ "$mode" = pid ] && [ "$call_graph" != lbr ]; then
		perf_why="perf record takes a CPU for itself once a recorded thread has ended"
	fi
	perf_tracepoints=$(perf_list_tracepoints | tracefs_existing)
	if [ -z "$perf_why" ]; then
		target_choose_perf_scope
		perf_without_bpf=
		perf_has_option record --no-bpf-event && perf_without_bpf=--no-bpf-event
		# perf record falls back to cpu-clock by itself and keeps the name "cycles": perf stat has told
		perf_samplers='cpu-clock cpu-clock:u'
		! pmc_is_supported cycles || perf_samplers="cycles $perf_samplers"
		perf_choose_events && return
		perf_why="perf record fails here: $(tail -n 2 "$state/trial.log" | tr '\n' ' ')"
		perf_why=${perf_why% }
	fi
	perf_turn_to_helper
	perf_choose_events && return
	perf_sampler=
	source_is perf missing "$perf_why; perfcase-helper cannot open the events either: $(tail -n 1 "$state/trial.log")" \
		"sysctl kernel.perf_event_paranoid=-1, or run as root outside a restricted container"
}

# Those of the scheduler only where nothing else takes their callchains.
perf_list_tracepoints() {
	list_events perf | while read -r event; do
		case $event in
		sched:*) stacks_are_taken || echo "$event" ;;
		*) echo "$event" ;;
		esac
	done
}

# Whether perf is to be done without; sets perf_why.
perf_is_absent() {
	perf_why=
	if [ -n "${PERFCASE_NO_PERF-}" ]; then
		perf_why="perf was not wanted (PERFCASE_NO_PERF)"
	elif ! command -v perf >/dev/null 2>&1; then
		perf_why="perf is not installed"
	fi
	[ -n "$perf_why" ]
}

# The helper records instead of perf, as perf_why says.
perf_turn_to_helper() {
	source_set perf tool perfcase-helper
	source_set perf tool_version "$version"
	perf_samplers='cycles cycles:u cpu-clock cpu-clock:u'
	perf_scope=
	target_choose_perf_scope
}

# Tries the best set of events first on a command of our own, or the helper on itself.
perf_choose_events() {
	for perf_graph in "$call_graph" fp; do
		for perf_sampler in $perf_samplers; do
			for perf_events in "$perf_tracepoints" ''; do
				perf_trial && perf_judge && return
				[ -n "$perf_tracepoints" ] || break
			done
		done
		[ "$call_graph" != fp ] || break
	done
	return 1
}

# Build ids of all mapped objects come from the kernel as they are mapped (Linux 5.12), or from perf as it ends. Never copies of
# the objects in the user's ~/.debug. A perf that looks at BPF programs takes a second to end, and one that reads the kernel's
# symbols three times takes 0.2 s of a CPU: the trial needs neither.
perf_trial() {
	if [ -n "$perf_why" ]; then
		perf_list_events
		await "$helper" events try self "$perf_buffer_kb" "$perf_sampler" "$perf_graph" "$state/perf.events" \
			>"$state/trial.log" 2>&1
		return
	fi
	perf_event_options "$perf_sampler" "$perf_events"
	for perf_build_ids in --buildid-mmap '-N --buildid-all'; do
		# shellcheck disable=SC2086 # lists of options without blanks in them
		await "$helper" without /proc/kallsyms perf record -k CLOCK_MONOTONIC $perf_build_ids $perf_without_bpf $perf_options \
			-o "$state/trial.data" -- true >"$state/trial.log" 2>&1
		trial_status=$?
		rm -f "$state/trial.data" "$state/trial.data.old"
		[ "$trial_status" != 0 ] || break
	done
	return "$trial_status"
}

perf_list_events() {
	for event in $perf_events; do
		echo "$event"
	done >"$state/perf.events"
}

perf_event_options() {
	perf_options="--call-graph $perf_graph"
	perf_terms=freq=$SAMPLE_HZ
	# tracepoints have no branch records: their stacks are those of frame pointers
	[ "$perf_graph" != lbr ] || perf_options='--call-graph fp' perf_terms=$perf_terms,call-graph=lbr
	case $1 in
	*:u) perf_options="$perf_options -e ${1%:u}/$perf_terms/u" ;;
	*) perf_options="$perf_options -e $1/$perf_terms/" ;;
	esac
	for event in $2; do
		perf_options="$perf_options -e $event"
	done
}

# Says what the recording will lack; several reasons are joined.
perf_judge() {
	perf_reason=
	perf_remedy=
	[ -z "$perf_why" ] || [ -n "$flight" ] || perf_reason="$perf_why: perfcase-helper opens the events"
	perf_instead=$perf_reason
	[ -n "$perf_events" ] || stacks_are_taken || perf_lacks "no tracepoints (sched_switch): off-CPU time has no stacks" \
		"mount -t tracefs tracefs /sys/kernel/tracing, and run as root"
	[ "${perf_sampler%:u}" = cycles ] || perf_lacks \
		"no hardware cycle counter: a timer (cpu-clock) samples instead, blind where interrupts are off" \
		"use hardware, or a virtual machine type, that exposes its PMU"
	[ "$perf_graph" = "$call_graph" ] || perf_lacks "no call stacks by $call_graph: by frame pointers instead" \
		"$(perf_graph_remedy)"
	[ "$mode" != cgroup ] || [ "$perf_scope" = cgroup ] || perf_lacks \
		"perf cannot record by control group here: the processes in it at the start and their children instead" \
		"a kernel with CONFIG_CGROUP_PERF, or a newer one"
	if [ "$perf_reason" != "$perf_instead" ]; then
		source_is perf degraded "$perf_reason" "$perf_remedy"
	else
		source_is perf available "$perf_instead"
	fi
}

perf_graph_remedy() {
	if [ "$call_graph" != lbr ]; then
		echo "a newer perf"
	elif [ -n "$perf_why" ]; then
		install_hint perf
	else
		echo "an Intel CPU with branch records, not virtual"
	fi
}

perf_lacks() {
	perf_reason="${perf_reason:+$perf_reason; }$1"
	perf_remedy="${perf_remedy:+$perf_remedy; }$2"
}

# Asked once, as perf itself takes a while to begin.
perf_version() {
	[ -e "$state/perf.version" ] || perf --version 2>/dev/null | sed 's/^perf version //' >"$state/perf.version"
	cat "$state/perf.version"
}

# perf_has_option record|stat OPTION
perf_has_option() {
	[ -e "$state/perf-$1.help" ] || perf "$1" -h >"$state/perf-$1.help" 2>&1
	grep -q -e "$2" "$state/perf-$1.help"
}

# Makes the two pipes over which perf says that it has begun: its descriptors 6 and 7, as a comma in their names would be taken
# for the one between them.
perf_make_control() {
	mkfifo "$state/$1.ctl" "$state/$1.ack" || return 1
	perf_has_option "$2" --control && source_set "$1" control --control=fd:6,7
	return 0
}

# perf_await NAME COMMAND...: until that perf's events are on. A perf that has no --control (before 5.10) is asked by COMMAND.
perf_await() {
	perf_awaited=$1
	shift
	source_get "$perf_awaited" control
	[ -z "$got" ] || set -- "$helper" ping "$state/$perf_awaited.ctl" "$state/$perf_awaited.ack"
	source_awaits "$perf_awaited" "$@" "$run_pid" "$START_TIMEOUT_S"
}

probe_perf_start() {
	mkdir -p "$staging/perf"
	if [ -n "$perf_why" ]; then
		perf_list_events
		perf_launch
		return
	fi
	perf_event_options "$perf_sampler" "$perf_events"
	perf_make_control perf record && perf_launch
}

probe_perf_ready() {
	source_is_up perf && return
	source_gave_up perf
	if [ "$perf_scope" = pids ] && [ "$mode" != command ]; then
		rm -f "$staging/perf/perf.data"
		perf_pids=$(target_stable_processes)
		perf_launch
		source_is_up perf && return
		source_gave_up perf
	fi
	if [ -z "$perf_why" ] && [ -z "$interrupted_by" ]; then
		perf_why="perf record did not start ($(source_last_words perf | sed 's/ *$//'))"
		rm -f "$staging/perf/perf.data"
		perf_turn_to_helper
		perf_choose_events && probe_perf_start && source_is_up perf && return
		source_gave_up perf
	fi
	perf_words=$(source_last_words perf)
	source_is perf missing "$(perf_name) did not start: ${perf_words:-it did not answer in $START_TIMEOUT_S s}" \
		"see recorder/perf.log; fewer threads, or a host that is less busy"
	rm -rf "$staging/perf"
}

perf_name() {
	if [ -n "$perf_why" ]; then echo "perfcase-helper events"; else echo "perf record"; fi
}

perf_launch() {
	if [ -n "$perf_why" ]; then
		perf_launch_helper
		return
	fi
	# shellcheck disable=SC2086 # lists of options without blanks in them
	set -- perf record -k CLOCK_MONOTONIC $perf_build_ids --sample-cpu -m "${perf_buffer_kb}K" $perf_options
	case $perf_scope in
	all) set -- "$@" -a ;;
	cgroup) set -- "$@" -a -G "$cgroup_name" ;;
	# what perf would ask about BPF programs is an event of each thread that its children do not have: then the kernel takes all events
	# off the CPU and puts them back at each switch between two of them, where it otherwise hands them over
	*) set -- "$@" ${perf_without_bpf:+"$perf_without_bpf"} -p "$perf_pids" ;;
	esac
	source_get perf control
	[ -z "$got" ] || set -- "$@" "$got"
	source_run perf "perf record" "$@" -o "$staging/perf/perf.data" 6<>"$state/perf.ctl" 7<>"$state/perf.ack"
	perf_await perf "$helper" ready "$staging/perf/perf.data" PERFILE2
}

# What the helper calls the scope that was chosen.
perf_helper_scope() {
	target_choose_perf_scope
	case $perf_scope in
	all) echo all ;;
	cgroup) echo "cgroup=$cgroup_folder" ;;
	*) echo "$perf_pids" ;;
	esac
}

perf_launch_helper() {
	rm -f "$state/perf.ready"
	set -- stream "$staging/perf/perf.data" "$(perf_helper_scope)" "$perf_buffer_kb"
	[ -z "$flight" ] || set -- ring "$2" "$3" "$(flight_ring_mb)"
	source_run perf "$(perf_name)" "$helper" events "$@" "$perf_sampler" \
		"$perf_graph" "$state/perf.events" "$state/perf.ready"
	source_awaits perf "$helper" ready "$state/perf.ready" ready "$run_pid" "$START_TIMEOUT_S"
}

probe_perf_stop() { :; }

# perf_count SOURCE: events and losses of its perf.data.
perf_count() {
	"$helper" count "$staging/$1/perf.data" >"$state/$1.count" 2>>"$log_file"
	while IFS='=' read -r key value; do
		case $key in
		samples) source_set "$1" events "$value" ;;
		lost) source_set "$1" lost "$value" ;;
		esac
	done <"$state/$1.count"
}

probe_perf_collect() {
	rm -f "$staging/perf/perf.data.old"
	flight_cut_perf
	perf_count perf
	if [ ! -s "$staging/perf/perf.data" ] && [ ! -s "$staging/perf/perf.data.zst" ]; then
		source_is perf missing "$(perf_name) left no data: $(source_last_words perf)" "see recorder/perf.log"
		rm -rf "$staging/perf"
	fi
}
