/** Draws lanes: long intervals as they were, what is shorter than a pixel by the state that took most of it. */

import type { NumbersOf, RowOf } from "../api/rows";
import { safe } from "../parts/safe";
import { figure } from "../parts/units";
import type { Picked } from "./lanes";

export const ROW = 17;
const FONT = "11.5px system-ui, sans-serif";

type Spent = NumbersOf<"thread_lane", "running_ns" | "runnable_ns" | "disk_sleep_ns" | "sleeping_ns" | "other_ns">;

/** A row of a lane. */
export interface LaneRow extends Spent, NumbersOf<"thread_lane", "ts_ns" | "duration_ns" | "interval_count"> {
  state: string;
}

export interface Lane {
  utid: number;
  name: string;
  /** In the order of time. */
  rows: LaneRow[];
}

export const GROUPS: { text: string; colour: string; column: keyof Spent; states: string[] }[] = [
  { text: "running", colour: "--state-running", column: "running_ns", states: ["running"] },
  {
    text: "waits for a CPU",
    colour: "--state-runnable",
    column: "runnable_ns",
    states: ["runnable", "runnable_preempted"],
  },
  { text: "uninterruptible", colour: "--state-io", column: "disk_sleep_ns", states: ["disk_sleep"] },
  { text: "sleeping", colour: "--state-sleep", column: "sleeping_ns", states: ["sleeping", "idle_sleep"] },
  { text: "other", colour: "--state-other", column: "other_ns", states: [] },
];

export function groupOf(state: string): (typeof GROUPS)[number] {
  return GROUPS.find(({ states }) => states.includes(state)) ?? GROUPS.at(-1)!;
}

/** The rows of each thread, the threads in the order given. */
export function lanesOf(
  threads: readonly Pick<RowOf<"thread_time">, "utid" | "tid" | "comm">[],
  rows: RowOf<"thread_lane">[],
): Lane[] {
  const found = new Map(
    threads.map(({ utid, tid, comm }) => [
      utid,
      { utid: Number(utid), name: safe(`${comm ?? "?"} ${tid}`), rows: [] as LaneRow[] },
    ]),
  );
  for (const row of rows)
    found.get(row.utid)?.rows.push({
      ts_ns: Number(row.ts_ns),
      duration_ns: Number(row.duration_ns),
      state: row.state ?? "",
      interval_count: Number(row.interval_count),
      running_ns: Number(row.running_ns),
      runnable_ns: Number(row.runnable_ns),
      disk_sleep_ns: Number(row.disk_sleep_ns),
      sleeping_ns: Number(row.sleeping_ns),
      other_ns: Number(row.other_ns),
    });
  return [...found.values()];
}

export interface Picture {
  from: number;
  to: number;
  /** Pixels of the threads' names. */
  names: number;
  width: number;
  colours: Map<string, string>;
  /** Ink, fainter ink, lines, the ground of a lane, what is chosen. */
  paint: string[];
  at: number;
  picked: Picked | null;
  drag: [number, number] | null;
}

export function draw(context: CanvasRenderingContext2D, lanes: Lane[], picture: Picture): void {
  const { from, to, names, width, colours, paint } = picture;
  const [ink, faint, line, ground, accent] = paint as [string, string, string, string, string];
  const room = Math.max(width - names, 1);
  const x = (ns: number) => names + ((ns - from) / (to - from)) * room;
  context.clearRect(0, 0, width, (lanes.length + 1) * ROW);
  context.font = FONT;
  context.textBaseline = "middle";
  axis(context, from, to, x, faint, line, (lanes.length + 1) * ROW);
  lanes.forEach((lane, number) => {
    const top = (number + 1) * ROW;
    if (number === picture.at) {
      context.fillStyle = ground;
      context.fillRect(0, top, width, ROW);
    }
    context.fillStyle = ink;
    context.save();
    context.beginPath();
    context.rect(0, top, names - 6, ROW);
    context.clip();
    context.fillText(lane.name, 4, top + ROW / 2);
    context.restore();
    for (const row of lane.rows) {
      const left = x(row.ts_ns);
      const wide = Math.max(x(row.ts_ns + row.duration_ns) - left, 0.75);
      if (row.interval_count === 1) {
        const { colour } = groupOf(row.state);
        const isThin = colour === "--state-sleep";
        context.fillStyle = colours.get(colour)!;
        context.fillRect(left, top + (isThin ? ROW / 2 - 1 : 2), wide, isThin ? 2 : ROW - 4);
        continue;
      }
      // Several in a pixel: their shares stand on each other.
      let y = top + ROW - 2;
      const all = GROUPS.reduce((sum, { column }) => sum + row[column], 0) || 1;
      for (const { colour, column } of GROUPS) {
        const high = ((ROW - 4) * row[column]) / all;
        context.fillStyle = colours.get(colour)!;
        context.fillRect(left, y - high, wide, high);
        y -= high;
      }
    }
    if (picture.picked?.lane.utid === lane.utid) {
      const { row } = picture.picked;
      const left = Math.max(x(row.ts_ns), names);
      context.strokeStyle = accent;
      context.lineWidth = 2;
      context.strokeRect(left, top + 1, Math.max(Math.min(x(row.ts_ns + row.duration_ns), width) - left, 3), ROW - 2);
    }
  });
  if (picture.drag) {
    const [begin, end] = picture.drag.map(x) as [number, number];
    context.globalAlpha = 0.2;
    context.fillStyle = accent;
    context.fillRect(Math.min(begin, end), 0, Math.abs(end - begin), (lanes.length + 1) * ROW);
    context.globalAlpha = 1;
  }
}

const UNITS: [number, string][] = [
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "µs"],
  [1, "ns"],
];

function axis(
  context: CanvasRenderingContext2D,
  from: number,
  to: number,
  x: (ns: number) => number,
  ink: string,
  line: string,
  height: number,
): void {
  const wanted = (to - from) / Math.max((x(to) - x(from)) / 90, 1);
  const power = 10 ** Math.floor(Math.log10(wanted));
  const step = [1, 2, 5, 10].map((part) => part * power).find((part) => part >= wanted)!;
  const [scale, unit] = UNITS.find(([least]) => to >= least) ?? UNITS[3]!;
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
    context.fillStyle = line;
    context.fillRect(x(at), ROW - 4, 1, height);
    context.fillStyle = ink;
    const digits = Math.max(0, Math.ceil(-Math.log10(step / scale) - 1e-9));
    const text =
      digits > 3
        ? `${(at / scale).toFixed(digits)} ${unit}`
        : `${figure(Number((at / scale).toFixed(digits)))} ${unit}`;
    context.fillText(text, x(at) + 3, ROW / 2);
  }
}

/** The row of a lane at a moment; `tolerance`: ns of a pixel. A long one before one of many short ones. */
export function stretchAt(lane: Lane, at: number, tolerance: number): LaneRow | null {
  let best: LaneRow | null = null;
  let nearest = 2 * tolerance;
  for (const row of lane.rows) {
    const away =
      at < row.ts_ns ? row.ts_ns - at : at > row.ts_ns + row.duration_ns ? at - row.ts_ns - row.duration_ns : 0;
    if (away < nearest || (away === nearest && best !== null && row.duration_ns > best.duration_ns)) {
      nearest = away;
      best = row;
    }
  }
  return best;
}
