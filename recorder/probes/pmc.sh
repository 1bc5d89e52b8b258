# shellcheck shell=sh
# pmc.sh: perf stat at an interval: the counters this CPU offers, in groups that are counted together, and software events.
PMC_GROUPS='cycles,instructions branches,branch-misses cache-references,cache-misses LLC-loads,LLC-load-misses'
# Alone, so that where they are missing or take turns nothing else does: the clock rate, the first-level cache.
PMC_GROUPS="$PMC_GROUPS ref-cycles L1-dcache-loads,L1-dcache-load-misses"
SOFTWARE_EVENTS='context-switches,cpu-migrations,page-faults,task-clock'

probe_pmc_check() {
	source_set pmc kind perf_stat
	source_set pmc tool perf
	pmc_events=
	if perf_is_absent; then
		source_is pmc missing "$perf_why" "$(install_hint perf)"
		return
	fi
	source_set pmc tool_version "$(perf_version)"
	paranoid=$(cat /proc/sys/kernel/perf_event_paranoid 2>/dev/null)
	if [ "$(id -u)" != 0 ] && [ "$mode" != command ] && [ "${paranoid:-4}" -gt 0 ]; then
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

# Counts everything once on a command of our own, and keeps what was supported.
pmc_choose_events() {
	pmc_top_down
	await perf stat -x, -e "$(echo "$PMC_GROUPS" | tr ' ' ',')" -e "$SOFTWARE_EVENTS" -o "$state/trial.stat" -- true \
		>"$state/trial.log" 2>&1
	# VALUE,UNIT,EVENT,...
	pmc_supported=$(sed '/^#/d; /<not supported>/d; s/^[^,]*,[^,]*,\([^,]*\),.*/\1/; s/:u*$//' "$state/trial.stat" 2>/dev/null | tr '\n' ' ')
	pmc_absent=
	pmc_hardware=
	for group in $PMC_GROUPS; do
		kept=
		for event in $(echo "$group" | tr ',' ' '); do
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

pmc_is_supported() {
	case " $pmc_supported " in
	*" $1 "*) ;;
	*) return 1 ;;
	esac
}

pmc_judge() {
	if ! pmc_is_supported task-clock; then
		source_is pmc missing "perf stat fails here: $(tail -n 2 "$state/trial.log" | tr '\n' ' ')" \
			"sysctl kernel.perf_event_paranoid=-1, or run as root outside a restricted container"
		return
	fi
	pmc_remedy="use hardware, or a virtual machine type, that exposes its PMU"
	if [ -z "$pmc_hardware" ]; then
		source_is pmc degraded "no hardware counters: software events only" "$pmc_remedy"
	elif [ -n "$pmc_absent" ]; then
		case $pmc_absent in
		*' cycles'* | *' instructions'* | *' branches'* | *' cache-'*)
			source_is pmc degraded "the CPU does not offer:$pmc_absent" "$pmc_remedy"
			;;
		*) source_is pmc available "the CPU does not offer:$pmc_absent" ;;
		esac
	else
		source_is pmc available
	fi
}

probe_pmc_start() {
	mkdir -p "$staging/pmc"
	mkfifo "$state/pmc.pipe" && perf_make_control pmc stat && pmc_launch
}

probe_pmc_ready() {
	pmc_is_up && return
	if [ "$perf_scope" = pids ] && [ "$mode" != command ]; then
		perf_pids=$(target_stable_processes)
		pmc_launch
		pmc_is_up && return
	fi
	source_is pmc missing "perf stat did not start: $(source_last_words pmc)" "see recorder/pmc.log"
	rm -rf "$staging/pmc"
}

pmc_launch() {
	set -- perf stat -I "$((interval_ns / 1000000))" -x,
	for group in $pmc_hardware $SOFTWARE_EVENTS; do
		set -- "$@" -e "$group"
	done
	case $perf_scope in
	all) set -- "$@" -a -A ;;
	cgroup) set -- "$@" -a -G "$cgroup_name" ;;
	*) set -- "$@" -p "$perf_pids" ;;
	esac
	perf_control=$(source_get pmc control)
	[ -z "$perf_control" ] || set -- "$@" "$perf_control"
	"$helper" stamp "$state/pmc.pipe" "$staging/pmc/perf-stat.csv" "$state/pmc.zero" \
		${flight:+"$flight_ns" "$((flight_bytes / 4))" "$state/pmc.from"} 9>&- &
	pmc_stamp_pid=$!
	source_run pmc "perf stat" "$@" -o "$state/pmc.pipe" 6<>"$state/pmc.ctl" 7<>"$state/pmc.ack"
	perf_await pmc "$helper" counting "$state/pmc.pid"
}

pmc_is_up() {
	source_is_up pmc && return
	source_gave_up pmc
	kill "$pmc_stamp_pid" 2>/dev/null
	wait "$pmc_stamp_pid" 2>/dev/null
	return 1
}

# The interval times count from the moment that `stamp` found.
probe_pmc_stop() {
	await "$helper" stop 2 "$pmc_stamp_pid" 2>>"$log_file"
	wait "$pmc_stamp_pid" 2>/dev/null
	[ -z "$flight" ] || cp "$state/pmc.zero" "$state/pmc.from" 2>/dev/null
	[ -n "$flight" ] || [ ! -s "$state/pmc.zero" ] || source_set pmc started "$(cat "$state/pmc.zero")"
	return 0
}

probe_pmc_collect() {
	source_set pmc events "$(grep -c '^ *[0-9]' "$staging/pmc/perf-stat.csv")"
}
