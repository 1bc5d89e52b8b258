# shellcheck shell=sh
# source.sh: the state of each source (one small file a value in .state/source/NAME/), its process, its end.
running_pids=
STOP_TIMEOUT_S=${PERFCASE_STOP_TIMEOUT_S:-60}
START_TIMEOUT_S=${PERFCASE_START_TIMEOUT_S:-20}

source_init() {
	mkdir -p "$state/source/$1"
	source_set "$1" status missing
	source_set "$1" clock monotonic
}

source_set() {
	printf '%s' "$3" >"$state/source/$1/$2"
}

# Values are one line; read and printf are built in.
source_get() {
	[ -e "$state/source/$1/$2" ] || return 0
	IFS= read -r source_value <"$state/source/$1/$2"
	printf '%s' "$source_value"
}

# source_is NAME available|degraded|missing [REASON [REMEDY]]
source_is() {
	source_set "$1" status "$2"
	source_set "$1" reason "${3-}"
	source_set "$1" remedy "${4-}"
	log "$1: $2${3:+: $3}"
}

# source_run NAME LABEL COMMAND...: starts a child whose cost and messages are kept. Sets run_pid.
source_run() {
	source_name=$1
	source_label=$2
	shift 2
	"$helper" json array "$@" >"$state/source/$source_name/command"
	log "$source_name: $*"
	"$helper" run "$source_label" "$state/$source_name.cost" "$staging/recorder/$source_name.log" \
		"$state/$source_name.pid" "$@" 9>&- &
	run_pid=$!
	running_pids="$running_pids $run_pid"
	source_set "$source_name" run_pid "$run_pid"
}

# source_started NAME: it records from now on.
source_started() {
	clock_now=$("$helper" clocks)
	source_set "$1" started "${clock_now%% *}"
}

# source_gave_up NAME: ends a child that did not come up.
source_gave_up() {
	"$helper" stop 2 "$(source_get "$1" run_pid)" 2>/dev/null
	wait "$(source_get "$1" run_pid)" 2>/dev/null
	return 0
}

# The last words of a source that failed, on one line.
source_last_words() {
	grep -v '^$' "$staging/recorder/$1.log" 2>/dev/null | tail -n "${2:-2}" | tr '\n\t' '  ' | cut -c 1-300
}

# per_cpu_kb TOTAL_KB: each CPU's share of a buffer, a power of two between 512 KB and 8 MB.
per_cpu_kb() {
	cpus=$(grep -c '^cpu[0-9]' /proc/stat)
	share_kb=8192
	while [ "$share_kb" -gt 512 ] && [ $((share_kb * cpus)) -gt "$1" ]; do
		share_kb=$((share_kb / 2))
	done
	echo "$share_kb"
}

stop_all() {
	[ -n "$running_pids" ] || return 0
	# shellcheck disable=SC2086 # a list
	"$helper" stop "$STOP_TIMEOUT_S" $running_pids 2>>"${log_file:-/dev/null}"
	for pid in $running_pids; do
		wait "$pid" 2>/dev/null
	done
	running_pids=
}

say_sources() {
	for probe in $PROBES; do
		[ -e "$state/source/$probe/status" ] || continue
		case $(source_get "$probe" status) in
		missing) say "without $probe: $(source_get "$probe" reason)" ;;
		degraded) say "$probe, reduced: $(source_get "$probe" reason)" ;;
		esac
	done
}
