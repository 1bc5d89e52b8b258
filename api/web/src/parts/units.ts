/** Figures for people, spelled as the command line spells them (perfcase/text.py). */

import type { Whole } from "../api/rows";

/** What stands where nothing is known. */
export const UNKNOWN = "–";

/** Digits behind those that are shown: enough to tell a tie from what is near one. */
const REST = 30;
const TIE = `5${"0".repeat(REST - 1)}`;

/** `written`: a number with REST digits more than are shown; `up`: as JavaScript rounds it, ties away from 0. Here they go to the even digit. */
function even(written: string, up: string): string {
  const shown = written.slice(0, -REST).replace(/\.$/, "");
  return written.endsWith(TIE) && /[02468]$/.test(shown) ? shown : up;
}

/** So many digits behind the point, up to 10 ** 21. */
function fixed(value: number, digits: number): string {
  return even(value.toFixed(digits + REST), value.toFixed(digits));
}

function grouped(value: number): string {
  return fixed(value, 0).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** Three digits, or all those before the point: 0.0123, 12.3, 1,023. */
export function figure(value: number): string {
  if (Math.abs(value) >= 999.5) return grouped(value);
  const [exact, power] = value.toExponential(2 + REST).split("e") as [string, string];
  const [up, upPower] = value.toExponential(2).split("e") as [string, string];
  const digits = even(exact, up);
  const rounded = Number(`${digits}e${digits === up ? upPower : power}`);
  if (rounded === 0 || Math.abs(rounded) >= 1e-4) return String(rounded);
  const [most, small] = rounded.toExponential().split("e-") as [string, string];
  return `${most}e-${small.padStart(2, "0")}`;
}

const DURATIONS: [string, number][] = [
  ["s", 1e9],
  ["ms", 1e6],
  ["µs", 1e3],
];

/** From here on a duration is said in its two largest units: what rounds to two minutes. */
export const LONG_NS = 119.5e9;
const LONG: [number, string, number, string, number][] = [
  [1e9, "s", 60, "min", 3600],
  [60e9, "min", 60, "h", 48 * 60],
  [3600e9, "h", 24, "d", Number.POSITIVE_INFINITY],
];

/** Nanoseconds: 45.6 ms, 1.23 s, 2 min 5 s, 1 h 30 min, 7 d. */
export function duration(whole: Whole | null | undefined): string {
  if (whole === null || whole === undefined) return UNKNOWN;
  const ns = Number(whole);
  if (Math.abs(ns) >= LONG_NS && Number.isFinite(ns)) return long(ns);
  for (const [unit, scale] of DURATIONS) if (Math.abs(ns) >= scale) return `${figure(ns / scale)} ${unit}`;
  return `${fixed(ns, 0)} ns`;
}

/** In two units, rounded once, to the smaller one; that is not said where it is 0. */
function long(ns: number): string {
  const units = LONG.map(([scale, ...rest]) => [Number(fixed(Math.abs(ns) / scale, 0)), ...rest] as const);
  const [whole, unit, number, larger] = units.find(([found, , , , end]) => found < end) ?? units.at(-1)!;
  const rest = whole % number;
  return `${ns < 0 ? "-" : ""}${grouped((whole - rest) / number)} ${larger}${rest ? ` ${rest} ${unit}` : ""}`;
}

/** Seconds with so many digits behind the point. */
export function seconds(ns: number, digits: number): string {
  const [whole = "", rest] = fixed(ns / 1e9, digits).split(".");
  return `${whole.replace(/\B(?=(\d{3})+$)/g, ",")}${rest ? `.${rest}` : ""}`;
}

/** A moment of a recording with all of its units, so many digits behind the point of its seconds. */
export function momentOf(ns: number, digits: number): string {
  if (ns < LONG_NS) return `${seconds(ns, digits)} s`;
  const [whole = "", rest] = fixed(ns / 1e9, digits).split(".");
  const all = Number(whole);
  const units = [
    [Math.floor(all / 86400), "d"],
    [Math.floor(all / 3600) % 24, "h"],
    [Math.floor(all / 60) % 60, "min"],
  ] as const;
  const parts = units.flatMap(([number, unit]) => (number ? `${grouped(number)} ${unit}` : []));
  if (rest || all % 60) parts.push(`${all % 60}${rest ? `.${rest}` : ""} s`);
  return parts.join(" ");
}

/** A part of a recording, from when to when, in as many digits as its length has. */
export function stretch(from: number, to: number): string {
  const digits = digitsOf(to - from);
  if (to < LONG_NS) return `${seconds(from, digits)} to ${seconds(to, digits)} s`;
  return `${momentOf(from, digits)} to ${momentOf(to, digits)}`;
}

/** How many digits behind the point of a second tell moments of a part of this length apart. */
export function digitsOf(length: number): number {
  return Math.min(Math.max(Math.ceil(2 - Math.log10(Math.max(length / 1e9, 1e-9))), 0), 9);
}

/** Bytes, in powers of 1024. */
export function size(bytes: Whole | null | undefined): string {
  if (bytes === null || bytes === undefined) return UNKNOWN;
  let value = Number(bytes);
  for (const unit of ["B", "KiB", "MiB", "GiB"]) {
    if (Math.abs(value) < 1024) return unit === "B" ? `${fixed(value, 0)} B` : `${figure(value)} ${unit}`;
    value /= 1024;
  }
  return `${figure(value)} TiB`;
}

/** A number of things. */
export function count(value: Whole | null | undefined): string {
  if (value === null || value === undefined) return UNKNOWN;
  return typeof value === "bigint" ? value.toLocaleString("en-US") : grouped(value);
}

/** A share. Never without the absolute figure beside it. */
export function ratio(value: number | null | undefined): string {
  return value === null || value === undefined ? UNKNOWN : `${fixed(100 * value, 1)} %`;
}

/** `1 row`, `2 rows`. */
export function plural(number: number, noun: string): string {
  return `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
}

/** What the server read for an answer. */
export function reads(bytes: number | null): string {
  return bytes === null ? "" : bytes ? `; ${size(bytes)} read` : "; kept before, nothing read";
}

/** With a capital and a full stop. */
export function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;
}
