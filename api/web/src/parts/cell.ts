/** How a value of a column is written: by its unit, as the command line spells it. */

import type { Value, Whole } from "../api/rows";
import type { Column } from "../api/types.gen";
import { moment } from "../app/clock";
import { safe } from "./safe";
import { count, duration, figure, ratio, size } from "./units";

/** Times are counted from the beginning of the recording, and a time to three digits would be none. */
const INSTANT = /(^|_)ts_ns$|^(start|end|begin)_ns$/;
/** Numbers that name something: nobody adds them up, so they get no separators. */
const NAME = /(^|_)(id|utid|tid|pid|ppid|tgid|cpu|node|port|fd|line|uid|inode|year|address|version|number|nr)$/;

export function isInstant(name: string): boolean {
  return INSTANT.test(name);
}

/** Times of day, in ns since 1970. */
const DAY = /(^|_)realtime_ns$/;

/** Seconds since the beginning of the recording, to the microsecond. */
export function instant(ns: number): string {
  return `${(ns / 1e9).toFixed(6)} s`;
}

/** A value for people; "" is NULL, which a table shows in its own way. */
export function written(value: Value | undefined, column: Pick<Column, "name" | "unit">): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "string") return safe(value);
  if (typeof value === "object")
    return safe(JSON.stringify(value, (_, one) => (typeof one === "bigint" ? String(one) : one)));
  const { name, unit } = column;
  const number = Number(value);
  if (unit === "ns" && DAY.test(name)) return moment(value as Whole, true);
  if (unit === "ns") return isInstant(name) ? instant(number) : duration(number);
  if (unit === "bytes") return size(number);
  const [of, per] = unit?.split("/") ?? [];
  if (per && of === "bytes") return `${size(number)}/${per}`;
  if (per && of === "ns") return `${duration(number)}/${per}`;
  if (unit === "ratio") return ratio(number);
  if (per && (of === "1" || of === "count")) return `${figure(number)}/${per}`;
  if (typeof value === "bigint") return NAME.test(name) ? String(value) : count(value);
  if (Number.isInteger(value)) return NAME.test(name) ? String(value) : count(value);
  return figure(value);
}

/** The value itself, to the last digit and with its unit: what stands behind a rounded figure. */
export function exactly(value: Value | undefined, unit: string | null): string {
  if (value === null || value === undefined) return "NULL: unknown";
  const text =
    typeof value === "object"
      ? written(value, { name: "", unit: null })
      : typeof value === "string"
        ? safe(value)
        : String(value);
  return unit && unit !== "count" && unit !== "ratio" && typeof value !== "string" ? `${text} ${unit}` : text;
}

export function isNumeric(value: Value | undefined): boolean {
  return typeof value === "number" || typeof value === "bigint";
}

/** Descending by nature: who sorts by an amount wants the largest first. */
export function compare(a: Value | undefined, b: Value | undefined): number {
  if (a === b) return 0;
  if (a === null || a === undefined) return 1;
  if (b === null || b === undefined) return -1;
  if (isNumeric(a) && isNumeric(b)) return (a as number) < (b as number) ? -1 : 1;
  return String(a).localeCompare(String(b));
}
