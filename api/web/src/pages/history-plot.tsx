/** A figure over time, a point a capture, its host as colour; the median, the band that four fifths are in, and where a host changed. */

import { useMemo, useRef } from "preact/hooks";
import type { Row } from "../api/rows";
import { moment } from "../app/clock";
import { href } from "../app/route";
import { useWidth } from "../app/width";
import { written } from "../parts/cell";
import { safe } from "../parts/safe";
import { count, plural } from "../parts/units";
import { pointsOf } from "./history-points";

const COLOURS = ["--accent", "--note", "--good", "--warning", "--critical", "--state-io"];
const OTHERS = "--ink-3";
const [HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [260, 84, 12, 10, 26];
/** Pixels that a time of day needs. */
const DAY = 180;
const CHANGES_MAX = 8;

interface PlotProps {
  rows: readonly Row[];
  unit: string | null;
  names: Map<string, string>;
}

export function HistoryPlot({ rows, unit, names }: PlotProps) {
  const points = useMemo(() => pointsOf(rows), [rows]);
  const box = useRef<HTMLElement>(null);
  const isShown = points.length > 1;
  const width = useWidth(box, isShown);
  if (!isShown) return null;
  const room = Math.max(width - LEFT - RIGHT, 1);
  const parts = Math.max(1, Math.floor(room / DAY));
  const isPerSecond = rows.some((row) => typeof row.value_per_s === "number");
  const per = unit && isPerSecond ? `${unit}/s` : unit;
  const spelled = (value: number) => written(value, { name: "", unit: per });
  const ordered = points.map(({ value }) => value).sort((a, b) => a - b);
  const at = (share: number) => ordered[Math.round(share * (ordered.length - 1))]!;
  const [low, median, high] = [at(0.1), at(0.5), at(0.9)];
  const [least, most] = [Math.min(0, ordered[0]!), Math.max(ordered.at(-1)!, 0) || 1];
  const [first, last] = [points[0]!.ms, points.at(-1)!.ms];
  const x = (ms: number) => LEFT + ((ms - first) / Math.max(last - first, 1)) * room;
  const y = (value: number) => HEIGHT - BOTTOM - ((value - least) / (most - least)) * (HEIGHT - TOP - BOTTOM);
  const hosts = new Map<string, number>();
  for (const { host } of points) hosts.set(host, (hosts.get(host) ?? 0) + 1);
  const named = [...hosts.keys()]
    .sort((a, b) => hosts.get(b)! - hosts.get(a)! || (a < b ? -1 : 1))
    .slice(0, COLOURS.length);
  const colour = (host: string) => `var(${COLOURS[named.indexOf(host)] ?? OTHERS})`;
  const changes = points.filter(({ change }) => change);
  const missing = rows.length - points.length;
  return (
    <figure class="history-plot" ref={box}>
      <svg width={width} height={HEIGHT} role="group" aria-label="The figure over time, a point a capture">
        <rect class="history-band" x={LEFT} width={room} y={y(high)} height={Math.max(y(low) - y(high), 1)} />
        {ticks(least, most).map((value) => (
          <g key={value}>
            <line class="history-grid" x1={LEFT} x2={LEFT + room} y1={y(value)} y2={y(value)} />
            <text x={LEFT - 8} y={y(value) + 4} text-anchor="end">
              {written(value, { name: "", unit })}
            </text>
          </g>
        ))}
        {Array.from({ length: parts + 1 }, (_, part) => {
          const ms = first + (part / parts) * (last - first);
          return (
            <text
              key={part}
              x={x(ms)}
              y={HEIGHT - 8}
              text-anchor={part === 0 ? "start" : part === parts ? "end" : "middle"}
            >
              {moment(ms * 1e6)}
            </text>
          );
        })}
        <line class="history-median" x1={LEFT} x2={LEFT + room} y1={y(median)} y2={y(median)} />
        {changes.map(({ id, ms, host }) => (
          <line
            key={id}
            class="history-change"
            x1={x(ms)}
            x2={x(ms)}
            y1={TOP}
            y2={HEIGHT - BOTTOM}
            stroke={colour(host)}
          />
        ))}
        {points.map(({ id, host, ms, value }) => (
          // The rows of the table have the same links for who uses keys.
          <a key={id} href={href(["c", id, "overview"])} tabIndex={-1}>
            <title>{`${safe(host)}, ${moment(ms * 1e6)}: ${spelled(value)}\n${safe(names.get(id) ?? id.slice(0, 12))}`}</title>
            <circle cx={x(ms)} cy={y(value)} r={points.length > 300 ? 3 : 4.5} fill={colour(host)} />
          </a>
        ))}
      </svg>
      <figcaption>
        <span>
          Median {spelled(median)}; four fifths of {plural(points.length, "capture")} are between {spelled(low)} and{" "}
          {spelled(high)}.{missing > 0 ? ` ${plural(missing, "row")} without a figure or a time of day not shown.` : ""}
        </span>
        <span class="history-hosts">
          {named.map((host) => (
            <span key={host}>
              <i style={{ background: colour(host) }} />
              {safe(host)} ({count(hosts.get(host)!)})
            </span>
          ))}
          {hosts.size > named.length && (
            <span>
              <i style={{ background: `var(${OTHERS})` }} />
              {plural(hosts.size - named.length, "other host")}
            </span>
          )}
        </span>
        {changes.length > 0 && (
          <span>
            {changes.slice(0, CHANGES_MAX).map(({ id, host, ms, change }, number) => (
              <span key={id}>
                {number ? "; " : "Changed: "}
                <a href={href(["c", id, "overview"])}>{safe(host)}</a> is {change} since {moment(ms * 1e6)}
              </span>
            ))}
            {changes.length > CHANGES_MAX ? `; and ${changes.length - CHANGES_MAX} more` : ""}.
          </span>
        )}
      </figcaption>
    </figure>
  );
}

/** Three to six round values in a range. */
function ticks(least: number, most: number): number[] {
  const power = 10 ** Math.floor(Math.log10((most - least) / 4));
  const step = [1, 2, 5, 10].map((part) => part * power).find((one) => (most - least) / one <= 6)!;
  const found = [];
  for (let value = Math.ceil(least / step) * step; value <= most; value += step)
    found.push(Number(value.toPrecision(12)));
  return found;
}
