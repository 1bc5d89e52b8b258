/** Pieces of SQL. */

import type { Value } from "../api/types";

export interface Sort {
  name: string;
  isDescending: boolean;
}

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

export function literal(value: Value): string {
  if (typeof value === "string") return `'${value.replaceAll("'", "''")}'`;
  return String(value);
}

/** The condition that a column has this value, or has not. */
export function condition(name: string, value: Value, isNot = false): string {
  if (value === null) return `${quoted(name)} IS ${isNot ? "NOT " : ""}NULL`;
  return isNot ? `${quoted(name)} IS DISTINCT FROM ${literal(value)}` : `${quoted(name)} = ${literal(value)}`;
}

/** Both conditions. */
export function both(a: string | null, b: string): string {
  if (!a?.trim()) return b;
  return `${/\bor\b/i.test(a) ? `(${a})` : a} AND ${b}`;
}

/** ORDER BY of a sort; what is unknown comes last. */
export function ordering(sort: Sort | null): string | null {
  return sort && `${quoted(sort.name)} ${sort.isDescending ? "DESC" : "ASC"} NULLS LAST`;
}

/** A sort as it stands in an address: `on_cpu_ns` or `-on_cpu_ns`. */
export function sortOf(text: string | null): Sort | null {
  if (!text) return null;
  return text.startsWith("-") ? { name: text.slice(1), isDescending: true } : { name: text, isDescending: false };
}

export function sortText(sort: Sort | null): string | null {
  return sort && `${sort.isDescending ? "-" : ""}${sort.name}`;
}
