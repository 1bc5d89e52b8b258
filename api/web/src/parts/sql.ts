/** Pieces of SQL. */

import type { ColumnOf, Value, ViewName } from "../api/rows";

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

/** SQL on a view, or on its alias: a text in it is one of the view's columns, a list is a list of values. */
export function sqlOf<V extends ViewName>(_view: V, alias?: string) {
  const written = (part: ColumnOf<V> | readonly Value[]) =>
    typeof part === "string" ? (alias ? `${alias}.${part}` : part) : `(${part.map(literal).join(", ")})`;
  return (text: TemplateStringsArray, ...parts: (ColumnOf<V> | readonly Value[])[]): string =>
    String.raw({ raw: text }, ...parts.map(written));
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
