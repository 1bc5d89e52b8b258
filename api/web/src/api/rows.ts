/** Rows of views and tables. Their columns are those of the schema: a name that it does not have does not compile. */

import type { Columns, Parameters, Whole } from "./columns.gen";

export type { Whole };

/** A value of a table's cell. Whole numbers that a double cannot hold are BigInt. */
export type Value = string | number | bigint | boolean | null | Value[] | { [name: string]: Value };
/** A row of any columns. */
export type Row = Record<string, Value>;

export type ViewName = keyof Columns;
export type ColumnOf<V extends ViewName> = keyof Columns[V] & string;
/** A column of some view or table. */
export type AnyColumn = { [V in ViewName]: ColumnOf<V> }[ViewName];
export type RowOf<V extends ViewName> = { [C in ColumnOf<V>]: Columns[V][C] | null };

/** Some columns of a view, in numbers that a picture can be made of. */
export type NumbersOf<V extends ViewName, C extends ColumnOf<V>> = Record<C, number>;

/** These columns of a row, in numbers. */
export function numbersOf<V extends ViewName, C extends ColumnOf<V>>(
  row: { [K in C]: RowOf<V>[K] },
  _view: V,
  ...names: C[]
): NumbersOf<V, C> {
  const found = {} as NumbersOf<V, C>;
  for (const name of names) found[name] = Number(row[name]) as NumbersOf<V, C>[C];
  return found;
}

/** A parameter of some view. */
export type AnyParameter = Parameters[keyof Parameters];

/** The route of a view or table. */
export function viewPath(captureId: string, view: ViewName): string {
  return `captures/${captureId}/views/${view}`;
}

/** Some columns of a view. */
export function columns<V extends ViewName>(_view: V, ...names: ColumnOf<V>[]): ColumnOf<V>[] {
  return names;
}

/** A parameter of a view, as the route takes it. */
export function setting<V extends keyof Parameters>(_view: V, name: Parameters[V], value: number): string {
  return `${name}=${value}`;
}
