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

import_it() {
    say "\$ perfcase import $capture"
    "$perfcase" import "$capture"
}

# A capture without a single sample or switch is what a user without permission gets: /proc and nothing else.
tells_enough() {
    counts='SELECT (SELECT count(*) FROM sample) + (SELECT count(*) FROM sched_switch)'
    rows=$("$perfcase" sql "$capture" "$counts" --format csv | tail -n 1)
    [ "${rows:-0}" -gt 0 ]
}

if ! { [ -s "$capture" ] && import_it && tells_enough; }; then
    why="the table above says why"
    [ "$status" = 0 ] || why="$why; the recorder ended with status $status"
    say "Recording is not permitted here: $why."
    sample=$(find sample-captures -name x.perfcase | sort | tail -n 1)
    capture=$folder/sample.perfcase
    cp "$sample" "$capture"
    say "A recorded sample instead: $sample"
    import_it
fi

say "\$ perfcase report $capture"
"$perfcase" report "$capture"

say 'Go on from here:'
cat <<TEXT
  .venv/bin/perfcase views                                  every answer there is
  .venv/bin/perfcase view off_cpu_by_stack $capture --limit 5
  .venv/bin/perfcase sql $capture "SELECT comm, sum(on_cpu_ns) FROM thread_time GROUP BY 1 ORDER BY 2 DESC"
TEXT
