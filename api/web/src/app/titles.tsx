/** What a title says, for who has no mouse: by a tap, and by the focus of a key. A mouse has the browser's own. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import "./titles.css";

const WIDEST = 320;

interface Told {
  of: Element;
  text: string;
}

/** The nearest element with a title, with what that says. */
function toldBy(target: EventTarget | null): Told | null {
  const of = target instanceof Element ? target.closest("[title]") : null;
  const text = of?.getAttribute("title") ?? "";
  return of && text ? { of, text } : null;
}

export function Titles() {
  const [told, setTold] = useState<Told | null>(null);
  const shown = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const hide = () => setTold(null);
    const tap = (event: PointerEvent) => {
      if (event.pointerType !== "touch") return;
      const found = toldBy(event.target);
      setTold(found);
      // What the tap did may have taken the element away.
      if (found) setTimeout(() => found.of.isConnected || hide(), 300);
    };
    const focus = ({ target }: FocusEvent) => {
      if (target instanceof Element && target.matches(":focus-visible") && target.matches("[title]"))
        setTold(toldBy(target));
    };
    // A tap gives the focus to what it reads after it was read: the element that had it before is not what is told.
    const leave = ({ target }: FocusEvent) => setTold((before) => (before?.of === target ? null : before));
    const follow = () => setTold((before) => (before?.of.isConnected ? { ...before } : null));
    const key = (event: KeyboardEvent) => event.key === "Escape" && hide();
    const all: [string, (event: never) => void][] = [
      ["pointerup", tap],
      ["pointerdown", hide],
      ["focusin", focus],
      ["focusout", leave],
      ["scroll", follow],
      ["keydown", key],
    ];
    for (const [name, act] of all) addEventListener(name, act as EventListener, true);
    return () => {
      for (const [name, act] of all) removeEventListener(name, act as EventListener, true);
    };
  }, []);
  // Above a dialog, too: there only what is in the browser's top layer is.
  useLayoutEffect(() => {
    if (told && !shown.current?.matches(":popover-open")) shown.current?.showPopover();
  }, [told]);
  if (!told) return null;
  const { left, top, bottom } = told.of.getBoundingClientRect();
  const isLow = bottom > innerHeight - 120;
  const place = isLow ? { bottom: `${innerHeight - top + 2}px` } : { top: `${bottom + 2}px` };
  const [name = "", ...more] = told.text.split("\n");
  return (
    // A reader of screens says the title itself.
    <div
      ref={shown}
      key={told.text}
      popover="manual"
      class="told"
      aria-hidden="true"
      style={{ ...place, left: `${Math.max(8, Math.min(left, innerWidth - WIDEST - 8))}px` }}
    >
      <p>{name}</p>
      {more.map((line, number) => (
        <p key={number}>{line}</p>
      ))}
    </div>
  );
}
