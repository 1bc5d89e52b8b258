# shellcheck shell=sh
# symbols.sh: what names the addresses of perf.data elsewhere: symbol tables of the mapped objects, perf maps, jitdumps, the
# vDSO. Function names and addresses of the kernel are in host.sh.

probe_symbols_check() {
	source_set symbols kind symbol_file
	source_set symbols tool perfcase-helper
	source_set symbols tool_version "$version"
	source_set symbols clock ''
	if [ "$symbols" = none ]; then
		source_is symbols missing "--symbols none" "--symbols table"
	elif source_is_missing perf; then
		source_is symbols missing "perf does not record: there are no addresses to name" "see perf"
	elif [ "$uid" != 0 ]; then
		source_is symbols degraded "without root only your own processes' objects are found" "run as root"
	else
		source_is symbols available
	fi
}

# Bytes for all objects: of a budget a quarter at most.
symbols_limit() {
	symbols_most=536870912
	[ "$symbols" != full ] || symbols_most=1073741824
	[ "$budget_bytes" = 0 ] || [ $((budget_bytes / 4)) -gt "$symbols_most" ] || symbols_most=$((budget_bytes / 4))
	echo "$symbols_most"
}

# What is left of the budget for everything else.
symbols_budget_of_others() {
	if [ "$budget_bytes" = 0 ] || source_is_missing symbols; then
		echo "$budget_bytes"
	else
		echo $((budget_bytes - $(symbols_limit)))
	fi
}

# symbols_words watch|flight|collect SCOPE|PERF_DATA: sets symbols_command, for eval.
symbols_words() {
	symbols_start=${clock_start#* }
	quote "$staging/symbols"
	symbols_command="symbols $1 $quoted $symbols"
	if [ "$call_graph" = "${call_graph#dwarf}" ]; then
		symbols_command="$symbols_command - $(symbols_limit) ${symbols_start% *}"
	else
		symbols_command="$symbols_command unwind $(symbols_limit) ${symbols_start% *}"
	fi
	quote "$2"
	symbols_command="$symbols_command $quoted"
}

probe_symbols_start() {
	mkdir -p "$staging/symbols"
	symbols_words "$(if [ -n "$flight" ]; then echo flight; else echo watch; fi)" "$(target_sampler_scope)"
	eval "source_run symbols 'perfcase-helper symbols' \"\$helper\" $symbols_command"
	source_awaits symbols "$helper" ready "$staging/symbols/objects.tsv" "" "$run_pid" "$START_TIMEOUT_S"
}

probe_symbols_ready() {
	if source_is_missing perf; then
		source_gave_up symbols
		probe_symbols_check # perf did not start
	elif source_is_up symbols; then
		return
	else
		source_gave_up symbols
		source_is symbols missing "the search for objects did not start: $(source_last_words symbols)"
	fi
	rm -rf "$staging/symbols"
}

probe_symbols_stop() { :; }

# perf.data is whole now: it names what was mapped.
probe_symbols_collect() {
	if source_is_missing perf; then
		source_is symbols missing "perf recorded nothing: there are no addresses to name" "see perf"
		rm -rf "$staging/symbols"
		return
	fi
	symbols_words collect "$staging/perf/perf.data"
	if [ -d "$staging/stacks" ]; then
		quote "$staging/stacks/perf.data"
		symbols_command="$symbols_command $quoted"
	fi
	eval "await \"\$helper\" $symbols_command" >"$state/symbols.collected" 2>>"$staging/recorder/symbols.log" ||
		source_lacks symbols "not all was collected: $(source_last_words symbols 1)" "see recorder/symbols.log; space on the disk of $output"
	symbols_judge "$staging/symbols/objects.tsv"
	symbols_say_untouched "$(sed -n 's/^untouched=//p' "$state/symbols.collected")"
}

# Not a loss: there is no address in them to name.
symbols_say_untouched() {
	[ "${1:-0}" != 0 ] || return 0
	source_get symbols reason
	symbols_reason="${got:+$got; }$1 mapped objects that no sample and no stack touches stay out"
	source_get symbols remedy
	symbols_help=$got
	source_get symbols status
	source_is symbols "$got" "$symbols_reason" "$symbols_help"
}

# What is mapped and no ELF file has no symbols to miss.
symbols_judge() {
	source_set symbols events "$(sed 1d "$1" | grep -c -v '^-')"
	grep '^-' "$1" | grep -v 'not an ELF file$' >"$state/symbols.missing"
	symbols_missing=$(grep -c . "$state/symbols.missing")
	[ "$symbols_missing" != 0 ] || return 0
	symbols_first=$(head -n 1 "$state/symbols.missing" | cut -f 4,9 | sed 's/	/: /')
	source_is symbols degraded "$symbols_missing objects were not taken, such as $symbols_first" "$(symbols_remedy)"
	source_get symbols reason
	say "symbols: $got"
}

symbols_remedy() {
	case $(cut -f 9 "$state/symbols.missing") in
	*budget*) echo "a larger --budget, or --debug-dir with the files where it is analysed" ;;
	*) echo "--debug-dir with the files where it is analysed (symbols/objects.tsv lists them)" ;;
	esac
}
