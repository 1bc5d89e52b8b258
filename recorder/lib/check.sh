# shellcheck shell=sh
# check.sh: --check: what each source can do on this host, and the command that enables the rest.

# install_hint PACKAGE: the command of this host's package manager.
install_hint() {
	hint_package=$1
	if command -v apt-get >/dev/null 2>&1; then
		[ "$1" = perf ] && hint_package=linux-perf
		grep -q '^ID=ubuntu' /etc/os-release 2>/dev/null && [ "$1" = perf ] && hint_package=linux-tools-$(uname -r)
		echo "apt-get install $hint_package"
	elif command -v dnf >/dev/null 2>&1; then
		echo "dnf install $hint_package"
	elif command -v apk >/dev/null 2>&1; then
		echo "apk add $hint_package"
	elif command -v zypper >/dev/null 2>&1; then
		echo "zypper install $hint_package"
	else
		echo "install $hint_package"
	fi
}

check_trace_cmd() {
	source_init trace-cmd
	if [ -n "${trace_cmd_broken-}" ]; then
		source_is trace-cmd degraded "the kernel refuses what it needs: perfcase-helper drains the ring buffers instead" \
			"a kernel with CONFIG_FUNCTION_TRACER"
	elif command -v trace-cmd >/dev/null 2>&1; then
		source_is trace-cmd available
	else
		source_is trace-cmd degraded "not installed: perfcase-helper drains the ring buffers instead" \
			"$(install_hint trace-cmd)"
	fi
}

check_compression() {
	source_init compression
	case $(compressor) in
	zstd) source_is compression available ;;
	gzip) source_is compression degraded "no zstd: gzip is slower and packs less" "$(install_hint zstd)" ;;
	*) source_is compression degraded "neither zstd nor gzip: captures are not compressed" "$(install_hint zstd)" ;;
	esac
}

check_table() {
	# a signal between the folder and its name would leave the folder
	check_stopped=
	trap 'check_stopped=1' INT TERM HUP
	staging=$(trap '' INT TERM HUP; mktemp -d)
	# a tool that is being tried would write there once more
	trap '[ -z "$awaited" ] || "$helper" stop 1 "$awaited" 2>/dev/null; rm -rf "$staging"' EXIT
	trap 'exit 130' INT TERM HUP
	[ -z "$check_stopped" ] || exit 130
	[ -n "$staging" ] || die 1 "cannot make a temporary folder"
	state=$staging/.state
	mkdir "$state"
	choose_buffers
	log_file=$state/log
	target_check_only
	for probe in $PROBES; do
		source_init "$probe"
		"probe_${probe}_check"
	done
	check_trace_cmd
	check_compression
	printf '%-12s %-10s %s\n' SOURCE STATUS 'WHY / ENABLE WITH'
	for name in perf ftrace stacks pmc proc process host symbols trace-cmd compression; do
		check_row "$name"
	done
}

# The scope matters for what is permitted; the command itself is not run.
target_check_only() {
	case $mode in
	pid) target_check_pids ;;
	cgroup) target_find_cgroup ;;
	esac
}

check_row() {
	source_get "$1" reason
	plain "$got"
	source_get "$1" status
	printf '%-12s %-10s %s\n' "$1" "$got" "$plain"
	source_get "$1" remedy
	plain "$got"
	[ -z "$plain" ] || printf '%-12s %-10s -> %s\n' '' '' "$plain"
}
