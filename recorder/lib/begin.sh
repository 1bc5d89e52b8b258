# shellcheck shell=sh
# begin.sh: what comes before everything else: the helper, and the signals that the recorder was started with.

# Sets helper and version: the helper has the recorder's version compiled in.
find_helper() {
	# in a clone, first the one that each make builds again
	for helper in "${PERFCASE_HELPER:-}" "$home/perfcase-helper" "$home/build/perfcase-helper" \
		"$home/build/$(uname -m)/perfcase-helper"; do
		[ -n "$helper" ] && [ -x "$helper" ] && version=$("$helper" --version 2>/dev/null) && return 0
	done
	helper=
	return 1
}

need_helper() {
	[ -n "$helper" ] ||
		die 1 "perfcase-helper for $(uname -m) is not beside $home/perfcase-record: build it with 'make -C $home'"
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
