/** Tracks are moved: by keys, by buttons beside their titles, by dragging a title. */

import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { AXIS } from "./draw";
import { drop, endsOf, type Move, siblings, step } from "./order";
import type { Placed } from "./tracks";

export interface Moving {
  /** How far down the edge is that what is dragged goes to. */
  edge: number | null;
  can: (track: Placed, by: -1 | 1) => boolean;
  by: (track: Placed, by: -1 | 1) => void;
  /** The mouse is pressed on a title. */
  drag: (event: MouseEvent, track: Placed) => void;
  /** Whether a key moved a track: that of the title which has the focus, else the current one. */
  key: (event: KeyboardEvent, current: Placed | undefined) => boolean;
  /** Where the track stands that was just moved, to be said. */
  placeOf: (track: Placed | undefined) => string;
}

const DRAG = 5;
/** So close to an edge what is dragged scrolls the tracks, by so much. */
const [NEAR, SCROLL] = [28, 14];

export function useMoving(
  tracks: readonly Placed[],
  scroller: { readonly current: HTMLElement | null },
  onMove: ((move: Move) => void) | null,
  /** It has its new place. */
  onMoved: (track: Placed) => void,
): Moving {
  const [edge, setEdge] = useState<number | null>(null);
  const [last, setLast] = useState<string | null>(null);
  const followed = useRef<{ id: string; focus: string | null } | null>(null);
  const now = useRef(tracks);
  now.current = tracks;
  const move = (to: Move | null) => {
    if (!to || !onMove) return;
    const focus = document.activeElement;
    const isIn = focus instanceof HTMLElement && focus.closest(`[data-track="${to.id}"]`);
    followed.current = { id: to.id, focus: isIn ? focus.getAttribute("aria-label") : null };
    if (isIn && followed.current.focus === null) followed.current.focus = "";
    setLast(to.id);
    onMove(to);
  };
  useLayoutEffect(() => {
    const { id, focus } = followed.current ?? {};
    const track = tracks.find((one) => one.id === id);
    followed.current = null;
    if (!track) return;
    onMoved(track);
    if (focus === null || focus === undefined) return;
    // A title that changes its place loses the focus; the button that moved it may be gone at the end.
    const label = scroller.current!.querySelector(`[data-track="${id}"]`);
    const buttons = [...(label?.querySelectorAll<HTMLElement>("button") ?? [])];
    (buttons.find((one) => (one.getAttribute("aria-label") ?? "") === focus) ?? buttons[0])?.focus({
      preventScroll: true,
    });
  }, [tracks]);
  const key = (event: KeyboardEvent, current: Placed | undefined) => {
    if (!event.altKey || event.ctrlKey || event.metaKey || !/^Arrow(Up|Down)$/.test(event.key) || !onMove) return false;
    const label = (event.target as HTMLElement).closest<HTMLElement>("[data-track]");
    const id = label?.dataset.track ?? current?.id;
    event.preventDefault();
    if (id) move(step(tracks, id, event.key === "ArrowUp" ? -1 : 1));
    return true;
  };
  const drag = (event: MouseEvent, { id, among }: Placed) => {
    if (event.button !== 0 || among === null || (event.target as HTMLElement).closest(".line-pin, .line-move")) return;
    const element = scroller.current!;
    const height = (of: MouseEvent) => of.clientY - element.getBoundingClientRect().y - AXIS + element.scrollTop;
    let isDrag = false;
    const follow = (of: MouseEvent) => {
      isDrag ||= Math.abs(of.clientY - event.clientY) > DRAG;
      if (!isDrag) return;
      const { y, bottom } = element.getBoundingClientRect();
      if (of.clientY < y + NEAR + AXIS) element.scrollTop -= SCROLL;
      else if (of.clientY > bottom - NEAR) element.scrollTop += SCROLL;
      setEdge(drop(now.current, id, height(of))?.edge ?? null);
    };
    const end = () => {
      removeEventListener("mousemove", follow);
      removeEventListener("mouseup", up);
      removeEventListener("keydown", cancel, true);
      setEdge(null);
    };
    const up = (of: MouseEvent) => {
      end();
      if (!isDrag) return;
      // What was dragged is not pressed as well.
      const swallow = (click: Event) => click.stopPropagation();
      addEventListener("click", swallow, { capture: true, once: true });
      setTimeout(() => removeEventListener("click", swallow, true));
      move(drop(now.current, id, height(of))?.move ?? null);
    };
    const cancel = (pressed: KeyboardEvent) => {
      if (pressed.key !== "Escape") return;
      pressed.stopPropagation();
      end();
    };
    addEventListener("mousemove", follow);
    addEventListener("mouseup", up);
    addEventListener("keydown", cancel, true);
  };
  const ends = useMemo(() => endsOf(tracks), [tracks]);
  return {
    edge,
    can: ({ id }, by) => !ends.has(`${by} ${id}`),
    by: (track, by) => move(step(tracks, track.id, by)),
    drag,
    key,
    placeOf: (track) => {
      if (!track || track.id !== last) return "";
      const all = siblings(tracks, track.id);
      return `, place ${all.findIndex(({ id }) => id === track.id) + 1} of ${all.length}`;
    },
  };
}
