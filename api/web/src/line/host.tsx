/** What the whole host did: the charts that the headers of views ask for, the kernel's messages, and why charts are missing. */

import { useMemo } from "preact/hooks";
import { useView } from "../api/hooks";
import type { AnyParameter, Row } from "../api/rows";
import type { Intervals, Schema, ViewEntry } from "../api/types.gen";
import { type Filters, filterParams } from "../app/route";
import { type Drawn, type Place, places } from "../parts/charts";
import { Problem } from "../parts/problem";
import { safe } from "../parts/safe";
import { sqlOf } from "../parts/sql";
import { momentOf, plural } from "../parts/units";
import { type Answered, forRows, type Question, useAnswers } from "./answers";
import { type Lines, linesOf, step } from "./series";
import type { Span } from "./span";
import type { Given, Mark } from "./tracks";
import { rounded, type Window, windowText } from "./window";

const MESSAGES_MAX = 200;
/** As the import asks (api/perfcase_api/first_page.py). */
const ROWS_MAX = 100_000;
const INTERVAL: AnyParameter = "interval_ns";

export interface Host {
  charts: Given["charts"];
  /** Charts of the places that have no rows. */
  missing: Drawn<Intervals>[];
  log: ReturnType<typeof useView<"kernel_log">>;
  marks: Mark[];
  /** A first answer is awaited. */
  isFirst: boolean;
  isOld: boolean;
  /** Finer figures, or those of a part that was not seen before, are awaited. */
  isDetailAwaited: boolean;
  /** Charts that do not reach the end, because of their number of rows. */
  cut: string[];
  failed: Answered | undefined;
  again: () => void;
}

/** `pages`: whose charts; `asked`: the part of the recording whose figures are wanted as fine as they are seen. */
export function useHost(
  captureId: string,
  schema: Schema,
  pages: readonly string[],
  length: number,
  asked: Span,
  scope: Filters,
): Host {
  const all = useMemo(() => pages.flatMap((page) => places(schema, page, "intervals")), [schema]);
  const isWhole = asked[0] <= 0 && asked[1] >= length;
  const question = ({ view, chart }: Drawn<Intervals>): Question => {
    // A view that cuts the time itself cuts it as finely as is seen; others have few rows.
    const cuts = view.parameters.includes(INTERVAL);
    const part: Window | null = cuts && !isWhole ? [asked[0] / 1e9, asked[1] / 1e9] : null;
    const window = part && windowText(part);
    // As it is asked for: times of the rows count from there.
    const [from, to] = part ? rounded(part) : [0, length / 1e9];
    const set = cuts ? `${INTERVAL}=${step(isWhole ? length : asked[1] - asked[0])}` : null;
    const query = { limit: ROWS_MAX, set, where: chart.where, ...filterParams({ ...changing(view, scope), window }) };
    const span: Span = [from * 1e9, to * 1e9];
    const path = `captures/${captureId}/views/${view.name}`;
    const own = { path, query, span, about: JSON.stringify([view.name, scope]) };
    // The others are folded at first: what is in sight comes before them.
    return chart.page === pages[0] ? own : { ...own, urgency: "later" };
  };
  const first = useAnswers(
    new Map(length > 0 ? all.map((place) => [placeOf(place), question(place.first)]) : []),
    forRows,
  );
  const isEmpty = (place: Place<Intervals>) => {
    const answer = first.of(placeOf(place));
    return Boolean(answer?.rows && !linesFor(place.first, answer.rows, answer.span).lines.length);
  };
  const others = all.filter((place) => place.instead && isEmpty(place));
  const second = useAnswers(new Map(others.map((place) => [placeOf(place), question(place.instead!)])), forRows);
  const severe = sqlOf("kernel_log")`${"level"} IN ('emerg', 'alert', 'crit', 'err', 'warn') AND ${"is_in_capture"}`;
  const log = useView(captureId, "kernel_log", { where: severe, limit: MESSAGES_MAX }, "later");
  const marks = useMemo(
    () =>
      (log.data ?? []).map(({ ts_ns, level, text }): Mark => ({
        at: Number(ts_ns),
        colour: level === "warn" ? "--warning" : "--critical",
        text: `${level}: ${safe(text ?? "")}`,
      })),
    [log.data],
  );
  const shown = all.map((place) => {
    const instead = second.of(placeOf(place));
    const isInstead = Boolean(instead?.rows && linesFor(place.instead!, instead.rows, instead.span).lines.length);
    const [drawn, answer] = isInstead ? [place.instead!, instead!] : [place.first, first.of(placeOf(place))];
    const isAwaited =
      !answer?.error && (!answer?.rows || (isEmpty(place) && place.instead && !instead?.rows && !instead?.error));
    return {
      drawn,
      answer,
      isAwaited,
      isDetailAwaited: Boolean(answer?.isAwaited),
      span: spanOf(answer, drawn, asked),
      lines: answer?.rows ? linesFor(drawn, answer.rows, answer.span) : null,
    };
  });
  const charts = shown.flatMap(({ drawn, lines, span }) => (lines?.lines.length ? { drawn, lines, span } : []));
  return {
    charts: useMemo(() => charts, [charts.map(({ drawn, lines }) => drawn.chart.title + idOf(lines)).join()]),
    missing: shown
      .filter(({ lines, isAwaited }) => lines && !lines.lines.length && !isAwaited)
      .map(({ drawn }) => drawn),
    log,
    marks,
    isFirst: shown.some(({ isAwaited }) => isAwaited),
    isOld: shown.some(({ answer }) => answer?.isOld && answer.rows),
    isDetailAwaited: shown.some((one) => one.isDetailAwaited),
    cut: shown.flatMap(({ answer, drawn }) => ((answer?.rows?.length ?? 0) < ROWS_MAX ? [] : drawn.chart.title)),
    failed: shown.find(({ answer }) => answer?.error)?.answer,
    again: () => {
      first.again();
      second.again();
    },
  };
}

/** The filters that change the rows of a view: without the others it is a question that the import has answered. */
function changing({ changed_by }: ViewEntry, scope: Filters): Filters {
  const kept = Object.entries(scope).map(([name, value]) => [name, changed_by.includes(name) ? value : []]);
  return { ...scope, ...Object.fromEntries(kept) };
}

/** Which part the rows are about: a host of very many CPUs has more than are asked for, in the order of time. */
function spanOf(answer: Answered | undefined, { plot }: Drawn<Intervals>, asked: Span): Span {
  const [from, to] = answer?.span ?? asked;
  const rows = answer?.rows ?? [];
  return rows.length < ROWS_MAX ? [from, to] : [from, from + Number(rows.at(-1)![plot.time])];
}

const placeOf = ({ first: { chart } }: Place<Intervals>) => `${chart.page} ${chart.place}`;

const made = new WeakMap<Row[], { drawn: Drawn<Intervals>; lines: Lines }>();
const ids = new WeakMap<Lines, number>();
let counted = 0;

/** Rows become lines once. Their times count from the beginning of the part that they are about. */
function linesFor(drawn: Drawn<Intervals>, rows: Row[], [from]: Span): Lines {
  const known = made.get(rows);
  if (known?.drawn === drawn) return known.lines;
  const lines = linesOf(drawn, rows, from);
  made.set(rows, { drawn, lines });
  return lines;
}

function idOf(lines: Lines): number {
  if (!ids.has(lines)) ids.set(lines, ++counted);
  return ids.get(lines)!;
}

export function KernelLog({ log, onPick }: { log: Host["log"]; onPick: (ns: number) => void }) {
  if (log.error) return <Problem error={log.error} again={log.again} />;
  if (!log.data?.length) return null;
  return (
    <details class="line-log">
      <summary>
        {plural(log.data.length, "message")} of the kernel{log.data.length === MESSAGES_MAX ? " and more" : ""}
      </summary>
      <ol>
        {log.data.map(({ ts_ns, level, text }, number) => (
          <li key={number}>
            <button type="button" class="plain" title="Show this moment" onClick={() => onPick(Number(ts_ns))}>
              {momentOf(Number(ts_ns), 3)}
            </button>{" "}
            <b>{level}</b> <span class="mono">{safe(text ?? "")}</span>
          </li>
        ))}
      </ol>
    </details>
  );
}

/** Why charts are empty, in the capture's own words, and what would fill them. */
export function Missing({ captureId, charts, isAll }: { captureId: string; charts: Drawn[]; isAll: boolean }) {
  // All views, whichever charts are empty: the import has answered this.
  const where = sqlOf("view_coverage")`${"kind"} = 'view'`;
  const { data } = useView(captureId, "view_coverage", { where }, "later");
  if (!charts.length) return null;
  const told = new Map(data?.map((row) => [row.view_name, row]));
  return (
    <details class="line-missing" open={isAll}>
      <summary>Not in this capture: {charts.map(({ chart }) => chart.title).join(", ")}</summary>
      <dl>
        {charts.map(({ view, chart }) => {
          const row = told.get(view.name);
          return (
            <div key={`${chart.page} ${chart.place}`}>
              <dt>{chart.title}</dt>
              <dd>
                {row?.reason ?? (row?.is_fed ? "nothing of it in this part of the capture" : "no such records")}
                {row && (row.how || row.remedy) && (
                  <p class="quiet">{[row.how, row.remedy].filter(Boolean).join("; ")}</p>
                )}
              </dd>
            </div>
          );
        })}
      </dl>
    </details>
  );
}
