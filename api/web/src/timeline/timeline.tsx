/** What the whole host did over the time of a recording; dragging chooses the part that everything else is about. */

import { useMemo } from "preact/hooks";
import { useRows } from "../api/hooks";
import type { CaptureProps } from "../app/pages";
import { filterParams } from "../app/route";
import { Problem } from "../parts/problem";
import { duration } from "../parts/units";
import { type Chart, CHARTS, linesOf } from "./series";
import { Plot } from "./plot";
import { seconds, windowText } from "./window";
import "./timeline.css";

export default function Timeline({ captureId, capture, filters, onFilters }: CaptureProps) {
  const length = Number(capture.duration_ns ?? 0);
  const end = length / 1e9;
  const part = filters.window ? seconds(filters.window, end) : null;
  // The charts show the whole recording: the part is what is chosen in them.
  const scope = { ...filters, window: null };
  const charts = CHARTS.map((chart) => {
    const query = { limit: 20000, ...chart.query?.(length), ...filterParams(scope) };
    const answer = useRows(length > 0 ? `captures/${captureId}/views/${chart.view}` : null, query);
    const lines = useMemo(() => (answer.data ? linesOf(chart, answer.data) : null), [answer.data]);
    return { chart, answer, lines };
  });
  const shown = charts.filter(({ lines }) => lines && lines.lines.length > 0);
  const missing = charts.filter(({ lines }) => lines && lines.lines.length === 0).map(({ chart }) => chart);
  const failed = charts.find(({ answer }) => answer.error);
  if (!(length > 0)) return <p class="empty">This capture has no times: there is no time line.</p>;
  return (
    <section class="timeline" aria-label="Time line">
      <div class="row">
        <h2>Time line</h2>
        <span class="quiet">
          {part
            ? `${duration((part[1] - part[0]) * 1e9)} of ${duration(length)} chosen`
            : "drag over it to look at a part of the recording"}
        </span>
        <span class="spring" />
        {part && (
          <button type="button" onClick={() => onFilters({ window: null })}>
            Whole recording
          </button>
        )}
      </div>
      {failed && <Problem error={failed.answer.error!} again={failed.answer.again} />}
      {charts.some(({ answer }) => answer.loading) && shown.length === 0 && (
        <p class="waiting" role="status">
          Loading …
        </p>
      )}
      {shown.map(({ chart, lines }, index) => (
        <Plot
          key={chart.id}
          title={chart.title}
          unit={chart.unit}
          lines={lines!}
          end={end}
          part={part}
          onPart={(to) => onFilters({ window: to && windowText(to) })}
          hasAxis={index === shown.length - 1}
        />
      ))}
      {missing.length > 0 && <Missing captureId={captureId} charts={missing} />}
    </section>
  );
}

interface Coverage {
  view_name: string;
  is_fed: boolean;
  reason: string | null;
  how: string | null;
  remedy: string | null;
}

/** Why charts are empty, in the capture's own words, and what would fill them. */
function Missing({ captureId, charts }: { captureId: string; charts: Chart[] }) {
  const names = charts.map(({ view }) => `'${view}'`).join(", ");
  const { data } = useRows<Coverage>(`captures/${captureId}/views/view_coverage`, {
    where: `view_name IN (${names}) AND kind = 'view'`,
  });
  const told = new Map(data?.map((row) => [row.view_name, row]));
  return (
    <details class="timeline-missing" open={charts.length === CHARTS.length}>
      <summary>Not in this capture: {charts.map(({ title }) => title).join(", ")}</summary>
      <dl>
        {charts.map(({ id, title, view }) => {
          const row = told.get(view);
          return (
            <div key={id}>
              <dt>{title}</dt>
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
