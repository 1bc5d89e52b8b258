/** The titles of the tracks in sight, beside the picture, with the figures of the charts under the cursor. */

import { timeOfDay, zone } from "../app/clock";
import { type Store, useStore } from "../app/store";
import { momentOf, plural, UNKNOWN } from "../parts/units";
import { AXIS, LINE_COLOURS, said } from "./draw";
import type { Moving } from "./moving";
import { pointAt } from "./series";
import { type ChartTrack, type Pick, type Placed, unpinned } from "./tracks";

interface LabelsProps {
  tracks: readonly Placed[];
  total: number;
  width: number;
  current: string | null;
  pick: Pick | null;
  /** The moment under the cursor, in ns: what tells of it follows by itself, since it changes with each move of the mouse. */
  cursor: Store<number | null>;
  startNs: number | null;
  pinned: readonly string[] | null;
  onPick: (pick: Pick | null) => void;
  onTurn: (id: string) => void;
  onPin: (id: string) => void;
  /** null: tracks stay where they are. */
  moving: Moving | null;
}

export function Labels({
  tracks,
  total,
  width,
  current,
  pick,
  cursor,
  startNs,
  pinned,
  onPick,
  onTurn,
  onPin,
  moving,
}: LabelsProps) {
  return (
    <div class="line-labels" style={{ height: `${total}px`, width: `${width}px` }}>
      <div class="line-corner">
        <span class="line-time">
          <Moment cursor={cursor} startNs={startNs} />
        </span>
      </div>
      {tracks.map((track) => {
        const { id, title, top, height, kind, depth } = track;
        const isPinned = pinned?.includes(unpinned(id)) ?? false;
        return (
          <div
            key={id}
            class={`line-label line-${kind}${id === current ? " is-current" : ""}${id === pick?.id ? " is-picked" : ""}`}
            data-track={id}
            onMouseDown={(event) => moving?.drag(event, track)}
            style={{ top: `${top + AXIS}px`, height: `${height}px`, paddingLeft: `${4 + depth * 12}px` }}
          >
            {track.kind === "group" ? (
              <button type="button" class="plain line-title" aria-expanded={track.isOpen} onClick={() => onTurn(id)}>
                {track.isOpen ? "▾" : "▸"} {title}{" "}
                <span class="quiet">{track.pid === null ? track.count : plural(track.count, "thread")}</span>
              </button>
            ) : track.kind === "lane" || id.includes("finding:") ? (
              <button
                type="button"
                class="plain line-title"
                title={title}
                onClick={() => onPick({ id, shows: null, at: null })}
              >
                {title}
              </button>
            ) : (
              <span class="line-title" title={title}>
                {title}
              </span>
            )}
            {moving && (
              <span class="line-move">
                {([-1, 1] as const).map(
                  (by) =>
                    moving.can(track, by) && (
                      <button
                        key={by}
                        type="button"
                        class="plain"
                        aria-label={`Move ${title} ${by < 0 ? "up" : "down"}`}
                        title={`Move ${by < 0 ? "up" : "down"} (Alt ${by < 0 ? "↑" : "↓"}), or drag the title`}
                        onClick={() => moving.by(track, by)}
                      >
                        {by < 0 ? "↑" : "↓"}
                      </button>
                    ),
                )}
              </span>
            )}
            {track.kind !== "group" && pinned && (
              <button
                type="button"
                class="plain line-pin"
                aria-pressed={isPinned}
                aria-label={`Pin ${title}`}
                title={isPinned ? "Not at the top any more" : "Keep at the top"}
                onClick={() => onPin(unpinned(id))}
              >
                {isPinned ? "★" : "☆"}
              </button>
            )}
            {track.kind === "chart" && <Legend track={track} cursor={cursor} />}
          </div>
        );
      })}
      {moving?.edge !== null && moving && <div class="line-edge" style={{ top: `${moving.edge + AXIS - 1}px` }} />}
    </div>
  );
}

function Moment({ cursor, startNs }: { cursor: Store<number | null>; startNs: number | null }) {
  const now = useStore(zone);
  const at = useStore(cursor);
  if (at === null) return null;
  const since = momentOf(at, 3);
  return <>{startNs === null ? since : `${since}, ${timeOfDay(startNs + at)} ${now}`}</>;
}

/** Which colour is what, and its figure at a moment; "–" where none is known. */
function Legend({ track: { drawn, lines }, cursor: from }: { track: ChartTrack; cursor: Store<number | null> }) {
  const cursor = useStore(from);
  const unit = drawn.chart.values[0]!.unit;
  const nearest = cursor === null ? -1 : nearestOf(lines.x, cursor / 1e9);
  return (
    <ul class="line-legend">
      {lines.lines.map(({ label, y }, number) => {
        const point = cursor === null ? null : pointAt(lines, number, nearest, cursor / 1e9);
        return (
          <li key={label}>
            <i style={{ background: `var(${LINE_COLOURS[number % LINE_COLOURS.length]})` }} />
            {cursor !== null && <b>{point === null ? UNKNOWN : said(unit, y[point]!)}</b>} {label}
          </li>
        );
      })}
    </ul>
  );
}

function nearestOf(moments: readonly number[], at: number): number {
  let [low, high] = [0, moments.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (moments[middle]! < at) low = middle + 1;
    else high = middle;
  }
  return low > 0 && at - moments[low - 1]! < moments[low]! - at ? low - 1 : low;
}
