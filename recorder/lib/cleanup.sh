# shellcheck shell=sh
# cleanup.sh: signals, and undoing on every exit what was done to the host.
interrupted_by=
stopped_by=
watch_pid=
staging=
state=
packed=
# "path|before|during" of what was changed, a line each
knobs=

trap_signals() {
	trap 'on_signal SIGINT 2' INT
	trap 'on_signal SIGTERM 15' TERM
	trap 'on_signal SIGHUP 1' HUP
	trap 'on_exit' EXIT
}

on_signal() {
	interrupted_by=$1
	exit_status=$((128 + $2))
	# the normal end of a recording without a duration
	[ "$1" = SIGINT ] && [ "$duration_ns" = 0 ] && [ "$mode" != command ] && exit_status=0
	[ -n "$watch_pid" ] && kill "$watch_pid" 2>/dev/null
	return 0
}

# knob PATH BEFORE DURING: remembers a change, so that it is undone and stated in the manifest.
knob() {
	knobs="$knobs$1|$2|$3
"
}

# Undoes the changes. An instance is normally removed by the tool that made it; this is for when that tool died.
restore_knobs() {
	old_ifs=$IFS
	IFS='|'
	while read -r path before _; do
		[ -n "$path" ] || continue
		if [ "$before" = absent ]; then
			remove_instance "$path"
		elif [ "$before" = 'not mounted' ]; then
			umount "$path" 2>/dev/null
		else
			now=$(cat "$path" 2>/dev/null)
			# "7" where it was "7 (expanded: 1408)"; any other value is somebody else's wish
			[ "$now" = "$before" ] || [ "$now" != "${before%% *}" ] || knob_value "$before" >"$path"
		fi
	done <<KNOBS
$knobs
KNOBS
	IFS=$old_ifs
}

# What a control file's text means: ftrace says "7 (expanded: 1408)" of a buffer that will have 1408 KB once it is used.
knob_value() {
	printf '%s\n' "$1" | sed 's/.*expanded: \([0-9]*\).*/\1/'
}

# The state of a changed path now, to say in the manifest whether it was restored.
knob_is_restored() {
	case $1:$2 in
	*:absent) [ ! -e "$1" ] ;;
	*:'not mounted') ! grep -q " $1 " /proc/mounts ;;
	*/buffer_size_kb:*)
		# the kernel rounds up to whole pages
		knob_excess=$(($(knob_value "$(cat "$1" 2>/dev/null)") - $(knob_value "$2")))
		[ "$knob_excess" -ge 0 ] && [ "$knob_excess" -lt 64 ]
		;;
	*) [ "$(cat "$1" 2>/dev/null)" = "$2" ] ;;
	esac
}

remove_instance() {
	[ -d "$1" ] || return 0
	echo 0 >"$1/tracing_on" 2>/dev/null
	echo 0 >"$1/events/enable" 2>/dev/null
	tries=0
	# a reader that is just ending keeps it busy for a moment
	until rmdir "$1" 2>/dev/null || [ $tries -ge 50 ]; do
		tries=$((tries + 1))
		"$helper" watch / 100000000 0 0 >/dev/null
	done
	[ ! -d "$1" ] || warn "could not remove $1: rmdir it"
}

# Instances of recorders that were killed with SIGKILL: named by a pid that is no more.
remove_stale_instances() {
	for instance in "$1"/instances/perfcase-*; do
		[ -d "$instance" ] || continue
		[ -d "/proc/${instance##*-}" ] || remove_instance "$instance"
	done
}

on_exit() {
	status=$?
	trap '' INT TERM HUP
	trap - EXIT
	[ -n "$watch_pid" ] && kill "$watch_pid" 2>/dev/null
	stop_all
	target_end
	restore_knobs
	# without a manifest nothing was recorded yet
	if [ -n "$staging" ] && { [ -n "$packed" ] || [ ! -e "$staging/manifest.json" ]; }; then
		rm -rf "$staging"
	elif [ -n "$staging" ]; then
		warn "what was recorded is in the folder $staging"
	fi
	exit "$status"
}
