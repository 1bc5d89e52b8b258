/** An answer with lanes, column by column, becomes typed arrays: a worker does it, which sends them without copying. */

import type { ColumnOf, ViewName } from "../api/rows";

/** Which columns of an answer a lane is drawn and told from. */
export interface Shape {
  /** Whose lane a row is of. */
  lane: string;
  numbers: readonly string[];
  texts: readonly string[];
}

export function shape<V extends ViewName, N extends ColumnOf<V>, T extends ColumnOf<V>>(
  _view: V,
  lane: ColumnOf<V>,
  numbers: readonly N[],
  texts: readonly T[],
): Shape {
  return { lane, numbers, texts };
}

/** Each text once, and which of them each row has. */
export interface Texts {
  words: (string | null)[];
  at: Uint32Array;
}

/** The rows of an answer, those of a lane beside each other. */
export interface Decoded {
  /** The lanes, and where the rows of each begin; behind the last one: where all end. */
  lanes: Float64Array;
  firsts: Uint32Array;
  numbers: Record<string, Float64Array>;
  texts: Record<string, Texts>;
}

/** Throws where the answer is cut, or is none. */
export function decoded(bytes: ArrayBuffer, { lane, numbers, texts }: Shape): Decoded {
  const columns = JSON.parse(new TextDecoder().decode(bytes)) as Record<string, unknown[]>;
  const lists = Object.values(columns);
  const length = lists[0]?.length ?? 0;
  if (lists.some((list) => !Array.isArray(list) || list.length !== length))
    throw new Error("columns of several lengths");
  const order = orderOf(columns[lane] ?? []);
  const column = (name: string): unknown[] => {
    const list = columns[name] ?? [];
    if (list.length !== length) throw new Error(`no ${name}`);
    return order ? order.map((at) => list[at]) : list;
  };
  const [lanes, firsts] = groupsOf(column(lane));
  return {
    lanes,
    firsts,
    // As Number() has it: what is NULL is 0, what has more digits than a double is the nearest.
    numbers: Object.fromEntries(numbers.map((name) => [name, Float64Array.from(column(name), Number)])),
    texts: Object.fromEntries(texts.map((name) => [name, textsOf(column(name) as (string | null)[])])),
  };
}

/** What is handed over with it instead of copied. */
export function buffersOf({ lanes, firsts, numbers, texts }: Decoded): ArrayBuffer[] {
  const all = [lanes, firsts, ...Object.values(numbers), ...Object.values(texts).map(({ at }) => at)];
  return all.map(({ buffer }) => buffer as ArrayBuffer);
}

/** null: the rows of each lane stand beside each other. */
function orderOf(lanes: readonly unknown[]): number[] | null {
  const left = new Set<unknown>();
  for (let at = 1; at < lanes.length; at++) {
    if (lanes[at] === lanes[at - 1]) continue;
    left.add(lanes[at - 1]);
    if (left.has(lanes[at])) return [...lanes.keys()].sort((a, b) => Number(lanes[a]) - Number(lanes[b]));
  }
  return null;
}

function groupsOf(lanes: readonly unknown[]): [Float64Array, Uint32Array] {
  const found: number[] = [];
  const firsts: number[] = [];
  lanes.forEach((lane, at) => {
    if (at && lane === lanes[at - 1]) return;
    found.push(Number(lane));
    firsts.push(at);
  });
  return [Float64Array.from(found), Uint32Array.from([...firsts, lanes.length])];
}

function textsOf(list: readonly (string | null)[]): Texts {
  const numbers = new Map<string | null, number>();
  const at = Uint32Array.from(list, (word) => {
    let number = numbers.get(word);
    if (number === undefined) numbers.set(word, (number = numbers.size));
    return number;
  });
  return { words: [...numbers.keys()], at };
}
