/** Figures for people, spelled as the command line spells them (perfcase/text.py). */

import type { Whole } from "../api/rows";

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

/** Nanoseconds: 1.23 s, 45.6 ms. */
export function duration(whole: Whole | null | undefined): string {
  if (whole === null || whole === undefined) return "-";
  const ns = Number(whole);
  for (const [unit, scale] of DURATIONS) if (Math.abs(ns) >= scale) return `${figure(ns / scale)} ${unit}`;
  return `${fixed(ns, 0)} ns`;
}

/** Bytes, in powers of 1024. */
export function size(bytes: Whole | null | undefined): string {
  if (bytes === null || bytes === undefined) return "-";
  let value = Number(bytes);
  for (const unit of ["B", "KiB", "MiB", "GiB"]) {
    if (Math.abs(value) < 1024) return unit === "B" ? `${fixed(value, 0)} B` : `${figure(value)} ${unit}`;
    value /= 1024;
  }
  return `${figure(value)} TiB`;
}

/** A number of things. */
export function count(value: Whole | null | undefined): string {
  if (value === null || value === undefined) return "-";
  return typeof value === "bigint" ? value.toLocaleString("en-US") : grouped(value);
}

/** A share. Never without the absolute figure beside it. */
export function ratio(value: number | null | undefined): string {
  return value === null || value === undefined ? "-" : `${fixed(100 * value, 1)} %`;
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
