/** Charts on an axis of time, without lanes. */

import { Picture } from "./picture";
import type { Span } from "./span";
import type { Placed } from "./tracks";

const none = () => ({ states: new Map(), calls: new Map(), causes: new Map(), runs: new Map() });
const [NO_LANES, NOT_LOADED] = [none(), none()];
const NO_GAPS = { states: [], calls: [], causes: [], runs: [] };
const nothing = () => undefined;

interface ChartsProps {
  tracks: readonly Placed[];
  span: Span;
  isMoving?: boolean;
  /** ns of all that there is. */
  end: number;
  /** When it began, in ns since 1970, where that is known. */
  startNs: number | null;
  part: Span | null;
  isAwaited: boolean;
  onSpan: (span: Span | null) => void;
  /** A stretch was dragged over; null: none any more. */
  onPart: (part: Span | null) => void;
}

export function Charts(props: ChartsProps) {
  return (
    <Picture
      {...props}
      data={NO_LANES}
      loaded={NOT_LOADED}
      gaps={NO_GAPS}
      pick={null}
      picked={null}
      arrow={null}
      path={[]}
      pinned={null}
      isTall={false}
      onPick={nothing}
      onTurn={nothing}
      onPin={nothing}
      onMove={null}
    />
  );
}
