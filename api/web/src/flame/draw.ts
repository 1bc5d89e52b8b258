/** Draws a flame graph on a canvas: 100,000 frames in a few tens of ms, at the screen's own resolution. */

import { hatch } from "../parts/hatch";
import { count, duration, figure, size } from "../parts/units";
import { type FlameTree, hash } from "./tree";

export const ROW = 18;
const FONT = '11.5px ui-monospace, "SFMono-Regular", "DejaVu Sans Mono", Menlo, Consolas, monospace';
const PAD = 4;

/** Hue and saturation of a kind of frame; perfcase/stacks/flamegraph.py has the same kinds. */
const KINDS: Record<string, [number, number, string]> = {
  user: [38, 82, "user code"],
  kernel: [17, 78, "kernel"],
  inlined: [178, 48, "inlined"],
  jit: [112, 42, "compiled at run time (JIT)"],
  unnamed: [220, 4, "without a name"],
  object: [285, 46, "a whole object"],
  label: [215, 38, "thread, state"],
};

export interface Palette {
  isDark: boolean;
  ink: string;
  paper: string;
  hit: string;
  /** Lines where nothing was recorded. */
  hatch?: string;
}

export interface Scene {
  tree: FlameTree;
  /** The frame that fills the width. */
  zoom: number;
  hover: number;
  focus: number;
  hits: Uint8Array | null;
  /** The root is at the bottom. */
  isUp: boolean;
  /** Over time: where nothing was recorded. */
  gaps?: readonly (readonly [number, number])[] | undefined;
}

/** What a canvas shows of a scene: CSS pixels. */
export interface Port {
  width: number;
  height: number;
  scroll: number;
  /** Height of the whole picture. */
  whole: number;
}

/** The heaviest difference of shares, which has the strongest colour. */
export function strongest(tree: FlameTree): number {
  let most = 0;
  if (tree.base) {
    for (let node = 1; node < tree.size; node++) {
      most = Math.max(most, Math.abs(tree.share(node) - tree.baseShare(node)));
    }
  }
  return most;
}

/** Rows that a zoomed tree needs: those above the frame, too. What only the base of a difference has is not drawn. */
export function rows(tree: FlameTree, zoom: number): number {
  let deepest = tree.depth[zoom] ?? 0;
  for (let place = tree.position[zoom] ?? 0, end = tree.end[zoom] ?? 0; place < end; place++) {
    const node = tree.order[place]!;
    if (tree.weight[node]) deepest = Math.max(deepest, tree.depth[node]!);
  }
  return tree.size ? deepest + 1 : 0;
}

export function top(port: Port, isUp: boolean, depth: number): number {
  return (isUp ? port.whole - (depth + 1) * ROW : depth * ROW) - port.scroll;
}

/** Colours by name and kind, made once for a tree and a theme. */
export class Colours {
  private readonly kept = new Map<number, string>();
  private readonly most: number;

  constructor(
    private readonly tree: FlameTree,
    readonly palette: Palette,
  ) {
    this.most = strongest(tree);
  }

  of(node: number): string {
    const { tree, palette } = this;
    if (tree.base) return difference(tree.share(node) - tree.baseShare(node), this.most, palette.isDark);
    const key = tree.name[node]! * 8 + tree.kind[node]!;
    let colour = this.kept.get(key);
    if (!colour) {
      const shade = (hash(tree.label(node)) & 0xff) / 255;
      colour = kindColour(tree.kinds[tree.kind[node]!]!, palette.isDark, shade);
      this.kept.set(key, colour);
    }
    return colour;
  }
}

export function kindColour(kind: string, isDark: boolean, shade = 0.5): string {
  const [hue, saturation] = KINDS[kind] ?? KINDS.user!;
  const lightness = isDark ? 30 + 9 * shade : 70 + 12 * shade;
  return `hsl(${hue} ${isDark ? saturation * 0.62 : saturation}% ${lightness}%)`;
}

export function kindText(kind: string): string {
  return (KINDS[kind] ?? KINDS.user!)[2];
}

/** Red: a larger share than in the base; blue: a smaller one; grey: as it was. */
export function difference(by: number, most: number, isDark: boolean): string {
  const strength = most ? Math.sqrt(Math.abs(by) / most) : 0;
  const hue = by > 0 ? 4 : 214;
  return isDark
    ? `hsl(${hue} ${Math.round(62 * strength)}% ${Math.round(27 + 14 * strength)}%)`
    : `hsl(${hue} ${Math.round(82 * strength)}% ${Math.round(90 - 24 * strength)}%)`;
}

/** Draws; what it costs is linear in the frames that are at least half a pixel wide. */
export function draw(context: CanvasRenderingContext2D, scene: Scene, port: Port, colours: Colours): void {
  const { tree, zoom, hits } = scene;
  const { palette } = colours;
  context.fillStyle = palette.paper;
  context.fillRect(0, 0, port.width, port.height);
  if (!tree.size || !tree.weight[zoom]) return;
  context.font = FONT;
  context.textBaseline = "middle";
  const character = context.measureText("M").width;
  const scale = port.width / tree.weight[zoom]!;
  const left = tree.start[zoom]!;

  const frame = (node: number, x: number, width: number, isAbove: boolean) => {
    const y = top(port, scene.isUp, tree.depth[node]!);
    if (y + ROW < 0 || y > port.height) return;
    const isHit = hits?.[node] === 1;
    context.globalAlpha = isAbove ? 0.55 : hits && !isHit ? 0.45 : 1;
    context.fillStyle = isHit ? palette.hit : colours.of(node);
    // A line of paper between neighbours, where there is room for one.
    context.fillRect(x, y, width > 2.5 ? width - 0.75 : width, ROW - 1);
    const room = Math.floor((width - 2 * PAD) / character);
    if (room >= 2) {
      const name = tree.label(node);
      context.fillStyle = palette.ink;
      const text = name.length <= room ? name : `${name.slice(0, room - 1)}…`;
      context.fillText(text, x + PAD, y + ROW / 2);
    }
  };

  for (const [from, to] of scene.gaps ?? []) {
    const [begin, end] = [from, to].map((moment) => Math.min(Math.max((moment - left) * scale, 0), port.width));
    // Below what fills the width, which is there all the time.
    const below = top(port, false, tree.depth[zoom]! + 1);
    hatch(context, [begin!, below, end! - begin!, port.height - below], palette.hatch ?? palette.ink);
  }
  for (let node = tree.parent[zoom]!; node >= 0; node = tree.parent[node]!) frame(node, 0, port.width, true);
  // Over time, a frame that is narrower than a pixel has one: much that is short, far apart, would look like nothing at all.
  const taken = new Int32Array(tree.levels).fill(-1);
  for (let place = tree.position[zoom]!, end = tree.end[zoom]!; place < end;) {
    const node = tree.order[place]!;
    const [x, width] = [(tree.start[node]! - left) * scale, tree.weight[node]! * scale];
    const isNarrow = tree.starts ? width < 1 : width < 0.5;
    if (isNarrow && (!tree.starts || taken[tree.depth[node]!] === Math.floor(x))) {
      place = tree.end[node]!;
      continue;
    }
    if (isNarrow) frame(node, (taken[tree.depth[node]!] = Math.floor(x)), 1, false);
    else frame(node, x, width, false);
    place++;
  }
  context.globalAlpha = 1;
  for (const [node, line] of [
    [scene.hover, 1],
    [scene.focus, 2],
  ] as const) {
    const box = node >= 0 ? place(scene, port, node) : null;
    if (!box) continue;
    context.strokeStyle = palette.ink;
    context.lineWidth = line;
    context.strokeRect(box.x + line / 2, box.y + line / 2, Math.max(box.width - line, 1), ROW - 1 - line);
  }
}

/** Where a frame is drawn; null: not at all. */
export function place(scene: Scene, port: Port, node: number): { x: number; y: number; width: number } | null {
  const { tree, zoom } = scene;
  const y = top(port, scene.isUp, tree.depth[node]!);
  if (tree.isWithin(zoom, node)) return { x: 0, y, width: port.width };
  if (!tree.isWithin(node, zoom) || !tree.weight[zoom]) return null;
  const scale = port.width / tree.weight[zoom]!;
  return { x: (tree.start[node]! - tree.start[zoom]!) * scale, y, width: tree.weight[node]! * scale };
}

/** The frame at a place of the canvas; -1: none. */
export function at(scene: Scene, port: Port, x: number, y: number): number {
  const { tree, zoom } = scene;
  if (!tree.size || !tree.weight[zoom]) return -1;
  const row = Math.floor((scene.isUp ? port.whole - 1 - (y + port.scroll) : y + port.scroll) / ROW);
  if (row < 0) return -1;
  if (row <= tree.depth[zoom]!) {
    let node = zoom;
    while (tree.depth[node]! > row) node = tree.parent[node]!;
    return node;
  }
  const wanted = tree.start[zoom]! + (x / port.width) * tree.weight[zoom]!;
  // Over time, what begins within this pixel is drawn there, too.
  const pixel = tree.starts ? tree.weight[zoom]! / port.width : 0;
  // Down from the zoomed frame: in each row the one that holds this x.
  for (let place = tree.position[zoom]! + 1, end = tree.end[zoom]!; place < end;) {
    const node = tree.order[place]!;
    const [begin, over] = [tree.start[node]!, tree.start[node]! + tree.weight[node]!];
    if (wanted + pixel <= begin || wanted >= over || (!pixel && wanted < begin)) place = tree.end[node]!;
    else if (tree.depth[node] === row) return node;
    else place++;
  }
  return -1;
}

/** A weight in its unit. */
export function amount(value: number, unit: string): string {
  if (unit === "ns") return duration(value);
  if (unit === "bytes") return size(value);
  return `${Number.isInteger(value) ? count(value) : figure(value)} ${unit}`;
}
