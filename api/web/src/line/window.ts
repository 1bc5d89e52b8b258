/** Windows as they stand in the address: `1.5s..3s`, as the command line has them (perfcase/case/scope.py). */

const SCALES: Record<string, number> = { "": 1, s: 1, ms: 1e-3, us: 1e-6, ns: 1e-9, m: 60, h: 3600 };

function time(text: string): number | null {
  const match = /^(\d+(?:\.\d+)?)(s|ms|us|ns|m|h|)$/.exec(text.trim());
  return match ? Number(match[1]) * SCALES[match[2]!]! : null;
}

/** A window in seconds; null: not one. */
export function seconds(text: string, end: number): [number, number] | null {
  const [from, to, more] = text.split("..");
  if (to === undefined || more !== undefined) return null;
  const first = from ? time(from) : 0;
  const last = to ? time(to) : end;
  return first === null || last === null || last <= first ? null : [first, Math.min(last, end)];
}

/** A window of these seconds, as exact as its length asks for. */
export function windowText([from, to]: [number, number]): string {
  const digits = Math.min(9, Math.max(0, Math.ceil(-Math.log10(to - from)) + 3));
  return `${Number(from.toFixed(digits))}s..${Number(to.toFixed(digits))}s`;
}
