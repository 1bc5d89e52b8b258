/** Where nothing was recorded nothing is drawn, and that is seen: diagonal lines, as on every axis of time. */

/** Pixels from a line to the next. */
export const STEP = 7;

/** Stretches of [0, end] that no part of `known` covers; `known`: in order, none overlaps another. */
export function gapsOf(known: readonly (readonly [number, number])[], end: number): [number, number][] {
  const gaps: [number, number][] = [];
  let at = 0;
  for (const [from, to] of known) {
    if (from > at) gaps.push([at, Math.min(from, end)]);
    at = Math.max(at, to);
  }
  if (at < end) gaps.push([at, end]);
  return gaps.filter(([from, to]) => to > from);
}

/** Hatches a box of a canvas, in its pixels. The lines are those of the whole canvas, so that boxes beside each other agree; one is at `about`. */
export function hatch(
  context: CanvasRenderingContext2D,
  [left, top, width, height]: readonly [number, number, number, number],
  colour: string,
  scale = 1,
  about = 0,
): void {
  if (width <= 0 || height <= 0) return;
  const step = STEP * scale;
  context.save();
  context.beginPath();
  context.rect(left, top, width, height);
  context.clip();
  context.strokeStyle = colour;
  context.lineWidth = scale;
  context.beginPath();
  const first = about + Math.floor((left - about - height) / step) * step;
  for (let x = first; x < left + width + step; x += step) {
    context.moveTo(x, top + height);
    context.lineTo(x + height, top);
  }
  context.stroke();
  context.restore();
}
