# shellcheck shell=sh
# squeeze.sh: what perf and the ring buffers give is compressed while it is recorded, where the host has zstd.
squeeze_tried=

# A level that takes long (ZSTD_CLEVEL) is for the packing: here it would fall behind what is recorded.
squeeze_works() {
	[ "$(compressor)" = zstd ] && command -v zstd >/dev/null 2>&1 && [ "${ZSTD_CLEVEL:-3}" -le 4 ] 2>/dev/null
}

# A perf that looks for build ids at its end reads its file once more: that one stays as it is.
squeeze_start() {
	[ -z "$flight" ] || return 0 # what grows is thrown away
	squeeze_works || return 0
	squeeze_tried=1
	set -- "$helper" squeeze "$staging" watch
	[ "${perf_build_ids-}" != --buildid-mmap ] && [ -z "${perf_why-}" ] || set -- "$@" perf
	source_run squeeze "perfcase-helper squeeze" "$@"
}

# The rest, when the tools have ended.
squeeze_finish() {
	[ -n "$squeeze_tried" ] || return 0
	await "$helper" squeeze "$staging" finish || die 1 "could not compress what was recorded"
	[ -s "$staging/recorder/squeeze.log" ] || rm -f "$staging/recorder/squeeze.log"
}
