#!/bin/sh
{
# perfcase-record @VERSION@ in one file, for x86_64 and aarch64. It checks itself, unpacks into a private folder and becomes the
# recorder that lies there; the helper removes the folder when that has ended. A shell reads all that is in these braces before
# it does any of it, so that a file that was cut does nothing, also in `curl | sh`. Names begin with perfcase_, because the
# recorded command is to have its user's variables.
perfcase_die() {
	printf 'perfcase-record: %s\n' "$*" >&2
	exit 1
}

# perfcase_unpack FOLDER: status 3 when the file is not what was built.
perfcase_unpack() (
	umask 077
	# shellcheck disable=SC2030,SC2031 # for bash, which reads a long text from a file that it writes there
	TMPDIR=$1
	unset TAR_OPTIONS GZIP
	perfcase_payload >"$1/payload" && [ "$(sha256sum <"$1/payload")" = "$perfcase_sum  -" ] || exit 3
	gzip -dc <"$1/payload" | tar -xf - -C "$1"
) 2>/dev/null

perfcase_begin() {
	# a closed one would become the end of some pipe
	[ -e /proc/self/fd/0 ] || exec </dev/null
	[ -e /proc/self/fd/1 ] || exec >/dev/null
	[ -e /proc/self/fd/2 ] || exec 2>/dev/null
	perfcase_machine=$(uname -m)
	case $perfcase_machine in
	x86_64) perfcase_sum=@SUM_x86_64@ ;;
	aarch64) perfcase_sum=@SUM_aarch64@ ;;
	*) perfcase_die "this file has no helper for $perfcase_machine: build it from the sources with 'make -C recorder'" ;;
	esac
	for perfcase_word in base64 gzip sha256sum tar; do
		command -v "$perfcase_word" >/dev/null 2>&1 ||
			perfcase_die "$perfcase_word is missing, which unpacks this file: install it, or copy the folder recorder/ here"
	done
	perfcase_folder=
	trap '[ -z "$perfcase_folder" ] || rm -rf -- "$perfcase_folder"' EXIT
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
	perfcase_damaged=
	# shellcheck disable=SC2031 # not changed here
	for perfcase_word in "${TMPDIR:-/tmp}" /tmp /var/tmp /run /dev/shm "${HOME:-/root}"; do
		case $perfcase_word in
		/*) ;;
		*) continue ;;
		esac
		# in any other folder another user could put a folder of theirs in the place of ours
		[ -k "$perfcase_word" ] || [ -O "$perfcase_word" ] || continue
		# not by mktemp, which a signal can end before it says what it made
		read -r perfcase_name </proc/sys/kernel/random/uuid || perfcase_die '/proc is missing: mount it'
		perfcase_folder=$perfcase_word/perfcase-record.$perfcase_name
		mkdir -m 700 -- "$perfcase_folder" 2>/dev/null || continue
		perfcase_unpack "$perfcase_folder"
		perfcase_status=$?
		[ "$perfcase_status" != 3 ] || perfcase_damaged=1
		perfcase_helper=$perfcase_folder/build/$perfcase_machine/perfcase-helper
		# not where the disk is full, nor where programs may not run
		if [ "$perfcase_status" = 0 ] && "$perfcase_helper" unpacked "$perfcase_folder" $$ </dev/null >/dev/null 2>&1; then
			perfcase_ignored=$(sed -n 's/^SigIgn:[[:blank:]]*//p' "/proc/$$/status")
			perfcase_shell=$(readlink -f "/proc/$$/exe") # the recorder runs in it too
			# from here on the helper removes the folder; a signal that came before `exec` would be forgotten
			trap - EXIT HUP INT TERM
			exec "$perfcase_helper" heed "$perfcase_ignored" "$perfcase_shell" "$perfcase_folder/perfcase-record" "$@"
		fi
		rm -rf -- "$perfcase_folder"
	done
	[ -z "$perfcase_damaged" ] ||
		perfcase_die 'this file is not whole, or no disk has room for it: download it again, and check it with sha256sum'
	perfcase_die 'programs can run from none of TMPDIR, /tmp, /var/tmp, /run, /dev/shm and HOME, or their disks are full:' \
		'set TMPDIR to a folder with 3 MB free where they can'
}

perfcase_payload() {
	case $perfcase_machine in
	x86_64)
		base64 -d <<'PAYLOAD'
@PAYLOAD_x86_64@
PAYLOAD
		;;
	aarch64)
		base64 -d <<'PAYLOAD'
@PAYLOAD_aarch64@
PAYLOAD
		;;
	esac
}

perfcase_begin "$@"
}
