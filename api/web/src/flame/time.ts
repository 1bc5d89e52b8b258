/** The samples of a thread over time as a tree for the canvas: a frame is as wide as the time for which its function was seen without a gap. */

import type { NumbersOf, Value } from "../api/rows";
import { FlameTree, hash } from "./tree";

export interface Sample extends NumbersOf<"sample", "ts_ns"> {
  period: number | null;
  /** The callchain; null: there is only the sampled instruction, `frame_id`. */
  stack_id: number | null;
  frame_id: number | null;
}

/** A callchain, root first. */
export interface Chain {
  stack_id: number | null;
  frame_id: number | null;
  names: string[];
  objects: string[];
  kinds: string[];
  sources: string[];
}

/** Neighbours of less than this share of a period are drawn as one: timers are no more exact. */
const JITTER = 0.1;

/** What a sample stands for, where its period is no time: the usual distance from one of the thread to its next one. */
export function usualDistance(samples: readonly Sample[]): number {
  const gaps = samples.slice(1).map((one, index) => one.ts_ns - samples[index]!.ts_ns);
  return gaps.sort((a, b) => a - b)[gaps.length >> 1] ?? 0;
}

/**
 * The tree of samples in the order of time, between two moments. A sample stands for the period that ends with it, and for no time that
 * another one of the thread stands for. Frames of neighbours are one where nothing lies between them and all below them are the same.
 */
export function overTime(
  samples: readonly Sample[],
  chains: readonly Chain[],
  [from, to]: readonly [number, number],
  { name, isTime }: { name: string; isTime: boolean },
): { tree: FlameTree; undrawn: number } {
  const usual = isTime ? 0 : usualDistance(samples);
  const byId = new Map(chains.map((chain) => [`${chain.stack_id} ${chain.frame_id}`, chain]));
  const names: string[] = [name];
  const [kinds, objects, sources] = [["label"], [] as string[], [] as string[]];
  const known = [names, kinds, objects, sources].map((list) => new Map(list.map((one, place) => [one, place])));
  const place = (which: number, list: string[], one: string) => {
    let found = known[which]!.get(one);
    if (found === undefined) known[which]!.set(one, (found = list.push(one) - 1));
    return found;
  };
  const node = {
    parent: [-1],
    name: [0],
    kind: [0],
    weight: [to - from],
    self: [0],
    start: [from],
    object: [-1],
    source: [-1],
  };
  let open: number[] = [0];
  let last = from;
  let isFirst = true;
  let undrawn = 0;
  for (const sample of samples) {
    const end = Math.min(sample.ts_ns, to);
    const period = isTime ? (sample.period ?? 0) : usual;
    let begin = Math.max(sample.ts_ns - period, last);
    if (end <= begin) {
      undrawn++;
      continue;
    }
    const isNext = !isFirst && begin - last <= JITTER * period;
    if (isNext) begin = last;
    else open = [0];
    isFirst = false;
    const chain = byId.get(sample.stack_id === null ? `null ${sample.frame_id}` : `${sample.stack_id} null`);
    const next = [0];
    chain?.names.forEach((one, depth) => {
      const [label, kind] = [place(0, names, one), place(1, kinds, chain.kinds[depth]!)];
      const object = place(2, objects, chain.objects[depth]!);
      const source = chain.sources[depth] ? place(3, sources, chain.sources[depth]) : -1;
      const above = next[depth]!;
      let at = open[depth + 1];
      const isSame =
        at !== undefined && node.parent[at] === above && node.name[at] === label && node.object[at] === object;
      if (at === undefined || !isSame) {
        at = node.parent.push(above) - 1;
        node.name.push(label);
        node.kind.push(kind);
        node.weight.push(0);
        node.self.push(0);
        node.start.push(begin);
        node.object.push(object);
        node.source.push(source);
      } else if (node.source[at] !== source) {
        // Another line of it: which one ran longer is not told.
        node.source[at] = -1;
      }
      node.weight[at]! += end - begin;
      next.push(at);
    });
    if (next.length > 1) node.self[next.at(-1)!]! += end - begin;
    open = next;
    last = end;
  }
  const tree = new TimeTree(
    names,
    kinds,
    node.parent,
    node.name,
    node.kind,
    node.weight,
    node.self,
    null,
    { objects, sources, object: node.object, source: node.source, places: [] },
    false,
    node.start,
  );
  return { tree, undrawn };
}

/** Frames at their times: those of one path are several. */
class TimeTree extends FlameTree {
  protected override salt(node: number): number {
    return hash(String(this.start[node]));
  }
}

export type Rows = Record<"start_ns" | "duration_ns" | "self_ns" | "depth" | "symbol" | "dso", Value>[];

/** The frames of a tree within one of them, in the order of time, as rows of a table. */
export function rowsOf(tree: FlameTree, within: number, isOf: (name: string) => boolean): Rows {
  const found: Rows = [];
  for (let place = tree.position[within]!, end = tree.end[within]!; place < end; place++) {
    const node = tree.order[place]!;
    if (node === 0 || !isOf(tree.label(node))) continue;
    found.push({
      start_ns: tree.start[node]!,
      duration_ns: tree.weight[node]!,
      self_ns: tree.self[node]!,
      depth: tree.depth[node]!,
      symbol: tree.label(node),
      dso: tree.objectOf(node) || null,
    });
  }
  return found;
}
