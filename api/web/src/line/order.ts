/** The order that a reader gave the tracks: moves, one after the other, as they stand in the address. */

import type { Placed } from "./tracks";

/** This one before that one; null: behind all others. */
export interface Move {
  id: string;
  before: string | null;
}

/** What is moved among others of its kind: the tracks of a group, or groups and what stands alone. */
export interface Movable {
  /** The group that it is in; "": in none; null: it stays where it is. */
  among: string | null;
}

/** Moves that an address has; what is none is left out. */
export function movesOf(texts: readonly string[]): Move[] {
  return texts.flatMap((text) => {
    const [, id, before] = /^([\w:.]+)\*([\w:.]*)$/.exec(text) ?? [];
    return id ? [{ id, before: before || null }] : [];
  });
}

export const moveText = ({ id, before }: Move): string => `${id}*${before ?? ""}`;

/** The moves with one more; the last one of a track takes the place of the one just before it. */
export function withMove(moves: readonly Move[], move: Move): Move[] {
  return [...(moves.at(-1)?.id === move.id ? moves.slice(0, -1) : moves), move];
}

/** All of them, moved. A move of what is not here, or before what is not here, moves nothing. */
export function inOrder<T>(all: readonly T[], idOf: (one: T) => string, moves: readonly Move[]): T[] {
  const found = [...all];
  const place = (id: string | null) => found.findIndex((one) => idOf(one) === id);
  for (const { id, before } of moves) {
    const at = place(id);
    if (at < 0 || id === before || (before !== null && place(before) < 0)) continue;
    const [one] = found.splice(at, 1);
    found.splice(before === null ? found.length : place(before), 0, one!);
  }
  return found;
}

/** Those among which a track is moved, from above. */
export function siblings(tracks: readonly Placed[], id: string): Placed[] {
  const among = tracks.find((one) => one.id === id)?.among ?? null;
  return among === null ? [] : tracks.filter((one) => one.among === among);
}

/** One place up (-1) or down (1); null: there is none. */
export function step(tracks: readonly Placed[], id: string, by: -1 | 1): Move | null {
  const all = siblings(tracks, id);
  const at = all.findIndex((one) => one.id === id);
  if (at < 0 || !all[at + by]) return null;
  return { id, before: (by < 0 ? all[at - 1] : all[at + 2])?.id ?? null };
}

/** Which tracks go no further, each with the way: looked up for every title of every frame. What stays where it is goes neither way. */
export function endsOf(tracks: readonly Pick<Placed, "id" | "among">[]): Set<string> {
  const found = new Set<string>();
  const last = new Map<string, string>();
  for (const { id, among } of tracks) {
    if (among === null || !last.has(among)) found.add(`-1 ${id}`);
    if (among === null) found.add(`1 ${id}`);
    else last.set(among, id);
  }
  for (const id of last.values()) found.add(`1 ${id}`);
  return found;
}

/** To a height, where it is dropped: the move, and how far down the edge is that it goes to. null: it stays. */
export function drop(tracks: readonly Placed[], id: string, y: number): { move: Move | null; edge: number } | null {
  const all = siblings(tracks, id);
  if (all.length < 2) return null;
  // What a group has open goes with it.
  const ends = all.map((one, index) => all[index + 1]?.top ?? endOf(tracks, one));
  const found = all.findIndex((one, index) => y < (one.top + ends[index]!) / 2);
  const to = found < 0 ? all.length : found;
  const at = all.findIndex((one) => one.id === id);
  const move = to === at || to === at + 1 ? null : { id, before: all[to]?.id ?? null };
  return { move, edge: all[to]?.top ?? ends.at(-1)! };
}

/** Where a track ends, with what is open of it. */
function endOf(tracks: readonly Placed[], { id, among, top, height }: Placed): number {
  const inner = tracks.filter((one) => one.among === id && among !== id);
  const last = inner.at(-1);
  return last ? last.top + last.height : top + height;
}
