/** The states of threads: one word and one colour for each, on every page. The words are those of the column `state`. */

import type { NumbersOf } from "../api/rows";

/** Time in each group of states. */
export type Spent = NumbersOf<
  "thread_lane",
  "running_ns" | "runnable_ns" | "disk_sleep_ns" | "sleeping_ns" | "other_ns"
>;

export interface StateGroup {
  word: string;
  /** What it means, for who has not met the word. */
  means: string;
  /** A colour of the style sheet. */
  colour: string;
  column: keyof Spent;
  /** Values of the column `state`. */
  states: readonly string[];
}

export const STATES = [
  {
    word: "running",
    means: "runs on a CPU",
    colour: "--state-running",
    column: "running_ns",
    states: ["running"],
  },
  {
    word: "runnable",
    means: "ready to run, waits for a CPU",
    colour: "--state-runnable",
    column: "runnable_ns",
    states: ["runnable", "runnable_preempted"],
  },
  {
    word: "disk sleep",
    means: "uninterruptible sleep: waits for a disk, mostly",
    colour: "--state-io",
    column: "disk_sleep_ns",
    states: ["disk_sleep"],
  },
  {
    word: "sleeping",
    means: "waits for anything else, or has nothing to do",
    colour: "--state-sleep",
    column: "sleeping_ns",
    states: ["sleeping", "idle_sleep"],
  },
  { word: "other", means: "stopped, traced, parked, …", colour: "--state-other", column: "other_ns", states: [] },
] as const satisfies StateGroup[];

export function stateOf(state: string): StateGroup {
  return (STATES as readonly StateGroup[]).find(({ states }) => states.includes(state)) ?? STATES.at(-1)!;
}

/** A value of the column `state` in the page's word; what makes it more exact than the word stands behind it. */
export function stateWord(state: string | null): string {
  if (!state) return "?";
  const { word, states } = stateOf(state);
  const spelled = state.replaceAll("_", " ");
  if (states[0] === state) return word;
  return states.length ? `${word} (${spelled})` : spelled;
}
