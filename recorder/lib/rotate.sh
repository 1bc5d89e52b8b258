# shellcheck shell=sh
# rotate.sh: --every: a recording in pieces, each a capture of its own, of which the newest are kept. Every piece is recorded by a
# recorder of its own. The next one is started before the last one ends, as its tools take a second or two to begin; where they take
# longer, the last one goes on until they have begun: nothing is missed, and a moment is in both. While it records, the last one is
# packed, at a lower priority; two are never packed at once.
ROTATE_AHEAD_S=${PERFCASE_ROTATE_AHEAD_S:-2}
every=
every_ns=0
keep=
rotate_base=
rotate_dashes=
# "STAMP BYTES IDENTITY", a line for each piece that is there, the oldest first
rotate_pieces=
# the recorder that records, and the one before it, which packs: process and stamp
rotate_running=
rotate_running_stamp=
rotate_packing=
rotate_packing_stamp=
rotate_count=0
rotate_made=
rotate_status=0
# in the recorder of a piece: where to say what became of it; the recorder of the piece before, and what tells that one to end
piece=
piece_report=${PERFCASE_PIECE_REPORT-}
piece_after=${PERFCASE_PIECE_AFTER-}
piece_relieves=${PERFCASE_PIECE_RELIEVES-}

rotate_check() {
	if [ -z "$every" ]; then
		[ -z "$keep" ] || [ -n "$flight" ] || usage_error "--keep goes with --every or --flight"
		return
	fi
	every_ns=$("$helper" number seconds "$every")
	[ "${every_ns:-0}" -ge $((ROTATE_AHEAD_S * 2000000000 + 1000000000)) ] ||
		usage_error "--every $every: at least $((ROTATE_AHEAD_S * 2 + 1)) seconds, such as 10m"
	[ "$mode" != command ] || usage_error "--every: a command runs once. Start it, and give its --pid; or record the whole host"
	[ -z "$salvage$send" ] || usage_error "--every goes with a recording"
	[ -z "$stream" ] || usage_error "--every writes files: not with -o $output"
	[ -n "$keep$budget" ] || usage_error "--every needs --keep or --budget: something has to bound what lies on the disk"
	case $keep in
	*[!0-9]* | 0*) usage_error "--keep $keep: a number of captures, at least 1" ;;
	esac
	[ -z "$budget" ] || [ "$budget_bytes" -ge 4194304 ] || usage_error "--budget $budget: at least 4M with --every"
	rotate_base=${output%.perfcase}
	[ -z "$upload_remove" ] || rotate_base=perfcase-$(uname -n) # nobody named it: the pieces have the date
}

rotate() {
	packed=1 # the folder of what follows is no recording
	staging=$(mktemp -d) || die 1 "cannot make a temporary folder"
	state=$staging
	rotate_now
	rotate_began=$rotate_now
	while [ -z "$interrupted_by" ]; do
		rotate_now
		rotate_ns=$every_ns
		rotate_left=$((rotate_began + duration_ns - rotate_now))
		if [ "$duration_ns" != 0 ] && [ "$rotate_left" -lt "$rotate_ns" ]; then
			[ "$rotate_left" -gt $((ROTATE_AHEAD_S * 1000000000 + 200000000)) ] || break
			rotate_ns=$rotate_left
		fi
		rotate_make_room
		rotate_start
		rotate_wait $((rotate_ns - ROTATE_AHEAD_S * 1000000000)) "$rotate_running"
		rotate_why_ended=$rotate_why
		rotate_end_of_packing # it has had all this time for that
		[ -z "$interrupted_by" ] || break
		rotate_is_packed_next
		if [ "$rotate_why_ended" = target_exit ]; then # early: its budget, the disk, its target; or it could not begin
			rotate_relieve
			rotate_end_of_packing
			[ -n "$rotate_made" ] || [ "$rotate_status" = 0 ] || break
		fi
	done
	rotate_end
}

rotate_is_packed_next() {
	rotate_packing=$rotate_running
	rotate_packing_stamp=$rotate_running_stamp
	rotate_running=
}

# The piece that records ends at its time, though none comes after it.
rotate_relieve() {
	: >"$state/$rotate_packing_stamp.next"
	: >"$state/$rotate_running_stamp.next"
}

rotate_end() {
	ending=rotate
	rotate_relieve
	if [ -n "$interrupted_by" ] && [ -n "$rotate_running" ]; then
		"$helper" begun $$ "$rotate_running"
		kill -"${interrupted_by#SIG}" "$rotate_running" 2>/dev/null
	fi
	rotate_end_of_packing
	if [ -n "$rotate_running" ]; then
		rotate_is_packed_next
		rotate_end_of_packing
	fi
	case $rotate_made:$interrupted_by:$rotate_status:$rotate_count in
	1:* | :SIG* | :0:*) ;;
	::3:0) exit_status=3 ;;
	::3:*) say "stopped: what is recorded has ended" ;;
	*)
		exit_status=1
		warn "stopped: a piece could not be recorded"
		;;
	esac
	say "kept: $(printf '%s' "$rotate_pieces" | grep -c .) captures, $rotate_base-*.perfcase"
}

rotate_now() {
	rotate_now=$("$helper" clocks)
	rotate_now=${rotate_now%% *}
}

# rotate_wait NS PID: until the process has ended, or for so long; 0: for ever. Sets rotate_why.
rotate_wait() {
	await "$helper" watch '' "$1" 0 0 0 "$2" >"$state/why"
	read -r rotate_why <"$state/why" || rotate_why=signal
}

# A piece has a quarter of the budget, one that is packed meanwhile has another, and those that are finished the other half.
rotate_start() {
	rotate_stamp=$(date +%Y%m%d-%H%M%S)
	while [ -n "$rotate_stamp" ] && [ "$rotate_stamp" = "$rotate_packing_stamp" ]; do
		await "$helper" pause 200000000
		rotate_stamp=$(date +%Y%m%d-%H%M%S)
	done
	[ -n "$rotate_stamp" ] || die 1 "date tells no time: are the programs of this host, or the recorder's, still there?"
	rotate_given=$invocation_quoted
	[ -z "$rotate_dashes" ] || rotate_given=${rotate_given%"'--' "}
	quote "$rotate_base-$rotate_stamp.perfcase"
	rotate_given="$rotate_given --piece $quoted --duration $((rotate_ns / 1000000000)).$((rotate_ns / 100000000 % 10))"
	[ -z "$budget" ] || rotate_given="$rotate_given --budget $((budget_bytes / 4))"
	# a group of its own: Ctrl-C in a terminal reaches this recorder only, which tells the other
	eval "PERFCASE_PIECE_REPORT=\$state/\$rotate_stamp PERFCASE_PIECE_AFTER=\$rotate_packing PERFCASE_PIECE_RELIEVES=\$state/\$rotate_packing_stamp.next \
		\"\$helper\" inside . \"\$helper\" heed \"\${ignored:-0}\" \"\$(readlink -f /proc/\$\$/exe)\" \"\$0\" $rotate_given &"
	rotate_running=$!
	rotate_running_stamp=$rotate_stamp
}

# Waits for the end of the piece that is packed, and takes it into the list. Sets rotate_status, and rotate_made if there is a capture.
rotate_end_of_packing() {
	[ -n "$rotate_packing" ] || return 0
	rotate_now
	rotate_asked=$rotate_now
	rotate_wait 0 "$rotate_packing"
	[ "$rotate_why" != signal ] || return 0
	rotate_now
	# the piece that records goes on for twice its time
	rotate_late=$(((rotate_now - rotate_asked - rotate_ns) / 1000000000 - ROTATE_AHEAD_S))
	[ -n "$ending" ] || [ "$rotate_late" -lt 1 ] || warn "packing takes longer than a piece: $rotate_late s or so are not recorded"
	rotate_made=
	wait "$rotate_packing"
	rotate_status=$?
	rotate_packing=
	[ "$rotate_status" != 1 ] || exit_status=1
	[ -s "$state/$rotate_packing_stamp" ] || return 0
	read -r rotate_bytes rotate_identity <"$state/$rotate_packing_stamp"
	rotate_made=1
	rotate_last=$rotate_base-$rotate_packing_stamp.perfcase
	rotate_count=$((rotate_count + 1))
	rotate_pieces="$rotate_pieces$rotate_packing_stamp $rotate_bytes $rotate_identity
"
	rotate_drop_old
}

rotate_drop_old() {
	while :; do
		rotate_kept=0
		rotate_sum=0
		while read -r _ rotate_size _; do
			rotate_kept=$((rotate_kept + 1))
			rotate_sum=$((rotate_sum + rotate_size))
		done <<PIECES
${rotate_pieces%?}
PIECES
		[ "$rotate_kept" -gt 1 ] || return 0
		if [ -n "$keep" ] && [ "$rotate_kept" -gt "$keep" ]; then
			rotate_drop "$keep are kept"
		elif [ -n "$budget" ] && [ "$rotate_sum" -gt $((budget_bytes / 2)) ]; then
			rotate_drop "half of the budget of $budget is for captures that are finished"
		else
			return 0
		fi
	done
}

# rotate_drop WHY: removes the oldest piece, if it is what the recorder made.
rotate_drop() {
	rotate_oldest=${rotate_pieces%%
*}
	rotate_pieces=${rotate_pieces#*
}
	rotate_file=$rotate_base-${rotate_oldest%% *}.perfcase
	if "$helper" drop "$rotate_file" "${rotate_oldest##* }"; then
		say "removed $rotate_file: $1"
	else
		say "$rotate_file is no longer what was recorded: left alone"
	fi
}

# Room for a piece as large as the last one, and its archive.
rotate_make_room() {
	while [ "$(printf '%s' "$rotate_pieces" | grep -c .)" -gt 1 ]; do
		[ "$("$helper" room "$rotate_last" $((67108864 + rotate_bytes * 3)))" = 0 ] || return 0
		rotate_drop "the disk is nearly full"
	done
}

# The one that records leaves at once; the one that packs goes on, and ends by itself.
rotate_leave() {
	[ -z "$rotate_running" ] || kill -TERM "$rotate_running" 2>/dev/null
	[ -z "$rotate_packing" ] || kill -TERM "$rotate_packing" 2>/dev/null
	[ -z "$rotate_running$rotate_packing" ] || warn "left at once: a piece that was being packed ends by itself"
}

# In the recorder of a piece, before it packs: the piece before is packed first, and all of it is less urgent than anything else.
piece_wait() {
	[ -n "$piece" ] || return 0
	[ -z "$piece_after" ] || await "$helper" watch '' 0 0 0 0 "$piece_after" >/dev/null
	renice -n 10 -p $$ >/dev/null 2>&1
}

piece_records() {
	[ -z "$piece" ] || : >"$piece_relieves"
}

piece_is_relieved() {
	[ -z "$piece" ] || [ "$stopped_by" != duration ] || [ -e "$piece_report.next" ] ||
		warn "the next piece has not begun after twice the time: what lies between is not recorded"
}

# piece_is_made IDENTITY: tells the recorder of all pieces which file to remove one day.
piece_is_made() {
	printf '%s\n' "$1" >"$piece_report"
}
