/** The lines of a diff as GET /v1/diff answers them, and how their figures are written (perfcase/diff/page.py). */

import { type ComponentChild, h } from "preact";
import type { Row, Value } from "../api/rows";
import type { Column, Difference } from "../api/types.gen";
import { heading } from "./heading";
import { safe } from "./safe";
import { duration, figure, LONG_NS, ratio, UNKNOWN } from "./units";

const SCALES: Record<string, [string, number][]> = {
  ns: [
    ["s", 1e9],
    ["ms", 1e6],
    ["µs", 1e3],
    ["ns", 1],
  ],
  bytes: [
    ["TiB", 2 ** 40],
    ["GiB", 2 ** 30],
    ["MiB", 2 ** 20],
    ["KiB", 2 ** 10],
    ["B", 1],
  ],
};

/** Units that the measure's own name says, such as ipc. */
const NAMED = ["count", "ratio", "instructions/cycle", "cycles/instruction"];

/** A figure of three digits, in the unit of the largest that it stands beside, unless it is less than a thousandth of one. */
export function scaled(unit: string | null, value: number, ...beside: (number | null)[]): string {
  const others = beside.filter((one) => one !== null).map(Math.abs);
  const largest = others.length ? Math.max(...others) : Math.abs(value);
  if (unit === "ratio" && Math.max(largest, Math.abs(value)) <= 1) return ratio(value);
  if (unit === "ns" && value && largest >= LONG_NS) return duration(value);
  const [base = "", per] = (unit ?? "").split("/");
  const scales = SCALES[base];
  if (base === "1") return `${figure(value)}/${per}`;
  if (!scales) return unit && !NAMED.includes(unit) ? `${figure(value)} ${unit}` : figure(value);
  const [name, scale] = scales.find(([, each]) => largest >= each) ?? scales.at(-1)!;
  if (value !== 0 && Math.abs(value) < scale / 1000 && beside.length) return scaled(unit, value);
  return `${figure(value / scale)} ${name}${per ? `/${per}` : ""}`;
}

/** One side: the divided figure, and the absolute one behind it. */
export function amount(one: Difference, side: "a" | "b"): string {
  const [shown, absolute] = amounts(one, side);
  return absolute === null ? shown : `${shown} (${absolute})`;
}

function amounts(one: Difference, side: "a" | "b"): [shown: string, absolute: string | null] {
  const [absolute, divided] = side === "a" ? [one.a, one.a_per] : [one.b, one.b_per];
  if (absolute === null || divided === null) return [UNKNOWN, null];
  const shown = scaled(one.unit, divided, one.a_per, one.b_per);
  return one.per ? [`${shown}/${one.per}`, scaled(one.unit, absolute, one.a, one.b)] : [shown, null];
}

export function difference(one: Difference): string {
  const shown = scaled(one.unit, one.difference, one.a_per, one.b_per);
  return `${one.difference > 0 ? "+" : ""}${shown}${one.per ? `/${one.per}` : ""}`;
}

const column = (name: string, description: string): Column => ({ name, unit: null, description });

export const COLUMNS: Column[] = [
  column("#", "The rank: what matters most first."),
  column("view", "Where the figure is from."),
  column("key", "Which thread, device, file …: names, never numbers of one recording."),
  column("measure", "Which figure."),
  column("A", "Per second or per event where that makes sense, with the absolute figure behind it."),
  column("B", "Per second or per event where that makes sense, with the absolute figure behind it."),
  column("difference", "B less A."),
  column("noise", "How much the figure differs between parts of one and the same capture."),
  column("why", "Why it ranks here."),
];

/** What a table sorts by; what it shows instead is in SHOWN. */
export function tableRow(one: Difference): Row {
  return {
    "#": one.rank,
    view: one.view,
    key: one.key,
    measure: one.measure,
    A: one.a_per,
    B: one.b_per,
    difference: one.difference,
    noise: one.noise_ratio === null ? "?" : `± ${ratio(one.noise_ratio)}`,
    why: one.why,
    line: one as unknown as Value,
  };
}

const line = (row: Row) => row.line as unknown as Difference;

/** A measure in the words of a column's head, with what kind of figure it is. */
export function measured({ measure, unit }: Difference): string {
  const { words, kind } = heading({ name: measure, unit });
  return [words, kind].filter(Boolean).join(" ");
}

const lines = (text: string) => h("div", { title: text }, text);
const figures = ([shown, absolute]: [string, string | null], title: string) =>
  h("div", { class: "two-lines", title }, h("span", {}, shown), absolute && h("span", { class: "quiet" }, absolute));

/** Two lines: what is cut off of a figure is lost. */
export const SHOWN: Record<string, (row: Row) => ComponentChild> = {
  view: (row) => lines(line(row).view),
  measure: (row) => lines(safe(measured(line(row)))),
  key: (row) => lines(safe(line(row).key)),
  A: (row) => figures(amounts(line(row), "a"), amount(line(row), "a")),
  B: (row) => figures(amounts(line(row), "b"), amount(line(row), "b")),
  difference: (row) => lines(difference(line(row))),
  why: (row) => lines(safe(line(row).why)),
};
