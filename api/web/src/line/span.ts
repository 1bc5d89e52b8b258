/** The axis of time: which part of a recording is seen, and how it moves. Times are ns since the recording began. */

import { LONG_NS, momentOf, seconds } from "../parts/units";

/** From, to. */
export type Span = readonly [number, number];

/** The shortest part that is shown: a microsecond, as exact as clocks of kernels are. */
const LEAST_NS = 1000;

/** `by` times as long, with the moment `about` where it is, within [0, end]. */
export function zoomed([from, to]: Span, by: number, about: number, end: number): Span {
  const length = Math.min(Math.max((to - from) * by, LEAST_NS), end);
  const begin = Math.min(Math.max(about - ((about - from) / (to - from)) * length, 0), end - length);
  return [begin, begin + length];
}

/** Moved by this part of its length, within [0, end]. */
export function moved([from, to]: Span, part: number, end: number): Span {
  const by = Math.min(Math.max((to - from) * part, -from), end - to);
  return [from + by, to + by];
}

/** So that a moment is in it: moved no more than it must. */
export function holding([from, to]: Span, at: number, end: number): Span {
  if (at >= from && at <= to) return [from, to];
  const begin = Math.min(Math.max(at - (to - from) / 2, 0), end - (to - from));
  return [begin, begin + to - from];
}

/**
 * What is asked for so that a span is drawn: twice to four times its length, on a grid of its own. So a small step to
 * the side and a small zoom ask nothing.
 */
export function askedFor([from, to]: Span, end: number): Span {
  const length = 2 ** Math.ceil(Math.log2(Math.max(to - from, LEAST_NS)));
  if (2 * length >= end) return [0, end];
  const grid = length / 2;
  const begin = Math.max(Math.floor(from / grid) - 1, 0) * grid;
  return [Math.round(begin), Math.round(Math.min(begin + 2 * length, end))];
}

const UNITS: [number, string][] = [
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "µs"],
  [1, "ns"],
];
/** Round distances of marks, in seconds: those of minutes, hours and days are not tens. */
const ROUND = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200];
const DAY_S = 86400;
/** Pixels of a mark, and about so many of a letter in it. */
const [MARK, LETTER] = [90, 6.5];

/** The least round figure that is not below: 1, 2 or 5 of a power of ten. */
export function roundAbove(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((part) => part * power).find((part) => part >= value)!;
}

/** The least round length of time, in ns, that is not below. */
export function roundLength(ns: number): number {
  if (ns <= 10e9) return roundAbove(ns);
  const found = ROUND.find((seconds) => seconds * 1e9 >= ns);
  return found ? found * 1e9 : roundAbove(ns / 1e9 / DAY_S) * DAY_S * 1e9;
}

/** Marks of an axis of `room` pixels: about one in 90, at round times; fewer where their texts are long. */
export function ticks(span: Span, room: number): { at: number; text: string }[] {
  const found = marks(span, room, MARK);
  const widest = Math.max(...found.map(({ text }) => text.length)) * LETTER + 12;
  return widest > MARK ? marks(span, room, widest) : found;
}

function marks([from, to]: Span, room: number, wide: number): { at: number; text: string }[] {
  const wanted = (to - from) / Math.max(room / wide, 1);
  const isLong = to >= LONG_NS;
  const step = isLong ? roundLength(wanted) : roundAbove(wanted);
  const [scale, unit] = UNITS.find(([least]) => to >= least) ?? UNITS[3]!;
  const digits = Math.max(0, Math.ceil(-Math.log10(step / scale) - 1e-9));
  const found = [];
  for (let number = Math.ceil(from / step); number * step <= to; number++) {
    const at = number * step;
    // Neighbours differ in their last digit.
    found.push({ at, text: isLong ? momentOf(at, digits) : `${seconds((at / scale) * 1e9, digits)} ${unit}` });
  }
  return found;
}
