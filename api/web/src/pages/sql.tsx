/** SQL over one capture or over all of a ticket. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type ApiError, ask, bytesRead, exact, shown, textOf } from "../api/fetch";
import { useGet, useSchema } from "../api/hooks";
import type { Row } from "../api/rows";
import type { Page } from "../api/types.gen";
import { FilterBar } from "../app/filters";
import { filtersOf, href, useRoute } from "../app/route";
import { columnsOf } from "../parts/columns";
import { Fresh } from "../parts/fresh";
import { Problem, Waiting } from "../parts/problem";
import { RowDetail } from "../parts/row-detail";
import { safe } from "../parts/safe";
import { given } from "../parts/sql-rows";
import { Table } from "../parts/table";
import { duration, plural, reads } from "../parts/units";
import { CHART_NAMES, type ChartWords, ResultChart } from "../sql/chart";
import { Editor } from "../sql/editor";
import { keep, kept } from "../sql/history";
import { parametersOf, settingsOf, valuesOf } from "../sql/parameters";
import { Parameters } from "../sql/parameters-form";
import { SavedQueries } from "../sql/saved";

const ROWS_MAX = 10_000;
const DOWNLOAD_ROWS = 1_000_000;
const FORMATS = ["csv", "parquet", "arrow", "json"];

interface Result {
  rows: Row[];
  tookNs: number;
  bytesRead: number | null;
}

export default function Sql() {
  const { params, set } = useRoute();
  const asked = params.get("sql") ?? "";
  const [text, setText] = useState(asked);
  const [offered, setOffered] = useState({ sql: asked });
  const offer = (sql: string) => {
    setText(sql);
    setOffered({ sql });
  };
  const schema = useSchema();
  const { data: captures, error: failure, again: askCaptures } = useGet<Page>("captures", { limit: 1000 });
  const ready = captures?.captures.filter(({ state }) => state === "ready") ?? [];
  const ticket = params.get("ticket");
  const capture = params.get("capture") ?? (ticket ? null : (ready[0]?.capture_id ?? null));
  const filters = filtersOf(params);
  const settings = params.getAll("set");
  const question = {
    ...(ticket ? { ticket } : { capture_id: capture }),
    ...given(filters),
    ...(settings.length ? { set: settings } : {}),
  };
  const [values, setValues] = useState<ReadonlyMap<string, string>>(() => valuesOf(settings));
  useEffect(() => setValues(valuesOf(settings)), [settings.join("\0")]);
  const wanting = parametersOf(text);
  const chart = Object.fromEntries(CHART_NAMES.map((name) => [name, params.get(name) ?? ""])) as unknown as ChartWords;
  const isGiven = parametersOf(asked).every((name) => valuesOf(settings).has(name.toLowerCase()));
  const wanted = JSON.stringify([question, asked]);
  const { outcome, isRunning, cancelled, run, cancel } = useRun(question);
  const isOld = outcome?.of !== wanted || isRunning;
  const result = outcome?.result;
  const error = isOld ? undefined : outcome?.error;
  const isCancelled = !isRunning && cancelled === wanted;
  const [open, setOpen] = useState<Row>();
  const names = useMemo(() => new Map(ready.map(({ capture_id, name }) => [capture_id, safe(name)])), [captures]);

  useEffect(() => {
    document.title = "SQL – perfcase";
  }, []);
  // What the address asks is run: a link shows what its sender saw.
  useEffect(() => offer(asked), [asked]);
  useEffect(() => {
    if (asked.trim() && (ticket || capture) && isGiven) run(asked);
  }, [asked, JSON.stringify(question)]);

  const start = () => {
    if (!text.trim()) return;
    keep(text);
    const now = settingsOf(wanting, values);
    if (text === asked && now.join("\0") === settings.join("\0")) run(text);
    else set({ sql: text, set: now });
  };
  const columns = columnsOf(result?.rows ?? [], schema, ticket ? [] : ["capture_id"]);
  return (
    <main class="sql">
      <div class="row">
        <label class="row">
          <span class="quiet">of</span>
          <select
            aria-label="Capture or ticket"
            value={ticket ? `t ${ticket}` : `c ${capture}`}
            onChange={(event) => {
              const [kind, id] = [event.currentTarget.value[0], event.currentTarget.value.slice(2)];
              set(kind === "t" ? { ticket: id, capture: null } : { capture: id, ticket: null });
            }}
          >
            <optgroup label="Captures">
              {ready.map(({ capture_id, name, ticket: its }) => (
                <option key={capture_id} value={`c ${capture_id}`}>
                  {safe(name)}
                  {its && ` (${safe(its)})`}
                </option>
              ))}
            </optgroup>
            <optgroup label="All captures of a ticket">
              {[...new Set(ready.map((one) => one.ticket).filter(Boolean))].map((one) => (
                <option key={one} value={`t ${one}`}>
                  {safe(one)}
                </option>
              ))}
            </optgroup>
          </select>
        </label>
        {capture && <a href={href(["c", capture, "overview"])}>Overview</a>}
        <span class="spring" />
        <SavedQueries
          current={{ sql: text, set: settingsOf(wanting, values), chart: chartText(chart) }}
          onChoose={(saved) => set({ sql: saved.sql, set: saved.set, ...chartOf(saved.chart) })}
        />
        <History onChoose={offer} />
      </div>
      <FilterBar />
      {failure && <Problem error={failure} again={askCaptures} />}
      <Editor given={offered} schema={schema} onChange={setText} onRun={start} />
      <Parameters names={wanting} values={values} onChange={setValues} onRun={start} />
      <div class="row">
        {isRunning ? (
          <button type="button" class="danger" onClick={cancel}>
            Cancel
          </button>
        ) : (
          <button
            type="button"
            class="primary"
            disabled={!text.trim() || !(ticket || capture)}
            onClick={start}
            title="Ctrl+Enter"
          >
            Run
          </button>
        )}
        <span class="quiet" role="status">
          {isRunning
            ? "running …"
            : result &&
              !isOld &&
              `${result.rows.length < ROWS_MAX ? "" : "first "}${plural(result.rows.length, "row")} in ${duration(result.tookNs)}${reads(result.bytesRead)}`}
        </span>
        <span class="spring" />
        {result && !isOld && result.rows.length > 0 && <Downloads question={question} sql={asked} />}
      </div>
      {error && <Problem error={error} again={() => run(asked)} />}
      {isCancelled && (
        <p class="note" role="status">
          Cancelled: you stopped this query before it had an answer. Run asks it again
          {result ? "; the rows below are those of the query before." : "."}
        </p>
      )}
      {asked.trim() && !isGiven && (
        <p class="note" role="status">
          Give each parameter a value, then press Run.
        </p>
      )}
      {isRunning && !result && <Waiting what="Running" />}
      {result && (
        <Fresh isOld={isOld} why={isRunning ? "Running …" : "Rows of the query before"}>
          {result.rows.length > 0 && (
            <ResultChart
              {...chart}
              rows={result.rows}
              columns={columns}
              names={ticket ? names : null}
              onChange={(words) => set({ ...words }, true)}
            />
          )}
          {result.rows.length ? (
            <Table
              label="Result"
              columns={columns}
              rows={result.rows}
              onRow={setOpen}
              cells={
                ticket ? { capture_id: (row) => names.get(String(row.capture_id)) ?? safe(String(row.capture_id)) } : {}
              }
              widths={ticket ? { capture_id: 22 } : {}}
            />
          ) : (
            <p class="empty">No rows.</p>
          )}
        </Fresh>
      )}
      {open && <RowDetail title="Row" columns={columns} row={open} onClose={() => setOpen(undefined)} />}
    </main>
  );
}

/** The chart as it is saved with a query, and back. */
function chartText(words: ChartWords): string {
  const given = CHART_NAMES.flatMap((name) => (words[name] ? [[name, words[name]]] : []));
  return new URLSearchParams(given).toString();
}

function chartOf(text: string): Record<string, string | null> {
  const words = new URLSearchParams(text);
  return Object.fromEntries(CHART_NAMES.map((name) => [name, words.get(name)]));
}

/** What was asked last and its outcome; which question, in JSON, was given up. */
function useRun(question: object) {
  const [outcome, setOutcome] = useState<{ of: string; result?: Result; error?: ApiError }>();
  const [isRunning, setRunning] = useState(false);
  const [cancelled, setCancelled] = useState<string>();
  const asking = useRef<string>(undefined);
  const abort = useRef<AbortController | null>(null);
  useEffect(() => () => abort.current?.abort(), []);
  const run = async (sql: string) => {
    abort.current?.abort();
    const own = (abort.current = new AbortController());
    const of = JSON.stringify([question, sql]);
    asking.current = of;
    setRunning(true);
    setCancelled(undefined);
    const began = performance.now();
    try {
      const answer = await ask("sql", {
        method: "POST",
        json: { ...question, sql, limit: ROWS_MAX },
        signal: own.signal,
      });
      const rows = exact<Row[]>(await textOf(answer));
      const result = { rows, tookNs: (performance.now() - began) * 1e6, bytesRead: bytesRead(answer) };
      setOutcome({ of, result });
    } catch (failure) {
      if (own.signal.aborted) return;
      setOutcome({ of, error: shown(failure) });
    } finally {
      if (abort.current === own) setRunning(false);
    }
  };
  // The server stops an analysis that nobody waits for.
  const cancel = () => {
    abort.current?.abort();
    setRunning(false);
    setCancelled(asking.current);
  };
  return { outcome, isRunning, cancelled, run, cancel };
}

function Downloads({ question, sql }: { question: object; sql: string }) {
  const [error, setError] = useState<ApiError>();
  const download = async (format: string) => {
    setError(undefined);
    try {
      const answer = await ask("sql", { method: "POST", json: { ...question, sql, format, limit: DOWNLOAD_ROWS } });
      const link = document.createElement("a");
      link.href = URL.createObjectURL(await answer.blob());
      link.download = `result.${format}`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
    } catch (failure) {
      setError(shown(failure));
    }
  };
  return (
    <>
      <span class="quiet">Download</span>
      {FORMATS.map((format) => (
        <button type="button" class="plain" key={format} onClick={() => void download(format)}>
          {format}
        </button>
      ))}
      {error && <Problem error={error} />}
    </>
  );
}

function History({ onChoose }: { onChoose: (sql: string) => void }) {
  const menu = useRef<HTMLDetailsElement>(null);
  const [all, setAll] = useState<string[]>([]);
  return (
    <details class="menu" ref={menu} onToggle={() => setAll(kept())}>
      <summary class="button">Earlier queries</summary>
      <ul>
        {!all.length && <li class="quiet">None yet.</li>}
        {all.map((one) => (
          <li key={one}>
            <button
              type="button"
              class="plain mono"
              title={one}
              onClick={() => {
                onChoose(one);
                menu.current?.removeAttribute("open");
              }}
            >
              {one.replace(/\s+/g, " ")}
            </button>
          </li>
        ))}
      </ul>
    </details>
  );
}
