# shellcheck shell=sh
# shellcheck disable=SC2034 # the options are read by the other files
# options.sh: the command line.
output=
# the capture goes to standard output, or into a pipe that has a name
stream=
salvage=
force=
duration=
duration_ns=0
interval=
interval_ns=
budget=
budget_bytes=0
flight=
flight_ns=0
flight_memory=
rest=
when_words=
dump=
dump_which=
ticket=
note=
label_words=
labels_json='[]'
event_groups=
check_only=
numa_maps=
symbols=table
call_graph=fp
stacks=long
mode=system
pids=
cgroup=
command_json='[]'
invocation_json=

usage() {
	cat <<'HELP'
usage: perfcase-record [options] [-o FILE]               record the whole host
       perfcase-record [options] [-o FILE] -- COMMAND    record one command and its children
       perfcase-record --flight TIME [options]           keep the last TIME, and write it on a condition
       perfcase-record --check                           print what can be recorded here, and how to enable the rest

Record CPU samples and context switches with stacks (perf), system calls, wakeups and block requests (ftrace),
hardware and software counters (perf stat) and /proc, all on one clock, into one file for `perfcase import`.

  --duration TIME      stop after this time: 30, 10m, 2h (default: at Ctrl-C, or when the target ends)
  --every TIME         record in pieces of this length, FILE-DATE.perfcase, without gaps between them
  --keep N             with --every: keep only the newest N pieces; --budget then limits all of them together, and
                       removes the oldest. With --flight: keep the newest N captures (default 10)
  -o, --output FILE    the capture (default: perfcase-HOST-DATE.perfcase); a regular file that does not exist yet,
                       a named pipe, or - for standard output (ssh host perfcase-record -o - --duration 30 > x)
  --force              replace FILE if it exists
  --pid PID[,PID...]   record only these processes, with their threads and children
  --cgroup PATH        record only this control group: a folder, or a path below the cgroup mount
  --interval SECONDS   the time between /proc snapshots and counter readings (default 1, in a flight 2; at least 0.01)
  --with GROUP[,...]   record more events, which may be frequent: locks, page-cache, page-faults, tcp (see events.list)
  --numa-maps          record the NUMA nodes of each process's memory
  --symbols MODE       what to keep for the names of functions: table (default: symbol tables of the objects that
                       samples touch, perf maps), full (the whole objects, also for source lines), mapped (tables of
                       all objects) or none
  --call-graph MODE    how perf finds callers: fp (default: frame pointers), dwarf[,BYTES] (copies stacks, for programs
                       without frame pointers; large) or lbr (branch records of Intel CPUs)
  --stacks MODE        callchains of waits: long (default: of all long waits, and of some short ones), none, or all (a
                       program that switches all the time then takes more than four times its CPU time)
  --budget SIZE        stop when the raw data reach this size, such as 200M (the capture is compressed afterwards)
  --flight TIME        flight recorder: keep the last TIME, such as 60s, in ring buffers. --dump, SIGUSR1 or a condition
                       writes it to NAME-DATE.perfcase (-o NAME.perfcase); then the recording goes on
  --when CONDITION     write it when load>8, runnable>16, cpu-pressure>50, io-pressure>50, memory-pressure>20 (PSI),
                       'log:FILE:TEXT', 'http://127.0.0.1:80/health>500ms' or oom:CGROUP; 'load>8 for 5s' must last 5 s
  --rest TIME          ignore conditions for this time after a capture (default 60s)
  --flight-memory SIZE the size of the ring buffers (default 128M, at most 5 % of the memory)
  --dump [PID|NAME]    tell the running flight to write its capture; wait, and print its name
  --ticket ID          the incident number to store in the capture
  --note TEXT          a remark to store in the capture
  --label LABEL        a word to find the capture by, such as canary or build=7; can be given several times
  --quiet              print only errors
  --upload URL         send the capture to the server at URL (perfcase serve); without -o no file stays here
  --token-file FILE    the token of the server: the only line of a file that only you can read
  --redact             put pseudonyms in place of names, addresses, arguments and other private data, as
                       `perfcase redact` does with --key FILE and --rules FILE; it needs perfcase on this host
  --send FILE          send this capture to --upload URL; record nothing
  --salvage FOLDER     pack the folder that a killed recorder left (FILE.recording); record nothing
  --check, --help, --version

perf and trace-cmd run as children of the recorder. They take about 1 to 5 % of a busy CPU for samples and /proc, and
more at very high rates of context switches and system calls. The capture records this cost. It also names the sources
that this host does not offer. Ctrl-C ends the recording and keeps what was recorded.

Try:   perfcase-record --check
       perfcase-record --duration 30 -o incident.perfcase --ticket OPS-123 --note 'checkout is slow since 14:05'
       perfcase-record -o build.perfcase -- make -j4
       perfcase-record --flight 60s -o web.perfcase --when 'http://127.0.0.1:8080/health>500ms' --when oom:/
then:  perfcase report incident.perfcase

Exit status: 0 the capture was written; 1 it could not be written, or not to FILE; 2 wrong usage; 3 the target does not
exist; 128+N signal N ended the recording early (the capture is written). See also `man perfcase-record`.
HELP
}

usage_error() {
	plain "$@"
	printf 'perfcase-record: %s\nTry: perfcase-record --help\n' "$plain" >&2
	exit 2
}

parse_options() {
	invocation_words "$@"
	while [ $# -gt 0 ]; do
		case $1 in
		--*=*)
			option=${1%%=*}
			value=${1#*=}
			shift
			set -- "$option" "$value" "$@"
			continue
			;;
		--help | -h) usage && exit 0 || exit 1 ;; # 1: nobody reads it
		--version) need_helper && echo "perfcase-record $version (archive format $PERFCASE_FORMAT_VERSION)" && exit 0 || exit 1 ;;
		--check) check_only=1 ;;
		--force) force=1 ;;
		--numa-maps) numa_maps=numa ;;
		--redact) redact=1 ;;
		--quiet | -q) quiet=1 ;;
		--)
			[ $# -gt 1 ] || rotate_dashes=1
			shift
			break
			;;
		--dump)
			dump=1
			case ${2-} in
			'' | -*) ;;
			*)
				dump_which=$2
				shift
				;;
			esac
			;;
		--every | --keep | --flight | --flight-memory | --when | --rest | --piece | --upload | --token-file | --send | --key | --rules | -o | --output | --salvage | --duration | --pid | --cgroup | --interval | --budget | --ticket | --note | --label | --with | --symbols | \
			--call-graph | --stacks)
			[ $# -ge 2 ] || usage_error "$1 needs a value"
			take_option "$1" "$2"
			shift
			;;
		-*) usage_error "unknown option $1" ;;
		*) usage_error "unexpected '$1' (a command to record comes after --)" ;;
		esac
		shift
	done
	[ $# -eq 0 ] && return
	[ "$mode" = system ] || usage_error "a command, --pid and --cgroup exclude each other"
	mode='command'
	save_words "$@"
}

take_option() {
	case $1 in
	-o | --output) output=$2 ;;
	--every)
		[ -n "$2" ] || usage_error "--every '': a time, such as 10m"
		every=$2
		;;
	--keep) keep=$2 ;;
	--piece) # --every runs this
		[ -n "$output" ] || upload_remove=1
		output=$2 piece=1 every='' keep='' budget=''
		;;
	--upload) upload=$2 ;;
	--token-file) token_file=$2 ;;
	--key)
		[ -n "$2" ] || usage_error "--key '': a file"
		redact_key=$2
		;;
	--rules)
		[ -n "$2" ] || usage_error "--rules '': a file"
		redact_rules=$2
		;;
	--send)
		case $2 in
		-*) send=./$2 ;;
		*) send=$2 ;;
		esac
		[ -f "$send" ] || usage_error "--send '$2': a capture"
		;;
	--salvage)
		case $2 in
		'' | /) usage_error "--salvage '$2': the folder that a killed recorder left, FILE.recording" ;;
		-*) salvage=./$2 ;;
		*) salvage=$2 ;;
		esac
		;;
	--duration) duration=$2 ;;
	--interval) interval=$2 ;;
	--flight) flight=$2 ;;
	--flight-memory) flight_memory=$2 ;;
	--when)
		quote "$2"
		when_words=$when_words$quoted
		;;
	--rest) rest=$2 ;;
	--budget) budget=$2 ;;
	--symbols) symbols=$2 ;;
	--call-graph) call_graph=$2 ;;
	--stacks) stacks=$2 ;;
	--ticket) ticket=$2 ;;
	--note) note=$2 ;;
	--label)
		case $2 in
		'' | *[[:space:],]*) usage_error "--label '$2': one word without commas" ;;
		esac
		quote "$2"
		label_words=$label_words$quoted
		;;
	--with) event_groups=${event_groups:+$event_groups,}$2 ;;
	--pid)
		[ "$mode" = cgroup ] && usage_error "--pid and --cgroup exclude each other"
		mode=pid
		pids=${pids:+$pids,}$2
		;;
	--cgroup)
		[ "$mode" = system ] || usage_error "--cgroup is given once, and not with --pid"
		mode=cgroup
		cgroup=$2
		;;
	esac
}

# quote WORD: sets quoted to a single shell word that eval gives back. The dot keeps newlines at the end.
quote() {
	case $1 in
	*\'*) ;;
	*)
		quoted="'$1' "
		return
		;;
	esac
	quoted=$(printf '%s.' "$1" | sed "s/'/'\\\\''/g")
	quoted="'${quoted%.}' "
}

# The command to record, as text for eval: POSIX sh has one array only, and it is needed elsewhere.
save_words() {
	command_words=
	for word in "$@"; do
		quote "$word"
		command_words=$command_words$quoted
	done
}

invocation_words() {
	invocation_quoted=
	for word in "$@"; do
		quote "$word"
		invocation_quoted=$invocation_quoted$quoted
	done
}

# perf takes stacks of up to 65,528 bytes, in steps of 8.
check_call_graph() {
	case $call_graph in
	fp | dwarf | lbr) return ;;
	dwarf,*) stack_bytes=$("$helper" number integer "${call_graph#dwarf,}") ;;
	*) usage_error "--call-graph $call_graph: there are fp, dwarf, dwarf,BYTES and lbr" ;;
	esac
	[ "${stack_bytes:-0}" -ge 8 ] && [ "$stack_bytes" -le 65528 ] ||
		usage_error "--call-graph $call_graph: 8 to 65528 bytes of each stack"
}

# What needs the helper: numbers, and the JSON of the words.
check_options() {
	if [ -n "$duration" ]; then
		duration_ns=$("$helper" number seconds "$duration")
		[ "${duration_ns:-0}" -gt 0 ] || usage_error "--duration $duration: a positive number of seconds, such as 30"
	fi
	# a flight goes on for ever, and the copies of /proc are most of what it costs
	[ -n "$interval" ] || interval=$((${flight:+1} + 1))
	# long ones are found by a process that writes down what it finds
	[ -z "$flight" ] || [ "$stacks" != long ] || stacks=none
	interval_ns=$("$helper" number seconds "$interval")
	[ "${interval_ns:-0}" -ge 10000000 ] || usage_error "--interval $interval: a number of seconds, at least 0.01"
	groups_left=${event_groups:+$event_groups,}
	while [ -n "$groups_left" ]; do
		group=${groups_left%%,*}
		groups_left=${groups_left#*,}
		sed -n 's/^[a-z]* *[^ ]*:[^ ]* //p' "$home/events.list" | grep -qxF -e "$group" ||
			usage_error "--with $group: there are locks, page-cache, page-faults and tcp"
	done
	case ,$pids, in
	,,) [ "$mode" != pid ] || usage_error "--pid '': a number" ;;
	*,,* | *[!0-9,]*) usage_error "--pid $pids: a number, or several with commas" ;;
	esac
	case $symbols in
	none | table | full | mapped) ;;
	*) usage_error "--symbols $symbols: there are none, table, full and mapped" ;;
	esac
	check_call_graph
	case $stacks in
	long) ;;
	all | none) PROBES=$(echo "$PROBES" | sed 's/ stacks//') ;;
	*) usage_error "--stacks $stacks: there are long, all and none" ;;
	esac
	if [ -n "$budget" ]; then
		budget_bytes=$("$helper" number size "$budget")
		[ "${budget_bytes:-0}" -gt 0 ] || usage_error "--budget $budget: a size, such as 200M"
	fi
	check_flight
	eval "invocation_json=\$(\"\$helper\" json array perfcase-record $invocation_quoted)"
	eval "labels_json=\$(\"\$helper\" json array $label_words)"
	[ "$mode" = command ] && eval "command_json=\$(\"\$helper\" json array $command_words)"
	if [ -n "$salvage" ] && [ -z "$output" ]; then
		output=${salvage%/}
		output=${output%.recording}
		[ "$output" != "${salvage%/}" ] || usage_error "--salvage $salvage: say with -o where the capture goes"
	fi
	[ -z "$flight" ] || flight_take_output
	[ -n "$output" ] || {
		upload_remove=1
		output=perfcase-$(uname -n)-$(date +%Y%m%d-%H%M%S).perfcase
	}
	check_output
	rotate_check
	upload_check
	redact_check
}

# What is there keeps its name: a device always, a file without --force. A link is refused too, because it is not clear what would
# be replaced: the link, or the file that it names. A named pipe is written to.
check_output() {
	case $output in
	-)
		[ ! -t 1 ] || [ -n "$check_only" ] || usage_error "-o -: standard output is a terminal: send it to a file or a command"
		stream=stdout
		return
		;;
	-*) output=./$output ;;
	*/) usage_error "-o $output is a folder" ;;
	esac
	[ ! -L "$output" ] || usage_error "-o $output is a symbolic link: name the file itself"
	[ ! -d "$output" ] || usage_error "-o $output is a folder"
	[ -e "$output" ] || return 0
	[ ! -p "$output" ] || stream=pipe
	[ -z "$stream" ] || return 0
	[ -f "$output" ] || usage_error "-o $output is a device or a socket: a capture goes to a regular file or a pipe"
	[ -n "$force" ] || [ -n "$check_only" ] || [ -n "$flight" ] || die 1 "$output exists: --force replaces it, -o gives another name"
}
