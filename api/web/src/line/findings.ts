/** When the rows behind each finding were: its marks on the time line. A finding whose rows have no moment is of the whole recording. */

import { useEffect, useMemo, useState } from "preact/hooks";
import { ask, exact, textOf } from "../api/fetch";
import { useRows } from "../api/hooks";
import type { Row, RowOf } from "../api/rows";
import { filterParams, type Filters } from "../app/route";
import { instant } from "../parts/cell";
import { safe } from "../parts/safe";
import { given } from "../parts/sql-rows";
import type { Given, Mark } from "./tracks";

/** Further rules cost the workload less; the overview has them. */
const RULES_MAX = 10;
const ROWS_MAX = 200;
const COLOURS: Record<string, string> = { critical: "--critical", warning: "--warning" };

type Finding = RowOf<"finding">;

export interface Fired {
  name: string;
  title: string;
  rows: Finding[];
}

export interface Findings {
  fired: Fired[];
  tracks: Given["marks"];
}

export function useFindingMarks(captureId: string, filters: Filters, isOpen: boolean, length: number): Findings {
  const { data } = useRows<Finding>(`captures/${captureId}/findings`, filterParams(filters), "later");
  const fired = useMemo(() => {
    const rules = Map.groupBy(data ?? [], ({ finding }) => finding ?? "");
    return [...rules].slice(0, RULES_MAX).map(([name, rows]): Fired => ({ name, title: rows[0]!.title ?? name, rows }));
  }, [data]);
  const [known, setKnown] = useState<{ of: readonly Fired[]; rows: ReadonlyMap<string, Row[]> }>();
  useEffect(() => {
    const abort = new AbortController();
    const found = new Map<string, Row[]>();
    const look = async () => {
      for (const { name, rows } of fired) {
        const sql = rows[0]!.evidence;
        if (!sql || !/\bts_ns\b/.test(sql)) continue;
        const json = { sql, capture_id: captureId, limit: ROWS_MAX, ...given(filters) };
        const options = { method: "POST", json, signal: abort.signal, urgency: "later" } as const;
        // A rule whose rows cannot be had is of the whole recording, as on the overview.
        const answer = await ask("sql", options)
          .then(textOf)
          .catch(() => "[]");
        if (abort.signal.aborted) return;
        found.set(name, exact<Row[]>(answer));
        setKnown({ of: fired, rows: new Map(found) });
      }
    };
    if (fired.length && isOpen) void look();
    return () => abort.abort();
  }, [fired, isOpen]);
  const tracks = useMemo(
    () =>
      fired.map(({ name, title, rows }) => ({
        id: `finding:${name}`,
        title,
        marks: marksOf(rows, (known?.of === fired && known.rows.get(name)) || [], length),
      })),
    [fired, known, length],
  );
  return { fired, tracks };
}

function marksOf(rows: readonly Finding[], evidence: readonly Row[], length: number): Mark[] {
  const colour = COLOURS[rows[0]!.severity ?? ""] ?? "--note";
  const timed = evidence.filter((row) => typeof row.ts_ns === "number" || typeof row.ts_ns === "bigint");
  if (!timed.length) {
    const text = `figures of the whole recording: ${safe(rows[0]!.subject ?? "")}: ${safe(rows[0]!.message ?? "")}`;
    return [{ at: 0, until: length, isWhole: true, colour, text }];
  }
  return timed.map((row): Mark => {
    const at = Number(row.ts_ns);
    const long = Number(row.duration_ns ?? row.interval_ns ?? 0);
    return { at, ...(long > 0 ? { until: at + long } : {}), colour, text: said(row, at) };
  });
}

const SHOWN = 5;

/** The first columns of a row; its moment stands before them. */
function said(row: Row, at: number): string {
  const parts = Object.entries(row).filter(
    ([name, value]) => value !== null && !/_ns$/.test(name) && typeof value !== "object",
  );
  const words = parts.slice(0, SHOWN).map(([name, value]) => `${name} ${safe(String(value))}`);
  return [instant(at), ...words].join(", ");
}
