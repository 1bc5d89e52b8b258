/** What the waits of a lane were due to: its second track, below the states. */

import type { NumbersOf } from "../api/rows";
import { plural, duration } from "../parts/units";

type Figures = "ts_ns" | "duration_ns" | "part_count" | "wait_ns" | "kind_ns" | "due_ns";

/** A part of a wait; or several in a pixel, with the kind that took most of it and its longest part. */
export interface CauseRow extends NumbersOf<"blame_lane", Figures> {
  kind: string;
  due: string;
}

interface Kind {
  kind: string;
  text: string;
  colour: string;
  /** Nobody works for it: it is drawn as a line. */
  isThin?: boolean;
}

/** Each pair differs to readers with any of the colour blindnesses, too: a test holds that. */
export const KINDS: readonly Kind[] = [
  { kind: "thread", text: "another thread", colour: "--cause-thread" },
  { kind: "lock", text: "another thread, in futex or a file lock", colour: "--cause-lock" },
  { kind: "run_queue", text: "a CPU", colour: "--cause-cpu" },
  { kind: "disk", text: "a disk", colour: "--cause-disk" },
  { kind: "peer", text: "another end", colour: "--cause-peer" },
  { kind: "timer", text: "a sleep or a timeout", colour: "--cause-timer" },
  { kind: "idle", text: "one with nothing to do", colour: "--cause-idle", isThin: true },
  { kind: "other", text: "something else, or not known", colour: "--cause-other", isThin: true },
];

export function kindOf(name: string | null): Kind {
  return KINDS.find(({ kind }) => kind === name) ?? KINDS.at(-1)!;
}

/** Says for what, how long, and how much of the pixel that is. */
export function saidOfCause(row: CauseRow): string {
  if (row.part_count === 1) return `waited ${duration(row.wait_ns)} for ${row.due}`;
  const most = row.kind_ns < row.wait_ns ? `, most of it (${duration(row.kind_ns)}) for ${kindOf(row.kind).text}` : "";
  return `waited ${duration(row.wait_ns)} in ${plural(row.part_count, "part")}${most}; the longest, ${duration(row.due_ns)}, for ${row.due}`;
}
