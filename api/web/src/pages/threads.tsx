/** How long each thread ran, waited for a CPU and slept. */

import { useSchema } from "../api/hooks";
import { type ColumnOf, columns, type RowOf, type ViewName } from "../api/rows";
import type { CaptureProps } from "../app/pages";
import { narrow } from "../app/media";
import { filterParams, go } from "../app/route";
import { useStore } from "../app/store";
import { Waiting } from "../parts/problem";
import { stateOf } from "../parts/states";
import { duration, ratio } from "../parts/units";
import { ViewTable } from "../parts/view-table";
import { ThreadLinks } from "../parts/thread-links";
import { useState } from "preact/hooks";

type Thread = RowOf<"thread_time">;
const SPENT = (
  [
    ["running", "on_cpu_ns", "on_cpu_ratio"],
    ["runnable", "run_queue_ns", "run_queue_ratio"],
    ["disk_sleep", "disk_sleep_ns", "disk_sleep_ratio"],
    ["sleeping", "sleep_ns", "sleep_ratio"],
  ] satisfies [string, keyof Thread, keyof Thread][]
).map(([state, ns, share]) => ({ ...stateOf(state), ns, share }));
const SHOW = [
  ...columns("thread_time", "comm", "tid", "pid"),
  "states",
  ...columns("thread_time", "on_cpu_ns", "run_queue_ns", "disk_sleep_ns", "sleep_ns"),
  ...columns("thread_time", "switch_count", "involuntary_count", "run_delay_max_ns"),
];
const SORT: ColumnOf<"thread_time"> = "on_cpu_ns";
/** A picture is sorted by what it shows first. */
const SORT_OF_STATES: ColumnOf<"thread_time"> = "on_cpu_ratio";
const STATES_COLUMN = {
  name: "states",
  unit: null,
  description: `The thread's time by state: ${SPENT.map(({ word }) => word).join(", ")}.`,
};

export default function Threads({ captureId, filters, onFilters }: CaptureProps) {
  const isNarrow = useStore(narrow);
  const schema = useSchema();
  const [open, setOpen] = useState<Thread>();
  const view = schema?.views.find(({ name }) => name === ("thread_time" satisfies ViewName));
  if (!view) return <Waiting />;
  return (
    <>
      <p class="legend">
        {SPENT.map(({ word, means, colour }) => (
          <span key={word} title={means} tabIndex={0}>
            <i class="swatch" style={{ background: `var(${colour})` }} /> {word}
          </span>
        ))}
      </p>
      <ViewTable
        captureId={captureId}
        filters={filters}
        onFilters={onFilters}
        view={view}
        isOrdered
        sort={`-${SORT}`}
        sortedBy={{ states: SORT_OF_STATES }}
        show={isNarrow ? SHOW.filter((name) => name !== "pid") : SHOW}
        extra={[STATES_COLUMN]}
        cells={{ states: (row) => <StateBar row={row as Thread} /> }}
        widths={isNarrow ? { comm: 13, states: 18 } : { states: 28 }}
        onRow={(row) => setOpen(row as Thread)}
      />
      {open && (
        <ThreadLinks
          captureId={captureId}
          row={open}
          columns={view.columns}
          filters={filters}
          onClose={() => setOpen(undefined)}
          onFilters={(change) => {
            setOpen(undefined);
            go(["c", captureId, "threads"], filterParams({ ...filters, ...change }));
          }}
        />
      )}
    </>
  );
}

function StateBar({ row }: { row: Thread }) {
  const parts = SPENT.map(({ word, colour, ns, share }) => ({
    word,
    colour,
    ns: row[ns] ?? 0,
    share: row[share] ?? 0,
  })).filter(({ share }) => share > 0);
  const told = parts.map(({ word, ns, share }) => `${word} ${duration(ns)} (${ratio(share)})`).join("\n");
  return (
    <span class="state-bar" role="img" aria-label={told} title={told}>
      {parts.map(({ word, colour, share }) => (
        <i key={word} style={{ background: `var(${colour})`, flexGrow: share }} />
      ))}
    </span>
  );
}
