# shellcheck shell=sh
# source.sh: the state of each source, its process, its end. A state is variables of this shell, source_NAME_KEY, and lines of
# .state/sources, of which the manifest is made: NAME KEY VALUE, the last one counts.
NEWLINE='
'
running_pids=
run_instance=
disk_room=0
disk_reserve=0
cpus=
STOP_TIMEOUT_S=${PERFCASE_STOP_TIMEOUT_S:-60}
START_TIMEOUT_S=${PERFCASE_START_TIMEOUT_S:-20}

source_init() {
	for source_key in kind tool tool_version reason remedy started ended events lost run_pid waiter control; do
		eval "source_${1%-*}_$source_key="
	done
	source_set "$1" status missing
	source_set "$1" clock monotonic
}

# source_set NAME KEY VALUE: a value is one line. A folder of small files would cost a file system more than all else of the recorder.
source_set() {
	source_value=${3%%"$NEWLINE"*}
	eval "source_${1%-*}_$2=\$source_value"
	printf '%s %s %s\n' "$1" "$2" "$source_value" >>"$state/sources" || die 1 "cannot write to $state/sources: what became of $1 would not be known"
}

# source_get NAME KEY: sets got.
source_get() {
	eval "got=\${source_${1%-*}_$2-}"
}

# source_is_missing NAME: nothing of it is recorded.
source_is_missing() {
	source_get "$1" status
	[ "$got" = missing ]
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
	! source_is_missing "$1" || return 0
	source_get "$1" reason
	lacks_reason=$got
	source_get "$1" remedy
	lacks_remedy=$got
	source_is "$1" degraded "${lacks_reason:+$lacks_reason; }$2" "${lacks_remedy:+$lacks_remedy; }$3"
	say "$1: $2"
}

# source_run NAME LABEL COMMAND...: starts a child whose cost and messages are kept, in the ftrace instance run_instance if that
# is set. Sets run_pid.
source_run() {
	source_name=$1
	source_label=$2
	shift 2
	log "$source_name: $*"
	"$helper" run "$source_label" "$state/$source_name.cost" "$staging/recorder/$source_name.log" \
		"$state/$source_name.pid" "$run_instance" "$@" >"$state/$source_name.command" 9>&- 3>&- &
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
	source_get "$1" waiter
	awaited=$got
	# first it is known, then this is looked at: a signal in between ends it too
	[ -z "$interrupted_by" ] || end_awaited
	await_end "$awaited" || return 1
	IFS= read -r source_started <"$state/$1.started"
	source_set "$1" started "$source_started"
}

# source_gave_up NAME: ends a child that did not come up.
source_gave_up() {
	source_get "$1" run_pid
	kill -INT "$got" 2>/dev/null # a signal ends the wait, and perhaps before it has told the child
	await "$helper" stop 2 "$got" 2>/dev/null
	wait "$got" 2>/dev/null
	return 0
}

# source_judge_end NAME: whether it recorded until it was told to stop. Tools that follow a target end with it, a moment before
# the recorder notices.
source_judge_end() {
	source_get "$1" started
	[ -n "$got" ] || return 0
	source_get "$1" run_pid
	[ -n "$got" ] || return 0
	judge_ended=
	judge_failed=
	[ ! -e "$state/$1.cost" ] || while IFS='=' read -r key value; do
		case $key=$value in
		ended_ns=*) judge_ended=$value ;;
		process=perfcase-helper*) judge_failed=$value ;;
		exit_status=1) judge_failed=${judge_failed:+1} ;;
		esac
	done <"$state/$1.cost"
	if [ -z "$judge_ended" ]; then
		source_lacks "$1" "its process was killed" "record again"
		return
	fi
	if [ "$judge_failed" = 1 ]; then
		judge_words=$(source_last_words "$1" 1)
		source_lacks "$1" "its process failed${judge_words:+: $judge_words}" "see recorder/$1.log, and whether the disk is full"
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

# choose_buffers: sets buffer_kb to each CPU's share of the kernel's buffers, for perf and for ftrace: a power of two between 512 KB and
# 8 MB, 64 MB in all, or a sixteenth of the disk's room, as both are written when the recording ends. perf_buffer_kb is what perf
# may lock: users have kernel.perf_event_mlock_kb (516) a CPU, which is 512 and a page. disk_reserve is what stays free on the disk:
# 32 MB, for the host and for what is collected at the end, and what is in the kernel's buffers.
choose_buffers() {
	[ -n "$cpus" ] || cpus=$(grep -c '^cpu[0-9]' /proc/stat)
	buffer_kb=8192
	while [ "$buffer_kb" -gt 512 ] &&
		{ [ $((buffer_kb * cpus)) -gt 65536 ] || [ $((buffer_kb * cpus)) -gt $((disk_room / 16384)) ]; }; do
		buffer_kb=$((buffer_kb / 2))
	done
	[ -z "$flight" ] || buffer_kb=$flight_kb
	perf_buffer_kb=512
	[ "$uid" != 0 ] || perf_buffer_kb=$buffer_kb
	disk_reserve=$((33554432 + buffer_kb * 2048 * cpus))
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
		source_get "$probe" started
		[ -z "$got" ] || recording="$recording${recording:+, }$probe"
	done
	say "recording: $recording"
}

say_sources() {
	for probe in $PROBES; do
		source_get "$probe" status
		case $got in
		missing) source_get "$probe" reason && say "without $probe: $got" ;;
		degraded) source_get "$probe" reason && say "$probe, reduced: $got" ;;
		esac
	done
}
