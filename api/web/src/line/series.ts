/** Rows of a view become the lines of a chart; where rows are missing is a gap. */

import type { Row } from "../api/rows";
import type { Intervals } from "../api/types.gen";
import type { Drawn } from "../parts/charts";
import { safe } from "../parts/safe";

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
  /** Stretches of time, in seconds and in order, in which a line has a value. */
  known: [number, number][];
}

/**
 * The lines of a chart. An interval is a step from its beginning to its end; between two that do not touch is nothing. The rows' times count
 * from `from` on, in ns.
 */
export function linesOf({ plot, chart }: Drawn<Intervals>, rows: Row[], from = 0): Lines {
  const columns = chart.values.map(({ column }) => column);
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    const name = chart.keys.map((key) => String(row[key])).join(" · ");
    const group = groups.get(name);
    if (group) group.push(row);
    else groups.set(name, [row]);
  }
  const ranked = [...groups].map(([name, group]) => ({ name, group, most: most(columns, group) }));
  ranked.sort((a, b) => b.most - a.most || (a.name < b.name ? -1 : 1));
  // Lines that are 0 all the time say nothing, as long as others say something.
  const busy = ranked.filter(({ most }) => most > 0);
  const kept = (busy.length ? busy : ranked).slice(0, Math.max(1, Math.floor(LINES_MAX / columns.length)));
  // By name, so that a CPU has its colour in every chart.
  kept.sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
  // A number alone says nothing: cpu 0, but vda.
  const isNumbered = kept.some(({ name }) => /^[\d · ]+$/.test(name));
  const times = new Set<number>();
  const points = kept.flatMap(({ name, group }) =>
    chart.values.map(({ column, label: text }) => {
      const at = new Map<number, number | null>();
      let before = Number.NaN;
      const usual = usualInterval(plot, group);
      for (const row of group) {
        const time = from + Number(row[plot.time]);
        const value = valueOf(row, column);
        if (plot.length !== null) {
          const length = Number(row[plot.length] ?? usual);
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
      const own = isNumbered ? `${chart.keys.join(" · ")} ${name}` : name;
      const label = columns.length > 1 ? `${own} ${text}` : own;
      return { label: safe(chart.keys.length ? label : text), at };
    }),
  );
  const x = [...times].sort((a, b) => a - b);
  const lines = points
    // A column that is NULL everywhere was not recorded.
    .filter(({ at }) => [...at.values()].some((value) => value !== null))
    .map(({ label, at }) => ({ label, y: fill(x, at) }));
  return { x, lines, known: known(x, lines) };
}

/** Whether a line has a value between two neighbouring times of the chart: `right` is the later one. */
function isKnown(y: (number | null)[], right: number): boolean {
  return right > 0 && right < y.length && y[right - 1] !== null && y[right] !== null;
}

function known(x: number[], lines: Lines["lines"]): [number, number][] {
  const found: [number, number][] = [];
  for (let right = 1; right < x.length; right++) {
    if (!lines.some(({ y }) => isKnown(y, right))) continue;
    const last = found.at(-1);
    if (last?.[1] === x[right - 1]) last![1] = x[right]!;
    else found.push([x[right - 1]!, x[right]!]);
  }
  return found;
}

/** The point of a line that tells of a time: `nearest`, unless nothing is known of the line then. */
export function pointAt({ x, lines }: Lines, line: number, nearest: number, time: number): number | null {
  const y = lines[line]?.y;
  if (!y) return null;
  if (x[nearest] === time) return y[nearest] === null ? null : nearest;
  return isKnown(y, x[nearest]! < time ? nearest + 1 : nearest) ? nearest : null;
}

/** The median time from a row to the next, of views that do not say how long their intervals are. */
function usualInterval({ time }: Intervals, rows: Row[]): number {
  const steps = rows.slice(1).map((row, number) => Number(row[time]) - Number(rows[number]![time]));
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

function valueOf(row: Row, column: string): number | null {
  const value = row[column];
  return typeof value === "number" || typeof value === "bigint" ? Number(value) : null;
}

function most(columns: string[], rows: Row[]): number {
  let found = 0;
  for (const row of rows) for (const column of columns) found = Math.max(found, valueOf(row, column) ?? 0);
  return found;
}
