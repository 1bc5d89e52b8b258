/** Lanes of threads and CPUs: rows of views that are only as fine as a screen can show. */

import { type NumbersOf, numbersOf, type RowOf } from "../api/rows";
import { safe } from "../parts/safe";
import { type Spent, stateWord } from "../parts/states";
import { duration, plural } from "../parts/units";
import { type CauseRow, saidOfCause } from "./causes";

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

/** The pieces of each thread or CPU, in the order of time. */
export type Lanes<S extends Shows> = Map<number, PieceOf[S][]>;

function grouped<R, P>(rows: readonly R[], key: (row: R) => unknown, piece: (row: R) => P): Map<number, P[]> {
  const found = new Map<number, P[]>();
  for (const row of rows) {
    const of = Number(key(row));
    const known = found.get(of);
    if (known) known.push(piece(row));
    else found.set(of, [piece(row)]);
  }
  return found;
}

export const threadName = (comm: string | null, tid: unknown) => safe(`${comm ?? "?"} ${String(tid)}`);

const SPENT = ["running_ns", "runnable_ns", "disk_sleep_ns", "sleeping_ns", "other_ns"] as const;

export const LANES = {
  states: (rows: readonly RowOf<"thread_lane">[]): Lanes<"states"> =>
    grouped(
      rows,
      ({ utid }) => utid,
      (row) => ({
        ...numbersOf(row, "thread_lane", "ts_ns", "duration_ns", "interval_count", ...SPENT),
        state: row.state ?? "",
      }),
    ),
  calls: (rows: readonly RowOf<"call_lane">[]): Lanes<"calls"> =>
    grouped(
      rows,
      ({ utid }) => utid,
      (row) => ({
        ...numbersOf(row, "call_lane", "ts_ns", "duration_ns", "call_count", "call_ns", "name_ns", "error_count"),
        name: safe(row.name ?? "?"),
      }),
    ),
  causes: (rows: readonly RowOf<"blame_lane">[]): Lanes<"causes"> =>
    grouped(
      rows,
      ({ utid }) => utid,
      (row) => ({
        ...numbersOf(row, "blame_lane", "ts_ns", "duration_ns", "part_count", "wait_ns", "kind_ns", "due_ns"),
        kind: row.kind ?? "",
        due: safe(row.due ?? "?"),
      }),
    ),
  runs: (rows: readonly RowOf<"cpu_lane">[]): Lanes<"runs"> =>
    grouped(
      rows,
      ({ cpu }) => cpu,
      (row) => ({
        ...numbersOf(row, "cpu_lane", "ts_ns", "duration_ns", "utid", "run_count", "running_ns", "most_ns"),
        pid: Number(row.pid ?? row.tid ?? 0),
        name: threadName(row.comm, row.tid),
      }),
    ),
};

/** Where in the order of time the first piece stands that ends after a moment. Pieces of a lane overlap by a pixel at most. */
export function firstAfter(pieces: readonly Piece[], at: number): number {
  let [low, high] = [0, pieces.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const { ts_ns, duration_ns } = pieces[middle]!;
    if (ts_ns + duration_ns < at) low = middle + 1;
    else high = middle;
  }
  return Math.max(low - 1, 0);
}

/** The piece at a moment, or the nearest within two pixels; `pixel`: ns. A long one before one of many short ones. */
export function pieceAt<P extends Piece>(pieces: readonly P[], at: number, pixel: number): P | null {
  let best: P | null = null;
  let least = 2 * pixel;
  for (let index = firstAfter(pieces, at - 2 * pixel); index < pieces.length; index++) {
    const piece = pieces[index]!;
    if (piece.ts_ns > at + 2 * pixel) break;
    const last = piece.ts_ns + piece.duration_ns;
    const away = at < piece.ts_ns ? piece.ts_ns - at : at > last ? at - last : 0;
    if (away < least || (away === least && best !== null && piece.duration_ns > best.duration_ns)) {
      least = away;
      best = piece;
    }
  }
  return best;
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
