/** One row of a table with every column to the last digit, and what one may do with its values. */

import { type ComponentChildren, Fragment } from "preact";
import type { AnyColumn, Row, Value } from "../api/rows";
import type { Column } from "../api/types.gen";
import type { Filters } from "../app/route";
import { exactly, written } from "./cell";
import { Dialog } from "./dialog";
import { safe } from "./safe";
import { condition } from "./sql";

interface DetailProps {
  title: string;
  columns: readonly Column[];
  row: Row;
  onClose: () => void;
  /** Takes a condition in SQL on the table's columns. */
  onWhere?: ((condition: string) => void) | undefined;
  filters?: Filters;
  onFilters?: ((change: Partial<Filters>) => void) | undefined;
  children?: ComponentChildren;
}

/** Which filter of the whole capture a column's value can be. */
const FILTER: { [name in AnyColumn]?: "process" | "thread" | "cpu" | "cgroup" } = {
  pid: "process",
  process: "process",
  tid: "thread",
  comm: "thread",
  cpu: "cpu",
  cgroup: "cgroup",
};

export function RowDetail({ title, columns, row, onClose, onWhere, filters, onFilters, children }: DetailProps) {
  return (
    <Dialog label={title} class="wide" onClose={onClose}>
      <h2>{safe(title)}</h2>
      {children}
      <dl class="fields">
        {columns.map((column) => {
          const value = row[column.name];
          const exact = exactly(value, column.unit);
          const rounded = written(value, column);
          const filter = FILTER[column.name as AnyColumn];
          return (
            <Fragment key={column.name}>
              <dt title={column.description} tabIndex={0}>
                {safe(column.name)}
              </dt>
              <dd>
                {value === null || value === undefined ? <span class="exact">NULL: unknown</span> : rounded}
                {value !== null && value !== 0 && rounded !== exact && typeof value !== "boolean" && (
                  <span class="exact"> = {exact}</span>
                )}
              </dd>
              <dd class="row">
                {onWhere && isPlain(value) && (
                  <>
                    <button
                      type="button"
                      title="Only rows with this value"
                      onClick={() => onWhere(condition(column.name, value))}
                    >
                      =
                    </button>
                    <button
                      type="button"
                      title="Only rows with another value"
                      onClick={() => onWhere(condition(column.name, value, true))}
                    >
                      ≠
                    </button>
                  </>
                )}
                {filter && filters && onFilters && (typeof value === "string" || typeof value === "number") && (
                  <button
                    type="button"
                    title={`The whole capture: only this ${filter}`}
                    onClick={() => onFilters({ [filter]: [...new Set([...filters[filter], String(value)])] })}
                  >
                    {filter}
                  </button>
                )}
              </dd>
            </Fragment>
          );
        })}
      </dl>
    </Dialog>
  );
}

function isPlain(value: Value | undefined): value is Value {
  return value !== undefined && (value === null || typeof value !== "object");
}
