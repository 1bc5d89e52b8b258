# shellcheck shell=sh
# upload.sh: --upload: sends the capture to a server of captures (perfcase serve), by curl in a transfer that goes on where it broke
# off, or by wget in one piece. The token stays between its file and that command; a redirect is an error, as it would take the
# token to another host; certificates are checked.
UPLOAD_TRIES=${PERFCASE_UPLOAD_TRIES:-8}
UPLOAD_PATIENCE_S=${PERFCASE_UPLOAD_PATIENCE_S:-60}
upload=
token_file=
send=
upload_remove=
upload_tool=
upload_status=
upload_trouble=

upload_check() {
	[ -n "$upload" ] || {
		[ -z "$send$token_file" ] || usage_error "--token-file and --send go with --upload URL"
		return 0
	}
	upload=${upload%/}
	case $upload in
	*[!\ -~]* | *[\ \"\'\\\<\>?#]*) usage_error "--upload $upload: not the address of a server, such as https://captures.example" ;;
	http://?* | https://?*) ;;
	*) usage_error "--upload $upload: not the address of a server, such as https://captures.example" ;;
	esac
	upload_host=${upload#*://}
	case ${upload_host%%/*} in
	*@*) usage_error "--upload: the address holds credentials, which others can see: --token-file names a file with a token" ;;
	esac
	[ -z "$stream" ] || usage_error "--upload sends a file: not with -o $output"
	[ -z "$token_file" ] || "$helper" token "$token_file" || exit 2
	if command -v curl >/dev/null 2>&1; then
		upload_tool=curl
	elif wget --help 2>&1 | grep -q -e --body-file; then
		upload_tool=wget
	else
		die 1 "--upload needs curl or GNU wget: $(install_hint curl)"
	fi
	case $upload in
	http://127.* | http://localhost* | http://\[::1\]* | https:*) ;;
	*) [ -z "$token_file" ] || warn "$upload is not https: who listens on the way reads the token" ;;
	esac
}

# upload_request METHOD PATH ARGUMENT...: one request by curl. Sets upload_status (000: no answer) and upload_trouble.
upload_request() {
	upload_method=$1
	upload_path=$2
	shift 2
	true >"$state/answer"
	await "$helper" token "$token_file" curl -q -K - -sS -g --proto '=http,https' --connect-timeout 20 --speed-limit 1 \
		--speed-time "$UPLOAD_PATIENCE_S" -X "$upload_method" -H Expect: -o "$state/answer" --stderr "$state/trouble" \
		-w '%{http_code}\n' "$@" "$upload/v1/$upload_path" >"$state/status"
	upload_judge $? "$(head -n 1 "$state/status")"
}

# upload_judge EXIT_STATUS HTTP_STATUS: what became of a request, in words. False: it failed.
upload_judge() {
	upload_status=${2:-000}
	upload_trouble=
	case $upload_status in
	2??) [ "$1" != 0 ] || return 0 ;;
	3??) upload_trouble="the server redirects elsewhere: give the address that it really has" ;;
	[45]??)
		upload_said=$(upload_field message)
		upload_trouble="the server answers $upload_status${upload_said:+: $upload_said}"
		;;
	esac
	[ -n "$upload_trouble" ] || upload_trouble=$(sed -n 's/^curl: ([0-9]*) //p' "$state/trouble" | head -n 1)
	[ -n "$upload_trouble" ] || upload_trouble=$(grep -v '^ *$' "$state/trouble" | tail -n 1)
	[ -n "$upload_trouble" ] || upload_trouble="no answer"
	case $1 in
	3 | 60 | 77) upload_status=400 ;; # curl: the address, or the certificate: no other try will do
	esac
	return 1
}

# upload_field NAME: a plain value of the answer: a JSON object on one line.
upload_field() {
	head -c 65536 "$state/answer" | tr -d '\n' |
		sed -n "s/.*[{,] *\"$1\": *\"\([^\"]*\).*/\1/p; t
			s/.*[{,] *\"$1\": *\([^\",}]*\).*/\1/p"
}

upload_is_final() {
	case $upload_status in
	408 | 425 | 429 | 5?? | 000 | 2??) return 1 ;;
	409 | 404) [ "$upload_method" = POST ] ;;
	esac
}

# upload_by_curl FILE: sets upload_capture. The server alone knows how far an upload is.
upload_by_curl() {
	upload_capture=
	upload_id=
	upload_offset=0
	upload_failures=0
	upload_size=$(wc -c <"$1" | tr -d ' ')
	upload_new="{\"name\":$("$helper" json string "${1##*/}"),\"size_bytes\":$upload_size}"
	while :; do
		if [ -z "$upload_id" ]; then
			upload_request POST uploads -m "$UPLOAD_PATIENCE_S" -H 'Content-Type: application/json' --data-binary "$upload_new"
		elif [ "$upload_failures" != 0 ]; then
			upload_request GET "uploads/$upload_id" -m "$UPLOAD_PATIENCE_S"
		fi && upload_went_on && upload_rest "$1" &&
			upload_capture=$(upload_field capture_id) && [ -n "$upload_capture" ] && return 0
		upload_is_final && return 1
		[ "$upload_status" != 404 ] || upload_id= # it is whole, and the word of that was lost; or the server lost it
		upload_pause || return 1
	done
}

# upload_rest FILE: what the server does not have. Where it has all, and its disk did not let it keep that, it tries once more.
upload_rest() {
	if [ "$upload_offset" -lt "$upload_size" ]; then
		set -- -H Content-Range: -C "$upload_offset" -T "$1"
	else
		set -- --data-binary ''
	fi
	upload_request PATCH "uploads/$upload_id" -H 'Content-Type: application/octet-stream' -H "Upload-Offset: $upload_offset" "$@"
}

upload_went_on() {
	[ -n "$upload_id" ] || upload_id=$(upload_field upload_id)
	case $upload_id in
	'' | *[!0-9a-f]*)
		upload_status=400
		upload_trouble="$upload is no server of captures"
		return 1
		;;
	esac
	upload_before=$upload_offset
	upload_offset=$(upload_field offset_bytes)
	case $upload_offset in
	'' | *[!0-9]*) upload_offset=0 ;;
	esac
	[ "$upload_offset" -le "$upload_before" ] || upload_failures=0
	return 0
}

# The server takes one request with all of it; wget sends no part of a file.
upload_by_wget() {
	upload_capture=
	upload_failures=0
	upload_method=POST
	upload_name=$(printf '%s' "${1##*/}" | tr -c 'A-Za-z0-9._-' _)
	while :; do
		await "$helper" token "$token_file" wget --config=/dev/stdin -S -o "$state/trouble" --tries=1 --timeout="$UPLOAD_PATIENCE_S" --max-redirect=0 \
			--content-on-error -O "$state/answer" --method=POST --header='Content-Type: application/octet-stream' --body-file="$1" \
			"$upload/v1/captures?name=$upload_name"
		upload_judge $? "$(sed -n 's,^ *HTTP/[0-9.]* \([0-9]*\).*,\1,p' "$state/trouble" | tail -n 1)" &&
			upload_capture=$(upload_field capture_id) && [ -n "$upload_capture" ] && return 0
		upload_is_final && return 1
		upload_pause || return 1
	done
}

# Waits longer each time. False: it was tried often enough, or a signal says so.
upload_pause() {
	upload_failures=$((upload_failures + 1))
	[ "$upload_failures" -lt "$UPLOAD_TRIES" ] || return 1
	upload_wait_ms=$((200 << upload_failures))
	[ "$upload_wait_ms" -le 30000 ] || upload_wait_ms=30000
	log "$upload_trouble; once more in $upload_wait_ms ms"
	await "$helper" pause $((upload_wait_ms * 1000000))
}

# upload_file FILE: sends it, and says where it is then. It is removed when nobody named it and the server has it whole: the server
# compares the SHA-256 of each member with the manifest's as it comes, and says what it found.
upload_file() {
	ending=upload
	say_progress "sending $1 to $upload"
	if ! "upload_by_$upload_tool" "$1"; then
		exit_status=1
		upload_left "$upload_trouble"
		return
	fi
	case $upload_capture in
	*[!0-9a-f]*) upload_capture='?' ;;
	esac
	say "sent to $upload/#/c/$upload_capture"
	[ -n "$upload_remove" ] || return 0
	if [ "$upload_tool" = wget ] || upload_request GET "captures/$upload_capture" -m "$UPLOAD_PATIENCE_S"; then
		if [ "$(upload_field size_bytes)" = "$(wc -c <"$1" | tr -d ' ')" ] && [ "$(upload_field damage)" = null ]; then
			rm -f "$1"
			return
		fi
	fi
	say "the server did not say that it has all of it: $1 stays"
}

# upload_left WHY
upload_left() {
	quote "$upload"
	upload_again="perfcase-record --upload $quoted"
	if [ -n "$token_file" ]; then
		quote "$token_file"
		upload_again="$upload_again--token-file $quoted"
	fi
	quote "$output"
	warn "could not send the capture: $1. It is in $output; to try again: $upload_again--send ${quoted% }"
}

# --send FILE
upload_send() {
	staging=$(mktemp -d) || die 1 "cannot make a temporary folder"
	state=$staging
	packed=1
	output=$send
	upload_remove= # who sends a file keeps it
	upload_file "$send"
}
