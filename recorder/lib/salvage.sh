# shellcheck shell=sh
# salvage.sh: --salvage: packs the folder of a recorder that was killed.

# A recorder holds a lock on its log for as long as it or one of its tools lives (descriptor 5).
lock_folder() {
	exec 5<"$staging/recorder/log"
	"$helper" lock 5
}

salvage_folder() {
	ending=1
	staging=${salvage%/}
	state=$staging/.state
	[ -f "$staging/recorder/log" ] || salvage_refuse "$salvage is not the folder of a recording"
	lock_folder || salvage_refuse "$salvage: its recorder or one of its tools is still at work"
	[ -n "$redact" ] || [ ! -e "$state/redact.asked" ] ||
		salvage_refuse "$salvage was to be redacted: add --redact, and --key and --rules if it had them; to have it as it is, remove $state/redact.asked first"
	mkdir -p "$state" || salvage_refuse "cannot write to $salvage"
	manifest_file=$staging/manifest.json
	salvage_find_manifest
	salvage_say
	if grep -qx '  "members":\[\],' "$manifest_file"; then
		flight_salvage
		salvage_pack
	fi
	write_archive
	report_result
}

# The last manifest, or where that is cut or not there yet, an earlier one. Without any, the rest is packed: it can be read by what it holds.
salvage_find_manifest() {
	for salvage_from in "$manifest_file" "$manifest_file.new" "$state/manifest.json"; do
		manifest_is_whole "$salvage_from" || continue
		[ "$salvage_from" != "$manifest_file" ] || return 0
		[ ! -e "$manifest_file" ] || say "$manifest_file is cut: an earlier one takes its place, which does not know how the recording went on"
		mv -f "$salvage_from" "$manifest_file" && return
		salvage_refuse "cannot write to $salvage"
	done
	[ -e "$manifest_file" ] || [ -e "$state/manifest.json" ] ||
		salvage_refuse "$salvage holds nothing: its recorder was killed before it recorded"
	warn "$manifest_file is cut, and so is the one before: what host this was, its clocks and what was not recorded are unknown"
	true >>"$manifest_file" || salvage_refuse "cannot write to $salvage"
}

salvage_refuse() {
	staging= # it stays as it is
	die 1 "$*"
}

# What an unfinished packing left goes first: of a member that is there twice, the compressed one was not whole.
salvage_pack() {
	rm -f "$manifest_file.new"
	squeeze_tried=1
	squeeze_finish
	find "$staging" -path '*/.state' -prune -o -type f \( -name '*.zst' -o -name '*.gz' \) -exec sh -c '
		for file do
			[ ! -e "${file%.*}" ] || rm -f "$file"
		done' sh {} +
	salvage_sizes
	compress_members
	await "$helper" members "$staging" "$state/sizes" >"$state/members" || die 1 "could not read $staging"
	salvage_before=
	while IFS= read -r salvage_line; do
		case $salvage_before$salvage_line in
		*'  "members":[],') printf '  "members":' && cat "$state/members" && printf ',\n' ;;
		*'  "sources":[],') # it was written before the first source had begun
			# shellcheck disable=SC2086 # a list
			"$helper" sources "$state" $PROBES && printf '],\n'
			;;
		*) printf '%s\n' "$salvage_line" ;;
		esac
		salvage_before=$salvage_line
	done <"$manifest_file" >"$manifest_file.new" && mv -f "$manifest_file.new" "$manifest_file" || die 1 "could not write $manifest_file"
}

# The sizes of what was compressed before are in a list. Where that is cut, decompressing tells them.
salvage_sizes() {
	[ -s "$state/sizes" ] || "$helper" sizes "$staging" >"$state/sizes" || die 1 "cannot write to $state"
	await "$helper" inside "$staging" find . -path ./.state -prune -o -type f \( -name '*.zst' -o -name '*.gz' \) -print >"$state/packed.members" ||
		die 1 "could not read $staging"
	while IFS= read -r salvage_member; do
		salvage_name=${salvage_member#./}
		! grep -q "^[0-9]* ${salvage_name%.*}\$" "$state/sizes" || continue
		case $salvage_name in
		*.zst) salvage_bytes=$(zstd -dqc "$staging/$salvage_name" 2>/dev/null | wc -c) ;;
		*) salvage_bytes=$(gzip -dc "$staging/$salvage_name" 2>/dev/null | wc -c) ;;
		esac
		printf '%s %s\n' "$((salvage_bytes))" "${salvage_name%.*}"
	done <"$state/packed.members" >"$state/sizes.more"
	cat "$state/sizes" >>"$state/sizes.more" && mv -f "$state/sizes.more" "$state/sizes" || die 1 "cannot write to $state"
}

salvage_say() {
	grep -q '"stopped_by":"unfinished"' "$manifest_file" || return 0
	salvage_absent=
	for salvage_source in host proc process pmc ftrace stacks perf symbols; do
		[ -n "$(find "$staging/$salvage_source" -type f 2>/dev/null | head -n 1)" ] || salvage_absent="$salvage_absent $salvage_source"
	done
	say "the recorder was killed: the end of each source may be missing${salvage_absent:+, and all of:$salvage_absent}"
}
