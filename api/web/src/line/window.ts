/** Windows as they stand in the address: `1.5s..3s`, as the command line has them (perfcase/case/scope.py). */

/** From, to, in seconds. */
export type Window = [number, number];

const SCALES: Record<string, number> = { "": 1, s: 1, ms: 1e-3, us: 1e-6, ns: 1e-9, m: 60, h: 3600 };

function time(text: string): number | null {
  const match = /^(\d+(?:\.\d+)?)(s|ms|us|ns|m|h|)$/.exec(text.trim());
  return match ? Number(match[1]) * SCALES[match[2]!]! : null;
}

/** A window in seconds; null: not one. */
export function seconds(text: string, end: number): Window | null {
  const [from, to, more] = text.split("..");
  if (to === undefined || more !== undefined) return null;
  const first = from ? time(from) : 0;
  const last = to ? time(to) : end;
  return first === null || last === null || last <= first ? null : [first, Math.min(last, end)];
}

/** As many digits behind the point of seconds as the length of a window asks for. */
function digitsOf([from, to]: Window): number {
  return Math.min(9, Math.max(0, Math.ceil(-Math.log10(to - from)) + 3));
}

/** A window of these seconds, as exact as its length asks for. */
export function rounded(window: Window): Window {
  const [from, to] = window.map((one) => Number(one.toFixed(digitsOf(window))));
  return [from!, to!];
}

/** Digits of a nanosecond: of a window that is meant exactly. */
export const EXACT = 9;

/** The same as it stands in an address and in a question. */
export function windowText(window: Window, places = digitsOf(window)): string {
  const [from, to] = window.map((one) => {
    const digits = one.toFixed(places);
    // The number itself would be written as 1e-7.
    return digits.includes(".") ? digits.replace(/\.?0+$/, "") : digits;
  });
  return `${from}s..${to}s`;
}
