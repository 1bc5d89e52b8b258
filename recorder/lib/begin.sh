# shellcheck shell=sh
# begin.sh: what comes before everything else: the helper, and the signals that the recorder was started with.

# Whether a program is not one of another machine: busybox takes that for a script, and does what its bytes happen to say.
is_for_this_machine() {
	# of the ELF header what stays is its name, and whether it is for x86_64, whose number in byte 18 is ">"
	case $1:$(LC_ALL=C dd if="$2" bs=20 count=1 2>/dev/null | LC_ALL=C tr -c 'ELF>' .) in
	x86_64:?ELF??????????????'>'*) ;;
	x86_64:?ELF* | *:?ELF??????????????'>'*) return 1 ;;
	esac
}

# Sets helper and version: the helper has the recorder's version compiled in.
find_helper() {
	machine=$(uname -m)
	# in a clone, first the one that each make builds again
	for helper in "${PERFCASE_HELPER:-}" "$home/perfcase-helper" "$home/build/perfcase-helper" \
		"$home/build/$machine/perfcase-helper"; do
		[ -n "$helper" ] && [ -x "$helper" ] && is_for_this_machine "$machine" "$helper" && version=$("$helper" --version 2>/dev/null) && return 0
	done
	helper=
	return 1
}

need_helper() {
	[ -n "$helper" ] ||
		die 1 "perfcase-helper for $machine is not beside $home/perfcase-record: build it with 'make -C $home'"
}

# A shell in a PID namespace whose /proc is that of another one would record strangers, and wait for processes that it does not find.
need_proc() {
	proc_pid=
	# a builtin: it is this shell itself that opens the file
	read -r proc_pid _ 2>/dev/null </proc/self/stat || :
	[ "$proc_pid" = $$ ] && return 0
	[ -e /proc/stat ] || die 1 "/proc is not mounted: mount -t proc proc /proc"
	die 1 "/proc is that of another PID namespace: record from there, or mount this one's (unshare --mount-proc, mount -t proc proc /proc)"
}

# Scripts start background jobs with SIGINT ignored, and a shell cannot trap what was ignored when it began. Then the helper resets
# it, and begins this script once more. Sets ignored: the mask of signals that the recorded command is to ignore.
hear_interrupts() {
	find_helper || return 0
	ignored=${PERFCASE_IGNORED-}
	unset PERFCASE_IGNORED
	[ -z "$ignored" ] || return 0
	ignored=$(sed -n 's/^SigIgn:[[:blank:]]*//p' "/proc/$$/status" 2>/dev/null)
	case $ignored in
	*[2367abef]) exec "$helper" heed "$ignored" "$(readlink -f "/proc/$$/exe")" "$0" "$@" ;;
	esac
}
