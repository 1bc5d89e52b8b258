/** When the rows behind each finding were: its marks on the time line. A finding whose rows have no moment is of the whole recording. */

import { useEffect, useMemo, useState } from "preact/hooks";
import { ask, exact, shown, textOf } from "../api/fetch";
import { useRows } from "../api/hooks";
import type { Row, RowOf } from "../api/rows";
import { filterParams, type Filters } from "../app/route";
import { instant } from "../parts/cell";
import { safe } from "../parts/safe";
import { given } from "../parts/sql-rows";
import type { Given, Mark } from "./tracks";

const ROWS_MAX = 200;
const COLOURS: Record<string, string> = { critical: "--critical", warning: "--warning" };

type Finding = RowOf<"finding">;

export interface Fired {
  name: string;
  title: string;
  rows: Finding[];
  /** Only the first of the rows behind it are marked. */
  isCut: boolean;
}

/** The rows behind a rule; a text says why there are none to show. */
type Evidence = Row[] | string;

export interface Findings {
  fired: Fired[];
  tracks: Given["marks"];
  isAwaited: boolean;
}

export function useFindingMarks(captureId: string, filters: Filters, isOpen: boolean, length: number): Findings {
  const { data } = useRows<Finding>(`captures/${captureId}/findings`, filterParams(filters), "later");
  const rules = useMemo(() => [...Map.groupBy(data ?? [], ({ finding }) => finding ?? "")], [data]);
  const [known, setKnown] = useState<{ of: typeof rules; found: ReadonlyMap<string, Evidence> }>();
  useEffect(() => {
    const abort = new AbortController();
    const found = new Map<string, Evidence>();
    const look = async () => {
      for (const [name, rows] of rules) {
        const sql = rows[0]!.evidence;
        if (!sql || !hasMoments(sql)) continue;
        const json = { sql, capture_id: captureId, limit: ROWS_MAX, ...given(filters) };
        const options = { method: "POST", json, signal: abort.signal, urgency: "later" } as const;
        const evidence: Evidence = await ask("sql", options)
          .then(textOf)
          .then((text) => exact<Row[]>(text))
          .catch((error) => shown(error).message);
        if (abort.signal.aborted) return;
        found.set(name, evidence);
        setKnown({ of: rules, found: new Map(found) });
      }
    };
    if (isOpen) void look();
    return () => abort.abort();
  }, [rules, isOpen]);
  return useMemo(() => {
    const found = known?.of === rules ? known.found : new Map<string, Evidence>();
    const awaited = rules.filter(([name, rows]) => hasMoments(rows[0]!.evidence) && !found.has(name));
    return {
      fired: rules.map(([name, rows]) => ({
        name,
        title: rows[0]!.title ?? name,
        rows,
        isCut: found.get(name)?.length === ROWS_MAX && typeof found.get(name) !== "string",
      })),
      tracks: rules.map(([name, rows]) => ({
        id: `finding:${name}`,
        title: rows[0]!.title ?? name,
        // While they are awaited nothing is marked.
        marks: awaited.some(([each]) => each === name) ? [] : marksOf(rows, found.get(name) ?? [], length),
      })),
      isAwaited: isOpen && (!data || awaited.length > 0),
    };
  }, [rules, known, length, isOpen, data]);
}

const hasMoments = (sql: string | null) => /\bts_ns\b/.test(sql ?? "");

function marksOf(rows: readonly Finding[], evidence: Evidence, length: number): Mark[] {
  const colour = COLOURS[rows[0]!.severity ?? ""] ?? "--note";
  if (typeof evidence === "string")
    return [{ at: 0, until: length, isWhole: true, colour, text: `when is not known: ${safe(evidence)}` }];
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
