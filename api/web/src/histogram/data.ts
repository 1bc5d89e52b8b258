/** Views that are histograms, and what is drawn of them: groups of rows added up by bucket. */

import type { Row } from "../api/types";

export interface Source {
  id: string;
  title: string;
  what: string;
  view: string;
  unit: "ns" | "bytes";
  /** The column that a bucket's height is. */
  count: string;
  /** The columns that identify a row. */
  by: string[];
  noun: string;
}

export const SOURCES: Source[] = [
  {
    id: "run-queue",
    title: "Waits for a CPU",
    what: "from a wakeup, or from leaving a CPU while it could have run on, until the thread ran",
    view: "run_queue_latency",
    unit: "ns",
    count: "wait_count",
    by: ["comm"],
    noun: "waits",
  },
  {
    id: "on-cpu",
    title: "Time on a CPU at a stretch",
    what: "from one switch to the next",
    view: "on_cpu_distribution",
    unit: "ns",
    count: "run_count",
    by: ["process"],
    noun: "stretches",
  },
  {
    id: "syscalls",
    title: "System calls",
    what: "from entry to return",
    view: "syscall_latency",
    unit: "ns",
    count: "call_count",
    by: ["name", "comm"],
    noun: "calls",
  },
  {
    id: "block",
    title: "Requests of block devices",
    what: "from issue to completion",
    view: "block_latency",
    unit: "ns",
    count: "request_count",
    by: ["device_name", "operation"],
    noun: "requests",
  },
  {
    id: "block-size",
    title: "Sizes of block requests",
    what: "as they were issued",
    view: "block_size",
    unit: "bytes",
    count: "request_count",
    by: ["comm", "operation"],
    noun: "requests",
  },
];

export interface Bucket {
  min: number;
  max: number;
  count: number;
}

export interface Group {
  name: string;
  count: number;
}

export function groupName(source: Source, row: Row): string {
  return source.by.map((column) => String(row[column] ?? "?")).join(" · ");
}

/** The groups, those with the most first. */
export function groups(source: Source, rows: Row[]): Group[] {
  const counts = new Map<string, number>();
  for (const row of rows) {
    const name = groupName(source, row);
    counts.set(name, (counts.get(name) ?? 0) + Number(row[source.count]));
  }
  return [...counts]
    .map(([name, count]) => ({ name, count }))
    .sort((a, b) => b.count - a.count || (a.name < b.name ? -1 : 1));
}

/** The buckets of a group, or of all; between the first and the last none is left out. */
export function buckets(source: Source, rows: Row[], group: string): Bucket[] {
  const [low, high] =
    source.unit === "ns" ? ["bucket_min_ns", "bucket_max_ns"] : ["bucket_min_bytes", "bucket_max_bytes"];
  const found = new Map<number, Bucket>();
  for (const row of rows) {
    if (group && groupName(source, row) !== group) continue;
    const min = Number(row[low]);
    const bucket = found.get(min);
    if (bucket) bucket.count += Number(row[source.count]);
    else found.set(min, { min, max: Number(row[high]), count: Number(row[source.count]) });
  }
  const sorted = [...found.values()].sort((a, b) => a.min - b.min);
  const whole: Bucket[] = [];
  for (const bucket of sorted) {
    let before = whole.at(-1);
    while (before && before.max < bucket.min) {
      before = { min: before.max, max: before.max * 2, count: 0 };
      whole.push(before);
    }
    whole.push(bucket);
  }
  return whole;
}

/** The end of the bucket below which this share of all is. */
export function below(of: Bucket[], share: number): number {
  const total = of.reduce((sum, { count }) => sum + count, 0);
  let seen = 0;
  for (const { max, count } of of) {
    seen += count;
    if (seen >= share * total) return max;
  }
  return of.at(-1)?.max ?? 0;
}
