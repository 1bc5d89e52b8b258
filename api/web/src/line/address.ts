/** What of the time line a link holds: the part that is seen, what is picked, folded, pinned, moved and searched for. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { CaptureProps } from "../app/pages";
import { OF_A_TABLE, useRoute } from "../app/route";
import { type Store, store, useStore } from "../app/store";
import { type Move, movesOf, moveText, withMove } from "./order";
import { askedFor, type Span } from "./span";
import { type Pick, pickOf, pickText } from "./tracks";
import { seconds, windowText } from "./window";

/** How long a span stays before it is asked for. */
const REST_MS = 120;

/** A span that moves, and where it was at rest before. */
interface Moving {
  span: Span;
  from: Span;
}

export interface LineState {
  /** ns of the recording. */
  length: number;
  /** The span where it last rested. */
  rested: Span;
  /** Where it is now: only what shows that looks, in each frame (useSpan). */
  moving: Store<Moving | null>;
  /** What is asked for to draw the span where it last rested. */
  asked: Span;
  /** It moves: what is asked for and the address follow when it rests. */
  isMoving: boolean;
  isZoomed: boolean;
  /** The filter's window. */
  part: Span | null;
  pick: Pick | null;
  turned: string[];
  pinned: string[];
  /** The order that was given to tracks. */
  moves: Move[];
  find: string;
  /** The critical path to what is picked is shown. */
  hasPath: boolean;
  /** What the panel shows. */
  panel: string | null;
  setSpan: (span: Span | null) => void;
  setPart: (part: Span | null) => void;
  setPick: (pick: Pick | null) => void;
  turn: (id: string) => void;
  pin: (id: string) => void;
  /** null: none is moved any more. */
  move: (move: Move | null) => void;
  setFind: (text: string) => void;
  setPath: (isOn: boolean) => void;
  setPanel: (id: string) => void;
}

const toggled = (all: readonly string[], one: string) =>
  all.includes(one) ? all.filter((each) => each !== one) : [...all, one];
const ns = (text: string | null, length: number): Span | null => {
  const found = text ? seconds(text, length / 1e9) : null;
  // A part beyond the recording's end is none of it.
  return found && found[0] < found[1] ? [Math.round(found[0] * 1e9), Math.round(found[1] * 1e9)] : null;
};
const inSeconds = ([from, to]: Span): [number, number] => [from / 1e9, to / 1e9];

export function useLineState({ capture, filters, onFilters }: CaptureProps): LineState {
  const { params, set } = useRoute();
  const length = Number(capture.duration_ns ?? 0);
  const zoom = params.get("zoom");
  const rested: Span = useMemo(() => ns(zoom, length) ?? [0, length], [zoom, length]);
  const [movedFrom, setMovedFrom] = useState<Span | null>(null);
  const moving = useMemo(() => store<Moving | null>(null), []);
  // A browser takes few changes of an address in a second, and a server few questions.
  const timer = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  const isMoving = movedFrom === rested;
  const list = (name: string) => params.getAll(name).filter(Boolean);
  const [turned, pinned, moves] = [list("turn"), list("pin"), movesOf(list("order"))];
  return {
    length,
    rested,
    moving,
    asked: useMemo(() => askedFor(rested, length), [rested]),
    isMoving,
    isZoomed: zoom !== null || isMoving,
    part: ns(filters.window, length),
    pick: pickOf(params.get("pick")),
    turned,
    pinned,
    moves,
    find: params.get("tracks") ?? "",
    hasPath: params.has("path"),
    panel: params.get("panel"),
    setSpan: (to) => {
      moving.set({ span: to ?? [0, length], from: rested });
      setMovedFrom(rested);
      clearTimeout(timer.current);
      timer.current = window.setTimeout(() => {
        moving.set(null);
        setMovedFrom(null);
        // A step of a zoom is none that "back" should return to.
        set({ zoom: to && (to[0] > 0 || to[1] < length) ? windowText(inSeconds(to)) : null }, true);
      }, REST_MS);
    },
    setPart: (to) => onFilters({ window: to && windowText(inSeconds(to)) }),
    setPick: (to) => set({ pick: pickText(to) }, true),
    turn: (id) => set({ turn: toggled(turned, id) }, true),
    pin: (id) => set({ pin: toggled(pinned, id) }, true),
    move: (to) => set({ order: to && withMove(moves, to).map(moveText) }, true),
    setFind: (text) => set({ tracks: text || null }, true),
    setPath: (isOn) => set({ path: isOn || null }, true),
    // A condition on the columns of one view is none on those of another.
    setPanel: (id) => set({ ...OF_A_TABLE, panel: id }, true),
  };
}

/** The span now: that of a press. */
export function spanOf({ moving, rested }: LineState): Span {
  const now = moving.get();
  return now?.from === rested ? now.span : rested;
}

/** The span of each frame. */
export function useSpan(state: LineState): { span: Span; isMoving: boolean } {
  useStore(state.moving);
  const span = spanOf(state);
  return { span, isMoving: span !== state.rested };
}
