/** The heat maps of a capture: those that its tables can fill, asked for when their group is open. */

import { useMemo } from "preact/hooks";
import { type RowOf, setting, viewPath } from "../api/rows";
import type { filterParams } from "../app/route";
import { sqlOf } from "../parts/sql";
import { forRows, type Question, useAnswers } from "./answers";
import { type Heat, latencies, offsets } from "./heat";
import type { Span } from "./span";
import type { Given } from "./tracks";

const COLUMNS = 300;
const ROWS_MAX = 100_000;
const KINDS = [
  { kind: "run queue", title: "Waits for a CPU", table: "thread_state" },
  { kind: "system call", title: "System calls", table: "syscall" },
  { kind: "block device", title: "Disk requests", table: "block_io" },
] as const;

export function useHeats(
  captureId: string,
  hasTable: (name: string) => boolean,
  gapsOf: (name: string) => readonly Span[],
  isAsked: boolean,
  asked: Span,
  scope: ReturnType<typeof filterParams>,
) {
  const questions = new Map<string, Question>();
  const known = KINDS.filter(({ table }) => hasTable(table));
  const hasSamples = hasTable("sample");
  const about = JSON.stringify(scope);
  if (isAsked && known.length) {
    const view = "latency_heat_map";
    const set = [
      setting(view, "start_ns", asked[0]),
      setting(view, "end_ns", asked[1]),
      setting(view, "buckets", COLUMNS),
    ];
    questions.set(view, {
      path: viewPath(captureId, view),
      query: { set, limit: ROWS_MAX, ...scope },
      span: asked,
      about,
    });
  }
  if (isAsked && hasSamples) {
    // Seconds that are seen, whole ones: an hour has up to 180,000 rows.
    const [first, last] = [Math.floor(asked[0] / 1e9) * 1e9, Math.ceil(asked[1] / 1e9) * 1e9];
    const where = sqlOf("subsecond_offset")`${"ts_ns"} >= ${[first]} AND ${"ts_ns"} < ${[last]}`;
    const query = { where, order: "ts_ns, event, offset_min_ns", limit: ROWS_MAX, ...scope };
    questions.set("offsets", { path: viewPath(captureId, "subsecond_offset"), query, span: [first, last], about });
  }
  const answers = useAnswers(questions, forRows);
  const [latency, offset] = [answers.of("latency_heat_map"), answers.of("offsets")];
  const has = [...known.map(({ kind }) => kind), hasSamples].join();
  const all = useMemo(() => {
    const found: Given["heats"][number][] = [];
    const add = (id: string, title: string, table: string, heat: Heat | null, span: Span) => {
      if (!heat || heat.cells.length)
        found.push({ id: `heat:${id}`, title, heat, span, gaps: gapsOf(table), isOffset: table === "sample" });
    };
    const rows = latency?.rows as RowOf<"latency_heat_map">[] | undefined;
    for (const { kind, title, table } of known)
      add(kind.replace(" ", "_"), title, table, rows ? latencies(rows, kind) : null, latency?.span ?? asked);
    if (hasSamples) {
      const samples = offset?.rows as RowOf<"subsecond_offset">[] | undefined;
      const event = mostOf(samples ?? []);
      const heat = samples ? offsets(samples, event ?? "") : null;
      const [from, to] = offset?.span ?? asked;
      // Where there are more rows, it is dim from the last one on.
      const end = samples && samples.length >= ROWS_MAX ? Number(samples.at(-1)!.ts_ns) : to;
      add("samples", event ? `Samples of ${event}` : "Samples", "sample", heat, [from, end]);
    }
    return found;
  }, [has, latency?.rows, offset?.rows, asked]);
  const both = [latency, offset];
  const failed = both.find((one) => one?.error);
  return {
    all,
    isOld: both.some((one) => one?.rows && one.isOld),
    isAwaited: both.some((one) => one?.isAwaited),
    failed: failed && { error: failed.error!, again: answers.again },
  };
}

/** The event with the most samples: the others are of their own views. */
function mostOf(rows: readonly RowOf<"subsecond_offset">[]): string | null {
  const counts = new Map<string, number>();
  for (const { event, sample_count } of rows)
    counts.set(event ?? "?", (counts.get(event ?? "?") ?? 0) + Number(sample_count));
  return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))[0]?.[0] ?? null;
}
