# shellcheck shell=sh
# target.sh: what is recorded: the host, a command, processes or a control group.
watched_pids=
command_pid=
command_status=
command_runs=
command_started=
cgroup_folder=
cgroup_name=

target_prepare() {
	case $mode in
	command) target_hold ;;
	pid) target_check_pids ;;
	cgroup) target_find_cgroup ;;
	esac
}

# Starts the command up to the moment before exec, so that every source can be attached to its pid first.
target_hold() {
	eval "set -- $command_words"
	command -v -- "$1" >/dev/null 2>&1 || die 3 "$1: command not found"
	mkfifo "$state/go" || die 1 "cannot create $state/go"
	exec 9<>"$state/go"
	# the shell gives background children /dev/null: hand the real standard input on
	exec 8<&0
	"$helper" hold "$state/go" "$user_umask" "$ignored" $$ "$@" <&8 8<&- 9>&- 5<&- 3>&- &
	command_pid=$!
	exec 8<&-
	pids=$command_pid
	watched_pids=$command_pid
}

target_release() {
	[ -n "$command_pid" ] || return 0
	command_runs=1
	# their first interval would hold a time in which it could not run
	source_get proc started
	[ -z "$got" ] || kill -USR1 "$(cat "$state/proc.pid")" 2>/dev/null
	command_started=$("$helper" clocks)
	command_started=${command_started%% *}
	echo go >&9
	exec 9>&-
}

target_check_pids() {
	watched_pids=$(echo "$pids" | tr ',' ' ') # check_options let nothing but digits pass
	for pid in $watched_pids; do
		[ -d "/proc/$pid" ] || die 3 "--pid $pid: there is no such process"
	done
	# their present children too: perf -p takes those to come only
	# shellcheck disable=SC2086 # a list
	pids=$("$helper" targets $watched_pids | tr '\n' ',')
	pids=${pids%,}
}

# Finds the folder, and the name that perf -G knows it by: relative to the hierarchy's mount.
target_find_cgroup() {
	# \040 and \012 stand there for the blanks and newlines of names
	sed -n 's/^[^ ]* \([^ ]*\) cgroup .*perf_event.*/\1/p; s/^[^ ]* \([^ ]*\) cgroup2 .*/\1/p' /proc/mounts |
		sed 's/\\/\\0/g' >"$state/cgroup.mounts"
	cgroup_looked=
	while IFS= read -r mount; do
		mount=$(printf '%b.' "$mount")
		mount=${mount%.}
		cgroup_looked="$cgroup_looked $mount"
		for folder in "$cgroup" "$mount/${cgroup#/}"; do
			[ -e "$folder/cgroup.procs" ] || continue
			cgroup_folder=$(readlink -f -- "$folder")
			case $cgroup_folder in
			"$mount"/*)
				cgroup_name=${cgroup_folder#"$mount"/}
				return
				;;
			esac
		done
	done <"$state/cgroup.mounts"
	[ -n "$cgroup_folder" ] && return # of a hierarchy that perf does not know
	[ -e "$cgroup/cgroup.procs" ] || die 3 "--cgroup $cgroup: there is no such control group (looked in$cgroup_looked)"
	cgroup_folder=$(readlink -f -- "$cgroup")
}

# The processes to record, at this moment.
target_processes() {
	case $mode in
	cgroup) find "$cgroup_folder" -name cgroup.procs -exec cat {} + ;;
	pid)
		# shellcheck disable=SC2086 # a list
		"$helper" targets $watched_pids
		;;
	*) echo "$pids" ;;
	esac
}

# Those that live longer than a moment, with commas: perf gives up when one of its processes is gone. Short ones that come
# later are recorded as children of these.
target_stable_processes() {
	target_before=$(target_processes)
	"$helper" pause 300000000
	for pid in $(target_processes); do
		echo "$target_before" | grep -qx "$pid" && echo "$pid"
	done | tr '\n' ',' | sed 's/,$//'
}

# The threads to record, one a line; nothing for the whole host.
target_threads() {
	[ "$mode" != system ] || return 0
	for pid in $(target_processes); do
		ls "/proc/$pid/task" 2>/dev/null
	done
}

# How perf is told: all, cgroup, or pids where it does not know the group. Sets perf_scope and perf_pids.
target_choose_perf_scope() {
	[ -z "${perf_scope-}" ] || return 0
	perf_scope=pids
	perf_pids=$pids
	[ "$mode" != system ] || perf_scope=all
	[ "$mode" = cgroup ] || return 0
	perf_pids=$(target_processes | tr '\n' ',')
	perf_pids=${perf_pids%,}
	if [ -n "$perf_why" ]; then
		: >"$state/perf.events"
		await "$helper" events try "cgroup=$cgroup_folder" 128 cpu-clock fp "$state/perf.events" >"$state/trial.log" 2>&1 &&
			perf_scope=cgroup
		return 0
	fi
	case $cgroup_name in
	'' | *,*) return 0 ;; # to perf a comma is between two groups
	esac
	if await perf stat -x, -e cpu-clock -a -G "$cgroup_name" -o "$state/trial.stat" -- true >"$state/trial.log" 2>&1 &&
		grep -q '^[0-9]' "$state/trial.stat"; then
		perf_scope=cgroup
	fi
}

# What the sampler calls the target.
target_sampler_scope() {
	case $mode in
	system) echo all ;;
	cgroup) echo "cgroup=$cgroup_folder" ;;
	pid) echo "$watched_pids" | tr ' ' ',' ;; # it finds their children itself
	*) echo "$pids" ;;
	esac
}

# A command that outlives its recording gets SIGTERM, as perf record does it, and what ignores that SIGKILL.
target_end() {
	[ -n "$command_pid" ] || return 0
	exec 9>&-
	if [ "$stopped_by" != target_exit ]; then
		await "$helper" end 5 "$command_pid" || warn "the command did not end on SIGTERM within 5 s: it was killed"
	fi
	await_end "$command_pid" 2>/dev/null
	command_status=$?
	# ended before it was let go
	[ -n "$command_runs" ] || command_status=
	command_pid=
}
