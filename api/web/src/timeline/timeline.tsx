/** What the whole host did over the time of a recording; dragging chooses the part that everything else is about. */

import { useMemo } from "preact/hooks";
import { useRows, useSchema, useView } from "../api/hooks";
import type { AnyParameter } from "../api/rows";
import type { Intervals } from "../api/types.gen";
import type { CaptureProps } from "../app/pages";
import { type Filters, filterParams } from "../app/route";
import { type Drawn, type Place, places } from "../parts/charts";
import { Fresh } from "../parts/fresh";
import { gapsOf } from "../parts/hatch";
import { Problem, Waiting } from "../parts/problem";
import { safe } from "../parts/safe";
import { sqlOf } from "../parts/sql";
import { duration, plural } from "../parts/units";
import { linesOf, step } from "./series";
import { Plot } from "./plot";
import { seconds, windowText } from "./window";
import "./timeline.css";

const MESSAGES_MAX = 200;
const INTERVAL: AnyParameter = "interval_ns";

export default function Timeline(props: CaptureProps) {
  const schema = useSchema();
  const shown = useMemo(() => schema && places(schema, "timeline", "intervals"), [schema]);
  if (!(Number(props.capture.duration_ns ?? 0) > 0))
    return <p class="empty">This capture has no timeline, because its events have no times.</p>;
  return shown ? <Charts shown={shown} {...props} /> : <Waiting />;
}

interface ChartsProps extends CaptureProps {
  shown: Place<Intervals>[];
}

function Charts({ shown: all, captureId, capture, filters, onFilters }: ChartsProps) {
  const length = Number(capture.duration_ns);
  const end = length / 1e9;
  const part = filters.window ? seconds(filters.window, end) : null;
  // The charts show the whole recording: the part is what is chosen in them.
  const scope = { ...filters, window: null };
  const charts = all.map((place) => {
    const first = useChart(captureId, place.first, length, scope);
    const isEmpty = first.lines !== null && first.lines.lines.length === 0;
    const second = useChart(captureId, place.instead ?? place.first, isEmpty && place.instead ? length : 0, scope);
    return isEmpty && place.instead && (!second.lines || second.lines.lines.length) ? second : first;
  });
  const severe = sqlOf("kernel_log")`${"level"} IN ('emerg', 'alert', 'crit', 'err', 'warn') AND ${"is_in_capture"}`;
  const log = useView(captureId, "kernel_log", { where: severe, limit: MESSAGES_MAX }, "later");
  const marks = useMemo(
    () =>
      (log.data ?? []).map(({ ts_ns, level }) => ({
        at: Number(ts_ns) / 1e9,
        colour: level === "warn" ? "--warning" : "--critical",
      })),
    [log.data],
  );
  const shown = charts.filter(({ lines }) => lines && lines.lines.length > 0);
  const missing = charts.filter(({ lines }) => lines && lines.lines.length === 0).map(({ drawn }) => drawn);
  const failed = charts.find(({ answer }) => answer.error);
  // All answers about a whole capture are kept: its charts come at once, so nothing moves.
  const isWhole = Object.values(scope).every((given) => !given?.length);
  const isFirst = charts.some(({ answer, lines }) => !lines && !answer.error) && (isWhole || shown.length === 0);
  return (
    <section class="timeline" aria-label="Time line">
      <div class="row">
        <h2>Time line</h2>
        <span class="quiet">
          {part
            ? `${duration((part[1] - part[0]) * 1e9)} of ${duration(length)} chosen`
            : "drag over it to look at a part of the recording"}
          {shown.some(({ lines }) => lines && gapsOf(lines.known, end).length > 0) && "; hatched: nothing was recorded"}
        </span>
        <span class="spring" />
        {part && (
          <button type="button" onClick={() => onFilters({ window: null })}>
            Whole recording
          </button>
        )}
      </div>
      {failed && <Problem error={failed.answer.error!} again={failed.answer.again} />}
      {isFirst && <Waiting />}
      {(isFirst ? [] : shown).map(({ drawn: { view, chart }, lines, answer }, index) => (
        <Fresh key={`${view.name} ${chart.place}`} isOld={answer.loading}>
          <Plot
            title={chart.title}
            unit={chart.values[0]!.unit}
            lines={lines!}
            end={end}
            startNs={capture.started_ns === null ? null : Number(capture.started_ns)}
            part={part}
            marks={marks}
            onPart={(to) => onFilters({ window: to && windowText(to) })}
            hasAxis={index === shown.length - 1}
          />
        </Fresh>
      ))}
      {log.error && <Problem error={log.error} again={log.again} />}
      {log.data && log.data.length > 0 && (
        <details class="timeline-log">
          <summary>
            {plural(log.data.length, "message")} of the kernel{log.data.length === MESSAGES_MAX ? " and more" : ""}
          </summary>
          <ol>
            {log.data.map(({ ts_ns, level, text }, number) => (
              <li key={number}>
                <span>{(Number(ts_ns) / 1e9).toFixed(3)} s</span> <b>{level}</b>{" "}
                <span class="mono">{safe(text ?? "")}</span>
              </li>
            ))}
          </ol>
        </details>
      )}
      {missing.length > 0 && <Missing captureId={captureId} charts={missing} isAll={missing.length === all.length} />}
    </section>
  );
}

/** What a chart shows; nothing is asked for while `length` is 0. */
function useChart(captureId: string, drawn: Drawn<Intervals>, length: number, scope: Filters) {
  const { view, chart } = drawn;
  // A view that cuts the time itself cuts it as finely as is seen.
  const set = view.parameters.includes(INTERVAL) ? `${INTERVAL}=${step(length)}` : null;
  const query = { limit: 20000, set, where: chart.where, ...filterParams(scope) };
  const answer = useRows(length > 0 ? `captures/${captureId}/views/${view.name}` : null, query);
  const lines = useMemo(() => (answer.data ? linesOf(drawn, answer.data) : null), [answer.data]);
  return { drawn, answer, lines };
}

/** Why charts are empty, in the capture's own words, and what would fill them. */
function Missing({ captureId, charts, isAll }: { captureId: string; charts: Drawn[]; isAll: boolean }) {
  // All views, whichever charts are empty: the import has answered this.
  const where = sqlOf("view_coverage")`${"kind"} = 'view'`;
  const { data } = useView(captureId, "view_coverage", { where }, "later");
  const told = new Map(data?.map((row) => [row.view_name, row]));
  return (
    <details class="timeline-missing" open={isAll}>
      <summary>Not in this capture: {charts.map(({ chart }) => chart.title).join(", ")}</summary>
      <dl>
        {charts.map(({ view, chart }) => {
          const row = told.get(view.name);
          return (
            <div key={chart.place}>
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
