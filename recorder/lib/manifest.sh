# shellcheck shell=sh
# manifest.sh: manifest.json, as schema/manifest.schema.json defines it.
manifest_file=
sample_rate_file=/proc/sys/kernel/perf_event_max_sample_rate
sample_rate_before=
clock_start=
clock_end=
exit_status=0
host_json=
overhead_json=
packing_json=

# What is named json_* sets json: a shell that asks for what another prints begins a process for it.
json_text() {
	case $1 in
	'') json=null ;;
	*[!\ -~]* | *[\"\\]*) json=$("$helper" json string "$1") ;;
	*) json="\"$1\"" ;;
	esac
}

# json_anchor start|end CLOCKS
json_anchor() {
	# shellcheck disable=SC2086 # three numbers
	set -- "$1" $2
	json="{\"at\":\"$1\",\"monotonic_ns\":$2,\"realtime_ns\":$3,\"boottime_ns\":$4}"
}

json_target() {
	case $mode in
	pid | command) json_pids="[$pids]" ;;
	*) json_pids='[]' ;;
	esac
	json_text "$cgroup_folder"
	json="{\"mode\":\"$mode\",\"command\":$command_json,\"pids\":$json_pids,\"cgroup\":$json,\"started_monotonic_ns\":${command_started:-null},\"exit_status\":${command_status:-null}}"
}

json_knobs() {
	json_list=
	while IFS='|' read -r path before during; do
		[ -n "$path" ] || continue
		restored=false
		knob_is_restored "$path" "$before" && restored=true
		json_list="$json_list${json_list:+,}{"
		json_text "$path" && json_list="$json_list\"path\":$json"
		json_text "$before" && json_list="$json_list,\"before\":$json"
		json_text "$during" && json_list="$json_list,\"during\":$json,\"restored\":$restored}"
	done <<KNOBS
$knobs$(json_kernel_knob)
KNOBS
	json=$json_list
}

# The kernel lowers perf's highest rate for all when samples took it too long. It is said, and left: the kernel knows why.
json_kernel_knob() {
	sample_rate_after=$(cat "$sample_rate_file" 2>/dev/null)
	[ "$sample_rate_after" = "$sample_rate_before" ] ||
		printf '%s|%s|%s' "$sample_rate_file" "$sample_rate_before" "$sample_rate_after"
}

# output_bytes SOURCE: sets bytes to those of its files in the capture, before compression.
output_bytes() {
	bytes=0
	while read -r folder_bytes folder; do
		[ "$folder" != "$1" ] || bytes=$folder_bytes
	done <"$state/folders"
}

# cost_json COSTFILE SOURCE: one overhead entry of what `run` or `self` printed.
cost_json() {
	process=
	pid=
	user_ns=0
	system_ns=0
	max_rss_bytes=null
	read_bytes=null
	write_bytes=null
	while IFS='=' read -r key value; do
		case $key in
		process) process=$value ;;
		pid) pid=$value ;;
		user_ns) user_ns=$value ;;
		system_ns) system_ns=$value ;;
		max_rss_bytes) max_rss_bytes=$value ;;
		read_bytes) read_bytes=$value ;;
		write_bytes) write_bytes=$value ;;
		esac
	done <"$1"
	sources_user_ns=$((sources_user_ns + user_ns))
	sources_system_ns=$((sources_system_ns + system_ns))
	for cost in user_ns system_ns read_bytes write_bytes; do
		flight_share "$cost"
	done
	output_bytes "$2"
	source_get "$2" events
	printf '    {"process":"%s","pid":%s,"source":"%s","phase":"recording","user_ns":%s,"system_ns":%s,\n' \
		"$process" "$pid" "$2" "$user_ns" "$system_ns"
	printf '     "max_rss_bytes":%s,"read_bytes":%s,"write_bytes":%s,\n     "output_bytes":%s,"event_count":%s}' \
		"$max_rss_bytes" "$read_bytes" "$write_bytes" "$bytes" "${got:-null}"
}

# cost_mark NAME: what the shell and all children that it waited for have cost so far.
cost_mark() {
	"$helper" self $$ >"$state/mark.$1" || warn "$state/mark.$1 cannot be written: the recorder's own cost is not whole"
}

# mark_read NAME: of a mark, sets mark_user_ns and mark_system_ns to the shell's own time and its children's together, and mark_rss.
mark_read() {
	mark_user_ns=0
	mark_system_ns=0
	mark_rss=null
	while IFS='=' read -r key value; do
		case $key in
		user_ns | children_user_ns) mark_user_ns=$((mark_user_ns + value)) ;;
		system_ns | children_system_ns) mark_system_ns=$((mark_system_ns + value)) ;;
		max_rss_bytes) mark_rss=$value ;;
		esac
	done <"$state/mark.$1"
}

# phase_json FROM TO PHASE WHAT USER_NS SYSTEM_NS: the shell and its small children (sed, cat, trials, hold) between two
# marks, less what has entries of its own.
phase_json() {
	mark_read "$1"
	user_ns=$((0 - mark_user_ns - $5))
	system_ns=$((0 - mark_system_ns - $6))
	mark_read "$2"
	user_ns=$((user_ns + mark_user_ns))
	system_ns=$((system_ns + mark_system_ns))
	[ "$user_ns" -ge 0 ] || user_ns=0
	[ "$system_ns" -ge 0 ] || system_ns=0
	if [ "$3" = recording ]; then
		flight_share user_ns
		flight_share system_ns
	fi
	printf '    {"process":"perfcase-record: %s","pid":%s,"source":"recorder","phase":"%s","user_ns":%s,"system_ns":%s,\n' \
		"$4" $$ "$3" "$user_ns" "$system_ns"
	printf '     "max_rss_bytes":%s,"read_bytes":null,"write_bytes":null,"output_bytes":null,"event_count":null}' "$mark_rss"
}

# The sources' processes were all waited for by the end of the recording, and so was the recorded command: the kernel
# adds up the children of a shell, which cannot be told apart.
write_overhead() {
	cost_mark collected
	"$helper" sizes "$staging" folders >"$state/folders" || die 1 "cannot write to $state"
	sources_user_ns=0
	sources_system_ns=0
	during='its small children'
	[ "$mode" != 'command' ] || during="$during, and the recorded command"
	overhead_json=$(
		for probe in proc process pmc ftrace stacks perf symbols; do
			[ -s "$state/$probe.cost" ] && cost_json "$state/$probe.cost" "$probe" && printf ',\n'
		done
		[ ! -s "$state/squeeze.cost" ] || { cost_json "$state/squeeze.cost" recorder && printf ',\n'; }
		phase_json none start before 'checks' 0 0 && printf ',\n'
		phase_json start end recording "$during" "$sources_user_ns" "$sources_system_ns" && printf ',\n'
		phase_json end collected after 'collecting' 0 0
	)
	printf '[\n%s\n]\n' "$overhead_json" >"$staging/recorder/overhead.json" || die 1 "cannot write to $staging/recorder"
}

# Packing is known to the manifest only: the members are written by then. Called as late as can be: what comes after is to
# print it, to write the archive, and to remove the folder.
measure_packing() {
	cost_mark packed
	packing_json="
    ,$(phase_json collected packed after 'packing' 0 0)"
}

# write_manifest unfinished|recorded|packed
write_manifest() {
	while :; do
		manifest_signals=$signal_count
		[ ! -e "$manifest_file.new" ] || rm -f "$manifest_file.new" # of the time before: it is no member
		put_manifest "$1"
		manifest_status=$?
		# a signal to the whole group also ends the small children that write it: it is written once more
		[ "$manifest_signals" != "$signal_count" ] || break
		host_json=
	done
	if [ "$manifest_status" != 0 ]; then
		rm -f "$manifest_file.new"
		die 1 "could not write $manifest_file"
	fi
	mv -f "$manifest_file.new" "$manifest_file" || die 1 "could not write $manifest_file"
}

put_manifest() {
	clock_begin=$clock_start
	[ ! -s "$state/flight.begin" ] || IFS= read -r clock_begin <"$state/flight.begin"
	json_anchor start "$clock_begin"
	json_anchors=$json
	json_members='[]'
	json_stopped=$stopped_by
	case $1 in
	unfinished)
		json_stopped=unfinished
		;;
	*)
		json_anchor end "$clock_end"
		json_anchors="$json_anchors,
    $json"
		;;
	esac
	if [ "$1" = packed ]; then
		await "$helper" members "$staging" "$state/sizes" >"$state/members" && json_members=$(cat "$state/members") || return
	fi
	[ -n "$host_json" ] || host_json=$("$helper" host) || return
	json_text "$json_stopped"
	json_ends="\"stopped_by\":$json"
	[ -z "$flight" ] || { json_text "$flight_trigger" && json_ends="$json_ends,\"flight_ns\":$flight_ns,\"trigger\":$json"; }
	json_text "$interrupted_by"
	json_ends="$json_ends,\"interrupted_by\":$json"
	json_text "$ticket"
	json_words="\"ticket\":$json"
	json_text "$note"
	json_words="$json_words,\"note\":$json,\"labels\":$labels_json"
	# shellcheck disable=SC2086 # a list
	json_sources=$("$helper" sources "$state" $PROBES) || return
	json_knobs
	knobs_json=$json
	json_target
	json_duration=$duration_ns json_budget=$budget_bytes
	[ "$duration_ns" != 0 ] || json_duration=null
	[ "$budget_bytes" != 0 ] || json_budget=null
	packing_json=
	[ "$1" != packed ] || measure_packing
	# a manifest that is there is replaced by a whole one only; its last line says that it is whole
	cat >"$manifest_file.new" <<JSON
{"format":"perfcase","format_version":"$PERFCASE_FORMAT_VERSION",
  "recorder":{"version":"$version","command":$invocation_json,
    "target":$json,
    "interval_ns":$interval_ns,"duration_ns":$json_duration,"budget_bytes":$json_budget,
    $json_ends},
  $json_words,
  "host":$host_json,
  "clock":{"name":"CLOCK_MONOTONIC","anchors":[
    $json_anchors]},
  "sources":[
$json_sources],
  "members":$json_members,
  "knobs":[$knobs_json],
  "overhead":[
$overhead_json$packing_json
]}
JSON
}

# manifest_is_whole FILE: a power cut may leave any part of it.
manifest_is_whole() {
	[ -s "$1" ] && [ -z "$(tail -c 1 "$1")" ] || return
	case $(tail -n 1 "$1") in
	*']}') ;;
	*) return 1 ;;
	esac
}
