/** How long each thread ran, waited for a CPU and slept. */

import { useSchema } from "../api/hooks";
import type { Row } from "../api/types";
import type { CaptureProps } from "../app/pages";
import { narrow } from "../app/media";
import { filterParams, go, useRoute } from "../app/route";
import { useStore } from "../app/store";
import { Waiting } from "../parts/problem";
import { sortOf, sortText } from "../parts/sql";
import { duration, ratio } from "../parts/units";
import { ViewTable } from "../parts/view-table";
import { ThreadLinks } from "../parts/thread-links";
import { useState } from "preact/hooks";

const STATES = [
  ["on_cpu", "running"],
  ["run_queue", "waiting for a CPU"],
  ["disk_sleep", "waiting for the disk"],
  ["sleep", "asleep"],
] as const;
const SHOW = [
  "comm",
  "tid",
  "pid",
  "states",
  "on_cpu_ns",
  "run_queue_ns",
  "disk_sleep_ns",
  "sleep_ns",
  "switch_count",
  "involuntary_count",
  "run_delay_max_ns",
];
const STATES_COLUMN = {
  name: "states",
  unit: null,
  description: "The thread's time by state: running, waiting for a CPU, for the disk, asleep.",
};

export default function Threads({ captureId, filters, onFilters }: CaptureProps) {
  const { params, set } = useRoute();
  const isNarrow = useStore(narrow);
  const schema = useSchema();
  const [open, setOpen] = useState<Row>();
  const view = schema?.views.find(({ name }) => name === "thread_time");
  if (!view) return <Waiting />;
  return (
    <>
      <p class="legend">
        {STATES.map(([name, words]) => (
          <span key={name}>
            <i class={`swatch ${name}`} /> {words}
          </span>
        ))}
      </p>
      <ViewTable
        captureId={captureId}
        filters={filters}
        onFilters={onFilters}
        view={view}
        where={params.get("where")}
        onWhere={(where) => set({ where })}
        isOwnOrder={params.get("sort") === null}
        sort={sortOf(params.get("sort") ?? "-on_cpu_ns")}
        // What is sorted by a picture is sorted by what it shows first.
        onSort={(sort) => set({ sort: sortText(sort?.name === "states" ? { ...sort, name: "on_cpu_ratio" } : sort) })}
        show={isNarrow ? SHOW.filter((name) => name !== "pid") : SHOW}
        extra={[STATES_COLUMN]}
        cells={{ states: (row) => <StateBar row={row} /> }}
        widths={isNarrow ? { comm: 13, states: 18 } : { states: 28 }}
        onRow={setOpen}
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

function StateBar({ row }: { row: Row }) {
  const parts = STATES.map(([name, words]) => ({
    name,
    words,
    ns: Number(row[`${name}_ns`] ?? 0),
    share: Number(row[`${name}_ratio`] ?? 0),
  })).filter(({ share }) => share > 0);
  const told = parts.map(({ words, ns, share }) => `${words} ${duration(ns)} (${ratio(share)})`).join("\n");
  return (
    <span class="state-bar" role="img" aria-label={told} title={told}>
      {parts.map(({ name, share }) => (
        <i key={name} class={name} style={{ flexGrow: share }} />
      ))}
    </span>
  );
}
