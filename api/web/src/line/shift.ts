/** While time or tracks move, what is drawn is shifted, and only what comes into sight is drawn. Where time rests all of it is drawn. */

import { AXIS, draw, inSight, type Picture } from "./draw";
import { hasNames } from "./pieces";
import type { Area } from "./pixels";
import { type Span, ticks } from "./span";
import type { Placed } from "./tracks";

/** What a canvas has. */
export interface Drawn {
  tracks: readonly Placed[];
  /** Its span is what the pixels show: while time moves, at most a pixel or two beside what is asked for. */
  picture: Picture;
  /** Pixels of the canvas for one of the page. */
  density: number;
  /** All of it was drawn: nothing was shifted. */
  isWhole: boolean;
  /** It was shifted with the time: edges may be beside where they are when all is drawn. */
  isPanned: boolean;
}

/** From here on tracks are drawn; above stand the times of the axis. */
const EDGE = AXIS - 4;
const SAME = ["names", "width", "height", "data", "loaded", "gaps", "paint"] as const;
/** A part of the canvas that is worth keeping. */
const KEPT = 0.25;
/** No figure at the edge of a chart is wider. */
const LABEL = 200;

/** Brings a canvas up to date; `before`: what it has, null: nothing. */
export function drawAfter(
  context: CanvasRenderingContext2D,
  tracks: readonly Placed[],
  picture: Picture,
  before: Drawn | null,
  isMoving: boolean,
): Drawn {
  const density = context.getTransform().a;
  const shift = before?.density === density && before.tracks === tracks ? shiftOf(before, picture, isMoving) : null;
  const whole = () => {
    draw(context, tracks, picture);
    return { tracks, picture, density, isWhole: true, isPanned: false };
  };
  if (!shift) return whole();
  const [right, down] = shift;
  if (!right && !down) return before!;
  const was = before!.picture;
  const ns = right * pixelOf(was);
  const span: Span = [was.span[0] - ns, was.span[1] - ns];
  const now = { ...picture, span };
  if (right && (stepOf(was) ?? 0) !== stepOf(now)) return whole();
  move(context, now, shift);
  for (const [area, within] of uncovered(tracks, was, now, shift, density)) draw(context, within, now, area);
  return { tracks, picture: now, density, isWhole: false, isPanned: before!.isPanned || right !== 0 };
}

/** By how many pixels what is drawn goes to the right or down; null: all is to be drawn. */
function shiftOf({ picture: was, density, isPanned }: Drawn, now: Picture, isMoving: boolean): [number, number] | null {
  if (SAME.some((one) => was[one] !== now[one])) return null;
  // Edges are those of pixels, of the page and of the canvas: a part of one cannot be kept.
  const step = [1, 2, 4].find((pixels) => Number.isInteger(pixels * density));
  if (!step || !Number.isInteger(now.names * density) || !Number.isInteger(EDGE * density)) return null;
  const [before, after] = [was.span[1] - was.span[0], now.span[1] - now.span[0]];
  const isSame = was.span[0] === now.span[0] && was.span[1] === now.span[1] && !isPanned;
  if (isMoving ? Math.abs(after - before) > 1e-9 * before : !isSame) return null;
  const right = isSame ? 0 : Math.round((was.span[0] - now.span[0]) / pixelOf(was) / step) * step;
  const down = was.scroll - now.scroll;
  if ((right && down) || down % step) return null;
  const isFar =
    Math.abs(right) > (1 - KEPT) * (now.width - now.names) || Math.abs(down) > (1 - KEPT) * (now.height - EDGE);
  return isFar ? null : [right, down];
}

/** ns of a pixel of the page. */
const pixelOf = ({ span: [from, to], names, width }: Picture) => (to - from) / Math.max(width - names, 1);

/** Which moments have a line: as a text, since a step that is a sum is not exact. */
function stepOf({ span, names, width }: Picture): string | null {
  const [first, second] = ticks(span, width - names);
  return first && second ? (second.at - first.at).toPrecision(6) : null;
}

function move(context: CanvasRenderingContext2D, { names }: Picture, [right, down]: [number, number]): void {
  const { canvas } = context;
  const density = context.getTransform().a;
  context.save();
  context.resetTransform();
  context.beginPath();
  context.rect(names * density, EDGE * density, canvas.width, canvas.height);
  context.clip();
  context.globalCompositeOperation = "copy";
  context.drawImage(canvas, right * density, down * density);
  context.restore();
}

/** What is to be drawn after a shift: areas of whole pixels, with the tracks in them. */
function uncovered(
  tracks: readonly Placed[],
  was: Picture,
  now: Picture,
  [right, down]: [number, number],
  density: number,
): [Area, readonly Placed[]][] {
  const { names, width, height, scroll } = now;
  const whole = (to: number) => Math.floor(to * density) / density;
  const seen = inSight(tracks, scroll + EDGE - AXIS, height - EDGE);
  const rowsOf = ({ top, height: own }: Placed): [number, number] => [
    // What is cut at the edge is drawn behind the axis.
    AXIS + top - scroll > EDGE ? whole(AXIS + top - scroll) : 0,
    Math.min(whole(AXIS + top + own - scroll + 1), height),
  ];
  if (down) {
    const [upper, lower] = down > 0 ? [EDGE, EDGE + down] : [whole(height + down - 1), height];
    const charts = seen.flatMap((track) => {
      const [above, below] = rowsOf(track);
      // A line has other shades where an edge cuts it.
      const isCut = (above < lower && below > upper) || above === 0 || below === height;
      return track.kind === "chart" && isCut ? [[names, above, width, below] as const] : [];
    });
    return [[names, upper, width, lower] as const, ...charts].map((area) => [area, seen]);
  }
  const both: Span = [Math.min(was.span[0], now.span[0]), Math.max(was.span[1], now.span[1])];
  const stays = new Map(seen.map((track) => [track, staysIn(track, now, both)]));
  const bands: Area[] = [];
  for (const [track, wide] of stays) {
    if (!wide) continue;
    const [upper, lower] = rowsOf(track);
    const end = Math.min(names + wide + Math.max(right, 0), width);
    const last = bands.at(-1);
    if (last && last[3] >= upper && last[2] === end) bands[bands.length - 1] = [names, last[1], end, lower];
    else bands.push([names, upper, end, lower]);
  }
  return [
    [[names, 0, width, EDGE], []],
    [
      right > 0 ? [names, EDGE, names + right, height] : [whole(width + right - 1), EDGE, width, height],
      seen.filter((track) => stays.get(track) !== Number.POSITIVE_INFINITY),
    ],
    // Neighbours reach into a band that is no whole number of pixels high.
    ...bands.map((band): [Area, readonly Placed[]] => [band, seen]),
  ];
}

/** How many pixels from its left edge on a track has what does not go with the time: figures, names of runs that began before, lines, whose shades are those of where they are. */
function staysIn(track: Placed, picture: Picture, seen: Span): number {
  if (track.kind === "chart") return Number.POSITIVE_INFINITY;
  if (track.kind === "heat") return LABEL;
  const runs = track.kind === "lane" && track.shows.includes("runs") ? picture.data.runs.get(track.of) : undefined;
  return runs && hasNames(runs, seen, pixelOf(picture)) ? Number.POSITIVE_INFINITY : 0;
}
