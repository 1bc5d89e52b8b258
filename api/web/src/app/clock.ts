/** Times of day: the one zone that the whole page says them in. UTC, as the command line has it, until the reader chooses the own one. */

import type { Whole } from "../api/rows";
import { UNKNOWN } from "../parts/units";
import { store } from "./store";

const KEY = "perfcase.zone";
const OWN = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";

/** Which zones there are to choose from: where the reader's own is UTC, one. */
export const ZONES: readonly string[] = [...new Set(["UTC", OWN])];

/** The zone that is chosen, by its IANA name. */
export const zone = store(localStorage.getItem(KEY) === "own" ? OWN : "UTC");

export function switchZone(): void {
  const next = zone.get() === "UTC" ? OWN : "UTC";
  if (next === "UTC") localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, "own");
  zone.set(next);
}

const known = new Map<string, Intl.DateTimeFormat>();

function parts(ms: number): Record<string, string> {
  const timeZone = zone.get();
  let format = known.get(timeZone);
  if (!format) {
    format = new Intl.DateTimeFormat("en-GB", {
      timeZone,
      hourCycle: "h23",
      year: "numeric",
      month: "2-digit",
      day: "2-digit",
      hour: "2-digit",
      minute: "2-digit",
      second: "2-digit",
      fractionalSecondDigits: 3,
    });
    known.set(timeZone, format);
  }
  return Object.fromEntries(format.formatToParts(ms).map(({ type, value }) => [type, value]));
}

/** A time of day (ns since 1970) in the zone of the page, to the minute; `isExact`: to the millisecond. */
export function moment(ns: Whole | null | undefined, isExact = false): string {
  if (ns === null || ns === undefined) return UNKNOWN;
  const at = parts(Number(ns) / 1e6);
  const minute = `${at.year}-${at.month}-${at.day} ${at.hour}:${at.minute}`;
  return isExact ? `${minute}:${at.second}.${at.fractionalSecond}` : minute;
}

/** The same without the day. */
export function timeOfDay(ns: number): string {
  return moment(ns, true).slice(11);
}

/** When a day begins in the zone of the page, in ms since 1970; `days`: that many days later. */
export function dayStart(day: string, days = 0): number {
  const utc = new Date(`${day}T00:00:00Z`);
  utc.setUTCDate(utc.getUTCDate() + days);
  if (zone.get() === "UTC") return utc.getTime();
  return new Date(utc.getUTCFullYear(), utc.getUTCMonth(), utc.getUTCDate()).getTime();
}
