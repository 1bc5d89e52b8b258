/** From where to where a chart's axis of figures goes. */

import type { Intervals } from "../api/types.gen";
import type { Drawn } from "../parts/charts";
import type { Lines } from "./series";
import { roundAbove, roundLength } from "./span";

/** What a line's axis reaches at least: an idle network is no hill. */
const least = (unit: string | null) => (unit?.startsWith("bytes") ? 1024 : 1);

/** A share of time that ticks count may be a tick above all of it: that is no reason for an axis to 200 %. */
const TICK = 1.05;
const ranges = new WeakMap<Lines, [number, number]>();

/** From 0, or the lowest figure below that, to a round figure that no line is above, whatever part is seen: what moves is the time alone. */
export function rangeOf({ chart: { values } }: Drawn<Intervals>, lines: Lines): [number, number] {
  // In each frame of a line that moves the figures are the same.
  let found = ranges.get(lines);
  if (!found) ranges.set(lines, (found = rangeFor(values[0]!.unit, lines)));
  return found;
}

function rangeFor(unit: string | null, lines: Lines): [number, number] {
  let [low, most] = [0, least(unit)];
  for (const { y } of lines.lines)
    for (const value of y)
      if (value !== null) {
        if (value > most) most = value;
        if (value < low) low = value;
      }
  if (unit === "ratio" && most <= TICK) return [low, 1];
  if (unit?.startsWith("bytes")) return [low, 2 ** Math.ceil(Math.log2(most))];
  return [low, unit === "ns" ? roundLength(most) : roundAbove(most)];
}
