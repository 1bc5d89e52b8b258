# shellcheck shell=sh
# stream.sh: a capture that goes to standard output (-o -) or into a named pipe. It is packed from a folder too, when the recording
# is over: its manifest comes first and has every size and checksum. Descriptor 3 is the standard output that we were started with.
stream_name=
stream_folder=
stream_watcher=

# Everything else that writes to standard output, the recorded command as well, writes to standard error.
stream_begin() {
	stream_name=$output
	[ "$stream" = stdout ] || return 0
	stream_name='standard output'
	exec 3>&1 1>&2
	[ -z "$salvage" ] || return 0
	stream_folder=$(mktemp -d "${TMPDIR:-/var/tmp}/perfcase-XXXXXX") ||
		die 1 "cannot make a folder in ${TMPDIR:-/var/tmp} for the raw data: set TMPDIR to a place that is writable"
	output=$stream_folder/perfcase-$(uname -n)-$(date +%Y%m%d-%H%M%S).perfcase
	"$helper" hangup 3 9>&- &
	stream_watcher=$!
}

stream_archive() {
	# writing finds out by itself, and a reader that has all of it may go
	[ -z "$stream_watcher" ] || kill "$stream_watcher" 2>/dev/null
	if [ "$stream" = stdout ]; then
		await "$helper" pack "$staging" >&3
	else
		await "$helper" pack "$staging" "$output"
	fi || die 1 "could not write the capture to $stream_name: is its reader gone?"
	exec 3>&-
	packed=1
}

# The folder stays where it still holds the raw data.
stream_end() {
	[ -z "$stream_folder" ] || rmdir "$stream_folder" 2>/dev/null || :
}
