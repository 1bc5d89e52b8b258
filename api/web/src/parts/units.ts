/** Figures for people, spelled as the command line spells them (perfcase/text.py). */

import type { Whole } from "../api/rows";

/** Three digits, or all those before the point: 0.0123, 12.3, 1,023. */
export function figure(value: number): string {
  if (Math.abs(value) >= 999.5) return Math.round(value).toLocaleString("en-US");
  return String(Number(value.toPrecision(3)));
}

const DURATIONS: [string, number][] = [
  ["s", 1e9],
  ["ms", 1e6],
  ["µs", 1e3],
];

/** Nanoseconds: 1.23 s, 45.6 ms. */
export function duration(whole: Whole | null | undefined): string {
  if (whole === null || whole === undefined) return "-";
  const ns = Number(whole);
  for (const [unit, scale] of DURATIONS) if (Math.abs(ns) >= scale) return `${figure(ns / scale)} ${unit}`;
  return `${ns.toFixed(0)} ns`;
}

/** Bytes, in powers of 1024. */
export function size(bytes: Whole | null | undefined): string {
  if (bytes === null || bytes === undefined) return "-";
  let value = Number(bytes);
  for (const unit of ["B", "KiB", "MiB", "GiB"]) {
    if (Math.abs(value) < 1024) return unit === "B" ? `${value.toFixed(0)} B` : `${figure(value)} ${unit}`;
    value /= 1024;
  }
  return `${figure(value)} TiB`;
}

/** A number of things. */
export function count(value: Whole | null | undefined): string {
  return value === null || value === undefined ? "-" : value.toLocaleString("en-US", { maximumFractionDigits: 0 });
}

/** A share. Never without the absolute figure beside it. */
export function ratio(value: number | null | undefined): string {
  return value === null || value === undefined ? "-" : `${(100 * value).toFixed(1)} %`;
}

/** `1 row`, `2 rows`. */
export function plural(number: number, noun: string): string {
  return `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
}

/** What the server read for an answer. */
export function reads(bytes: number | null): string {
  return bytes === null ? "" : bytes ? `; ${size(bytes)} read` : "; kept before, nothing read";
}

/** A time of day (ns since 1970) in the reader's zone, to the minute. */
export function moment(ns: Whole | null | undefined): string {
  if (ns === null || ns === undefined) return "-";
  const at = new Date(Number(ns) / 1e6);
  const two = (part: number) => String(part).padStart(2, "0");
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${two(at.getHours())}:${two(at.getMinutes())}`;
}

/** With a capital and a full stop. */
export function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;
}
