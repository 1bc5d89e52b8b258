# shellcheck shell=sh
# log.sh: what the user sees (stderr) and what the capture keeps (recorder/log).
log_file=
quiet=

# Only into the capture's log.
log() {
	[ -n "$log_file" ] && printf '%s %s\n' "$(date +%H:%M:%S)" "$*" >>"$log_file"
	return 0
}

# For the user, unless --quiet, and the log.
say() {
	[ -n "$quiet" ] || printf '%s\n' "$*" >&2
	log "$*"
}

warn() {
	printf 'perfcase-record: %s\n' "$*" >&2
	log "warning: $*"
}

# die EXIT_STATUS MESSAGE...
die() {
	die_status=$1
	shift
	warn "$*"
	exit "$die_status"
}
