/** A flame chart: what a thread was seen in, in the order of time; depth is the stack. */

import { useMemo, useRef, useState } from "preact/hooks";
import { useSql, useView } from "../api/hooks";
import type { Column } from "../api/types.gen";
import type { CaptureProps } from "../app/pages";
import { filterParams, useRoute } from "../app/route";
import { useWidth } from "../app/width";
import { instant } from "../parts/cell";
import { Fresh } from "../parts/fresh";
import { gapsOf } from "../parts/hatch";
import { Problem, Waiting } from "../parts/problem";
import { safe } from "../parts/safe";
import { literal, sqlOf } from "../parts/sql";
import { Table } from "../parts/table";
import { count, duration, plural, ratio } from "../parts/units";
import { ticks } from "../line/span";
import { seconds, windowText } from "../line/window";
import { FlameCanvas } from "./canvas";
import { amount } from "./draw";
import type { FlameState } from "./graph";
import { type Chain, overTime, rowsOf, type Sample, usualDistance } from "./time";
import { TopFunctions } from "./top";
import { SearchFrames } from "./search";
import { beside, search } from "./tree";

/** Samples of a thread that are drawn; of more, those that come first. */
const SAMPLES_MAX = 10_000;
const THREADS_MAX = 200;
/** Pixels of a letter of the axis, about. */
const LETTER = 7;

const FROM =
  "FROM sample AS s JOIN perf_event AS v USING (event_id) WHERE s.ts_ns IS NOT NULL" +
  " AND (s.stack_id IS NOT NULL OR s.frame_id IS NOT NULL)";
const KIND =
  "CASE WHEN f.symbol IS NULL THEN 'unnamed' WHEN f.is_kernel THEN 'kernel' WHEN f.is_inlined THEN 'inlined'" +
  " WHEN f.symbol_source IN ('perf-map', 'jitdump') THEN 'jit' ELSE 'user' END";

/**
 * The threads that an event was sampled in and whose name or number is sought, those with the most samples first, and
 * the one that is chosen.
 */
function threadsOf(event: string, sought: string, chosen: number): string {
  const isSought = sought
    ? `contains(lower(coalesce(t.comm, '?')), ${literal(sought.toLowerCase())}) OR t.tid::VARCHAR = ${literal(sought)}`
    : "true";
  return (
    "SELECT o.utid, coalesce(t.comm, '?') AS comm, t.tid, o.samples, count(*) FILTER (is_sought) OVER () AS sought_count" +
    " FROM (SELECT s.utid, count(*) AS samples" +
    ` ${FROM} AND v.name = ${literal(event)} GROUP BY s.utid) AS o JOIN thread AS t USING (utid),` +
    ` LATERAL (SELECT ${isSought} AS is_sought)` +
    ` WHERE t.tid <> 0 AND (is_sought OR o.utid = ${chosen})` +
    ` QUALIFY o.utid = ${chosen} OR row_number() OVER (ORDER BY o.samples DESC, o.utid) <= ${THREADS_MAX}` +
    " ORDER BY o.samples DESC, o.utid"
  );
}

function samplesOf(event: string, utid: number): string {
  return (
    "SELECT s.ts_ns, s.period, s.stack_id, CASE WHEN s.stack_id IS NULL THEN s.frame_id END AS frame_id" +
    ` ${FROM} AND v.name = ${literal(event)} AND s.utid = ${utid} ORDER BY s.ts_ns, s.sample_id LIMIT ${SAMPLES_MAX}`
  );
}

/** The callchains of these samples. */
function chainsOf(event: string, utid: number): string {
  const list = (column: string) => `list(${column} ORDER BY e.position DESC)`;
  return (
    `WITH seen AS (SELECT DISTINCT stack_id, frame_id FROM (${samplesOf(event, utid)})), step AS (` +
    "SELECT n.stack_id, n.frame_id AS only_id, k.position, k.frame_id FROM seen AS n JOIN stack_entry AS k ON k.stack_id = n.stack_id" +
    " UNION ALL SELECT NULL, frame_id, 0, frame_id FROM seen WHERE stack_id IS NULL)" +
    ` SELECT e.stack_id, e.only_id AS frame_id, ${list("l.label")} AS names, ${list("l.dso")} AS objects, ${list(KIND)} AS kinds,` +
    ` ${list("coalesce(f.source_file || coalesce(':' || f.source_line, ''), '')")} AS sources` +
    " FROM step AS e JOIN frame AS f ON f.frame_id = e.frame_id JOIN frame_label AS l ON l.frame_id = e.frame_id" +
    " GROUP BY e.stack_id, e.only_id"
  );
}

interface Thread {
  utid: number;
  comm: string;
  tid: number;
  samples: number;
  /** How many there are, where not all are here. */
  sought_count: number;
}

interface OverTimeProps extends CaptureProps {
  /** Whose samples; `unit`: of their periods. */
  event: string;
  unit: string;
  /** These are of another question than the address has by now. */
  isOld: boolean;
  /** By stack, some is left out or one frame. */
  isShaped: boolean;
  state: FlameState;
  onState: (change: Partial<FlameState>) => void;
}

export default function OverTime(props: OverTimeProps) {
  const { captureId, filters, event, unit } = props;
  const { params, set } = useRoute();
  const part = filterParams(filters);
  const isMoment = unit === "events";
  const sought = params.get("named") ?? "";
  const wanted = /^\d{1,9}$/.test(params.get("utid") ?? "") ? Number(params.get("utid")) : -1;
  const threads = useSql<Thread>(captureId, isMoment ? null : threadsOf(event, sought, wanted), part, THREADS_MAX + 1);
  const thread = threads.data?.find(({ utid }) => utid === wanted) ?? threads.data?.[0];
  const utid = thread?.utid;
  const samples = useSql<Sample>(captureId, utid === undefined ? null : samplesOf(event, utid), part, SAMPLES_MAX);
  const chains = useSql<Chain>(captureId, utid === undefined ? null : chainsOf(event, utid), part, SAMPLES_MAX);
  if (isMoment) {
    return (
      <p class="empty">
        The samples of {safe(event)} are moments: none of them stands for a time. Choose a clock or a counter.
      </p>
    );
  }
  const failed = [threads, samples, chains].find(({ error }) => error);
  if (failed?.error) return <Problem error={failed.error} again={failed.again} />;
  if (!threads.data) return <Waiting />;
  const all = threads.data[0]?.sought_count ?? 0;
  if (!thread && !sought)
    return <p class="empty">No thread was sampled in this part of the capture: nothing to draw.</p>;
  return (
    <>
      <div class="row flame-threads">
        <input
          type="search"
          aria-label="Find threads"
          placeholder="Find threads"
          spellcheck={false}
          value={sought}
          // Each question is one to the server: it is asked when the reader leaves the field, presses Enter or clears it.
          onChange={(changed) => set({ named: changed.currentTarget.value.trim() || null, utid: null, at: null })}
          onInput={(changed) => !changed.currentTarget.value && set({ named: null, at: null })}
        />
        {thread && (
          <select
            class="flame-thread"
            aria-label="Thread"
            value={thread.utid}
            onChange={(changed) => set({ utid: changed.currentTarget.value, at: null })}
          >
            {threads.data.map((one) => (
              <option key={one.utid} value={one.utid}>
                {safe(one.comm)} ({one.tid}), {plural(one.samples, "sample")}
              </option>
            ))}
          </select>
        )}
        <span class="quiet" role="status">
          {threads.loading || !thread
            ? ""
            : all > THREADS_MAX
              ? `The ${count(THREADS_MAX)} of ${plural(all, "thread")} with the most samples are listed: a part of the name or the number finds others.`
              : `${plural(all, "thread")}${sought ? " with this in the name" : ""}`}
        </span>
      </div>
      {!thread && <p class="empty">No thread that was sampled in this part of the capture has this in its name.</p>}
      {!thread ? null : samples.data && chains.data ? (
        <Fresh isOld={props.isOld || threads.loading || samples.loading || chains.loading}>
          <Chart {...props} thread={thread} samples={samples.data} chains={chains.data} />
        </Fresh>
      ) : (
        <Waiting />
      )}
    </>
  );
}

const column = (name: string, unit: string | null, description: string): Column => ({ name, unit, description });
const COLUMNS = [
  column("start_ns", "ns", "When the stretch begins."),
  column("duration_ns", "ns", "How long the function was seen without a gap."),
  column("self_ns", "ns", "The part of it in which the function itself ran."),
  column("depth", "count", "Its place in the stack; 1 is the outermost."),
  column("symbol", null, "The function."),
  column("dso", null, "The object that it is in."),
];

interface ChartProps extends OverTimeProps {
  thread: Thread;
  samples: Sample[];
  chains: Chain[];
}

function Chart({
  captureId,
  capture,
  filters,
  onFilters,
  unit,
  thread,
  samples,
  chains,
  isShaped,
  state,
  onState,
}: ChartProps) {
  const { params, set } = useRoute();
  const isTime = unit === "ns";
  // While another thread's samples are awaited, those of the one before are here: they may be none.
  const isCut = samples.length >= SAMPLES_MAX && thread.samples > samples.length;
  const length = Number(capture.duration_ns ?? 0);
  const name = `${safe(thread.comm)} (${thread.tid})`;
  const { tree, undrawn } = useMemo(() => {
    const chosen = filters.window ? seconds(filters.window, length / 1e9) : null;
    const [from, to] = chosen?.map((at) => Math.round(at * 1e9)) ?? [0, length];
    const end = isCut ? samples.at(-1)!.ts_ns : Math.max(to!, samples.at(-1)?.ts_ns ?? 0);
    return overTime(samples, chains.map(spelled), [from!, end], { name, isTime });
  }, [samples, chains, filters.window, length]);
  const zoom = useMemo(() => tree.find(state.at), [tree, state.at]);
  const [chosen, setChosen] = useState({ tree, node: zoom });
  const spans = useView(captureId, "recorded_span", {
    where: sqlOf("recorded_span")`${"table_name"} = ${["sample"]}`,
  });
  const gaps = useMemo(() => {
    const known = (spans.data ?? []).filter(({ duration_ns }) => Number(duration_ns) > 0);
    // Where nothing is known nothing is said.
    return known.length
      ? gapsOf(
          known.map((row) => [Number(row.start_ts_ns), Number(row.end_ts_ns)] as const),
          tree.start[0]! + tree.weight[0]!,
        )
      : [];
  }, [spans.data, tree]);
  const found = useMemo(() => (state.find ? search(tree, state.find, zoom) : null), [tree, state.find, zoom]);
  const top = useMemo(() => beside(tree, zoom, state.find), [tree, state.find, zoom]);
  const seen = useMemo(() => tree.callees(0).reduce((sum, node) => sum + tree.weight[node]!, 0), [tree]);
  const [from, to] = [tree.start[zoom]!, tree.start[zoom]! + tree.weight[zoom]!];
  const isHatched = gaps.some(([begin, end]) => begin < to && end > from);
  const carried = useMemo(() => tree.carried(chosen.node, chosen.tree), [tree, chosen]);
  const node = carried >= 0 ? carried : zoom;
  const hasTable = params.has("table");
  const wanted = state.find.toLowerCase();
  return (
    <section class="flame-graph" aria-label={`${name} over time`}>
      <div class="row flame-tools">
        <SearchFrames
          value={state.find}
          onFind={(find) => onState({ find })}
          found={
            found && {
              share: tree.weight[zoom] ? found.weight / tree.weight[zoom]! : 0,
              weight: duration(found.weight),
            }
          }
        />
        <span class="spring" />
        <button
          type="button"
          disabled={node === 0}
          title="Look at this part of the capture in every page"
          onClick={() =>
            onFilters({ window: windowText([tree.start[node]! / 1e9, (tree.start[node]! + tree.weight[node]!) / 1e9]) })
          }
        >
          Only this part
        </button>
        <button type="button" aria-pressed={hasTable} onClick={() => set({ table: hasTable ? null : "1" })}>
          As a table
        </button>
        <button type="button" disabled={zoom === 0} onClick={() => onState({ at: 0 })}>
          Show all
        </button>
      </div>
      <div class="flame-beside">
        <div>
          <FlameCanvas
            tree={tree}
            unit="ns"
            label={`${name} over time`}
            zoom={zoom}
            hits={found?.hits ?? null}
            onZoom={(next) => onState({ at: tree.key[next]! })}
            onFocus={(to) => setChosen({ tree, node: to })}
            gaps={gaps}
            when={(one) => instant(tree.start[one]!)}
          />
          <Axis from={from} to={to} />
        </div>
        <TopFunctions tree={tree} unit="ns" zoom={zoom} found={top} onPick={(symbol) => onState({ find: symbol })} />
      </div>
      <p class="quiet">
        {isCut && `The first ${count(samples.length)} of ${count(thread.samples)} samples; a window chooses others. `}
        {isTime
          ? "Each sample stands for its period, which ends with it"
          : `A period of this event is no time: each sample stands for the ${duration(usualDistance(samples))} before it, the usual distance of two of this thread (${amount(samples[0]?.period ?? 0, unit)})`}
        {`; what is between is left blank: there the thread was not seen. ${isHatched ? "Hatched: nothing was recorded. " : ""}Seen: ${duration(seen)} (${ratio(tree.weight[0] ? seen / tree.weight[0]! : 0)}). `}
        Frames of neighbours with the same callers are one, where less than a tenth of a period is between them. What is
        narrower than a pixel is drawn as one.
        {isShaped && " The stacks are whole here: nothing is left out, merged or upside down."}
        {undrawn > 0 && ` ${plural(undrawn, "sample")} that no time is left for are not drawn.`}
      </p>
      {hasTable && (
        <Table
          label={`Frames of ${name} over time`}
          columns={COLUMNS}
          rows={rowsOf(tree, zoom, (symbol) => symbol.toLowerCase().includes(wanted))}
        />
      )}
    </section>
  );
}

/** The time below the picture, at round moments; one that has no room for its text is left out. */
function Axis({ from, to }: { from: number; to: number }) {
  const box = useRef<HTMLParagraphElement>(null);
  const width = useWidth(box);
  const all = width && to > from ? ticks([from, to], width) : [];
  const placed = all.map(({ at, text }) => ({ text, x: ((at - from) / (to - from)) * width }));
  return (
    <p class="flame-ticks" aria-hidden="true" ref={box}>
      {placed
        .filter(({ x, text }) => x + text.length * LETTER < width)
        .map(({ x, text }) => (
          <span key={text} style={{ left: `${x}px` }}>
            {text}
          </span>
        ))}
    </p>
  );
}

/** Text of a capture, as a tree of the server has it. */
function spelled(chain: Chain): Chain {
  const { names, objects, sources } = chain;
  return { ...chain, names: names.map(safe), objects: objects.map(safe), sources: sources.map(safe) };
}
