/** One figure over many captures, in the order of time. */

import { useEffect, useState } from "preact/hooks";
import { useGet, useRows, useSchema } from "../api/hooks";
import type { ColumnOf, Row, Value, ViewName } from "../api/rows";
import type { History as Followed, Page } from "../api/types.gen";
import { moment } from "../app/clock";
import { href, useRoute } from "../app/route";
import { BoardPage } from "./board";
import { figureOf, figureText } from "./board-figures";
import { BoardMenu } from "./board-menu";
import { HistoryPlot } from "./history-plot";
import { columnsOf } from "../parts/columns";
import { Fresh } from "../parts/fresh";
import { Problem, Waiting } from "../parts/problem";
import { RowDetail } from "../parts/row-detail";
import { safe } from "../parts/safe";
import { Table } from "../parts/table";
import { plural, UNKNOWN } from "../parts/units";

type Name = keyof Followed;
const FIRST: readonly string[] = ["capture", "recorded_at", "host"] satisfies Name[];
const LAST: readonly string[] = ["ticket", "labels", "note"] satisfies Name[];
/** The columns that have the unit of the figure that was asked for. */
const FIGURE: Name = "value";
const PER_SECOND: Name = "value_per_s";
const CAPTURE: Name = "capture";
const SINCE = "band_since" satisfies Name;
const WHEN: Name = "recorded_at";
/** What a reader sees who has chosen nothing: every recording has it. */
const USUAL: { view: ViewName; measure: ColumnOf<"cpu_utilization"> } = {
  view: "cpu_utilization",
  measure: "busy_ratio",
};
/** The choice of no figure: the captures themselves. */
const CAPTURES = "captures";
const AGGREGATES = ["sum", "level", "mean", "max", "min", "median", "count"];

export default function History() {
  const { params: given, set } = useRoute();
  const params = given.has("view") ? given : new URLSearchParams([...given, ...Object.entries(USUAL)]);
  const schema = useSchema();
  const asked = (name: string) => params.get(name) ?? "";
  const view = schema?.views.find(({ name }) => name === asked("view"));
  const query = {
    view: asked("view") === CAPTURES ? "" : asked("view"),
    measure: asked("measure"),
    where: asked("where"),
    agg: asked("agg"),
    by: asked("by"),
    ticket: asked("ticket"),
    // Where a host changed is part of the picture.
    bands: Boolean(asked("measure")),
  };
  const board = params.get("board");
  // A view without a figure is no question yet.
  const isAsked = !board && (!query.view || Boolean(query.measure));
  const { data, error, loading, again } = useRows<Row>(isAsked && schema ? "history" : null, query);
  const [open, setOpen] = useState<Row>();
  useEffect(() => {
    if (!board) document.title = "History – perfcase";
  }, [board]);
  const { data: captures } = useGet<Page>("captures", { limit: 1000 });
  const names = new Map(captures?.captures.map(({ capture_id, name }) => [capture_id, name]));
  const measure = view?.columns.find(({ name }) => name === query.measure);
  // Which capture, then the figures; what people wrote comes last.
  const place = (name: string) => (FIRST.includes(name) ? FIRST.indexOf(name) - 9 : LAST.indexOf(name) + 1);
  const units: Record<string, string> = measure?.unit
    ? { [FIGURE]: measure.unit, [PER_SECOND]: `${measure.unit}/s` }
    : {};
  const isKnown = (name: string) => name === FIGURE || FIRST.includes(name) || data?.some((row) => row[name] !== null);
  const columns = columnsOf(data ?? [], schema)
    .map((column) => (column.name in units ? { ...column, unit: units[column.name]! } : column))
    .sort((a, b) => place(a.name) - place(b.name));
  const field = (name: string, label: string, hint: string) => (
    <input
      aria-label={label}
      placeholder={label}
      title={hint}
      spellcheck={false}
      key={`${name} ${asked(name)}`}
      defaultValue={asked(name)}
      onChange={(event) => set({ [name]: event.currentTarget.value.trim() })}
    />
  );
  if (board)
    return (
      <main class="history">
        <div class="row">
          <a href={href("history")}>One figure</a>
          <span class="spring" />
          <BoardMenu key="of a board" figure={null} />
        </div>
        <BoardPage key={board} id={board} schema={schema} names={names} />
      </main>
    );
  return (
    <main class="history">
      <div class="row">
        <select
          aria-label="View"
          value={asked("view")}
          onChange={(event) => set({ view: event.currentTarget.value, measure: null, where: null, agg: null })}
        >
          <option value={CAPTURES}>the captures themselves</option>
          {schema?.views.map(({ name }) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
        {view && (
          <>
            <select
              aria-label="Figure"
              value={asked("measure")}
              onChange={(event) => set({ measure: event.currentTarget.value })}
            >
              <option value="">choose a figure</option>
              {view.columns
                .filter(({ unit }) => unit)
                .map(({ name }) => (
                  <option key={name} value={name}>
                    {name}
                  </option>
                ))}
            </select>
            <select
              aria-label="Taken together by"
              value={asked("agg")}
              onChange={(event) => set({ agg: event.currentTarget.value })}
            >
              <option value="">in its usual way</option>
              {AGGREGATES.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
            {field("where", "where: comm = 'java'", "A condition in SQL on the view's columns")}
          </>
        )}
        <select
          aria-label="Order"
          value={asked("by") || "time"}
          onChange={(event) => set({ by: event.currentTarget.value })}
        >
          {["time", "host", "ticket", "label"].map((name) => (
            <option key={name} value={name}>
              by {name}
            </option>
          ))}
        </select>
        {field("ticket", "Ticket", "Captures whose tickets begin with this")}
        <span class="spring" />
        <BoardMenu figure={query.view && query.measure ? figureText(figureOf(params)) : null} />
      </div>
      {error && <Problem error={error} again={again} />}
      {!isAsked && <p class="empty">Choose a figure of the view.</p>}
      {isAsked && !data && !error && <Waiting what="Asking every capture" />}
      {data &&
        !error &&
        (data.length ? (
          <Fresh isOld={loading}>
            {measure && <HistoryPlot rows={data} unit={measure.unit} names={names} />}
            <Table
              label="History"
              columns={columns.filter(({ name }) => isKnown(name))}
              rows={data}
              onRow={setOpen}
              cells={{
                [CAPTURE]: (row) => <CaptureLink path={String(row[CAPTURE])} names={names} />,
                [WHEN]: (row) => recorded(row[WHEN]),
                [SINCE]: (row) => recorded(row[SINCE]),
              }}
              widths={{ [CAPTURE]: 24 }}
            />
            <p class="table-foot">{plural(data.length, "row")}</p>
          </Fresh>
        ) : (
          <p class="empty">No capture.</p>
        ))}
      {open && <RowDetail title="History" columns={columns} row={open} onClose={() => setOpen(undefined)} />}
    </main>
  );
}

/** The command line has UTC. */
function recorded(text: Value | undefined): string {
  const at = typeof text === "string" ? Date.parse(`${text.replace(" ", "T")}Z`) : Number.NaN;
  return Number.isNaN(at) ? safe(String(text ?? UNKNOWN)) : moment(at * 1e6);
}

/** The command line names a capture by its folder, which the server names after the capture. */
function CaptureLink({ path, names }: { path: string; names: Map<string, string> }) {
  const id = path.split("/")[0] ?? "";
  return <a href={href(["c", id, "overview"])}>{safe(names.get(id) ?? id.slice(0, 12))}</a>;
}
