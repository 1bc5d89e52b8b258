/** What the timeline shows: each chart is some columns of one view. Rows become lines; where rows are missing is a gap. */

import type { Query } from "../api/fetch";
import type { Row } from "../api/types";
import { safe } from "../parts/safe";

export type Unit = "ratio" | "bytes" | "bytes/s" | "count" | "figure";

export interface Chart {
  id: string;
  title: string;
  view: string;
  unit: Unit;
  /** Columns, or what is made of a row, and how they are called. */
  columns: [string | ((row: Row) => number | null), string][];
  /** A line for each value of this column, the busiest ones. */
  by?: string;
  query?: (durationNs: number) => Query;
  /** Rows say what was at their time, not what was in the interval that begins there. */
  isMoment?: boolean;
  /** What shows nearly the same where this has no rows: a bare perf.data has no /proc. */
  instead?: Chart;
}

const fine = (durationNs: number): Query => ({ set: `interval_ns=${step(durationNs)}` });

export const CHARTS: Chart[] = [
  {
    id: "cpu",
    title: "CPU",
    view: "cpu_utilization",
    unit: "ratio",
    columns: [
      ["busy_ratio", "busy"],
      ["user_ratio", "user"],
      ["system_ratio", "system"],
      ["iowait_ratio", "iowait"],
      ["steal_ratio", "steal"],
    ],
    query: () => ({ where: "cpu = 'all'" }),
    instead: {
      id: "cpu-switches",
      title: "CPU, by switches",
      view: "run_queue_length",
      unit: "ratio",
      columns: [[(row) => Number(row.busy_ns) / Number(row.known_ns), "busy"]],
      by: "cpu",
      query: fine,
    },
  },
  {
    id: "run-queue",
    title: "Run queue",
    view: "run_queue_length",
    unit: "figure",
    columns: [["waiting_avg_count", "waiting"]],
    by: "cpu",
    query: fine,
  },
  {
    id: "disk",
    title: "Disks",
    view: "disk_utilization",
    unit: "ratio",
    columns: [["util_ratio", "in use"]],
    by: "device",
    instead: {
      id: "disk-requests",
      title: "Disks, by requests",
      view: "block_latency_over_time",
      unit: "ratio",
      columns: [["busy_ratio", "in use"]],
      by: "device",
      query: fine,
    },
  },
  {
    id: "memory",
    title: "Memory",
    view: "memory",
    unit: "bytes",
    columns: [
      ["used_bytes", "used"],
      ["cache_bytes", "cache"],
      ["available_bytes", "available"],
      ["swap_used_bytes", "swap"],
    ],
    isMoment: true,
  },
  {
    id: "network",
    title: "Network",
    view: "net_utilization",
    unit: "bytes/s",
    columns: [
      ["rx_bytes_per_s", "in"],
      ["tx_bytes_per_s", "out"],
    ],
    by: "interface",
  },
  { id: "pmc", title: "Instructions per cycle", view: "pmcarch", unit: "figure", columns: [["ipc", "IPC"]] },
];

const LINES_MAX = 6;
const POINTS = 400;

/** A round interval that gives about POINTS of them. */
export function step(durationNs: number): number {
  const wanted = durationNs / POINTS;
  for (let scale = 1e6; ; scale *= 10) {
    for (const part of [1, 2, 5]) if (part * scale >= wanted) return part * scale;
  }
}

export interface Lines {
  /** Seconds. */
  x: number[];
  lines: { label: string; y: (number | null)[] }[];
  /** How many lines are not shown. */
  leftOut: number;
}

/** The lines of a chart. An interval is a step from its beginning to its end; between two that do not touch is nothing. */
export function linesOf(chart: Chart, rows: Row[]): Lines {
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    const name = chart.by ? String(row[chart.by]) : "";
    const group = groups.get(name);
    if (group) group.push(row);
    else groups.set(name, [row]);
  }
  const ranked = [...groups].map(([name, group]) => ({ name, group, most: most(chart, group) }));
  ranked.sort((a, b) => b.most - a.most || (a.name < b.name ? -1 : 1));
  // Lines that are 0 all the time say nothing, as long as others say something.
  const busy = ranked.filter(({ most }) => most > 0);
  const kept = (busy.length ? busy : ranked).slice(0, Math.max(1, Math.floor(LINES_MAX / chart.columns.length)));
  // By name, so that a CPU has its colour in every chart.
  kept.sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
  const times = new Set<number>();
  const points = kept.flatMap(({ name, group }) =>
    chart.columns.map(([column, text]) => {
      const at = new Map<number, number | null>();
      let before = Number.NaN;
      const usual = usualInterval(group);
      for (const row of group) {
        const time = Number(row.ts_ns);
        const value = valueOf(row, column);
        if (!chart.isMoment) {
          const length = Number(row.interval_ns ?? usual);
          const end = time + length;
          // Clocks of snapshots differ by less than a twentieth of an interval.
          if (before < time - length / 20) at.set((before + time) / 2e9, null);
          at.set(Math.max(time, Number.isNaN(before) ? time : before) / 1e9 + 1e-9, value);
          at.set(end / 1e9, value);
          before = end;
        } else {
          if (time - before > 3 * usual) at.set((before + time) / 2e9, null);
          at.set(time / 1e9, value);
          before = time;
        }
      }
      for (const time of at.keys()) times.add(time);
      const label = chart.by ? (chart.columns.length > 1 ? `${name} ${text}` : `${chart.by} ${name}`) : text;
      return { label: safe(label), at };
    }),
  );
  const x = [...times].sort((a, b) => a - b);
  const lines = points
    // A column that is NULL everywhere was not recorded.
    .filter(({ at }) => [...at.values()].some((value) => value !== null))
    .map(({ label, at }) => ({ label, y: fill(x, at) }));
  return { x, lines, leftOut: (busy.length || ranked.length) - kept.length };
}

/** The median time from a row to the next, of views that do not say how long their intervals are. */
function usualInterval(rows: Row[]): number {
  const steps = rows.slice(1).map((row, number) => Number(row.ts_ns) - Number(rows[number]!.ts_ns));
  return steps.sort((a, b) => a - b)[Math.floor(steps.length / 2)] ?? 0;
}

/** A line's values at all times of the chart: between two points of its own it goes on, in a gap it does not. */
function fill(x: number[], at: Map<number, number | null>): (number | null)[] {
  const own = [...at.keys()].sort((a, b) => a - b);
  let place = 0;
  return x.map((time) => {
    while (place < own.length && own[place]! < time) place++;
    if (place === own.length) return null;
    if (own[place] === time) return at.get(time)!;
    if (place === 0) return null;
    const [before, after] = [at.get(own[place - 1]!)!, at.get(own[place]!)!];
    if (before === null || after === null) return null;
    const part = (time - own[place - 1]!) / (own[place]! - own[place - 1]!);
    return before + (after - before) * part;
  });
}

function valueOf(row: Row, column: Chart["columns"][number][0]): number | null {
  if (typeof column === "function") return column(row);
  const value = row[column];
  return typeof value === "number" || typeof value === "bigint" ? Number(value) : null;
}

function most(chart: Chart, rows: Row[]): number {
  let found = 0;
  for (const row of rows) for (const [column] of chart.columns) found = Math.max(found, valueOf(row, column) ?? 0);
  return found;
}
