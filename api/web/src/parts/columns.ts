/** What the columns of any rows mean: a result of SQL has names only, most of them those of a view's columns. */

import type { Row } from "../api/rows";
import type { Column, Schema } from "../api/types.gen";

const UNITS: [RegExp, string][] = [
  [/_ns(_|$)/, "ns"],
  [/_bytes(_|$)/, "bytes"],
  [/_ratio(_|$)/, "ratio"],
  [/_count(_|$)/, "count"],
];

let known: Map<string, Column> | undefined;
let knownOf: Schema | undefined;

function byName(schema: Schema): Map<string, Column> {
  if (known && knownOf === schema) return known;
  known = new Map();
  knownOf = schema;
  for (const { columns } of [...schema.views, ...schema.tables]) {
    // The first that has the name stands for all: names mean the same everywhere.
    for (const column of columns) if (!known.has(column.name)) known.set(column.name, column);
  }
  return known;
}

/** The columns of rows, with unit and meaning where these are known. */
export function columnsOf(rows: readonly Row[], schema: Schema | undefined, without: readonly string[] = []): Column[] {
  const names = Object.keys(rows[0] ?? {}).filter((name) => !without.includes(name));
  return names.map((name) => described(name, schema));
}

export function described(name: string, schema: Schema | undefined): Column {
  const found = schema && byName(schema).get(name);
  const unit = UNITS.find(([pattern]) => pattern.test(name))?.[1] ?? null;
  return found ? { ...found, unit: found.unit ?? unit } : { name, unit, description: "" };
}
