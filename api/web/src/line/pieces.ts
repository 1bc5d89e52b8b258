/** Paints the pieces of lanes: long ones as they were, what is shorter than a pixel by what took most of it. */

import { safe } from "../parts/safe";
import { stateOf, STATES } from "../parts/states";
import { kindOf } from "./causes";
import type { Paint, Picture } from "./draw";
import { firstAfter, type Lane, pieceOf, type Shows } from "./lanes";
import { type Area, type Pixels, wordOf } from "./pixels";
import { HEIGHTS } from "./tracks";

/** Pieces that end so many pixels before an area are looked at: they may cover the same pixel as the first one in it. */
const SLACK = 4;
/** A run that is wider has its thread's name. */
const NAMED = 46;

/** The pieces of all lanes in an area, and the names in them. */
export class Pieces {
  private readonly texts: [string, number, number, number][] = [];

  constructor(
    private readonly pixels: Pixels,
    private readonly picture: Picture,
    private readonly area: Area,
  ) {}

  /** A lane whose upper edge is there. */
  paint(lane: Lane, top: number): void {
    const { pixels, texts } = this;
    const { span, names, width, paint } = this.picture;
    const [from, to] = span;
    const [left, , right] = this.area;
    const { ts_ns, duration_ns } = lane.rows.numbers;
    const scale = Math.max(width - names, 1) / (to - from);
    const last = from + (right + 1 - names) / scale;
    const brush = BRUSHES[lane.shows](lane, { pixels, texts, paint, top });
    let covered = Number.NEGATIVE_INFINITY;
    for (let row = firstAfter(lane, from + (left - SLACK - names) / scale); row < lane.end; row++) {
      const begin = ts_ns![row]!;
      if (begin > last) break;
      // Edges of pixels: pieces beside each other stay so, and none disappears.
      const first = Math.max(Math.round(names + (begin - from) * scale), names - 2);
      const end = names + (begin + duration_ns![row]! - from) * scale;
      const behind = Math.max(Math.min(Math.round(end), width + 2), first + 1);
      // Where a finer answer is drawn in fewer pixels, a pixel is painted once.
      if (behind <= covered) continue;
      covered = behind;
      if (pixels.between(first, behind - first)) brush(row, first, behind - first);
    }
  }

  show(context: CanvasRenderingContext2D): void {
    this.pixels.show(context);
    context.fillStyle = this.picture.paint.get("--paper")!;
    for (const [text, left, middle, wide] of this.texts) {
      context.save();
      context.beginPath();
      context.rect(left, middle - 10, wide - 3, 20);
      context.clip();
      context.fillText(text, left + 4, middle);
      context.restore();
    }
  }
}

interface Where {
  pixels: Pixels;
  texts: [string, number, number, number][];
  paint: Paint;
  top: number;
}

/** Paints the row of a lane between columns that the pixels know. */
type Brush = (row: number, left: number, wide: number) => void;

const BRUSHES: Record<Shows, (lane: Lane, where: Where) => Brush> = {
  states: ({ rows: { numbers, texts } }, { pixels, paint, top }) => {
    const high = HEIGHTS.states - 4;
    const { words, at } = texts.state!;
    const own = words.map((word) => stateOf(word ?? "").colour);
    const colours = own.map((colour) => wordOf(paint.get(colour)!));
    const shares = STATES.map(({ colour, column }) => ({ word: wordOf(paint.get(colour)!), spent: numbers[column]! }));
    const stacked = Uint32Array.from(shares, ({ word }) => word);
    const counts = numbers.interval_count!;
    const lowest = (top + HEIGHTS.states - 2) * pixels.scale - 1;
    const tall = high * pixels.scale;
    const isExact = Number.isInteger(lowest) && Number.isInteger(tall);
    const heights = new Float64Array(shares.length);
    return (row) => {
      if (counts[row] === 1) {
        const isThin = own[at[row]!] === "--state-sleep";
        pixels.rows(colours[at[row]!]!, isThin ? top + 8 : top + 2, isThin ? 2 : high);
        return;
      }
      // Several in a pixel: their shares stand on each other.
      let all = 0;
      for (let number = 0; number < shares.length; number++) all += heights[number] = shares[number]!.spent[row]!;
      for (let number = 0; number < shares.length; number++) heights[number]! *= tall / (all || 1);
      if (isExact) {
        pixels.stack(stacked, heights, lowest);
        return;
      }
      let y = top + HEIGHTS.states - 2;
      for (let number = 0; number < shares.length; number++) {
        const part = heights[number]! / pixels.scale;
        if (part > 0) pixels.rows(stacked[number]!, y - part, part);
        y -= part;
      }
    };
  },
  causes: ({ rows: { texts } }, { pixels, paint, top }) => {
    const { words, at } = texts.kind!;
    const kinds = words.map(kindOf);
    const colours = kinds.map(({ colour }) => wordOf(paint.get(colour)!));
    return (row) => pixels.rows(colours[at[row]!]!, top, kinds[at[row]!]!.isThin ? 3 : HEIGHTS.causes - 3);
  },
  calls: ({ rows: { numbers, texts } }, { pixels, paint, top }) => {
    const { words, at } = texts.name!;
    const colours = words.map((word) => wordOf(ofName(safe(word ?? "?"), paint)));
    const failed = wordOf(paint.get("--critical")!);
    const errors = numbers.error_count!;
    return (row) => pixels.rows(errors[row] ? failed : colours[at[row]!]!, top, HEIGHTS.calls - 2);
  },
  runs: (lane, { pixels, texts, paint, top }) => {
    const { running_ns, duration_ns, run_count, pid, tid } = lane.rows.numbers;
    const colours = PROCESS_COLOURS.map((colour) => wordOf(paint.get(colour)!));
    // A pixel in which the CPU was idle half of the time is half as high.
    const most = HEIGHTS.runs - 4;
    return (row, left, wide) => {
      const high = Math.min(most * Math.max(running_ns![row]! / (duration_ns![row]! || 1), 0.15), most);
      pixels.rows(colours[ofProcess(pid![row]! || tid![row]!)]!, top + 2 + most - high, high);
      if (wide > NAMED && run_count![row] === 1)
        texts.push([pieceOf(lane as Lane<"runs">, row).name, left, top + HEIGHTS.runs / 2, wide]);
    };
  },
};

/** Whether names are in it, which stay in sight as long as their runs do: between these moments. */
export function hasNames(lane: Lane, [from, to]: readonly [number, number], pixel: number): boolean {
  if (lane.shows !== "runs") return false;
  const { ts_ns, duration_ns, run_count } = lane.rows.numbers;
  for (let row = firstAfter(lane, from); row < lane.end && ts_ns![row]! <= to; row++)
    if (run_count![row] === 1 && duration_ns![row]! > (NAMED - 2) * pixel) return true;
  return false;
}

/** Colours that text of the page's ground is read on, in both schemes: axe's contrast of 4.5 holds for each. */
export const PROCESS_COLOURS = ["--note", "--accent", "--good", "--warning", "--critical", "--ink-3"];

const ofProcess = (pid: number) => (Math.abs(pid * 2_654_435_761) % 4_294_967_296) % PROCESS_COLOURS.length;

export const CALL_COLOURS = ["--note", "--state-other", "--ink-3", "--line-strong"];
const names = new Map<string, number>();

/** Neighbouring calls are told apart; the name is told beside the cursor. */
function ofName(name: string, paint: Paint): string {
  let number = names.get(name);
  if (number === undefined) {
    number = [...name].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) >>> 0, 7);
    names.set(name, number);
  }
  return paint.get(CALL_COLOURS[number % CALL_COLOURS.length]!)!;
}
