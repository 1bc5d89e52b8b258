# shellcheck shell=sh
# flight.sh: --flight: a recording whose sources keep the last so many seconds only, and that ends at a trigger. Its capture is written,
# and the next one begins: a process of this script each, so that a week is as many first hours.
flight_folder=
flight_state=${PERFCASE_FLIGHT-}
flight_count=${PERFCASE_FLIGHT_COUNT:-0}
flight_base=
flight_kb=
flight_watching=
flight_dump=
flight_trigger=
unset PERFCASE_FLIGHT PERFCASE_FLIGHT_COUNT

# What needs the helper: the numbers and the conditions.
check_flight() {
	if [ -z "$flight" ]; then
		[ -z "$flight_memory$rest$when_words" ] || usage_error "--when, --rest and --flight-memory go with --flight"
		return
	fi
	flight_ns=$("$helper" number seconds "$flight")
	[ "${flight_ns:-0}" -ge 1000000000 ] && [ "$flight_ns" -le 3600000000000 ] && [ "$flight_ns" -ge "$interval_ns" ] ||
		usage_error "--flight $flight: how many seconds are kept, such as 60s: 1 to 3600, and not less than --interval"
	[ "$mode" != 'command' ] || usage_error "--flight looks at what runs already: use --pid or --cgroup"
	[ -z "$duration$budget$salvage" ] || usage_error "--flight ends at a trigger, and keeps to --flight-memory: no --duration, --budget, --salvage"
	[ -z "$every$upload$send" ] && [ "$output" != - ] || usage_error "--flight writes files: no --every, --upload, --send, -o -"
	rest_ns=$("$helper" number seconds "${rest:-60}") || usage_error "--rest $rest: a number of seconds, such as 60s"
	case ${keep:=10} in
	0* | *[!0-9]* | ????????*) usage_error "--keep $keep: how many captures stay, 1 or more" ;;
	esac
	flight_says=$(eval "\"\$helper\" conditions $when_words") || usage_error "$flight_says"
	check_flight_memory
}

# Each CPU has two rings of the same size, a power of two: perf's and ftrace's. The kernel cannot swap them.
check_flight_memory() {
	flight_cpus=$(grep -c '^cpu[0-9]' /proc/stat)
	flight_ram_kb=$(sed -n 's/^MemTotal: *\([0-9]*\).*/\1/p' /proc/meminfo)
	flight_free_kb=$(sed -n 's/^MemAvailable: *\([0-9]*\).*/\1/p' /proc/meminfo)
	flight_bytes=134217728
	[ "$flight_bytes" -le $((flight_ram_kb * 1024 / 20)) ] || flight_bytes=$((flight_ram_kb * 1024 / 20))
	[ -z "$flight_memory" ] || flight_bytes=$("$helper" number size "$flight_memory")
	flight_least=$((flight_cpus * 2 * 512 * 1024))
	[ "${flight_bytes:-0}" -ge "$flight_least" ] ||
		usage_error "--flight-memory ${flight_memory:-$flight_bytes}: $flight_cpus CPUs need $((flight_least / 1048576 + 1))M at least"
	[ -z "$check_only" ] || return 0
	[ $((flight_bytes / 512)) -le "${flight_free_kb:-$((flight_bytes / 512))}" ] ||
		die 1 "--flight-memory ${flight_memory:-$((flight_bytes / 1048576))M}: twice as much has to be free, and $((flight_free_kb / 1024)) MB are"
	flight_kb=512
	while [ $((flight_kb * 4 * flight_cpus * 1024)) -le "$flight_bytes" ]; do
		flight_kb=$((flight_kb * 2))
	done
}

# The captures' names: NAME-DATE.perfcase, with the moment at which they were written.
flight_name() {
	output=$flight_base-$(date +%Y%m%d-%H%M%S).perfcase
}

flight_take_output() {
	flight_base=${output:-perfcase-$(uname -n)}
	flight_base=${flight_base%.perfcase}
	flight_name
}

# --- the process that begins one flight after the other

# Where the flights of this user are known: nobody else may write there.
flight_find_folder() {
	flight_folder=/run/perfcase
	[ "$uid" = 0 ] || flight_folder=${XDG_RUNTIME_DIR:-/run/user/$uid}/perfcase
	[ -d "$flight_folder" ] || mkdir -m 700 "$flight_folder" 2>/dev/null || return 1
	[ -O "$flight_folder" ] && [ ! -L "$flight_folder" ] && [ -w "$flight_folder" ]
}

flight_announce() {
	flight_temporary=
	if ! flight_find_folder; then
		warn "cannot use $flight_folder: --dump will not find this flight; kill -USR1 $$ does the same"
		flight_folder=$(mktemp -d) || die 1 "cannot make a temporary folder"
		flight_temporary=1
	fi
	"$helper" dump "$flight_folder" 0 >/dev/null 2>&1 # there is no such flight; what killed ones left goes
	flight_file=$flight_folder/flight-$$
	flight_state=$flight_file.state
	rm -f "$flight_file" "$flight_state" "$flight_file.new"
	case $flight_base in
	/*) flight_place=$flight_base ;;
	*) flight_place=$(pwd -P)/${flight_base#./} ;;
	esac
	# its name comes last: it is locked then
	"$helper" announce "$flight_file.new" $$ "$flight_place" || die 1 "cannot write to $flight_folder"
	exec 4<"$flight_file.new"
	"$helper" lock 4 && mv -f "$flight_file.new" "$flight_file" || die 1 "cannot write to $flight_folder"
}

flight_forget() {
	rm -f "$flight_file" "$flight_file.new" "$flight_state" "$flight_state.new"
	[ -z "$flight_temporary" ] || rmdir "$flight_folder" 2>/dev/null
}

# flight_say_state DOING [STOPPED_BY NAME]: with how many captures there are, and the name of the last.
flight_say_state() {
	{
		printf '%s %s %s\n' "$1" "$flight_count" "${2-}"
		if [ $# -gt 2 ]; then printf '%s' "$3"; else sed 1d "$flight_state" 2>/dev/null || :; fi
	} >"$flight_state.new" && mv -f "$flight_state.new" "$flight_state"
}

flight_read_state() {
	flight_doing=
	flight_stopped=
	read -r flight_doing flight_count flight_stopped 2>/dev/null <"$flight_state"
}

# A signal is for the flight that is under way. It hears SIGUSR1 only when it has something to write.
flight_signal() {
	if [ "$1" = USR1 ]; then
		flight_read_state
		if [ "$flight_doing" != recording ]; then
			say "SIGUSR1: a capture is being written, or a flight begins: there is nothing else to write"
			return
		fi
	else
		flight_over=1
	fi
	[ -n "$flight_child" ] || return 0
	"$helper" begun $$ "$flight_child"
	kill -s "$1" "$flight_child" 2>/dev/null
}

flight_loop() {
	flight_over=
	flight_child=
	flight_names=
	flight_announce
	trap flight_forget EXIT
	for flight_number in INT TERM HUP USR1; do
		# shellcheck disable=SC2064 # the name of now
		trap "flight_signal $flight_number" "$flight_number"
	done
	say "flight: the last $flight are kept; perfcase-record --dump $$ or kill -USR1 $$ writes them"
	while [ -z "$flight_over" ]; do
		flight_say_state starting
		flight_before=$flight_count
		PERFCASE_FLIGHT=$flight_state PERFCASE_FLIGHT_COUNT=$flight_count "$helper" tied "$helper" heed "${ignored:-0}" \
			"$(readlink -f "/proc/$$/exe")" "$0" "$@" 4<&- &
		flight_child=$!
		# a signal that came before there was a child
		[ -z "$flight_over" ] || flight_signal TERM
		await_end "$flight_child"
		flight_status=$?
		flight_child=
		flight_read_state
		# ended before there was anything to write
		[ -z "$flight_over" ] || [ "$flight_doing" != starting ] || exit 0
		[ "$flight_count" -gt "$flight_before" ] || exit "$flight_status"
		flight_keep
		[ "$flight_stopped" = trigger ] || exit "$flight_status"
	done
	exit "$flight_status"
}

# Only what this process wrote goes, and only as long as it still is that file.
flight_keep() {
	flight_last=$(sed 1d "$flight_state" && echo .)
	flight_identity=$("$helper" identity "${flight_last%?.}")
	quote "${flight_identity#* }"
	flight_names=$flight_names$quoted
	quote "${flight_last%?.}"
	flight_names=$flight_names$quoted
	flight_drop
}

flight_drop() {
	eval "set -- $flight_names"
	[ $# -gt $((keep * 2)) ] || return 0
	if "$helper" drop "$2" "$1"; then
		say "removed $2: $keep are kept"
	else
		say "$2 is no longer what was recorded: left alone"
	fi
	shift 2
	save_words "$@"
	flight_names=$command_words
}

# --- one flight

flight_trap() {
	[ -z "$flight" ] || trap flight_on_dump USR1
}

flight_on_dump() {
	[ -n "$flight_watching" ] || return 0
	flight_dump=1
	[ -n "$ending" ] || end_awaited
}

# Waits for a trigger, and sets stopped_by and flight_trigger.
flight_watch() {
	flight_rest_ns=0
	[ "$flight_count" = 0 ] || flight_rest_ns=$rest_ns
	flight_watching=1
	flight_say_state recording
	# shellcheck disable=SC2086 # watched_pids is a list
	eval "await \"\$helper\" watch \"\$staging\" 0 0 \"\$disk_reserve\" \"\$progress\" $watched_pids flight \"\$flight_ns\" \"\$flight_rest_ns\" \
		\"\$state/flight.begin\" $when_words" >"$state/why"
	flight_watching=
	{
		read -r stopped_by && IFS= read -r flight_trigger
	} <"$state/why"
	: "${stopped_by:=signal}"
	if [ -n "$flight_dump" ] && [ -z "$interrupted_by" ] && [ "$stopped_by" = signal ]; then
		stopped_by=trigger
		flight_trigger=SIGUSR1
	fi
	flight_say_state packing
	say "flight: ${flight_trigger:-$stopped_by}"
}

# flight_took NAME: since when a source has everything, which may be less than was wanted.
flight_took() {
	[ -n "$flight" ] && [ -s "$state/$1.from" ] || return 0
	flight_from=$(cat "$state/$1.from")
	flight_wanted=$((${clock_end%% *} - flight_ns))
	source_get "$1" started
	[ "$flight_wanted" -gt "$got" ] || flight_wanted=$got
	source_set "$1" started "$flight_from"
	flight_short=$(((flight_from - flight_wanted) / 100000000))
	[ "$flight_short" -le 10 ] || source_lacks "$1" \
		"its ring was full: it reaches back $(((${clock_end%% *} - flight_from) / 1000000000)) s, not $flight" "a larger --flight-memory"
}

# All of perf's rings together.
flight_ring_mb() {
	echo $(((flight_kb * flight_cpus + 1023) / 1024))
}

flight_cut_perf() {
	[ -n "$flight" ] && [ -s "$staging/perf/perf.data" ] || return 0
	"$helper" cut-perf "$staging/perf/perf.data" $((perf_buffer_kb * 1024)) $((${clock_end%% *} - flight_ns)) "$state/perf.from" 2>>"$log_file" ||
		source_lacks perf "how far it reaches back is not known" "see recorder/log"
	flight_took perf
}

# flight_share NAME: of a cost of the whole flight, the part that falls to the time that was kept.
flight_share() {
	[ -n "$flight" ] && [ -s "$state/flight.begin" ] || return 0
	eval "flight_cost=\$$1"
	[ "$flight_cost" != null ] || return 0
	read -r flight_begin _ <"$state/flight.begin"
	flight_kept_ms=$(((${clock_end%% *} - flight_begin) / 1000000))
	flight_whole_ms=$(((${clock_end%% *} - ${clock_start%% *}) / 1000000 + 1))
	eval "$1=\$((flight_cost / 1000 * flight_kept_ms / flight_whole_ms * 1000))"
}

# The capture has its name.
flight_wrote() {
	[ -n "$flight" ] || return 0
	flight_count=$((flight_count + 1))
	flight_say_state wrote "$stopped_by" "$output
"
}

# --- the folder of a flight that was killed

# What --salvage has to know.
flight_note() {
	[ -z "$flight" ] || echo "$flight_ns $((perf_buffer_kb * 1024))" >"$state/flight"
}

# The tools have put their rings together when the recorder was gone, unless the host went down too. Since when each source has
# everything is in files of theirs.
flight_salvage() {
	[ -s "$state/flight" ] || return 0
	read -r flight_ns flight_ring_bytes <"$state/flight"
	flight_salvage_parts proc
	flight_salvage_parts process
	# parts that are left: the times of what was put together do not count from its beginning yet
	[ -z "$(find "$staging/pmc/." -name 'perf-stat.csv.*' 2>/dev/null)" ] || rm -f "$staging"/pmc/perf-stat.csv "$staging"/pmc/perf-stat.csv.*
	rm -f "$staging/perf/perf.data.new"
	[ ! -s "$state/pmc.from" ] || cp "$state/pmc.zero" "$state/pmc.from"
	flight_ended=$(sed -n 's/^ended_ns=//p' "$state/perf.cost" 2>/dev/null)
	[ -z "$flight_ended" ] || "$helper" cut-perf "$staging/perf/perf.data" "$flight_ring_bytes" $((flight_ended - flight_ns)) "$state/perf.from"
	while IFS= read -r flight_line; do
		case $flight_line in
		'    {"name":"'*)
			flight_source=${flight_line#*:\"}
			flight_source=${flight_source%%\"*}
			;;
		'     "started_monotonic_ns":'*)
			[ ! -s "$state/$flight_source.from" ] || flight_line="     \"started_monotonic_ns\":$(cat "$state/$flight_source.from"),"
			;;
		'    {"at":"start",'*)
			[ ! -s "$state/flight.begin" ] || {
				json_anchor start "$(cat "$state/flight.begin")"
				flight_line="    $json]},"
			}
			;;
		esac
		printf '%s\n' "$flight_line"
	done <"$manifest_file" >"$manifest_file.new" && mv -f "$manifest_file.new" "$manifest_file" || die 1 "could not write $manifest_file"
}

# The parts of a ring that nobody put together.
flight_salvage_parts() {
	[ -d "$staging/$1" ] && [ ! -e "$staging/$1/snapshots" ] || return 0
	for flight_part in $(find "$staging/$1/." -name 'snapshots.*' | sed 's/.*snapshots\.//' | sort -n); do
		cat "$staging/$1/snapshots.$flight_part" >>"$staging/$1/snapshots" && rm -f "$staging/$1/snapshots.$flight_part"
	done
	[ -s "$staging/$1/snapshots" ] || return 0
	flight_from=$(head -n 1 "$staging/$1/snapshots")
	flight_from=${flight_from#S }
	echo "${flight_from%% *}" >"$state/$1.from"
}

# --- another process's flight: --dump

flight_ask() {
	flight_find_folder
	exec "$helper" dump "$flight_folder" ${dump_which:+"$dump_which"}
}
