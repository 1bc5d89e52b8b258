/** What stands above the tracks: the part that is chosen, the cursor, the piece that is picked, who ended it, and the path to it. */

import type { Shows } from "./lanes";
import type { Span } from "./span";
import { AXIS, type Paint, type Picture, xOf } from "./draw";
import { HEIGHTS, type LaneTrack, type Placed } from "./tracks";

export interface Box {
  track: Placed<LaneTrack>;
  shows: Shows;
  from: number;
  to: number;
}

export interface Arrow {
  from: Placed<LaneTrack>;
  to: Placed<LaneTrack>;
  at: number;
}

export interface Above {
  part: Span | null;
  cursor: number | null;
  picked: Box | null;
  /** The picked track, where no piece of it is. */
  row: { top: number; height: number } | null;
  arrow: Arrow | null;
  path: readonly Box[];
}

/** Whether there is anything to draw. */
export function hasAny({ part, cursor, picked, row, arrow, path }: Above): boolean {
  return [part, cursor, picked, row, arrow].some((one) => one !== null) || path.length > 0;
}

type Seen = Pick<Picture, "span" | "names" | "width" | "height" | "scroll"> & { paint: Paint };

export function drawAbove(context: CanvasRenderingContext2D, above: Above, seen: Seen): void {
  const { names, width, height, scroll, paint } = seen;
  const x = xOf(seen);
  const accent = paint.get("--accent")!;
  context.clearRect(0, 0, width, height);
  context.save();
  context.beginPath();
  context.rect(names, 0, width - names, height);
  context.clip();
  if (above.row) {
    context.fillStyle = accent;
    context.globalAlpha = 0.08;
    context.fillRect(names, AXIS + above.row.top - scroll, width - names, above.row.height);
    context.globalAlpha = 1;
  }
  if (above.part) {
    const [left, right] = above.part.map(x) as [number, number];
    context.fillStyle = accent;
    context.globalAlpha = 0.13;
    context.fillRect(left, 0, Math.max(right - left, 1), height);
    context.globalAlpha = 1;
    for (const edge of [left, right]) context.fillRect(edge - 0.5, 0, 1, height);
  }
  context.beginPath();
  context.rect(names, AXIS - 4, width - names, height);
  context.clip();
  for (const box of above.path) outline(context, box, x, seen, paint.get("--ink")!, 1);
  if (above.picked) outline(context, above.picked, x, seen, accent, 2);
  if (above.arrow) arrow(context, above.arrow, x, seen, accent);
  if (above.cursor !== null) {
    context.fillStyle = paint.get("--ink-3")!;
    context.fillRect(Math.round(x(above.cursor)), 0, 1, height);
  }
  context.restore();
}

/** Where a part of a lane is, from the canvas' top. */
function topOf({ track, shows }: Pick<Box, "track" | "shows">, scroll: number): number {
  let top = AXIS + track.top + 1 - scroll;
  for (const one of track.shows) {
    if (one === shows) break;
    top += HEIGHTS[one];
  }
  return top;
}

function outline(
  context: CanvasRenderingContext2D,
  box: Box,
  x: (ns: number) => number,
  seen: Seen,
  colour: string,
  thick: number,
): void {
  const left = Math.max(x(box.from), seen.names);
  const wide = Math.max(Math.min(x(box.to), seen.width) - left, 3);
  context.strokeStyle = colour;
  context.lineWidth = thick;
  const high = HEIGHTS[box.shows];
  context.strokeRect(left, topOf(box, seen.scroll) + (high > 9 ? 1 : -1), wide, high > 9 ? high - 2 : high - 1);
}

/** From the thread that woke another one, down or up to that, at the moment when it did. */
function arrow(
  context: CanvasRenderingContext2D,
  { from, to, at }: Arrow,
  x: (ns: number) => number,
  seen: Seen,
  colour: string,
): void {
  const middle = (track: Placed<LaneTrack>) => AXIS + track.top + HEIGHTS.states / 2 - seen.scroll;
  const [begin, end] = [middle(from), middle(to)];
  const way = Math.sign(end - begin) || 1;
  const left = x(at);
  context.strokeStyle = context.fillStyle = colour;
  context.lineWidth = 2;
  context.beginPath();
  context.arc(left, begin, 3, 0, 2 * Math.PI);
  context.moveTo(left, begin);
  context.lineTo(left, end - way * 6);
  context.stroke();
  context.beginPath();
  context.moveTo(left, end);
  context.lineTo(left - 5, end - way * 8);
  context.lineTo(left + 5, end - way * 8);
  context.fill();
}
