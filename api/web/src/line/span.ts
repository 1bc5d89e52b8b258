/** The axis of time: which part of a recording is seen, and how it moves. Times are ns since the recording began. */

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

/** From when to when, in as many digits as its length has. */
export function spanText([from, to]: Span): string {
  const digits = Math.min(Math.max(Math.ceil(2 - Math.log10((to - from) / 1e9)), 0), 9);
  const text = (ns: number) =>
    (ns / 1e9).toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return `${text(from)} to ${text(to)} s`;
}

const UNITS: [number, string][] = [
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "µs"],
  [1, "ns"],
];

/** Marks of an axis of `room` pixels: about one in 90, at round times. */
export function ticks([from, to]: Span, room: number): { at: number; text: string }[] {
  const wanted = (to - from) / Math.max(room / 90, 1);
  const power = 10 ** Math.floor(Math.log10(wanted));
  const step = [1, 2, 5, 10].map((part) => part * power).find((part) => part >= wanted)!;
  const [scale, unit] = UNITS.find(([least]) => to >= least) ?? UNITS[3]!;
  const digits = Math.max(0, Math.ceil(-Math.log10(step / scale) - 1e-9));
  const found = [];
  for (let number = Math.ceil(from / step); number * step <= to; number++) {
    const value = (number * step) / scale;
    // Neighbours differ in their last digit.
    const text = value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
    found.push({ at: number * step, text: `${text} ${unit}` });
  }
  return found;
}
