# shellcheck shell=sh
# redact.sh: --redact: the capture gets pseudonyms before it gets its name. `perfcase redact` does it, on this host.
REDACTOR=${PERFCASE_REDACTOR:-perfcase}
redact=
redact_key=
redact_rules=

redact_check() {
	if [ -z "$redact" ]; then
		[ -z "$redact_key$redact_rules" ] || usage_error "--key and --rules go with --redact"
		return 0
	fi
	[ -z "$stream" ] || usage_error "--redact writes a file: not with -o $output"
	[ -z "$send" ] || usage_error "--redact is for a new capture: perfcase redact $send"
	[ -n "$redact_key" ] || [ -z "$every$piece$flight" ] || usage_error "--redact with --every or --flight: name one key for all captures with --key"
	case $redact_key in
	-*) redact_key=./$redact_key ;;
	esac
	[ -z "$redact_rules" ] || { [ -f "$redact_rules" ] && [ -r "$redact_rules" ]; } || usage_error "--rules $redact_rules: a file with rules"
	redact_name=${redact_key:-$output.key}
	redact_key_is_ours "$redact_name"
	"$REDACTOR" redact --help >/dev/null 2>&1 || die 1 "--redact needs perfcase on this host: pip install perfcase (or redact the capture elsewhere: perfcase redact)"
	[ -d "$(dirname "$redact_name")" ] || usage_error "--key $redact_name: there is no such folder"
	if [ -e "$redact_name" ] && ! redact_said=$("$REDACTOR" reveal --key "$redact_name" '' 2>&1); then
		usage_error "--redact: the key ${redact_said#perfcase: }"
	fi
}

# Should the recorder be killed, its folder says that it was to be redacted.
redact_mark() {
	[ -z "$redact" ] || true >"$state/redact.asked" || die 1 "cannot write to $staging"
}

# A key that somebody else has put there would let them read what it hides.
redact_key_is_ours() {
	[ ! -L "$1" ] || usage_error "--redact: the key $1 is a symbolic link: name the file itself with --key"
	[ ! -e "$1" ] || { [ -f "$1" ] && [ -O "$1" ]; } || usage_error "--redact: the key $1 is not a file of yours: name another with --key"
}

# In the folder that only we read. Should it fail, that folder stays: --salvage makes a capture of it without or with --redact.
redact_archive() {
	[ -n "$redact" ] || return 0
	say_progress "redacting"
	redact_key_is_ours "$redact_name"
	redact_folder=$state/redact
	rm -rf "$redact_folder"
	mkdir "$redact_folder" && mv "$state/packed" "$redact_folder/capture.perfcase" || die 1 "could not write $output"
	set -- --key "$redact_name"
	[ -z "$redact_rules" ] || set -- "$@" --rules "$redact_rules"
	if ! await_into "$redact_folder/said" nice -n 10 "$REDACTOR" redact "$redact_folder/capture.perfcase" -o "$redact_folder/redacted.perfcase" "$@" ||
		! mv "$redact_folder/redacted.perfcase" "$state/packed"; then
		redact_why=$(grep -v '^ *$' "$redact_folder/said" | tail -n 1)
		rm -rf "$redact_folder"
		die 1 "the capture could not be redacted, so it was not written: ${redact_why#perfcase: }"
	fi
	sed -n 's/^perfcase: redacted.perfcase //p' "$redact_folder/said" >"$state/redact.left"
	rm -rf "$redact_folder"
}

redact_report() {
	[ -n "$redact" ] || return 0
	say "the key is $redact_name: keep it, and do not send it. The capture $(head -n 1 "$state/redact.left" 2>/dev/null)"
}
