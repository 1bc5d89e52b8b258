/** Paints the tracks that are in sight. */

import { written } from "../parts/cell";
import { hatch, STEP as HATCH } from "../parts/hatch";
import { ends, rowOf, strength } from "./heat";
import type { Lane, Shows } from "./lanes";
import { Pieces } from "./pieces";
import { type Area, Pixels } from "./pixels";
import { rangeOf } from "./range";
import type { Lines } from "./series";
import { type Span, ticks } from "./span";
import { type ChartTrack, HEAT, type HeatTrack, HEIGHTS, type LaneTrack, type MarksTrack, type Placed } from "./tracks";

export const AXIS = 20;
export const LINE_COLOURS = ["--accent", "--note", "--good", "--warning", "--critical", "--state-other"];
/** Lines go on so many pixels beside the picture: their corners are those of lines that go on. */
const BEYOND = 50;
const FONT = "11px system-ui, sans-serif";

export type Data = { [S in Shows]: ReadonlyMap<number, Lane<S>> };

export type Loaded = { [S in Shows]: ReadonlyMap<number, Span> };

export interface Picture {
  span: Span;
  /** Pixels of the titles, left of the axis. */
  names: number;
  width: number;
  height: number;
  /** Pixels that are above what is in sight. */
  scroll: number;
  data: Data;
  /** The part of the recording that each lane's pieces are about; a lane that is not here has none yet. */
  loaded: Loaded;
  /** Stretches, in ns, of which nothing was recorded, of what a lane shows. */
  gaps: Record<Shows, readonly Span[]>;
  paint: Paint;
}

/** Colours by their names in the style sheet. */
export type Paint = ReadonlyMap<string, string>;

export const PAINTED = [
  "--ink",
  "--ink-3",
  "--line",
  "--sunk",
  "--accent",
  "--accent-wash",
  "--hatch",
  "--paper",
  "--note",
];

export function xOf({
  span: [from, to],
  names,
  width,
}: Pick<Picture, "span" | "names" | "width">): (ns: number) => number {
  const room = Math.max(width - names, 1);
  return (ns) => names + ((ns - from) / (to - from)) * room;
}

/** Which tracks are in sight. */
export function inSight<T extends Placed>(tracks: readonly T[], scroll: number, height: number): T[] {
  return tracks.filter(({ top, height: own }) => top + own > scroll && top < scroll + height);
}

/** All of the tracks' part of the canvas. */
export const wholeOf = ({ names, width, height }: Picture): Area => [names, 0, width, height];

/** Paints an area of the canvas, and nothing beside it. The part of the axis that has ticks stays above the tracks. */
export function draw(
  context: CanvasRenderingContext2D,
  tracks: readonly Placed[],
  picture: Picture,
  area: Area = wholeOf(picture),
): void {
  const { span, names, width, height, scroll, paint } = picture;
  const [, upper, right, lower] = area;
  const density = context.getTransform().a;
  // Whole pixels of the canvas: what is painted on a part of one adds up.
  const left = Math.ceil(area[0] * density) / density;
  const x = xOf(picture);
  context.font = FONT;
  context.textBaseline = "middle";
  context.save();
  context.beginPath();
  const [wide, high] = [
    right < width ? right - left : width + 1 - left,
    lower < height ? lower - upper : height + 1 - upper,
  ];
  context.rect(left, upper, wide, high);
  context.clip();
  context.clearRect(left, upper, wide, high);
  const marks = ticks(span, width - names);
  context.fillStyle = paint.get("--line")!;
  // The one before is within the first pixel, or is not seen.
  const first = marks[1] ? [{ at: 2 * marks[0]!.at - marks[1].at }] : [];
  for (const { at } of [...first, ...marks]) context.fillRect(Math.round(x(at)), AXIS - 4, 1, height);
  const pieces = new Pieces(Pixels.for(context, area), picture, area);
  for (const track of inSight(tracks, scroll + upper - AXIS, lower - upper)) {
    const top = AXIS + track.top - scroll;
    if (track.kind === "chart") chart(context, track, top, x, picture);
    else if (track.kind === "lane") lane(context, pieces, track, top, x, picture);
    else if (track.kind === "heat") heatMap(context, track, top, x, picture);
    else if (track.kind === "marks") moments(context, track, top, x, paint);
    else {
      context.fillStyle = paint.get("--sunk")!;
      context.fillRect(names, top, width - names, track.height);
    }
  }
  pieces.show(context);
  if (upper < AXIS - 4) {
    context.fillStyle = paint.get("--paper")!;
    context.fillRect(names, 0, width - names, AXIS - 4);
    context.fillStyle = paint.get("--ink-3")!;
    for (const { at, text } of marks) context.fillText(text, x(at) + 3, (AXIS - 4) / 2);
  }
  context.restore();
}

type Place = (ns: number) => number;

function gapsAt(
  context: CanvasRenderingContext2D,
  gaps: readonly Span[],
  top: number,
  high: number,
  x: Place,
  picture: Picture,
): void {
  // The lines go with the time.
  const about = Math.round(x(0)) % HATCH;
  for (const [begin, end] of gaps) {
    const [left, right] = [Math.max(x(begin), picture.names), Math.min(x(end), picture.width)];
    hatch(context, [left, top, right - left, high], picture.paint.get("--hatch")!, 1, about);
  }
}

function chart(
  context: CanvasRenderingContext2D,
  { drawn, lines, height, span: own }: Placed<ChartTrack>,
  top: number,
  x: Place,
  picture: Picture,
): void {
  const { paint, names, width, span } = picture;
  const [high, low] = [top + 6, top + height - 4];
  const [lowest, most] = rangeOf(drawn, lines);
  const y = (value: number) => low - ((value - lowest) / (most - lowest)) * (low - high);
  const [first, last] = [Math.max(span[0], own[0]), Math.min(span[1], own[1])];
  gapsAt(context, first < last ? gapsIn(lines, [first, last]) : [], high, low - high, x, picture);
  veil(context, own, high, low - high, x, picture);
  context.fillStyle = paint.get("--line")!;
  context.fillRect(names, low, width - names, 1);
  context.fillRect(names, high, width - names, 1);
  const beyond = (BEYOND * (span[1] - span[0])) / Math.max(width - names, 1);
  const [begin, end] = [before(lines.x, (span[0] - beyond) / 1e9), before(lines.x, (span[1] + beyond) / 1e9) + 1];
  const [left, right] = [names - BEYOND, width + BEYOND];
  lines.lines.forEach(({ y: values }, number) => {
    context.strokeStyle = paint.get(LINE_COLOURS[number % LINE_COLOURS.length]!)!;
    context.lineWidth = 1.4;
    // A sharp corner would reach out of the track.
    context.lineJoin = "round";
    context.beginPath();
    let last: Point | null = null;
    let isOn = false;
    for (let index = begin; index <= end && index < values.length; index++) {
      const value = values[index]!;
      const next: Point | null = value === null ? null : [x(lines.x[index]! * 1e9), y(value)];
      if (last && next && last[0] < right && next[0] > left) {
        stroke(context, last, next, [left, right], isOn);
        isOn = true;
      }
      if (!next) isOn = false;
      last = next;
    }
    context.stroke();
  });
  label(context, said(drawn.chart.values[0]!.unit, most), names, high + 7, paint);
}

type Point = readonly [number, number];

/** A line to the next value. Only what is in sight of one that is far longer: from points that are the same wherever it is shifted to. */
function stroke(context: CanvasRenderingContext2D, [x, y]: Point, [end, down]: Point, seen: Span, isOn: boolean): void {
  const long = end - x;
  const at = (step: number): Point => (step ? [x + step * BEYOND, y + ((down - y) * step * BEYOND) / long] : [x, y]);
  let step = Math.max(Math.floor((seen[0] - x) / BEYOND), 0);
  if (!isOn) context.moveTo(...at(step));
  for (step++; step * BEYOND < long; step++) {
    const point = at(step);
    context.lineTo(...point);
    if (point[0] > seen[1]) return;
  }
  context.lineTo(end, down);
}

/** What was not asked for yet is not what was not recorded: it is neither drawn nor hatched, but dim. */
function veil(
  context: CanvasRenderingContext2D,
  known: Span | undefined,
  top: number,
  high: number,
  x: Place,
  { names, width, paint }: Picture,
): void {
  const [left, right] = known ? [x(known[0]), x(known[1])] : [width, width];
  context.fillStyle = paint.get("--sunk")!;
  if (left > names) context.fillRect(names, top, Math.min(left, width) - names, high);
  if (right < width) context.fillRect(Math.max(right, names), top, width - Math.max(right, names), high);
}

/** A figure of a chart, as the cells of tables have it. */
export const said = (unit: string | null, value: number) => written(value, { name: "", unit });

/** The last of these moments that is not after `at`; 0 where all are. */
function before(moments: readonly number[], at: number): number {
  let [low, high] = [0, moments.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (moments[middle]! <= at) low = middle + 1;
    else high = middle;
  }
  return Math.max(low - 1, 0);
}

/** Stretches of a span, in ns, of which no line has a value. */
function gapsIn({ known }: Lines, [from, to]: Span): Span[] {
  const gaps: Span[] = [];
  let at = from;
  for (const [begin, end] of known) {
    if (end * 1e9 <= from) continue;
    if (begin * 1e9 >= to) break;
    if (begin * 1e9 > at) gaps.push([at, begin * 1e9]);
    at = Math.max(at, end * 1e9);
  }
  if (at < to) gaps.push([at, to]);
  return gaps;
}

function heatMap(
  context: CanvasRenderingContext2D,
  { heat, gaps, span: own }: Placed<HeatTrack>,
  top: number,
  x: Place,
  picture: Picture,
): void {
  const { paint, names, width, span } = picture;
  const [high, room] = [top + 3, HEAT - 6];
  gapsAt(context, gaps, high, room, x, picture);
  veil(context, heat ? own : undefined, high, room, x, picture);
  if (!heat?.rows.length) return;
  const tall = room / heat.rows.length;
  context.fillStyle = paint.get("--accent")!;
  for (const cell of heat.cells) {
    if (cell.ts_ns + cell.duration_ns < span[0] || cell.ts_ns > span[1]) continue;
    const [left, right] = [Math.round(x(cell.ts_ns)), Math.round(x(cell.ts_ns + cell.duration_ns))];
    context.globalAlpha = strength(heat, cell);
    context.fillRect(left, high + room - (rowOf(heat, cell.low) + 1) * tall, Math.max(right - left, 1), tall);
  }
  context.globalAlpha = 1;
  const [most, least] = ends(heat);
  for (const [text, y] of [
    [most, high + 6],
    [least, high + room - 6],
  ] as const)
    label(context, text, names, y, paint);
  context.fillStyle = paint.get("--line")!;
  context.fillRect(names, top + HEAT - 1, width - names, 1);
}

/** Text within a picture, readable above what is drawn. */
function label(context: CanvasRenderingContext2D, text: string, names: number, y: number, paint: Paint): void {
  const wide = context.measureText(text).width;
  context.fillStyle = paint.get("--paper")!;
  context.globalAlpha = 0.75;
  context.fillRect(names + 2, y - 6, wide + 6, 12);
  context.globalAlpha = 1;
  context.fillStyle = paint.get("--ink-3")!;
  context.fillText(text, names + 5, y);
}

function moments(
  context: CanvasRenderingContext2D,
  { marks, height }: Placed<MarksTrack>,
  top: number,
  x: Place,
  paint: Paint,
): void {
  for (const { at, until, isWhole, colour } of marks) {
    context.fillStyle = paint.get(colour) ?? paint.get("--note")!;
    if (until === undefined) context.fillRect(x(at) - 1, top + 2, 2, height - 4);
    else if (isWhole) context.fillRect(x(at), top + height / 2 - 1, x(until) - x(at), 2);
    else context.fillRect(x(at), top + 4, Math.max(x(until) - x(at), 2), height - 8);
  }
}

function lane(
  context: CanvasRenderingContext2D,
  pieces: Pieces,
  track: Placed<LaneTrack>,
  top: number,
  x: Place,
  picture: Picture,
): void {
  let at = top + 1;
  for (const shows of track.shows) {
    gapsAt(context, picture.gaps[shows], at, HEIGHTS[shows], x, picture);
    veil(context, picture.loaded[shows].get(track.of), at, HEIGHTS[shows], x, picture);
    const own = picture.data[shows].get(track.of);
    if (own) pieces.paint(own, at);
    at += HEIGHTS[shows];
  }
}
