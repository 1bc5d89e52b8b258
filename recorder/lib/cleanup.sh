# shellcheck shell=sh
# cleanup.sh: signals, and undoing on every exit what was done to the host.
interrupted_by=
stopped_by=
# how many signals came, when the first did, and whether the recording is over
signal_count=0
signalled_ns=
ending=
# the child that the shell waits for
awaited=
staging=
state=
packed=
# "path|before|during" of what was changed, a line each
knobs=

trap_signals() {
	trap 'on_signal SIGINT 2' INT
	trap 'on_signal SIGTERM 15' TERM
	trap 'on_signal SIGHUP 1' HUP
	flight_trap
	trap : PIPE # who read our messages has gone: the recording goes on. Ignored, it would be ignored in the recorded command too
	trap 'on_exit' EXIT
}

# The first signal ends the recording, the second one everything that it still waits for. Tools such as timeout(1) send a signal
# twice, and a terminal that closes sends SIGHUP twice: those count once.
on_signal() {
	signal_count=$((signal_count + 1))
	signal_now=$("$helper" clocks)
	signal_now=${signal_now%% *}
	if [ -n "$signalled_ns" ]; then
		[ "$1" = SIGHUP ] || [ $((signal_now - signalled_ns)) -lt 100000000 ] || leave_at_once $((128 + $2))
		return
	fi
	signalled_ns=$signal_now
	if [ "$ending" = upload ]; then
		say "$1: the capture is being sent. Once more leaves it in $output"
		return
	fi
	if [ -n "$ending" ]; then
		say "$1: the recording is over, and its capture is being written. Once more leaves it as a folder"
		return
	fi
	interrupted_by=$1
	exit_status=$((128 + $2))
	# the normal end of a recording without a duration
	[ "$1" = SIGINT ] && [ "$duration_ns" = 0 ] && [ "$mode" != command ] && exit_status=0
	[ -z "$flight" ] || exit_status=0
	end_awaited
}

# await COMMAND...: runs it. A shell handles no signal as long as it waits for a child in the foreground, but does for others.
await() {
	"$@" 9>&- &
	await_started
}

# await_into FILE COMMAND...: what it prints goes there, but not what a signal makes the recorder say meanwhile.
await_into() {
	await_file=$1
	shift
	"$@" >"$await_file" 2>&1 9>&- &
	await_started
}

await_started() {
	awaited=$!
	[ -z "$interrupted_by$flight_dump" ] || [ -n "$ending" ] || end_awaited # the signal came before there was a child to end
	await_end "$awaited"
}

# await_end PID: the status of a child, whatever signals come meanwhile.
await_end() {
	awaited=$1
	while :; do
		wait "$awaited"
		await_status=$?
		[ "$await_status" -gt 128 ] && kill -0 "$awaited" 2>/dev/null || break
	done
	if [ "$await_status" -gt 128 ]; then
		# it may have ended just as the signal came
		wait "$awaited" 2>/dev/null
		await_again=$?
		[ "$await_again" = 127 ] || await_status=$await_again
	fi
	awaited=
	return "$await_status"
}

end_awaited() {
	[ -n "$awaited" ] || return 0
	"$helper" begun $$ "$awaited"
	kill -TERM "-$awaited" 2>/dev/null || kill -TERM "$awaited" 2>/dev/null || return 0
}

say_folder() {
	warn "what was recorded is in the folder $staging: perfcase-record --salvage packs it"
}

# Waits for nothing. The tools are told by the kernel when the recorder is gone: they finish their files, and take their instance away.
leave_at_once() {
	trap '' INT TERM HUP
	trap - EXIT
	end_awaited
	rotate_leave
	[ -z "$command_pid" ] || kill -TERM "$command_pid" 2>/dev/null
	restore_knobs
	if [ -n "$packed" ]; then
		rm -rf "$staging"
		[ "$ending" != upload ] || upload_left "a signal ended it"
	elif [ -n "$staging" ] && [ -d "$staging" ]; then
		say_folder
	fi
	stream_end
	exit "$1"
}

# knob PATH BEFORE DURING: remembers a change, so that it is undone and stated in the manifest.
knob() {
	knobs="$knobs$1|$2|$3
"
}

# Undoes the changes. An instance goes with the source that it is for; this is for one whose `run` was killed.
restore_knobs() {
	while IFS='|' read -r path before _; do
		[ -n "$path" ] || continue
		if [ "$before" = absent ]; then
			[ ! -d "$path" ] || "$helper" sweep "${path%/*}"
		elif [ "$before" = 'not mounted' ]; then
			umount "$path" 2>/dev/null
		else
			now=
			IFS= read -r now 2>/dev/null <"$path"
			# "7" where it was "7 (expanded: 1408)"; any other value is somebody else's wish
			[ "$now" = "$before" ] || [ "$now" != "${before%% *}" ] || knob_value "$before" >"$path"
		fi
	done <<KNOBS
$knobs
KNOBS
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
	*) IFS= read -r now 2>/dev/null <"$1" && [ "$now" = "$2" ] ;;
	esac
}

on_exit() {
	status=$?
	trap - EXIT
	ending=1
	end_awaited
	rotate_leave
	stop_all
	target_end
	restore_knobs
	# without a manifest no source has begun
	if [ -n "$staging" ] && { [ -n "$packed" ] || { [ ! -e "$staging/manifest.json" ] && [ ! -e "$state/manifest.json" ]; }; }; then
		rm -rf "$staging"
	elif [ -n "$staging" ]; then
		say_folder
	fi
	stream_end
	exit "$status"
}
