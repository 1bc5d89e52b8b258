/** What the time line shows: each chart is some columns of one view. Rows become lines; where rows are missing is a gap. */

import type { Query } from "../api/fetch";
import type { Row } from "../api/types";
import { safe } from "../parts/safe";

export type Unit = "ratio" | "bytes" | "bytes/s" | "count" | "figure";

export interface Chart {
  id: string;
  title: string;
  view: string;
  unit: Unit;
  /** Columns and how they are called. */
  columns: [string, string][];
  /** A line for each value of this column, the busiest ones. */
  by?: string;
  query?: (durationNs: number) => Query;
  /** Rows say what was at their time, not what was in the interval that ends or begins there. */
  isMoment?: boolean;
  /** Intervals are told by their beginning. */
  isBeginning?: boolean;
}

export const CHARTS: Chart[] = [
  {
    id: "cpu",
    title: "CPU",
    view: "cpu_utilization",
    unit: "ratio",
    columns: [
      ["busy_ratio", "busy"],
      ["usr_ratio", "user"],
      ["sys_ratio", "system"],
      ["iowait_ratio", "iowait"],
      ["steal_ratio", "steal"],
    ],
    query: () => ({ where: "cpu = 'all'" }),
  },
  {
    id: "run-queue",
    title: "Run queue",
    view: "run_queue_length",
    unit: "figure",
    columns: [["avg_count", "waiting"]],
    by: "cpu",
    query: (durationNs) => ({ set: `interval_ns=${step(durationNs)}` }),
    isBeginning: true,
  },
  {
    id: "disk",
    title: "Disks",
    view: "disk_utilization",
    unit: "ratio",
    columns: [["util_ratio", "in use"]],
    by: "device",
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
  const times = new Set<number>();
  const points = kept.flatMap(({ name, group }) =>
    chart.columns.map(([column, text]) => {
      const at = new Map<number, number | null>();
      let before = Number.NaN;
      for (const row of group) {
        const time = Number(row.ts_ns);
        const value = typeof row[column] === "number" || typeof row[column] === "bigint" ? Number(row[column]) : null;
        if (!chart.isMoment) {
          const length = Number(row.interval_ns ?? 0);
          const begin = chart.isBeginning ? time : time - length;
          const end = begin + length;
          // Clocks of snapshots differ by less than a twentieth of an interval.
          if (before < begin - length / 20) at.set((before + begin) / 2e9, null);
          at.set(Math.max(begin, Number.isNaN(before) ? begin : before) / 1e9 + 1e-9, value);
          at.set(end / 1e9, value);
          before = end;
        } else at.set(time / 1e9, value);
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

function most(chart: Chart, rows: Row[]): number {
  let found = 0;
  for (const row of rows) for (const [column] of chart.columns) found = Math.max(found, Number(row[column] ?? 0));
  return found;
}
