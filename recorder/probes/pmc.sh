# shellcheck shell=sh
# pmc.sh: perf stat at an interval: the counters this CPU offers, in groups that are counted together, and software events. Where
# perf is absent, or does not work, perfcase-helper counts them, except those of view top_down, whose numbers perf knows.
PMC_GROUPS='cycles,instructions branches,branch-misses cache-references,cache-misses LLC-loads,LLC-load-misses'
# Alone, so that where they are missing or take turns nothing else does: the clock rate, the first-level cache.
PMC_GROUPS="$PMC_GROUPS ref-cycles L1-dcache-loads,L1-dcache-load-misses"
SOFTWARE_EVENTS='context-switches,cpu-migrations,page-faults,task-clock'

probe_pmc_check() {
	source_set pmc kind perf_stat
	source_set pmc tool perf
	pmc_supported=
	perf_is_absent || source_set pmc tool_version "$(perf_version)"
	pmc_why=$perf_why
	if [ -n "$flight" ] && [ -n "$pmc_why" ]; then
		source_is pmc missing "$pmc_why, and the helper keeps all that it counts" "$(install_hint perf)"
		return
	fi
	paranoid=$(cat /proc/sys/kernel/perf_event_paranoid 2>/dev/null)
	if [ "$uid" != 0 ] && [ "$mode" != command ] && [ "${paranoid:-4}" -gt 0 ]; then
		source_is pmc missing "perf_event_paranoid is ${paranoid:-absent}: only root may count other processes" \
			"run as root, or: sysctl kernel.perf_event_paranoid=-1"
		return
	fi
	target_choose_perf_scope
	pmc_choose_events
}

# The events of view top_down that this CPU has, counted together: the perf metrics counters of Intel, the slots of its older
# CPUs, those of Arm and of AMD. The names are the CPU's own, and one that perf does not know fails all: so they are tried alone.
pmc_top_down() {
	root=${PERFCASE_ROOT:-}
	units=$root/sys/bus/event_source/devices
	group=
	for unit in "$units"/cpu "$units"/cpu_core "$units"/armv8_pmuv3*; do
		if [ -e "$unit/events/slots" ]; then
			group=slots,topdown-retiring,topdown-bad-spec,topdown-fe-bound,topdown-be-bound
		elif [ -e "$unit/events/topdown-total-slots" ]; then
			group=topdown-total-slots,topdown-slots-issued,topdown-slots-retired
			group=$group,topdown-fetch-bubbles,topdown-recovery-bubbles
		elif [ -e "$unit/events/stall_slot" ]; then
			group=cpu_cycles,stall_slot,stall_slot_frontend,stall_slot_backend,op_retired,op_spec,br_mis_pred
		fi
	done
	if [ -z "$group" ] && grep -q AuthenticAMD "$root/proc/cpuinfo" 2>/dev/null; then
		slots=de_no_dispatch_per_slot
		group=ls_not_halted_cyc,$slots.no_ops_from_frontend,$slots.backend_stalls,$slots.smt_contention
		group=$group,de_src_op_disp.all,ex_ret_ops
	fi
	[ -n "$group" ] && await perf stat -x, -e "{$group}" -o "$state/trial.stat" -- true >"$state/trial.log" 2>&1 || return 0
	grep -q '<not' "$state/trial.stat" || PMC_GROUPS="$PMC_GROUPS $group"
}

# Counts everything once on a command of our own, or the helper on itself, and keeps what was supported.
pmc_choose_events() {
	[ -n "$pmc_why" ] || pmc_ask_perf
	if [ -n "$pmc_why" ]; then
		source_set pmc tool perfcase-helper
		source_set pmc tool_version "$version"
		# shellcheck disable=SC2046 # names
		pmc_supported=$("$helper" counts - $(echo "$PMC_GROUPS $SOFTWARE_EVENTS" | tr ',' ' ') 2>"$state/trial.log" | tr '\n' ' ')
	fi
	pmc_absent=
	pmc_hardware=
	for group in $PMC_GROUPS; do
		kept=
		pmc_left=$group,
		while [ -n "$pmc_left" ]; do
			event=${pmc_left%%,*}
			pmc_left=${pmc_left#*,}
			if pmc_is_supported "$event"; then
				kept=${kept:+$kept,}$event
			else
				pmc_absent="$pmc_absent $event"
			fi
		done
		[ -z "$kept" ] || pmc_hardware="$pmc_hardware {$kept}"
	done
	pmc_judge
}

pmc_ask_perf() {
	pmc_groups=$PMC_GROUPS
	pmc_top_down
	await perf stat -x, -e "$(echo "$PMC_GROUPS" | tr ' ' ',')" -e "$SOFTWARE_EVENTS" -o "$state/trial.stat" -- true \
		>"$state/trial.log" 2>&1
	# VALUE,UNIT,EVENT,...
	pmc_supported=$(sed '/^#/d; /<not supported>/d; s/^[^,]*,[^,]*,\([^,]*\),.*/\1/; s/:u*$//' "$state/trial.stat" 2>/dev/null | tr '\n' ' ')
	pmc_is_supported task-clock && return
	pmc_why="perf stat fails here: $(tail -n 2 "$state/trial.log" | tr '\n' ' ')"
	pmc_why=${pmc_why% }
	PMC_GROUPS=$pmc_groups
}

pmc_is_supported() {
	case " $pmc_supported " in
	*" $1 "*) ;;
	*) return 1 ;;
	esac
}

pmc_judge() {
	if ! pmc_is_supported task-clock; then
		source_is pmc missing "$pmc_why; perfcase-helper cannot count either" \
			"sysctl kernel.perf_event_paranoid=-1, or run as root outside a restricted container"
		return
	fi
	pmc_remedy="use hardware, or a virtual machine type, that exposes its PMU"
	if [ -z "$pmc_hardware" ]; then
		pmc_is degraded "no hardware counters: software events only" "$pmc_remedy"
	elif [ -n "$pmc_absent" ]; then
		case $pmc_absent in
		*' cycles'* | *' instructions'* | *' branches'* | *' cache-'*)
			pmc_is degraded "the CPU does not offer:$pmc_absent" "$pmc_remedy"
			;;
		*) pmc_is available "the CPU does not offer:$pmc_absent" ;;
		esac
	else
		pmc_is available
	fi
}

# pmc_is available|degraded [REASON [REMEDY]]: with who counts, where that is not perf.
pmc_is() {
	pmc_instead=${pmc_why:+"$pmc_why: perfcase-helper counts"}
	pmc_reason=${2-}
	source_is pmc "$1" "$pmc_instead${pmc_instead:+${pmc_reason:+; }}$pmc_reason" "${3-}"
}

probe_pmc_start() {
	mkdir -p "$staging/pmc"
	pmc_stamp_pid=
	if [ -n "$pmc_why" ]; then
		pmc_launch
		return
	fi
	mkfifo "$state/pmc.pipe" && perf_make_control pmc stat && pmc_launch
}

probe_pmc_ready() {
	pmc_is_up && return
	if [ "$perf_scope" = pids ] && [ "$mode" != command ]; then
		perf_pids=$(target_stable_processes)
		pmc_launch
		pmc_is_up && return
	fi
	source_is pmc missing "counting did not start: $(source_last_words pmc)" "see recorder/pmc.log"
	rm -rf "$staging/pmc"
}

pmc_launch_helper() {
	for group in $pmc_hardware $(echo "$SOFTWARE_EVENTS" | tr ',' ' '); do
		echo "$group"
	done | tr -d '{}' >"$state/pmc.groups"
	case $perf_scope in
	all) set -- all '' ;;
	cgroup) set -- "cgroup=$cgroup_folder" "$cgroup_name" ;;
	*) set -- "$perf_pids" '' ;;
	esac
	rm -f "$state/pmc.ready"
	source_run pmc "perfcase-helper counts" "$helper" counts "$staging/pmc/perf-stat.csv" "$1" "$2" "$interval_ns" "$state/pmc.groups" \
		"$state/pmc.zero" "$state/pmc.ready"
	source_awaits pmc "$helper" ready "$state/pmc.ready" ready "$run_pid" "$START_TIMEOUT_S"
}

pmc_launch() {
	if [ -n "$pmc_why" ]; then
		pmc_launch_helper
		return
	fi
	set -- perf stat -I "$((interval_ns / 1000000))" -x,
	for group in $pmc_hardware $SOFTWARE_EVENTS; do
		set -- "$@" -e "$group"
	done
	case $perf_scope in
	all) set -- "$@" -a -A ;;
	cgroup) set -- "$@" -a -G "$cgroup_name" ;;
	*) set -- "$@" -p "$perf_pids" ;;
	esac
	source_get pmc control
	[ -z "$got" ] || set -- "$@" "$got"
	"$helper" stamp "$state/pmc.pipe" "$staging/pmc/perf-stat.csv" "$state/pmc.zero" \
		${flight:+"$flight_ns" "$((flight_bytes / 4))" "$state/pmc.from"} 9>&- 3>&- &
	pmc_stamp_pid=$!
	source_run pmc "perf stat" "$@" -o "$state/pmc.pipe" 6<>"$state/pmc.ctl" 7<>"$state/pmc.ack"
	perf_await pmc "$helper" counting "$state/pmc.pid"
}

pmc_is_up() {
	source_is_up pmc && return
	source_gave_up pmc
	[ -z "$pmc_stamp_pid" ] || { kill "$pmc_stamp_pid" && wait "$pmc_stamp_pid"; } 2>/dev/null
	return 1
}

# The interval times count from the moment that `stamp` found.
probe_pmc_stop() {
	if [ -n "$pmc_stamp_pid" ]; then
		await "$helper" stop 2 "$pmc_stamp_pid" 2>>"$log_file"
		wait "$pmc_stamp_pid" 2>/dev/null
		[ $? != 1 ] || source_lacks pmc "pmc/perf-stat.csv could not be written to its end" "space on the disk of $output"
	fi
	[ -z "$flight" ] || cp "$state/pmc.zero" "$state/pmc.from" 2>/dev/null
	[ -n "$flight" ] || [ ! -s "$state/pmc.zero" ] || source_set pmc started "$(cat "$state/pmc.zero")"
	return 0
}

probe_pmc_collect() {
	source_set pmc events "$(grep -c '^ *[0-9]' "$staging/pmc/perf-stat.csv")"
}
