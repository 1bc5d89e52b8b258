/** Draws lanes: long intervals as they were, what is shorter than a pixel by the state that took most of it. */

import type { NumbersOf, RowOf } from "../api/rows";
import { hatch } from "../parts/hatch";
import { safe } from "../parts/safe";
import { type Spent, stateOf, STATES, stateWord } from "../parts/states";
import { duration, figure, plural } from "../parts/units";
import { type CauseRow, causesOf, kindOf, saidOfCause } from "./causes";

export const ROW = 17;
/** The height of the track of causes, below that of the states. */
const STRIP = 9;
const FONT = "11.5px system-ui, sans-serif";

/** A row of a lane. */
export interface LaneRow extends Spent, NumbersOf<"thread_lane", "ts_ns" | "duration_ns" | "interval_count"> {
  state: string;
}

export interface Lane {
  utid: number;
  name: string;
  /** In the order of time. */
  rows: LaneRow[];
  /** What its waits were due to, in the order of time. */
  causes: CauseRow[];
}

/** What of a lane one line of the picture shows: its states, or what its waits were due to. */
export interface Track {
  lane: Lane;
  top: number;
  height: number;
  shows: "states" | "causes";
}

/** A stretch of a track that was chosen. */
export type Picked = {
  lane: Lane;
  /** The moment that was clicked, in ns. */
  at: number;
} & ({ shows: "states"; row: LaneRow } | { shows: "causes"; row: CauseRow });

/** The rows of each thread, the threads in the order given. */
export function lanesOf(
  threads: readonly Pick<RowOf<"thread_time">, "utid" | "tid" | "comm">[],
  rows: readonly RowOf<"thread_lane">[],
  causes: readonly RowOf<"blame_lane">[],
): Lane[] {
  const due = causesOf(causes);
  const found = new Map<number | null, Lane>(
    threads.map(({ utid, tid, comm }) => [
      utid,
      { utid: Number(utid), name: safe(`${comm ?? "?"} ${tid}`), rows: [], causes: due.get(Number(utid)) ?? [] },
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

/** The lines of the picture from above; a lane has causes if one of them is known. */
export function tracksOf(lanes: readonly Lane[]): Track[] {
  const tracks: Track[] = [];
  let top = ROW;
  for (const lane of lanes) {
    tracks.push({ lane, top, height: ROW, shows: "states" });
    top += ROW;
    if (!lane.causes.length) continue;
    tracks.push({ lane, top, height: STRIP, shows: "causes" });
    top += STRIP;
  }
  return tracks;
}

export function heightOf(tracks: readonly Track[]): number {
  const last = tracks.at(-1);
  return last ? last.top + last.height : ROW;
}

export interface Picture {
  from: number;
  to: number;
  /** Stretches, in ns, of which no states were recorded. */
  gaps: readonly (readonly [number, number])[];
  /** Pixels of the threads' names. */
  names: number;
  width: number;
  colours: Map<string, string>;
  /** Ink, fainter ink, lines, the ground of a lane, what is chosen, where nothing was recorded. */
  paint: string[];
  at: number;
  picked: Picked | null;
  drag: [number, number] | null;
}

export function draw(context: CanvasRenderingContext2D, tracks: readonly Track[], picture: Picture): void {
  const { from, to, names, width, paint } = picture;
  const [ink, faint, line, ground, accent, none] = paint as [string, string, string, string, string, string];
  const room = Math.max(width - names, 1);
  const height = heightOf(tracks);
  const x = (ns: number) => names + ((ns - from) / (to - from)) * room;
  const box = (row: { ts_ns: number; duration_ns: number }): [number, number] => {
    const left = x(row.ts_ns);
    return [left, Math.max(x(row.ts_ns + row.duration_ns) - left, 0.75)];
  };
  context.clearRect(0, 0, width, height);
  context.font = FONT;
  context.textBaseline = "middle";
  axis(context, from, to, x, faint, line, height);
  const at = tracks[picture.at];
  if (at) {
    context.fillStyle = ground;
    context.fillRect(0, at.top, width, at.height);
  }
  for (const [begin, end] of picture.gaps) {
    const [left, right] = [Math.max(x(begin), names), Math.min(x(end), width)];
    hatch(context, [left, ROW, right - left, height - ROW], none);
  }
  for (const track of tracks) {
    const { lane, top, shows } = track;
    if (shows === "states") {
      context.fillStyle = ink;
      context.save();
      context.beginPath();
      context.rect(0, top, names - 6, ROW);
      context.clip();
      context.fillText(lane.name, 4, top + ROW / 2);
      context.restore();
      for (const row of lane.rows) state(context, row, top, box(row), picture.colours);
    } else {
      for (const row of lane.causes) {
        const { colour, isThin } = kindOf(row.kind);
        const [left, wide] = box(row);
        context.fillStyle = picture.colours.get(colour)!;
        context.fillRect(left, top, wide, isThin ? 3 : STRIP - 3);
      }
    }
    if (picture.picked?.lane.utid === lane.utid && picture.picked.shows === shows) {
      const { row } = picture.picked;
      const left = Math.max(x(row.ts_ns), names);
      const wide = Math.max(Math.min(x(row.ts_ns + row.duration_ns), width) - left, 3);
      context.strokeStyle = accent;
      context.lineWidth = 2;
      if (shows === "states") context.strokeRect(left, top + 1, wide, ROW - 2);
      else context.strokeRect(left, top - 1, wide, STRIP - 1);
    }
  }
  if (picture.drag) {
    const [begin, end] = picture.drag.map(x) as [number, number];
    context.globalAlpha = 0.2;
    context.fillStyle = accent;
    context.fillRect(Math.min(begin, end), 0, Math.abs(end - begin), height);
    context.globalAlpha = 1;
  }
}

function state(
  context: CanvasRenderingContext2D,
  row: LaneRow,
  top: number,
  [left, wide]: [number, number],
  colours: Picture["colours"],
): void {
  if (row.interval_count === 1) {
    const { colour } = stateOf(row.state);
    const isThin = colour === "--state-sleep";
    context.fillStyle = colours.get(colour)!;
    context.fillRect(left, top + (isThin ? ROW / 2 - 1 : 2), wide, isThin ? 2 : ROW - 4);
    return;
  }
  // Several in a pixel: their shares stand on each other.
  let y = top + ROW - 2;
  const all = STATES.reduce((sum, { column }) => sum + row[column], 0) || 1;
  for (const { colour, column } of STATES) {
    const high = ((ROW - 4) * row[column]) / all;
    context.fillStyle = colours.get(colour)!;
    context.fillRect(left, y - high, wide, high);
    y -= high;
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

/** The stretch of a track at a moment; `tolerance`: ns of a pixel. A long one before one of many short ones. */
export function pickedAt({ lane, shows }: Track, at: number, tolerance: number): Picked | null {
  if (shows === "states") {
    const row = nearest(lane.rows, at, tolerance);
    return row && { lane, at, shows, row };
  }
  const row = nearest(lane.causes, at, tolerance);
  return row && { lane, at, shows, row };
}

function nearest<R extends { ts_ns: number; duration_ns: number }>(
  rows: readonly R[],
  at: number,
  tolerance: number,
): R | null {
  let best: R | null = null;
  let least = 2 * tolerance;
  for (const row of rows) {
    const away =
      at < row.ts_ns ? row.ts_ns - at : at > row.ts_ns + row.duration_ns ? at - row.ts_ns - row.duration_ns : 0;
    if (away < least || (away === least && best !== null && row.duration_ns > best.duration_ns)) {
      least = away;
      best = row;
    }
  }
  return best;
}

/** The stretch of a track beside the one that was picked; `by`: 1 or -1. */
export function pickedBeside(track: Track, picked: Picked | null, by: number): Picked | null {
  const { lane, shows } = track;
  const rows = shows === "states" ? lane.rows : lane.causes;
  const isHere = picked?.lane.utid === lane.utid && picked.shows === shows;
  const now = isHere ? (rows as unknown[]).indexOf(picked.row) : by > 0 ? -1 : rows.length;
  const row = rows[now + by];
  return row ? ({ lane, shows, row, at: row.ts_ns + row.duration_ns / 2 } as Picked) : null;
}

/** A stretch in words. */
export function said(picked: Picked): string {
  if (picked.shows === "causes") return saidOfCause(picked.row);
  const { row } = picked;
  return row.interval_count === 1
    ? `${stateWord(row.state)}, ${duration(row.duration_ns)}`
    : `${stateWord(row.state)} and more, ${plural(row.interval_count, "interval")} in ${duration(row.duration_ns)}`;
}
