# shellcheck shell=sh
# manifest.sh: manifest.json, as schema/manifest.schema.json defines it.
manifest_file=
sample_rate_file=/proc/sys/kernel/perf_event_max_sample_rate
sample_rate_before=
clock_start=
clock_end=
exit_status=0

json_text() {
	case $1 in
	'') echo null ;;
	*[!\ -~]* | *[\"\\]*) "$helper" json string "$1" ;;
	*) printf '"%s"\n' "$1" ;;
	esac
}

json_number() {
	case $1 in
	'' | *[!0-9]*) echo null ;;
	*) echo "$1" ;;
	esac
}

json_cpu_model() {
	model=$(sed -n 's/^model name[[:blank:]]*: *//p' /proc/cpuinfo | head -n 1)
	[ -n "$model" ] || model=$(sed -n 's/^CPU part[[:blank:]]*: */CPU part /p' /proc/cpuinfo | head -n 1)
	json_text "$model"
}

json_host() {
	os=$(sed -n 's/^PRETTY_NAME="*\([^"]*\)"*$/\1/p' /etc/os-release 2>/dev/null)
	memory_kb=$(sed -n 's/^MemTotal: *\([0-9]*\).*/\1/p' /proc/meminfo)
	# one byte of the helper's ELF header: 1 little, 2 big
	order=little
	[ "$(dd if="$helper" bs=1 skip=5 count=1 2>/dev/null | tr '\001\002' 'lb')" = b ] && order=big
	cat <<JSON
{"hostname":$(json_text "$(uname -n)"),"kernel_release":$(json_text "$(uname -r)"),
    "kernel_version":$(json_text "$(uname -v)"),"machine":$(json_text "$(uname -m)"),"os":$(json_text "$os"),
    "boot_id":$(json_text "$(cat /proc/sys/kernel/random/boot_id 2>/dev/null)"),
    "cpu_count":$(json_number "$(grep -c '^cpu[0-9]' /proc/stat)"),"cpu_model":$(json_cpu_model),
    "page_size_bytes":$(json_number "$(getconf PAGESIZE 2>/dev/null)"),
    "clock_ticks_per_s":$(json_number "$(getconf CLK_TCK 2>/dev/null)"),
    "memory_bytes":$((memory_kb * 1024)),"byte_order":"$order"}
JSON
}

json_anchor() {
	# shellcheck disable=SC2086 # three numbers
	set -- "$1" $2
	printf '{"at":"%s","monotonic_ns":%s,"realtime_ns":%s,"boottime_ns":%s}' "$1" "$2" "$3" "$4"
}

json_target() {
	case $mode in
	pid | command) target_pids_json="[$pids]" ;;
	*) target_pids_json='[]' ;;
	esac
	printf '{"mode":"%s","command":%s,"pids":%s,"cgroup":%s,"started_monotonic_ns":%s,"exit_status":%s}' "$mode" "$command_json" \
		"$target_pids_json" "$(json_text "$cgroup_folder")" "$(json_number "$command_started")" "$(json_number "$command_status")"
}

json_source() {
	lost=$(json_number "$(source_get "$1" lost)")
	source_command=$(source_get "$1" command)
	cat <<JSON
    {"name":"$1","kind":"$(source_get "$1" kind)","status":"$(source_get "$1" status)",
     "reason":$(json_text "$(source_get "$1" reason)"),"remedy":$(json_text "$(source_get "$1" remedy)"),
     "tool":$(json_text "$(source_get "$1" tool)"),"tool_version":$(json_text "$(source_get "$1" tool_version)"),
     "command":${source_command:-[]},"clock":$(json_text "$(source_get "$1" clock)"),
     "started_monotonic_ns":$(json_number "$(source_get "$1" started)"),
     "ended_monotonic_ns":$(json_number "$(source_get "$1" ended)"),
     "event_count":$(json_number "$(source_get "$1" events)"),"lost_events":$lost}
JSON
}

json_sources() {
	first=1
	for probe in $PROBES; do
		[ -e "$state/source/$probe/kind" ] || continue
		[ -n "$first" ] || printf ',\n'
		first=
		json_source "$probe"
	done
}

json_knobs() {
	first=1
	while IFS='|' read -r path before during; do
		[ -n "$path" ] || continue
		restored=false
		knob_is_restored "$path" "$before" && restored=true
		[ -n "$first" ] || printf ','
		first=
		printf '{"path":%s,"before":%s,"during":%s,"restored":%s}' "$(json_text "$path")" "$(json_text "$before")" \
			"$(json_text "$during")" "$restored"
	done <<KNOBS
$knobs$(json_kernel_knob)
KNOBS
}

# The kernel lowers perf's highest rate for all when samples took it too long. It is said, and left: the kernel knows why.
json_kernel_knob() {
	sample_rate_after=$(cat "$sample_rate_file" 2>/dev/null)
	[ "$sample_rate_after" = "$sample_rate_before" ] ||
		printf '%s|%s|%s' "$sample_rate_file" "$sample_rate_before" "$sample_rate_after"
}

# Bytes of the files of a source in the capture, before compression.
output_bytes() {
	bytes=0
	for size in $("$helper" sizes "$staging" | sed -n "s,^\([0-9]*\) $1/.*,\1,p"); do
		bytes=$((bytes + size))
	done
	echo "$bytes"
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
	cat <<JSON
    {"process":"$process","pid":$pid,"source":"$2","phase":"recording","user_ns":$user_ns,"system_ns":$system_ns,
     "max_rss_bytes":$max_rss_bytes,"read_bytes":$read_bytes,"write_bytes":$write_bytes,
     "output_bytes":$(output_bytes "$2"),"event_count":$(json_number "$(source_get "$2" events)")}
JSON
}

# cost_mark NAME: what the shell and all children that it waited for have cost so far.
cost_mark() {
	"$helper" self $$ >"$state/mark.$1"
}

# mark_sum NAME KEY: of a mark, the shell's own time and its children's together.
mark_sum() {
	sum=0
	while IFS='=' read -r key value; do
		case $key in
		"$2" | "children_$2") sum=$((sum + value)) ;;
		esac
	done <"$state/mark.$1"
	echo "$sum"
}

# phase_json FROM TO PHASE WHAT USER_NS SYSTEM_NS: the shell and its small children (sed, cat, trials, hold) between two
# marks, less what has entries of its own.
phase_json() {
	user_ns=$(($(mark_sum "$2" user_ns) - $(mark_sum "$1" user_ns) - $5))
	system_ns=$(($(mark_sum "$2" system_ns) - $(mark_sum "$1" system_ns) - $6))
	[ "$user_ns" -ge 0 ] || user_ns=0
	[ "$system_ns" -ge 0 ] || system_ns=0
	if [ "$3" = recording ]; then
		flight_share user_ns
		flight_share system_ns
	fi
	rss=$(sed -n 's/^max_rss_bytes=//p' "$state/mark.$2")
	printf '    {"process":"perfcase-record: %s","pid":%s,"source":"recorder","phase":"%s","user_ns":%s,"system_ns":%s,\n' \
		"$4" $$ "$3" "$user_ns" "$system_ns"
	printf '     "max_rss_bytes":%s,"read_bytes":null,"write_bytes":null,"output_bytes":null,"event_count":null}' \
		"$(json_number "$rss")"
}

# The sources' processes were all waited for by the end of the recording, and so was the recorded command: the kernel
# adds up the children of a shell, which cannot be told apart.
write_overhead() {
	cost_mark collected
	sources_user_ns=0
	sources_system_ns=0
	during='its small children'
	[ "$mode" != 'command' ] || during="$during, and the recorded command"
	{
		for probe in proc process pmc ftrace stacks perf symbols; do
			[ -s "$state/$probe.cost" ] && cost_json "$state/$probe.cost" "$probe" && printf ',\n'
		done
		[ ! -s "$state/squeeze.cost" ] || { cost_json "$state/squeeze.cost" recorder && printf ',\n'; }
		phase_json none start before 'checks' 0 0 && printf ',\n'
		phase_json start end recording "$during" "$sources_user_ns" "$sources_system_ns" && printf ',\n'
		phase_json end collected after 'collecting' 0 0 && printf '\n'
	} >"$state/overhead"
	{ printf '[\n' && cat "$state/overhead" && printf ']\n'; } >"$staging/recorder/overhead.json"
}

# Packing is known to the manifest only: the members are written by then. Called as late as can be: what comes after is to
# print it, to write the archive, and to remove the folder.
write_packing_overhead() {
	cost_mark packed
	{ printf '    ,' && phase_json collected packed after 'packing' 0 0 && printf '\n'; } >"$state/overhead.packing"
}

# write_manifest unfinished|recorded|packed
write_manifest() {
	while :; do
		manifest_signals=$signal_count
		rm -f "$manifest_file.new" # of the time before: it is no member
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
	mv -f "$manifest_file.new" "$manifest_file"
}

put_manifest() {
	anchors=$(json_anchor start "$(cat "$state/flight.begin" 2>/dev/null || echo "$clock_start")")
	members='[]'
	stopped=$stopped_by
	case $1 in
	unfinished)
		stopped=unfinished
		: >"$state/overhead"
		: >"$state/overhead.packing"
		;;
	*) anchors="$anchors,
    $(json_anchor end "$clock_end")" ;;
	esac
	[ "$1" = packed ] && await "$helper" members "$staging" "$state/sizes" >"$state/members" && members=$(cat "$state/members")
	[ -n "${host_json-}" ] || host_json=$(json_host)
	# a manifest that is there is replaced by a whole one only
	cat >"$manifest_file.new" <<JSON || return
{"format":"perfcase","format_version":"$PERFCASE_FORMAT_VERSION",
  "recorder":{"version":"$version","command":$invocation_json,
    "target":$(json_target),
    "interval_ns":$interval_ns,"duration_ns":$([ "$duration_ns" = 0 ] && echo null || echo "$duration_ns"),"budget_bytes":$([ "$budget_bytes" = 0 ] && echo null || echo "$budget_bytes"),
    "stopped_by":$(json_text "$stopped"),${flight:+"\"flight_ns\":$flight_ns,\"trigger\":$(json_text "$flight_trigger"),"}"interrupted_by":$(json_text "$interrupted_by")},
  "ticket":$(json_text "$ticket"),"note":$(json_text "$note"),"labels":$labels_json,
  "host":$host_json,
  "clock":{"name":"CLOCK_MONOTONIC","anchors":[
    $anchors]},
  "sources":[
$(json_sources)],
  "members":$members,
  "knobs":[$(json_knobs)],
  "overhead":[
JSON
	[ "$1" != packed ] || write_packing_overhead
	{ cat "$state/overhead" "$state/overhead.packing" && echo ']}'; } >>"$manifest_file.new"
}
