/** The tree of a flame graph as the server lists it (perfcase/stacks/tree.py), and the trees that are made from it. */

import type { Functions, Paths, Tree, TreeOfBoth } from "../api/types.gen";

/** The flame graph of one capture or of two. Node n of the lists is below `parent[n]`; parents come first. */
export type FlameDoc = Tree & Partial<TreeOfBoth>;

/** Where the functions of a tree are: the object and the line in which most of a node was counted. */
export interface Places {
  objects: readonly string[];
  sources: readonly string[];
  /** In `objects` and `sources`; -1: not known. Empty: of no node. */
  object: ArrayLike<number>;
  source: ArrayLike<number>;
  /** How many pairs of an object and a line a node has; 0: several. Empty: each has one. */
  places: ArrayLike<number>;
}

/** A tree with what its drawing needs: siblings in the order of their names, each node's place and depth. */
export class FlameTree {
  readonly size: number;
  readonly depth: Uint16Array;
  /** Where a node begins, in units of weight from the left. */
  readonly start: Float64Array;
  /** Nodes from left to right, callers before what they call. */
  readonly order: Uint32Array;
  /** A node's place in `order`. */
  readonly position: Uint32Array;
  /** Where in `order` what a node calls ends. */
  readonly end: Uint32Array;
  readonly levels: number;
  /** Names a node by its path, so that a link finds it in another answer as well. */
  readonly key: Uint32Array;

  constructor(
    readonly names: readonly string[],
    readonly kinds: readonly string[],
    readonly parent: ArrayLike<number>,
    readonly name: ArrayLike<number>,
    readonly kind: ArrayLike<number>,
    readonly weight: ArrayLike<number>,
    readonly self: ArrayLike<number>,
    /** The weights of the other capture, in a difference. */
    readonly base: ArrayLike<number> | null,
    readonly places: Places,
    /** What ran is at the root, who called it on it. */
    readonly isInverted = false,
    /** Where each node begins, of a tree whose siblings are in their own order and do not fill what is below them. */
    readonly starts: ArrayLike<number> | null = null,
  ) {
    const size = (this.size = parent.length);
    this.depth = new Uint16Array(size);
    this.start = new Float64Array(size);
    this.order = new Uint32Array(size);
    this.position = new Uint32Array(size);
    this.end = new Uint32Array(size);
    this.key = new Uint32Array(size);
    if (starts) this.start.set(starts);
    const hashes = names.map(hash);
    const below: number[][] = Array.from({ length: size }, () => []);
    let levels = 0;
    for (let node = 1; node < size; node++) {
      const above = parent[node]!;
      below[above]!.push(node);
      this.depth[node] = this.depth[above]! + 1;
      levels = Math.max(levels, this.depth[node]!);
      this.key[node] = mix(this.key[above]!, hashes[name[node]!]! ^ this.salt(node));
    }
    this.levels = size ? levels + 1 : 0;
    const rank = byName(names);
    let number = 0;
    const waiting: number[] = size ? [0] : [];
    while (waiting.length) {
      const node = waiting.pop()!;
      if (node < 0) {
        this.end[~node] = number;
        continue;
      }
      this.position[node] = number;
      this.order[number++] = node;
      waiting.push(~node);
      const callees = below[node]!;
      if (!starts) {
        callees.sort((a, b) => rank[name[a]!]! - rank[name[b]!]!);
        let x = this.start[node]!;
        for (const callee of callees) {
          this.start[callee] = x;
          x += weight[callee]!;
        }
      }
      for (let index = callees.length - 1; index >= 0; index--) waiting.push(callees[index]!);
    }
  }

  static of(doc: FlameDoc): FlameTree {
    // Upside down the stacks end in threads. What was counted in a function itself is next to the root.
    const self = doc.is_inverted ? doc.weight.map((weight, node) => (doc.parent[node] === 0 ? weight : 0)) : doc.self;
    const { names, kinds, parent, name, kind, weight, base = null, is_inverted } = doc;
    return new FlameTree(names, kinds, parent, name, kind, weight, self, base, doc, is_inverted);
  }

  /** Who calls a function or what it calls, as the server lists it. */
  static ofPaths({ names, kinds, parent, name, kind, weight, self, base = [], ...places }: Paths): FlameTree {
    return new FlameTree(names, kinds, parent, name, kind, weight, self, base.length ? base : null, places);
  }

  /** The object in which most of a node was counted; empty: of a thread or a state, or several. */
  objectOf(node: number): string {
    return this.places.objects[this.places.object[node] ?? -1] ?? "";
  }

  /** Where a node is, in words: its object, its line, and whether these are all. */
  where(node: number): string {
    const { sources, source, places } = this.places;
    const line = sources[source[node] ?? -1];
    const found = [this.objectOf(node), line].filter(Boolean).join(", ");
    const number = places[node] ?? 1;
    if (!found || number === 1) return found;
    return `${found} (most of ${number || "several"} places)`;
  }

  /** What tells nodes of one path apart: the kernel's function is another one than the library's. */
  protected salt(node: number): number {
    return this.kinds[this.kind[node]!] === "kernel" ? 1 : 0;
  }

  label(node: number): string {
    return this.names[this.name[node]!]!;
  }

  share(node: number): number {
    return this.weight[0] ? this.weight[node]! / this.weight[0]! : 0;
  }

  baseShare(node: number): number {
    return this.base?.[0] ? this.base[node]! / this.base[0]! : 0;
  }

  /** The node of a key; the root where there is none of it any more. */
  find(key: number): number {
    const found = key ? this.key.indexOf(key) : 0;
    return found < 0 ? 0 : found;
  }

  /** The heaviest node of a name that is no thread or state, where there is one. */
  nodeOf(name: number): number {
    let found = 0;
    for (let node = 1; node < this.size; node++) {
      if (this.name[node] !== name) continue;
      const isLabel = this.kinds[this.kind[node]!] === "label";
      if (!found || (!isLabel && this.kinds[this.kind[found]!] === "label")) found = node;
      else if (this.weight[node]! > this.weight[found]!) found = node;
    }
    return found;
  }

  /** Where a node of another tree is in this one, by its path; -1: nowhere. */
  carried(node: number, from: FlameTree): number {
    if (from === this || node < 0) return node;
    const key = from.key[node];
    return key === undefined ? -1 : this.key.indexOf(key);
  }

  isWithin(node: number, outer: number): boolean {
    while (this.depth[node]! > this.depth[outer]!) node = this.parent[node]!;
    return node === outer;
  }

  callees(node: number): number[] {
    const found: number[] = [];
    for (let other = 1; other < this.size; other++) if (this.parent[other] === node) found.push(other);
    return found.sort((a, b) => this.start[a]! - this.start[b]!);
  }
}

/** Builds a tree by paths; equal names below the same caller are one node. */
class Builder {
  readonly parent = [-1];
  readonly name: number[];
  readonly kind: number[];
  readonly weight = [0];
  readonly self = [0];
  readonly base = [0];
  readonly object = [-1];
  readonly source = [-1];
  readonly places = [1];
  private readonly found = new Map<number, number>();

  constructor(
    private readonly tree: FlameTree,
    name: number,
    kind: number,
  ) {
    this.name = [name];
    this.kind = [kind];
  }

  /** The node for a node of the whole tree, below one of this. */
  below(above: number, node: number): number {
    const name = this.tree.name[node]!;
    const key = above * this.tree.names.length + name;
    let at = this.found.get(key);
    if (at === undefined) {
      at = this.parent.length;
      this.found.set(key, at);
      this.parent.push(above);
      this.name.push(name);
      this.kind.push(this.tree.kind[node]!);
      this.weight.push(0);
      this.self.push(0);
      this.base.push(0);
      this.object.push(this.tree.places.object[node] ?? -1);
      this.source.push(this.tree.places.source[node] ?? -1);
      this.places.push(this.tree.places.places[node] ?? 1);
    } else {
      this.alike(at, node);
    }
    return at;
  }

  /** One more node is part of one of this. Where most of each was counted, most of both was. */
  private alike(at: number, node: number): void {
    const { object, source, places } = this.tree.places;
    const isSame = this.object[at] === (object[node] ?? -1) && this.source[at] === (source[node] ?? -1);
    if (isSame && this.places[at] === 1 && (places[node] ?? 1) === 1) return;
    this.places[at] = 0;
    if (isSame) return;
    if (this.object[at] !== (object[node] ?? -1)) this.object[at] = -1;
    this.source[at] = -1;
  }

  add(at: number, weight: number, base: number): void {
    this.weight[at]! += weight;
    this.base[at]! += base;
  }

  done(): FlameTree {
    const { names, kinds, base, places } = this.tree;
    const { object, source } = this;
    return new FlameTree(
      names,
      kinds,
      this.parent,
      this.name,
      this.kind,
      this.weight,
      this.self,
      base ? this.base : null,
      { objects: places.objects, sources: places.sources, object, source, places: this.places },
    );
  }
}

/** What a function calls, wherever it is called from. Where it is in a stack twice, the outer one counts (the view callees). */
export function callees(tree: FlameTree, name: number): FlameTree {
  const builder = new Builder(tree, name, kindOf(tree, name));
  // For each node, the node that stands for it in the new tree; -1: outside of the function.
  const at = new Int32Array(tree.size).fill(-1);
  for (let node = 1; node < tree.size; node++) {
    const above = at[tree.parent[node]!]!;
    if (above >= 0) at[node] = builder.below(above, node);
    else if (tree.name[node] === name) at[node] = 0;
    else continue;
    builder.add(at[node]!, tree.weight[node]!, tree.base?.[node] ?? 0);
    builder.self[at[node]!]! += tree.self[node]!;
  }
  return builder.done();
}

/**
 * Who calls a function, upside down. Where it is in a stack twice, the one nearest to the leaf counts. `self` of each node is the part
 * of its weight that was counted in the function itself (the view callers).
 */
export function callers(tree: FlameTree, name: number): FlameTree {
  const builder = new Builder(tree, name, kindOf(tree, name));
  const nested = new Float64Array(tree.size);
  const nestedBase = new Float64Array(tree.size);
  // Callees before their callers, so that what is nested in a node is known when it is reached.
  for (let node = tree.size - 1; node > 0; node--) {
    const above = tree.parent[node]!;
    if (tree.name[node] !== name) {
      nested[above]! += nested[node]!;
      nestedBase[above]! += nestedBase[node]!;
      continue;
    }
    nested[above]! += tree.weight[node]!;
    nestedBase[above]! += tree.base?.[node] ?? 0;
    const weight = tree.weight[node]! - nested[node]!;
    const base = (tree.base?.[node] ?? 0) - nestedBase[node]!;
    if (!(weight > 0) && !(base > 0)) continue;
    let at = 0;
    for (let caller = node; caller > 0; caller = tree.parent[caller]!) {
      if (caller !== node) at = builder.below(at, caller);
      builder.add(at, weight, base);
      builder.self[at]! += tree.self[node]!;
    }
  }
  return builder.done();
}

/** A function in a part of a tree: what was counted in it, and in it or in what it called; `base`: the latter in the other capture. */
export interface Part {
  name: number;
  kind: number;
  self: number;
  total: number;
  base: number;
}

/**
 * All functions below a node and itself, the threads and states left out. One that is in a stack twice counts once (the view
 * function_profile). The kernel's function is another one than the library's of the same name.
 */
export function functions(tree: FlameTree, within: number): Part[] {
  const parts = new Map<number, Part>();
  const open = new Map<number, number>();
  for (let place = tree.position[within]!, end = tree.end[within]!; place < end; place++) {
    const node = tree.order[place]!;
    const name = tree.name[node]!;
    const kind = tree.kind[node]!;
    if (node === 0 || tree.kinds[kind] === "label") continue;
    const key = 2 * name + (tree.kinds[kind] === "kernel" ? 1 : 0);
    let part = parts.get(key);
    if (!part) parts.set(key, (part = { name, kind, self: 0, total: 0, base: 0 }));
    part.self += tree.self[node]!;
    // What lies within the outermost one of this name is in its total by now.
    if (place < (open.get(key) ?? 0)) continue;
    open.set(key, tree.end[node]!);
    part.total += tree.weight[node]!;
    part.base += tree.base?.[node] ?? 0;
  }
  return [...parts.values()];
}

/** How many functions are listed by each measure. */
export const MOST = 25;
/** By what functions are sorted. */
export type By = keyof Functions["counts"];

/** How large a function is by a measure. `all`, `before`: what its shares in both captures are of. */
export function sizeBy(by: By, part: Pick<Part, "self" | "total" | "base">, all: number, before: number): number {
  return by === "change" ? Math.abs(change(part, all, before)) : part[by];
}

/** How much larger its share is than in the other capture. */
export function change({ total, base }: Pick<Part, "total" | "base">, all: number, before: number): number {
  return (all ? total / all : 0) - (before ? base / before : 0);
}

/** What stands beside the graph, as the server works it out (perfcase/stacks/beside.py): of a tree that has all of its nodes. */
export function beside(tree: FlameTree, within: number, find: string): Functions {
  const wanted = find.toLowerCase();
  const [all, before] = [tree.weight[within]!, tree.base?.[within] ?? 0];
  const found = functions(tree, within);
  const named = found.filter(({ name }) => tree.names[name]!.toLowerCase().includes(wanted));
  const first = new Set<Part>();
  const counts = { self: 0, total: 0, change: 0 };
  for (const by of Object.keys(counts) as By[]) {
    if (by === "change" && !tree.base) continue;
    const size = (part: Part) => sizeBy(by, part, all, before);
    const some = named.filter((part) => size(part) > 0);
    some.sort((a, b) => size(b) - size(a) || (tree.names[a.name]! < tree.names[b.name]! ? -1 : 1));
    counts[by] = some.length;
    for (const part of some.slice(0, MOST)) first.add(part);
  }
  const parts = [...first];
  return {
    weight: all,
    found: find ? search(tree, find, within).weight : 0,
    has_self: found.some(({ self }) => self > 0),
    counts,
    names: parts.map(({ name }) => tree.names[name]!),
    kinds: parts.map(({ kind }) => tree.kinds[kind]!),
    self: parts.map(({ self }) => self),
    total: parts.map(({ total }) => total),
    base: parts.map(({ base }) => base),
  };
}

function kindOf(tree: FlameTree, name: number): number {
  for (let node = 0; node < tree.size; node++) if (tree.name[node] === name) return tree.kind[node]!;
  return 0;
}

/** Which nodes a search finds, and how much of what is below `within` is in them. */
export function search(tree: FlameTree, text: string, within: number): { hits: Uint8Array; weight: number } {
  const wanted = text.toLowerCase();
  const names = tree.names.map((name) => (name.toLowerCase().includes(wanted) ? 1 : 0));
  const hits = new Uint8Array(tree.size);
  let weight = 0;
  for (let place = tree.position[within]!, end = tree.end[within]!, counted = place; place < end; place++) {
    const node = tree.order[place]!;
    if (!names[tree.name[node]!] || node === 0) continue;
    hits[node] = 1;
    if (place < counted) continue;
    weight += tree.weight[node]!;
    counted = tree.end[node]!;
  }
  return { hits, weight };
}

/** FNV-1a. */
export function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  return value >>> 0;
}

function mix(above: number, name: number): number {
  return (Math.imul(above ^ name, 0x01000193) ^ (name >>> 15)) >>> 0 || 1;
}

function byName(names: readonly string[]): Uint32Array {
  const rank = new Uint32Array(names.length);
  [...names.keys()].sort((a, b) => (names[a]! < names[b]! ? -1 : 1)).forEach((name, place) => (rank[name] = place));
  return rank;
}
