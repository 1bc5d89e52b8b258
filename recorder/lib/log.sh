# shellcheck shell=sh
# log.sh: what the user sees (stderr) and what the capture keeps (recorder/log).
log_file=
quiet=
helper=

# plain TEXT...: sets plain to the text on one line, without what a terminal obeys: names in it may be anyone's.
plain() {
	plain=$*
	case $plain in
	*[!\ -~]*)
		if [ -n "$helper" ]; then
			plain=$("$helper" plain "$plain")
		else
			plain=$(printf '%s' "$plain" | tr -c ' -~' '?')
		fi
		;;
	esac
}

# Only into the capture's log.
log() {
	[ -n "$log_file" ] || return 0
	plain "$@"
	printf '%s %s\n' "$(date +%H:%M:%S)" "$plain" >>"$log_file"
}

# For the user, unless --quiet, and the log.
say() {
	plain "$@"
	[ -n "$quiet" ] || printf '%s\n' "$plain" >&2
	log "$plain"
}

warn() {
	plain "$@"
	printf 'perfcase-record: %s\n' "$plain" >&2
	log "warning: $plain"
}

# die EXIT_STATUS MESSAGE...
die() {
	die_status=$1
	shift
	warn "$*"
	exit "$die_status"
}
