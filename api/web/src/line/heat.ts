/** Heat maps: how long things took, over time; when in each second samples were taken. The darker, the more. */

import type { RowOf } from "../api/rows";
import { count, duration } from "../parts/units";

/** A cell: from, to; low, high; how many. Times in ns. */
export interface Cell {
  ts_ns: number;
  duration_ns: number;
  low: number;
  high: number;
  count: number;
  text: string;
}

export interface Heat {
  /** In the order of time. */
  cells: Cell[];
  /** From the lowest row to the highest one. */
  rows: number[];
  most: number;
}

/** Lengths are powers of two: rows of equal height. */
export function latencies(rows: readonly RowOf<"latency_heat_map">[], kind: string): Heat {
  const what =
    { "run queue": "waits for a CPU", "system call": "system calls", "block device": "requests" }[kind] ?? kind;
  return heat(
    rows
      .filter((row) => row.kind === kind)
      .map((row) => ({
        ts_ns: Number(row.ts_ns),
        duration_ns: Number(row.interval_ns),
        low: Number(row.length_min_ns),
        high: Number(row.length_max_ns),
        count: Number(row.end_count),
        text: `${count(row.end_count)} ${what} of ${duration(row.length_min_ns)} to ${duration(row.length_max_ns)}; the longest ${duration(row.longest_ns)}`,
      })),
    (low, high) => {
      const found = [];
      for (let at = low || 1; at <= high; at *= 2) found.push(at === 1 ? 0 : at);
      return found;
    },
  );
}

export function offsets(rows: readonly RowOf<"subsecond_offset">[], event: string): Heat {
  return heat(
    rows
      .filter((row) => row.event === event)
      .map((row) => ({
        ts_ns: Number(row.ts_ns),
        duration_ns: Number(row.interval_ns),
        low: Number(row.offset_min_ns),
        high: Number(row.offset_max_ns),
        count: Number(row.sample_count),
        text: `${count(row.sample_count)} samples from ${duration(row.offset_min_ns)} to ${duration(row.offset_max_ns)} of the second`,
      })),
    () => Array.from({ length: 50 }, (_, row) => row * 2e7),
  );
}

function heat(cells: Cell[], rowsOf: (low: number, high: number) => number[]): Heat {
  cells.sort((a, b) => a.ts_ns - b.ts_ns || a.low - b.low);
  const lows = cells.map(({ low }) => low);
  const rows = cells.length
    ? rowsOf(
        lows.reduce((a, b) => Math.min(a, b)),
        lows.reduce((a, b) => Math.max(a, b)),
      )
    : [];
  return { cells, rows, most: cells.reduce((most, cell) => Math.max(most, cell.count), 0) };
}

/** Where the row of a cell is, from 0 (below) to the number of rows. */
export function rowOf({ rows }: Heat, low: number): number {
  const index = rows.indexOf(low);
  return index < 0 ? 0 : index;
}

/** How strong a cell is, from 0.12 to 1: by the root, so that few are seen beside many. */
export const strength = ({ most }: Heat, { count: own }: Cell): number => 0.12 + 0.88 * Math.sqrt(own / most);

/** The cell at a moment and a row. */
export function cellAt({ cells, rows }: Heat, at: number, row: number): Cell | null {
  return cells.find((cell) => at >= cell.ts_ns && at < cell.ts_ns + cell.duration_ns && rows[row] === cell.low) ?? null;
}

/** What stands at the top and at the bottom of its axis. */
export function ends({ rows }: Heat): [string, string] {
  const last = rows.at(-1) ?? 0;
  const step = rows.length > 1 && rows[1]! - rows[0]! === 2e7 && rows.length === 50;
  return [step ? "1 s" : duration(last * 2 || 2), duration(rows[0] ?? 0)];
}
