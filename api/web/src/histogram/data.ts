/** A histogram as the server adds it up: a group with its figures, and its buckets with those between them that are empty. */

import type { Row } from "../api/rows";
import type { Histogram } from "../api/types.gen";
import type { Drawn } from "../parts/charts";

export interface Bucket {
  min: number;
  max: number;
  count: number;
  /** As a share of the group's count. */
  share: number;
}

/** Rows of one rank of `?by=`: the first group is all of them together. */
export interface Group {
  name: string;
  count: number;
  /** The ends of the buckets below which half, 99 of 100, and all are. */
  half: number;
  most: number;
  all: number;
  buckets: Bucket[];
}

/** The groups in the order of their ranks. */
export function groups({ plot, chart }: Drawn<Histogram>, rows: Row[]): Group[] {
  const unit = plot.unit ? `_${plot.unit}` : "";
  return [...Map.groupBy(rows, (row) => row.rank).values()].map((own) => {
    const first = own[0]!;
    return {
      name: chart.keys.map((key) => String(first[key] ?? "?")).join(" · "),
      count: Number(first.total_count),
      half: Number(first[`below_p50${unit}`]),
      most: Number(first[`below_p99${unit}`]),
      all: Number(first[`below_max${unit}`]),
      buckets: whole(own.map((row) => bucket(plot, row))),
    };
  });
}

function bucket({ low, high, count }: Histogram, row: Row): Bucket {
  return {
    min: Number(row[low]),
    max: Number(row[high]),
    count: Number(row[count]),
    share: Number(row[`${count.replace(/_count$/, "")}_ratio`]),
  };
}

/** Buckets in their order; between the first and the last none is left out. */
function whole(found: Bucket[]): Bucket[] {
  const all: Bucket[] = [];
  for (const bucket of found) {
    let before = all.at(-1);
    while (before && before.max < bucket.min) {
      before = { min: before.max, max: before.max * 2, count: 0, share: 0 };
      all.push(before);
    }
    all.push(bucket);
  }
  return all;
}
