/** The rows of a history as points of a plot. */

import type { Row } from "../api/rows";

export interface Point {
  id: string;
  host: string;
  ms: number;
  value: number;
  /** The band that its host changed to with this capture (perfcase/fleet/bands.py). */
  change: string | null;
}

/** The points of an answer, in the order of time. Amounts are compared per second, as everywhere. */
export function pointsOf(rows: readonly Row[]): Point[] {
  const points: Point[] = [];
  for (const row of rows) {
    const value = row.value_per_s ?? row.value;
    const at = row.recorded_at;
    if (typeof value !== "number" || typeof at !== "string") continue;
    const id = String(row.capture).split("/")[0]!;
    const isChange = row.band_since === at;
    points.push({
      id,
      host: String(row.host ?? id),
      ms: Date.parse(`${at.replace(" ", "T")}Z`),
      value,
      change: isChange ? String(row.band) : null,
    });
  }
  points.sort((a, b) => a.ms - b.ms);
  // The first capture of a host is in some band: that is no change.
  const seen = new Set<string>();
  for (const point of points) {
    if (!seen.has(point.host)) point.change = null;
    seen.add(point.host);
  }
  return points;
}
