# shellcheck shell=sh
# log.sh: what the user sees (stderr) and what the capture keeps (recorder/log).
log_file=
log_offset=
log_failed=
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
	log_time
	printf '%s %s\n' "$log_time" "$plain" 2>/dev/null >>"$log_file" || log_fails
}

# Said once: the disk is full, or broken, and the next line may fit.
log_fails() {
	[ -n "$log_failed" ] || printf 'perfcase-record: %s cannot be written: lines of it are missing\n' "$log_file" >&2
	log_failed=1
}

# The time of day is asked for once, and goes on by the kernel's uptime, for which no process begins. Sets log_time.
log_time() {
	if ! read -r log_up _ 2>/dev/null </proc/uptime; then
		log_time=$(date +%H:%M:%S)
		return
	fi
	log_up=${log_up%.*}
	if [ -z "$log_offset" ]; then
		log_time=$(date +%H:%M:%S)
		case $log_time in ??:??:??) ;; *) return ;; esac
		log_s=${log_time##*:} log_min=${log_time#*:}
		log_h=${log_time%%:*} log_min=${log_min%:*}
		# the zero of 09 would make it octal
		log_offset=$((${log_h#0} * 3600 + ${log_min#0} * 60 + ${log_s#0} - log_up % 86400 + 86400))
		return
	fi
	log_s=$(((log_offset + log_up) % 86400))
	log_h=$((log_s / 3600)) log_min=$((log_s / 60 % 60)) log_s=$((log_s % 60))
	[ "$log_h" -gt 9 ] || log_h=0$log_h
	[ "$log_min" -gt 9 ] || log_min=0$log_min
	[ "$log_s" -gt 9 ] || log_s=0$log_s
	log_time=$log_h:$log_min:$log_s
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
