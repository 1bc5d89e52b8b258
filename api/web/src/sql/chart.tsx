/** The rows of a query as a picture that the reader chooses: lines over a column of time, or a bar for each row. The table stays below. */

import { useMemo, useState } from "preact/hooks";
import type { Row } from "../api/rows";
import type { Column, Intervals } from "../api/types.gen";
import { isInstant, written } from "../parts/cell";
import type { Drawn } from "../parts/charts";
import { safe } from "../parts/safe";
import { count, plural, sentence, UNKNOWN } from "../parts/units";
import { Charts } from "../line/charts";
import { linesOf } from "../line/series";
import type { Span } from "../line/span";
import { placed } from "../line/tracks";

/** What an address says of the chart. */
export interface ChartWords {
  chart: string;
  x: string;
  y: string;
  key: string;
}

export const CHART_NAMES = ["chart", "x", "y", "key"] as const;

const BARS_MAX = 50;
const TIME = "chart_time";
/** Pixels. */
const HEIGHT = 160;
/** A time of day, as DuckDB writes it. */
const DAY = /^\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d+)?)?/;
const YEARS_NS = 1e18;

interface ResultChartProps extends ChartWords {
  rows: readonly Row[];
  columns: readonly Column[];
  /** How the capture of a row is called, where rows are of several. */
  names: ReadonlyMap<string, string> | null;
  onChange: (words: Partial<ChartWords>) => void;
}

export function ResultChart(props: ResultChartProps) {
  const { rows, columns, chart, onChange } = props;
  const numeric = columns.filter(({ name }) => rows.some((row) => isNumber(row[name])));
  const times = columns
    .filter(({ name, unit }) => isTime(rows, name, unit))
    .sort((a, b) => Number(isInstant(b.name)) - Number(isInstant(a.name)));
  const kinds = [
    ["", "no chart"],
    ...(times.some((time) => numeric.some(({ name }) => name !== time.name)) ? [["line", "lines over time"]] : []),
    ...(numeric.length ? [["bars", "bars"]] : []),
  ] as [string, string][];
  if (kinds.length < 2) return null;
  const kind = kinds.some(([name]) => name === chart) ? chart : "";
  const xs = kind === "line" ? times : columns;
  const x =
    xs.find(({ name }) => name === props.x) ??
    xs.find(({ name }) => !numeric.some((one) => one.name === name)) ??
    xs[0];
  const ys = numeric.filter(({ name }) => name !== x?.name);
  const y = ys.find(({ name }) => name === props.y) ?? ys.at(-1);
  const keys = columns.filter(({ name }) => name !== x?.name && name !== y?.name);
  const key = keys.find(({ name }) => name === props.key);
  const choice = (label: string, now: string, all: readonly Column[], name: keyof ChartWords, none?: string) => (
    <label>
      <span class="quiet">{label}</span>{" "}
      <select
        aria-label={`Chart: ${label}`}
        value={now}
        onChange={(event) => onChange({ [name]: event.currentTarget.value })}
      >
        {none && <option value="">{none}</option>}
        {all.map((column) => (
          <option key={column.name} value={column.name}>
            {safe(column.name)}
          </option>
        ))}
      </select>
    </label>
  );
  return (
    <section class="result-chart" aria-label="Chart of the result">
      <div class="row">
        <label>
          <span class="quiet">Chart</span>{" "}
          <select aria-label="Chart" value={kind} onChange={(event) => onChange({ chart: event.currentTarget.value })}>
            {kinds.map(([name, words]) => (
              <option key={name} value={name}>
                {words}
              </option>
            ))}
          </select>
        </label>
        {kind && x && y && (
          <>
            {choice("of", y.name, ys, "y")}
            {choice(kind === "line" ? "over" : "by", x.name, xs, "x")}
            {kind === "line" && keys.length > 0 && choice("a line for each", key?.name ?? "", keys, "key", "one line")}
          </>
        )}
      </div>
      {kind && (!x || !y) && <p class="quiet">There is no second column for it.</p>}
      {kind === "line" && x && y && <LineChart {...props} time={x} value={y} keyed={key} />}
      {kind === "bars" && x && y && <Bars {...props} by={x} value={y} />}
    </section>
  );
}

interface LineChartProps extends ResultChartProps {
  time: Column;
  value: Column;
  keyed: Column | undefined;
}

function LineChart({ rows, names, time, value, keyed }: LineChartProps) {
  const drawn = useMemo(() => {
    const timed = rows.flatMap((row) => {
      const at = nsOf(row[time.name], time);
      return at === null ? [] : [{ at, row }];
    });
    timed.sort((a, b) => a.at - b.at);
    const [first, last] = [timed[0]?.at ?? 0, timed.at(-1)?.at ?? 0];
    // A short stretch far from the beginning has its own beginning.
    const origin = first > 0 && first < (last - first) / 2 ? 0 : first;
    const keys = keyed ? [keyed.name] : [];
    const shown = timed.map(({ at, row }) => ({ ...named(row, names), [TIME]: at - origin }));
    const how = {
      plot: { time: TIME, length: null },
      chart: { keys, values: [{ column: value.name, label: safe(value.name), unit: value.unit }] },
    } as unknown as Drawn<Intervals>;
    const lines = linesOf(how, shown);
    const groups = new Set(shown.map((row: Row) => keys.map((name) => String(row[name])).join()));
    // Where two rows of a line have one time, the picture would have the last.
    const places = new Set(shown.map((row: Row) => JSON.stringify([TIME, ...keys].map((name) => String(row[name])))));
    const end = Math.max(last - origin, 1);
    const span: Span = [0, end];
    const title = `${safe(value.name)} over ${safe(time.name)}`;
    return {
      lines,
      origin,
      end,
      tracks: placed([
        { kind: "chart", id: "result", title, height: HEIGHT, depth: 0, among: null, drawn: how, lines, span },
      ]),
      known: timed.length,
      groups: groups.size,
      doubles: shown.length - places.size,
    };
  }, [rows, names, time.name, value.name, keyed?.name]);
  const { lines, origin, end, tracks, known, groups, doubles } = drawn;
  const [zoom, setZoom] = useState<{ of: unknown; span: Span } | null>(null);
  if (doubles)
    return (
      <p class="note" role="status">
        {plural(doubles, "row")} {doubles === 1 ? "has" : "have"} the time of another row of the same line: choose a
        column that tells the lines apart.
      </p>
    );
  if (!lines.lines.length) return <p class="quiet">No row has both a time and a value.</p>;
  const isDay = origin > YEARS_NS;
  const from = origin && !isDay ? `from ${written(origin, time)} on` : "";
  const notes = [
    lines.lines.length < groups && `${count(lines.lines.length)} of ${count(groups)} lines, the highest`,
    from,
    known < rows.length && `${plural(rows.length - known, "row")} without a time not shown`,
    "a line ends where no row follows within three times its usual step; hatched: no line",
  ].filter(Boolean);
  return (
    <>
      <Charts
        tracks={tracks}
        span={zoom?.of === drawn ? zoom.span : [0, end]}
        end={end}
        startNs={isDay ? origin : null}
        part={null}
        isAwaited={false}
        onSpan={(span) => setZoom(span && { of: drawn, span })}
        onPart={(span) => setZoom(span && { of: drawn, span })}
      />
      <p class="quiet">{sentence(notes.join("; "))}</p>
    </>
  );
}

function Bars({ rows, names, by, value }: ResultChartProps & { by: Column; value: Column }) {
  const known = rows.filter((row) => isNumber(row[value.name]));
  const shown = known.slice(0, BARS_MAX).map((row) => ({ row, amount: Number(row[value.name]) }));
  const [low, high] = [
    Math.min(0, ...shown.map(({ amount }) => amount)),
    Math.max(0, ...shown.map(({ amount }) => amount)),
  ];
  const place = (amount: number) => (high > low ? (100 * (amount - low)) / (high - low) : 0);
  return (
    <>
      <ul class="result-bars" aria-label={`${value.name} by ${by.name}`}>
        {shown.map(({ row, amount }, number) => (
          <li key={number}>
            <span class="result-key" title={written(named(row, names)[by.name], by)}>
              {written(named(row, names)[by.name], by) || UNKNOWN}
            </span>
            <span class="result-track" aria-hidden="true">
              <i
                style={{
                  left: `${place(Math.min(0, amount))}%`,
                  width: `${place(Math.max(0, amount)) - place(Math.min(0, amount))}%`,
                }}
              />
            </span>
            <span class="result-value">{written(row[value.name], value)}</span>
          </li>
        ))}
      </ul>
      {shown.length < rows.length && (
        <p class="quiet">
          {shown.length < known.length && "The first "}
          {count(shown.length)} of {count(rows.length)} rows
          {known.length < rows.length && `; ${count(rows.length - known.length)} have no value`}.
        </p>
      )}
    </>
  );
}

function named(row: Row, names: ResultChartProps["names"]): Row {
  const id = row.capture_id;
  return names && typeof id === "string" ? { ...row, capture_id: names.get(id) ?? id } : row;
}

function isNumber(value: unknown): boolean {
  return typeof value === "number" || typeof value === "bigint";
}

function isTime(rows: readonly Row[], name: string, unit: string | null): boolean {
  const some = rows.find((row) => row[name] !== null && row[name] !== undefined)?.[name];
  return isNumber(some) ? unit === "ns" : typeof some === "string" && DAY.test(some);
}

/** A time as ns: since the beginning of the recording, or of day. */
function nsOf(value: unknown, { unit }: Column): number | null {
  if (isNumber(value)) return unit === "ns" ? Number(value) : null;
  if (typeof value !== "string" || !DAY.test(value)) return null;
  const at = Date.parse(`${value.slice(0, 23).replace(" ", "T")}Z`);
  return Number.isNaN(at) ? null : at * 1e6;
}
