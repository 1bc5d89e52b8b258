/** Lanes of threads and CPUs: rows of views that are only as fine as a screen can show. */

import type { NumbersOf } from "../api/rows";
import { safe } from "../parts/safe";
import { type Spent, stateWord } from "../parts/states";
import { duration, plural } from "../parts/units";
import { type CauseRow, saidOfCause } from "./causes";
import { type Decoded, type Shape, shape } from "./decode";

/** One long interval, or what began in a pixel. */
export interface Piece {
  ts_ns: number;
  duration_ns: number;
}

export interface StateRow extends Spent, NumbersOf<"thread_lane", "ts_ns" | "duration_ns" | "interval_count"> {
  state: string;
}

type CallFigures = "ts_ns" | "duration_ns" | "call_count" | "call_ns" | "name_ns" | "error_count";
export interface CallRow extends NumbersOf<"call_lane", CallFigures> {
  name: string;
}

type RunFigures = "ts_ns" | "duration_ns" | "run_count" | "running_ns" | "most_ns" | "utid";
export interface RunRow extends NumbersOf<"cpu_lane", RunFigures> {
  /** The thread that ran most, as its lane is called. */
  name: string;
  /** What it is coloured by: threads of a process are alike. */
  pid: number;
}

/** What the pieces of a lane are. */
export interface PieceOf {
  states: StateRow;
  calls: CallRow;
  causes: CauseRow;
  runs: RunRow;
}
export type Shows = keyof PieceOf;

/** The pieces of a thread or a CPU, in the order of time: rows of an answer. */
export interface Lane<S extends Shows = Shows> {
  shows: S;
  rows: Decoded;
  /** Its first row, and the one behind its last. */
  first: number;
  end: number;
}

/** The lanes of an answer. */
export function laneByNumber<S extends Shows>(shows: S, rows: Decoded): Map<number, Lane<S>> {
  const { lanes, firsts } = rows;
  return new Map(
    Array.from(lanes, (of, at) => [of, { shows, rows, first: firsts[at]!, end: firsts[at + 1]! }] as const),
  );
}

export const threadName = (comm: string | null, tid: unknown) => safe(`${comm ?? "?"} ${String(tid)}`);

const SPENT = ["running_ns", "runnable_ns", "disk_sleep_ns", "sleeping_ns", "other_ns"] as const;

/** What is decoded of each answer. */
export const SHAPES: Record<Shows, Shape> = {
  states: shape("thread_lane", "utid", ["ts_ns", "duration_ns", "interval_count", ...SPENT], ["state"]),
  calls: shape(
    "call_lane",
    "utid",
    ["ts_ns", "duration_ns", "call_count", "call_ns", "name_ns", "error_count"],
    ["name"],
  ),
  causes: shape(
    "blame_lane",
    "utid",
    ["ts_ns", "duration_ns", "part_count", "wait_ns", "kind_ns", "due_ns"],
    ["kind", "due"],
  ),
  runs: shape(
    "cpu_lane",
    "cpu",
    ["ts_ns", "duration_ns", "utid", "tid", "pid", "run_count", "running_ns", "most_ns"],
    ["comm"],
  ),
};

type Figures = Record<string, number>;
type Words = Record<string, string | null>;

const MADE: { [S in Shows]: (figures: Figures, words: Words) => object } = {
  states: (figures, { state }) => ({ ...figures, state: state ?? "" }),
  calls: (figures, { name }) => ({ ...figures, name: safe(name ?? "?") }),
  causes: (figures, { kind, due }) => ({ ...figures, kind: kind ?? "", due: safe(due ?? "?") }),
  runs: ({ tid, pid, ...figures }, { comm }) => ({ ...figures, pid: pid || tid, name: threadName(comm!, tid) }),
};

/** A row of a lane as what is told of it. */
export function pieceOf<S extends Shows>({ shows, rows: { numbers, texts } }: Lane<S>, row: number): PieceOf[S] {
  const figures = Object.fromEntries(Object.entries(numbers).map(([name, list]) => [name, list[row]!]));
  const words = Object.fromEntries(Object.entries(texts).map(([name, { words: all, at }]) => [name, all[at[row]!]!]));
  return MADE[shows](figures, words) as PieceOf[S];
}

/** The first row of a lane that ends after a moment, or the one before it. Pieces of a lane overlap by a pixel at most. */
export function firstAfter({ rows, first, end }: Lane, at: number): number {
  const { ts_ns, duration_ns } = rows.numbers;
  let [low, high] = [first, end];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ts_ns![middle]! + duration_ns![middle]! < at) low = middle + 1;
    else high = middle;
  }
  return Math.max(low - 1, first);
}

/** The row at a moment, or the nearest within two pixels, -1 where none is; `pixel`: ns. A long one before one of many short ones. */
export function rowAt(lane: Lane, at: number, pixel: number): number {
  const { ts_ns, duration_ns } = lane.rows.numbers;
  let best = -1;
  let least = 2 * pixel;
  for (let row = firstAfter(lane, at - 2 * pixel); row < lane.end; row++) {
    const begin = ts_ns![row]!;
    if (begin > at + 2 * pixel) break;
    const last = begin + duration_ns![row]!;
    const away = at < begin ? begin - at : at > last ? at - last : 0;
    if (away < least || (away === least && best >= 0 && duration_ns![row]! > duration_ns![best]!)) {
      least = away;
      best = row;
    }
  }
  return best;
}

/** The same as what is told of it. */
export function pieceAt<S extends Shows>(lane: Lane<S> | undefined, at: number, pixel: number): PieceOf[S] | null {
  const row = lane ? rowAt(lane, at, pixel) : -1;
  return row < 0 ? null : pieceOf(lane!, row);
}

/** A piece in words. */
export function saidOf<S extends Shows>(shows: S, piece: PieceOf[S]): string {
  switch (shows) {
    case "causes":
      return saidOfCause(piece as CauseRow);
    case "states": {
      const row = piece as StateRow;
      return row.interval_count === 1
        ? `${stateWord(row.state)}, ${duration(row.duration_ns)}`
        : `${stateWord(row.state)} and more, ${plural(row.interval_count, "interval")} in ${duration(row.duration_ns)}`;
    }
    case "calls": {
      const row = piece as CallRow;
      const failed = row.error_count
        ? `, ${row.error_count === row.call_count ? "" : `${row.error_count} `}failed`
        : "";
      if (row.call_count === 1) return `${row.name}, ${duration(row.call_ns)}${failed}`;
      const most =
        row.name_ns < row.call_ns ? `, most of it ${row.name} (${duration(row.name_ns)})` : ` of ${row.name}`;
      return `${plural(row.call_count, "call")}${most}, ${duration(row.call_ns)} in ${duration(row.duration_ns)}${failed}`;
    }
    default: {
      const row = piece as RunRow;
      return row.run_count === 1
        ? `${row.name} ran ${duration(row.running_ns)}`
        : `${plural(row.run_count, "run")}, ${duration(row.running_ns)} in ${duration(row.duration_ns)}; most by ${row.name} (${duration(row.most_ns)})`;
    }
  }
}
