/** What is known of a stretch of a thread's lane: which states, how long, where it waited, who woke it and from where. */

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { type ApiError, ask, exact, shown, textOf } from "../api/fetch";
import type { RowOf } from "../api/rows";
import { instant } from "../parts/cell";
import { Problem, Waiting } from "../parts/problem";
import { safe } from "../parts/safe";
import { sqlOf } from "../parts/sql";
import { STATES, stateWord } from "../parts/states";
import { count, duration } from "../parts/units";
import type { Piece, PieceOf, Shows, StateRow } from "./lanes";
import { StretchCauses } from "./stretch-causes";

type State = RowOf<"followed_state">;
type Shown = "ts_ns" | "duration_ns" | "state" | "cpu" | "next_state" | "is_open" | "is_ambiguous";
export interface Interval extends Pick<State, Shown | "run_queue_ns" | "waker_cpu" | "waker_utid" | "waker_context"> {
  stack: string | null;
  waker_comm: string | null;
  waker_tid: number | null;
  waker_stack: string | null;
}

const [any, state, waker] = [sqlOf("followed_state"), sqlOf("followed_state", "s"), sqlOf("thread", "k")];
const [stack, from] = [sqlOf("stack_folded", "f"), sqlOf("stack_folded", "w")];

/** The interval at a moment, or the one that began last before it. */
function question(utid: number, at: number): string {
  const last = Math.round(at);
  return [
    state`SELECT ${"ts_ns"}, ${"duration_ns"}, ${"state"}, ${"cpu"}, ${"next_state"}, ${"is_open"}, ${"is_ambiguous"},`,
    state`${"run_queue_ns"}, ${"waker_cpu"}, ${"waker_utid"}, ${"waker_context"},`,
    stack`${"folded"} AS stack,`,
    from`${"folded"} AS waker_stack,`,
    waker`${"comm"} AS waker_comm, ${"tid"} AS waker_tid FROM`,
    any`(SELECT * FROM followed_state WHERE ${"utid"} = ${[utid]} AND ${"ts_ns"} <= ${[last]}`,
    any`ORDER BY ${"ts_ns"} DESC, ${"duration_ns"} DESC LIMIT 1) AS s`,
    stack`LEFT JOIN stack_folded AS f ON ${"stack_id"} =`,
    state`${"stack_id"}`,
    from`LEFT JOIN stack_folded AS w ON ${"stack_id"} =`,
    state`${"waker_stack_id"}`,
    waker`LEFT JOIN thread AS k ON ${"utid"} =`,
    state`${"waker_utid"}`,
  ].join(" ");
}

interface Answered {
  interval: Interval | null;
  error: ApiError | undefined;
  again: () => void;
}

/** The interval of a thread at a moment; undefined while it is awaited. */
export function useInterval(captureId: string, utid: number | null, at: number | null): Answered | undefined {
  const sql = utid === null || at === null ? null : question(utid, at);
  const [told, setTold] = useState<{ of: string; interval: Interval | null; error?: ApiError } | null>(null);
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    if (sql === null) return;
    const abort = new AbortController();
    const give = (interval: Interval | null, error?: ApiError) => {
      if (!abort.signal.aborted) setTold({ of: sql, interval, error });
    };
    ask("sql", { method: "POST", json: { capture_id: captureId, sql }, signal: abort.signal })
      .then(async (answer) => give(exact<Interval[]>(await textOf(answer))[0] ?? null))
      .catch((error) => give(null, shown(error)));
    return () => abort.abort();
  }, [sql, turn]);
  if (sql === null || told?.of !== sql) return undefined;
  return { interval: told.interval, error: told.error, again: () => setTurn(turn + 1) };
}

interface StretchProps {
  captureId: string;
  utid: number;
  shows: Shows;
  piece: Piece;
  told: Answered | undefined;
  onThread: (utid: number) => void;
}

/** A piece of a thread: its states, what it waited for, the interval at the moment that was chosen. */
export function Stretch({ captureId, utid, shows, piece, told, onThread }: StretchProps) {
  const row = shows === "states" ? (piece as PieceOf["states"]) : null;
  const several: StateRow | null = row && row.interval_count > 1 ? row : null;
  return (
    <section class="stretch" aria-label="Stretch">
      {several && (
        <p class="row">
          <span class="quiet">
            {count(several.interval_count)} intervals in {duration(several.duration_ns)}
          </span>
          {STATES.filter(({ column }) => several[column] > 0).map(({ word, column, colour }) => (
            <span key={word} class="lanes-legend">
              <i style={{ background: `var(${colour})` }} />
              {word} {duration(several[column])}
            </span>
          ))}
        </p>
      )}
      <StretchCauses captureId={captureId} utid={utid} piece={piece} onThread={onThread} />
      {told?.error ? (
        <Problem error={told.error} again={told.again} />
      ) : told ? (
        told.interval && <IntervalFacts interval={told.interval} onThread={onThread} />
      ) : (
        <Waiting />
      )}
    </section>
  );
}

/** What the waker's CPU did, where that was not the waker itself. */
const WAKER_CONTEXTS: Record<string, string> = {
  hardirq: ", where an interrupt came",
  softirq: ", in a soft interrupt",
};

function IntervalFacts({ interval, onThread }: { interval: Interval; onThread: (utid: number) => void }) {
  const waker = interval.waker_utid;
  const woken = `${safe(interval.waker_comm ?? "?")} ${interval.waker_tid ?? ""}`;
  const facts: [string, ComponentChildren][] = [
    ["State", stateWord(interval.state) + (interval.is_ambiguous ? ", but switches were lost here" : "")],
    ["From", instant(Number(interval.ts_ns))],
    ["For", duration(interval.duration_ns) + (interval.is_open ? ", cut by the recording's edge" : "")],
    ["CPU", interval.cpu === null ? null : String(interval.cpu)],
    ["Left it", interval.next_state === null ? null : stateWord(interval.next_state)],
    ["Then waited for a CPU", interval.run_queue_ns === null ? null : duration(interval.run_queue_ns)],
    [
      "Woken by",
      interval.waker_comm === null && interval.waker_tid === null ? null : (
        <>
          {waker === null ? (
            woken
          ) : (
            <button type="button" class="plain stretch-thread" onClick={() => onThread(Number(waker))}>
              {woken}
            </button>
          )}
          {interval.waker_cpu === null ? "" : `, on CPU ${interval.waker_cpu}`}
          {WAKER_CONTEXTS[interval.waker_context ?? ""] ?? ""}
        </>
      ),
    ],
  ];
  return (
    <>
      <dl class="stretch-facts">
        {facts
          .filter(([, value]) => value !== null)
          .map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
      </dl>
      <div class="stretch-stacks">
        {interval.stack !== null && (
          <Chain title={interval.state === "running" ? "Left its CPU in" : "Waited in"} folded={interval.stack} />
        )}
        {interval.waker_stack !== null && <Chain title="Was woken from" folded={interval.waker_stack} />}
      </div>
    </>
  );
}

/** A callchain, the innermost function first. */
function Chain({ title, folded }: { title: string; folded: string }) {
  return (
    <div>
      <h3>{title}</h3>
      <ol class="chain mono">
        {folded
          .split(";")
          .reverse()
          .map((name, number) => (
            <li key={number}>{safe(name)}</li>
          ))}
      </ol>
    </div>
  );
}
