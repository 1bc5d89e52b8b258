# shellcheck shell=sh
# source.sh: the state of each source (one small file a value in .state/source/NAME/), its process, its end.
running_pids=
run_instance=
disk_room=0
disk_reserve=0
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

# source_lacks NAME REASON REMEDY: it is degraded by this too.
source_lacks() {
	[ "$(source_get "$1" status)" != missing ] || return 0
	lacks_reason=$(source_get "$1" reason)
	lacks_remedy=$(source_get "$1" remedy)
	source_is "$1" degraded "${lacks_reason:+$lacks_reason; }$2" "${lacks_remedy:+$lacks_remedy; }$3"
	say "$1: $2"
}

# source_run NAME LABEL COMMAND...: starts a child whose cost and messages are kept, in the ftrace instance run_instance if that
# is set. Sets run_pid.
source_run() {
	source_name=$1
	source_label=$2
	shift 2
	"$helper" json array "$@" >"$state/source/$source_name/command"
	log "$source_name: $*"
	"$helper" run "$source_label" "$state/$source_name.cost" "$staging/recorder/$source_name.log" \
		"$state/$source_name.pid" "$run_instance" "$@" 9>&- 3>&- &
	run_pid=$!
	run_instance=
	running_pids="$running_pids $run_pid"
	source_set "$source_name" run_pid "$run_pid"
}

# source_awaits NAME COMMAND...: waits beside the others until it records; COMMAND prints the moment.
source_awaits() {
	source_name=$1
	shift
	"$@" >"$state/$source_name.started" 9>&- 3>&- &
	source_set "$source_name" waiter $!
}

# source_is_up NAME: ends that wait. False: it did not come up.
source_is_up() {
	awaited=$(source_get "$1" waiter)
	# first it is known, then this is looked at: a signal in between ends it too
	[ -z "$interrupted_by" ] || end_awaited
	await_end "$awaited" || return 1
	source_set "$1" started "$(cat "$state/$1.started")"
}

# source_gave_up NAME: ends a child that did not come up.
source_gave_up() {
	kill -INT "$(source_get "$1" run_pid)" 2>/dev/null # a signal ends the wait, and perhaps before it has told the child
	await "$helper" stop 2 "$(source_get "$1" run_pid)" 2>/dev/null
	wait "$(source_get "$1" run_pid)" 2>/dev/null
	return 0
}

# source_judge_end NAME: whether it recorded until it was told to stop. Tools that follow a target end with it, a moment before
# the recorder notices.
source_judge_end() {
	[ -n "$(source_get "$1" started)" ] && [ -n "$(source_get "$1" run_pid)" ] || return 0
	judge_ended=$(sed -n 's/^ended_ns=//p' "$state/$1.cost" 2>/dev/null)
	if [ -z "$judge_ended" ]; then
		source_lacks "$1" "its process was killed" "record again"
		return
	fi
	judge_early_ns=$((${clock_end%% *} - judge_ended))
	[ "$judge_early_ns" -gt 0 ] || return 0
	[ "$mode" = system ] || [ "$judge_early_ns" -gt 1000000000 ] || return 0
	source_set "$1" ended "$judge_ended"
	judge_early=$((judge_early_ns / 100000000))
	source_lacks "$1" "ended $((judge_early / 10)).$((judge_early % 10)) s before the recording did" "see recorder/$1.log"
}

# The last words of a source that failed, on one line; of one that a signal kept from starting, that.
source_last_words() {
	source_words=$(grep -v '^$' "$staging/recorder/$1.log" 2>/dev/null | tail -n "${2:-2}" | tr '\n\t' '  ' | cut -c 1-300)
	[ -n "$source_words" ] || [ -z "$interrupted_by" ] || source_words="the recording was ended before it began"
	printf '%s\n' "$source_words"
}

# per_cpu_kb: each CPU's share of the kernel's buffers, for perf and for ftrace: a power of two between 512 KB and 8 MB, 64 MB in
# all, or a sixteenth of the disk's room, as both are written when the recording ends.
per_cpu_kb() {
	[ -z "$flight" ] || {
		echo "$flight_kb"
		return
	}
	cpus=$(grep -c '^cpu[0-9]' /proc/stat)
	share_kb=8192
	while [ "$share_kb" -gt 512 ] &&
		{ [ $((share_kb * cpus)) -gt 65536 ] || [ $((share_kb * cpus)) -gt $((disk_room / 16384)) ]; }; do
		share_kb=$((share_kb / 2))
	done
	echo "$share_kb"
}

# What stays free on the disk: 32 MB, for the host and for what is collected at the end, and what is in the kernel's buffers.
disk_reserve() {
	echo $((33554432 + $(per_cpu_kb) * 2048 * $(grep -c '^cpu[0-9]' /proc/stat)))
}

stop_all() {
	[ -n "$running_pids" ] || return 0
	# shellcheck disable=SC2086 # a list
	await "$helper" stop "$STOP_TIMEOUT_S" $running_pids 2>>"${log_file:-/dev/null}"
	for pid in $running_pids; do
		wait "$pid" 2>/dev/null
	done
	running_pids=
}

# What happens after this line is recorded by all that it names.
say_recording() {
	recording=
	for probe in $PROBES; do
		[ -z "$(source_get "$probe" started)" ] || recording="$recording${recording:+, }$probe"
	done
	say "recording: $recording"
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
