/** How wide an element is, also after the window has changed. */

import type { RefObject } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";

/** CSS pixels; 0 before the element is there. */
export function useWidth(box: RefObject<HTMLElement | null>, isThere = true): number {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const measure = () => setWidth(element.clientWidth);
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, [isThere]);
  return width;
}
