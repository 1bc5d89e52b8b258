# shellcheck shell=sh
# ftrace.sh: scheduler, system call and block events in a private ftrace instance: by trace-cmd, or where it is absent
# or the kernel refuses what it needs, by perfcase-helper, which saves the raw ring-buffer pages.

# Sets tracefs: where it is, or nothing.
find_tracefs() {
	for tracefs in /sys/kernel/tracing /sys/kernel/debug/tracing; do
		[ ! -d "$tracefs/instances" ] || return 0
	done
	tracefs=
}

# list_events perf|ftrace: the tool's events of events.list, those of a group when it was asked for.
list_events() {
	while read -r event_tool event event_group; do
		[ "$event_tool" = "$1" ] || continue
		case ",${event_groups-}," in
		*",$event_group,"*) echo "$event" ;;
		*) [ -n "$event_group" ] || echo "$event" ;;
		esac
	done <"$home/events.list"
}

# Keeps the events (stdin) that this kernel has, the first of those with | between them; perf asks for them by the same files.
tracefs_existing() {
	find_tracefs
	while read -r events_left; do
		while [ -n "$tracefs" ] && [ -n "$events_left" ]; do
			event=${events_left%%"|"*}
			events_left=${events_left#"$event"}
			events_left=${events_left#"|"}
			if [ -e "$tracefs/events/${event%%:*}/${event#*:}/id" ]; then
				echo "$event"
				break
			fi
		done
	done
}

probe_ftrace_check() {
	find_tracefs
	source_set ftrace kind ftrace_raw
	source_set ftrace tool perfcase-helper
	source_set ftrace tool_version "$version"
	if [ "$uid" != 0 ]; then
		source_is ftrace missing "only root may use tracefs" "run as root"
		return
	fi
	[ -n "$tracefs" ] || ftrace_mount
	if [ -z "$tracefs" ]; then
		grep -qw tracefs /proc/filesystems || ftrace_absent=1
		if [ -n "${ftrace_absent-}" ]; then
			source_is ftrace missing "the kernel has no tracefs" "a kernel with CONFIG_FTRACE and CONFIG_EVENT_TRACING"
		else
			source_is ftrace missing "tracefs is not mounted" "mount -t tracefs tracefs /sys/kernel/tracing"
		fi
	elif [ ! -w "$tracefs/instances" ]; then
		source_is ftrace missing "$tracefs is not writable here" "run outside a restricted container"
	elif ! command -v trace-cmd >/dev/null 2>&1; then
		source_is ftrace available "trace-cmd is not installed: perfcase-helper drains the ring buffers"
	elif [ -n "$check_only" ] && ! ftrace_trial; then
		trace_cmd_broken=1
		source_is ftrace available \
			"trace-cmd does not work here ($(tail -n 2 "$state/trial.log" | tr '\n' ' ')): perfcase-helper drains the ring buffers"
	else
		source_is ftrace available
	fi
}

# Does trace-cmd work on this kernel? On a command of our own, in an instance of its own.
ftrace_trial() {
	ftrace_name_instance
	await "$helper" run trial "$state/trial.cost" "$state/trial.log" "$state/trial.pid" "$ftrace_instance" \
		trace-cmd record -o "$state/trial.dat" -B "${ftrace_instance##*/}" -C mono -e sched:sched_process_exec -F true >"$state/trial.command"
}

# A name that no other recorder has, whatever its process ids are.
ftrace_name_instance() {
	ftrace_now=$("$helper" clocks)
	ftrace_instance=$tracefs/instances/perfcase-$$-${ftrace_now%% *}
}

# Mounts tracefs for the time of the recording (not for --check, which changes nothing).
ftrace_mount() {
	[ -z "$check_only" ] && [ -d /sys/kernel/tracing ] && grep -qw tracefs /proc/filesystems || return 0
	mount -t tracefs tracefs /sys/kernel/tracing 2>>"$log_file" || return 0
	knob /sys/kernel/tracing 'not mounted' mounted
	find_tracefs
}

probe_ftrace_start() {
	"$helper" sweep "$tracefs/instances" 2>>"$log_file"
	ftrace_name_instance
	list_events ftrace | tracefs_existing >"$state/ftrace.events"
	target_threads >"$state/ftrace.tids"
	if [ ! -s "$state/ftrace.events" ]; then
		source_is ftrace missing "the kernel has none of the events in events.list" "a kernel with CONFIG_EVENT_TRACING"
		return
	fi
	if [ "$mode" != system ] && [ ! -s "$state/ftrace.tids" ]; then
		# never the whole host instead
		source_is ftrace missing "the target has no thread yet" "start it before the recording"
		return
	fi
	mkdir -p "$staging/ftrace"
	# older kernels (6.1): the size of an instance's buffer leaves the top buffer at the 7 KB it had while nobody used it
	[ ! -e "$tracefs/buffer_size_kb" ] || knob "$tracefs/buffer_size_kb" "$(cat "$tracefs/buffer_size_kb")" ''
	knob "$ftrace_instance" absent present
	if [ -n "$flight" ]; then
		ftrace_why="a flight has rings that nobody reads before the end"
	elif [ -n "${PERFCASE_NO_TRACE_CMD-}" ]; then
		ftrace_why="trace-cmd was not wanted (PERFCASE_NO_TRACE_CMD)"
	elif ! command -v trace-cmd >/dev/null 2>&1; then
		ftrace_why="trace-cmd is not installed"
	elif squeeze_works; then
		ftrace_why="trace-cmd compresses only at its end"
	else
		ftrace_why=
		ftrace_start_trace_cmd
		return
	fi
	ftrace_start_drain
}

ftrace_start_trace_cmd() {
	ftrace_file=$staging/ftrace/trace.dat
	set -- trace-cmd record -o "$ftrace_file" -B "${ftrace_instance##*/}" -C mono -b "$buffer_kb"
	# the archive compresses it, better and once
	trace-cmd record -h 2>&1 | grep -q -e --compression && set -- "$@" --compression none
	while read -r event; do
		set -- "$@" -e "$event"
	done <"$state/ftrace.events"
	[ -s "$state/ftrace.tids" ] && set -- "$@" -P "$(tr '\n' ',' <"$state/ftrace.tids" | sed 's/,$//')" -c
	# it would keep the kernel's symbols, half of a short file, which are in host/kallsyms
	run_instance=$ftrace_instance
	source_run ftrace trace-cmd "$helper" without /proc/kallsyms "$@"
	source_awaits ftrace ftrace_await_trace_cmd
}

# Its readers' files come before tracing goes on.
ftrace_await_trace_cmd() {
	"$helper" ready "$ftrace_file.${ftrace_instance##*/}.cpu0" "" "$run_pid" "$START_TIMEOUT_S" >/dev/null &&
		"$helper" ready "$ftrace_instance/tracing_on" 1 "$run_pid" "$START_TIMEOUT_S"
}

probe_ftrace_ready() {
	if [ -z "$ftrace_why" ]; then
		if source_is_up ftrace; then
			source_set ftrace kind trace_dat
			source_set ftrace tool trace-cmd
			source_set ftrace tool_version "$(trace-cmd --version 2>/dev/null | sed -n 's/^trace-cmd version \([^ ]*\).*/\1/p')"
			return
		fi
		source_gave_up ftrace
		rm -f "$ftrace_file" "$ftrace_file".*
		ftrace_why="trace-cmd does not work here ($(source_last_words ftrace))"
		log "$ftrace_why"
		ftrace_start_drain
	fi
	if source_is_up ftrace; then
		source_is ftrace available "$ftrace_why: perfcase-helper drains the ring buffers"
	else
		source_gave_up ftrace
		source_is ftrace missing "$ftrace_why; draining failed as well: $(source_last_words ftrace)" \
			"see recorder/ftrace.log"
		rm -rf "$staging/ftrace"
	fi
}

ftrace_start_drain() {
	mkdir -p "$staging/ftrace/raw"
	run_instance=$ftrace_instance
	source_run ftrace "perfcase-helper drain" "$helper" drain "$ftrace_instance" "$staging/ftrace/raw" \
		"$buffer_kb" "$state/ftrace.events" "$state/ftrace.tids" "$state/ftrace.ready" \
		${flight:+"$flight_ns" "$state/ftrace.from"}
	source_awaits ftrace "$helper" ready "$state/ftrace.ready" ready "$run_pid" "$START_TIMEOUT_S"
}

# ftrace_look: whether the kernel still traces, before the source is told to stop. A tool that ends with its target switches it off.
ftrace_look() {
	ftrace_on=
	source_get ftrace kind
	[ "$mode" = system ] || [ "$got" = ftrace_raw ] || return 0
	[ -z "${ftrace_instance-}" ] || ftrace_on=$(cat "$ftrace_instance/tracing_on" 2>/dev/null)
}

probe_ftrace_stop() { :; }

probe_ftrace_collect() {
	if [ "$ftrace_on" = 0 ]; then
		source_lacks ftrace "something else on this host switched its tracing off before the end" "record again"
		source_set ftrace ended '' # nobody knows when
	fi
	source_get ftrace kind
	if [ "$got" = trace_dat ]; then
		ftrace_collect_trace_cmd
	else
		ftrace_collect_raw
	fi
}

# trace-cmd keeps each CPU's ring-buffer statistics in the file. Unknown where it does not.
ftrace_collect_trace_cmd() {
	if [ ! -s "$ftrace_file" ]; then
		source_is ftrace missing "trace-cmd left no data: $(source_last_words ftrace)" "see recorder/ftrace.log"
		rm -rf "$staging/ftrace"
		return
	fi
	trace-cmd dump --options "$ftrace_file" >"$state/ftrace.options" 2>>"$log_file"
	if grep -q '^ *overrun: ' "$state/ftrace.options"; then
		ftrace_count "$state/ftrace.options"
	fi
}

# ftrace_count FILE...: events and losses from per_cpu/cpuN/stats texts.
ftrace_count() {
	source_set ftrace events "$(($(ftrace_sum 'read events' "$@") + $(ftrace_sum entries "$@")))"
	source_set ftrace lost "$(($(ftrace_sum overrun "$@") + $(ftrace_sum 'dropped events' "$@")))"
}

# ftrace_sum NAME FILE...: adds "NAME: 12" lines.
ftrace_sum() {
	sum=0
	sum_name=$1
	shift
	for number in $(sed -n "s/^ *$sum_name: \([0-9]*\).*/\1/p" "$@" 2>/dev/null); do
		sum=$((sum + number))
	done
	echo "$sum"
}

ftrace_collect_raw() {
	raw=$staging/ftrace/raw
	# the kernel's names of recent threads, of all processes: not for a scoped recording
	[ "$mode" != system ] || cp "$tracefs/saved_cmdlines" "$raw/" 2>>"$log_file"
	ftrace_count "$raw"/stats/*
}
