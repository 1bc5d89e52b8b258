#!/bin/sh
# perfcase's main job on this machine: record a short real workload, pack it, import it, read the report.
# Where recording is not permitted it says why and reads a capture of sample-captures/ instead.
set -eu
cd "$(dirname "$0")/.."
perfcase=.venv/bin/perfcase
folder=build/demo
capture=$folder/demo.perfcase
mkdir -p "$folder"
rm -rf "$capture" "$folder/demo.case"

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
[ -t 1 ] || say() { printf '\n%s\n' "$*"; }

say '$ perfcase record --check'
"$perfcase" record --check || true

say "\$ perfcase record -o $capture --interval 0.5 -- scripts/demo-workload.sh"
status=0
"$perfcase" record -o "$capture" --interval 0.5 --note 'make demo' -- scripts/demo-workload.sh || status=$?

# A capture without a single sample or switch is what a user without permission gets: /proc and nothing else.
recorded() {
    [ -s "$capture" ] || return 1
    rows=$("$perfcase" sql "$capture" 'SELECT (SELECT count(*) FROM sample) + (SELECT count(*) FROM sched_switch)' --format csv |
        tail -n 1)
    [ "${rows:-0}" -gt 0 ]
}

if ! recorded; then
    say "Recording is not permitted here (the recorder ended with status $status); the table above says why."
    sample=$(find sample-captures -name '*.perfcase' | sort | head -n 1)
    capture=$folder/sample.perfcase
    cp "$sample" "$capture"
    say "A recorded sample instead: $sample"
fi

say "\$ perfcase import $capture"
"$perfcase" import "$capture"

say "\$ perfcase report $capture"
"$perfcase" report "$capture"

say 'Go on from here:'
cat <<TEXT
  .venv/bin/perfcase views                                  every answer there is
  .venv/bin/perfcase view off_cpu_by_stack $capture --limit 5
  .venv/bin/perfcase sql $capture "SELECT comm, sum(on_cpu_ns) FROM thread_time GROUP BY 1 ORDER BY 2 DESC"
TEXT
