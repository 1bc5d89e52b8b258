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
	mkdir -p "$state" || salvage_refuse "cannot write to $salvage"
	manifest_file=$staging/manifest.json
	# killed while the sources began
	[ -f "$manifest_file" ] || mv "$state/manifest.json" "$manifest_file" 2>/dev/null ||
		salvage_refuse "$salvage holds nothing: its recorder was killed before it recorded"
	salvage_say
	if grep -qx '  "members":\[\],' "$manifest_file"; then
		flight_salvage
		salvage_pack
	fi
	write_archive
	report_result
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
	[ -s "$state/sizes" ] || "$helper" sizes "$staging" >"$state/sizes"
	compress_members
	await "$helper" members "$staging" "$state/sizes" >"$state/members" || die 1 "could not read $staging"
	while IFS= read -r salvage_line; do
		if [ "$salvage_line" = '  "members":[],' ]; then
			printf '  "members":' && cat "$state/members" && printf ',\n'
		else
			printf '%s\n' "$salvage_line"
		fi
	done <"$manifest_file" >"$manifest_file.new" && mv -f "$manifest_file.new" "$manifest_file" || die 1 "could not write $manifest_file"
}

salvage_say() {
	grep -q '"stopped_by":"unfinished"' "$manifest_file" || return 0
	salvage_absent=
	for salvage_source in host proc process pmc ftrace stacks perf symbols; do
		[ -n "$(find "$staging/$salvage_source" -type f 2>/dev/null | head -n 1)" ] || salvage_absent="$salvage_absent $salvage_source"
	done
	say "the recorder was killed: the end of each source may be missing${salvage_absent:+, and all of:$salvage_absent}"
}
