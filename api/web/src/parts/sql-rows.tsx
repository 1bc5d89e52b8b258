/** The rows of a SELECT over one capture. */

import { useEffect, useState } from "preact/hooks";
import { type ApiError, ask, exact, shown, textOf } from "../api/fetch";
import { useSchema } from "../api/hooks";
import type { Row } from "../api/rows";
import { filterParams, type Filters } from "../app/route";
import { columnsOf } from "./columns";
import { Problem, Waiting } from "./problem";
import { RowDetail } from "./row-detail";
import { Table } from "./table";
import { plural } from "./units";

const ROWS_MAX = 1000;

interface SqlRowsProps {
  captureId: string;
  sql: string;
  filters: Filters;
  label: string;
}

export function SqlRows({ captureId, sql, filters, label }: SqlRowsProps) {
  const schema = useSchema();
  const [turn, setTurn] = useState(0);
  const key = JSON.stringify([captureId, sql, filters, turn]);
  const [answer, setAnswer] = useState<{ key: string; rows?: Row[]; error?: ApiError }>();
  const [open, setOpen] = useState<Row>();
  useEffect(() => {
    const abort = new AbortController();
    const json = { sql, capture_id: captureId, limit: ROWS_MAX, ...given(filters) };
    ask("sql", { method: "POST", json, signal: abort.signal })
      .then(textOf)
      .then(
        (text) => setAnswer({ key, rows: exact<Row[]>(text) }),
        (failure) => {
          if (!abort.signal.aborted) setAnswer({ key, error: shown(failure) });
        },
      );
    return () => abort.abort();
  }, [key]);
  if (answer?.key !== key) return <Waiting />;
  if (answer.error) return <Problem error={answer.error} again={() => setTurn((before) => before + 1)} />;
  const rows = answer.rows ?? [];
  if (!rows.length) return <p class="empty">No rows.</p>;
  const columns = columnsOf(rows, schema, ["capture_id"]);
  return (
    <>
      <Table label={label} columns={columns} rows={rows} onRow={setOpen} />
      <p class="table-foot">
        {rows.length < ROWS_MAX ? plural(rows.length, "row") : `first ${plural(rows.length, "row")}`}
      </p>
      {open && <RowDetail title={label} columns={columns} row={open} onClose={() => setOpen(undefined)} />}
    </>
  );
}

/** Filters as the body of POST /v1/sql takes them. */
export function given(filters: Filters): Record<string, string | string[]> {
  const all = Object.entries(filterParams(filters)).filter(([, value]) => value?.length);
  return Object.fromEntries(all) as Record<string, string | string[]>;
}
