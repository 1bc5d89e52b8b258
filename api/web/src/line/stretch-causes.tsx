/** What the waits in a stretch were due to: each cause, with its thread and who ended the wait as links to their lanes. */

import { useEffect, useState } from "preact/hooks";
import { type ApiError, ask, exact, shown, textOf } from "../api/fetch";
import type { RowOf, Whole } from "../api/rows";
import { Problem } from "../parts/problem";
import { safe } from "../parts/safe";
import { sqlOf } from "../parts/sql";
import { count, duration } from "../parts/units";
import { kindOf } from "./causes";
import { type Piece, threadName } from "./lanes";

type Shown =
  | "work"
  | "call"
  | "target"
  | "waker_utid"
  | "waker_tid"
  | "waker_comm"
  | "kind"
  | "due"
  | "on_utid"
  | "on_tid"
  | "on_comm"
  | "on_call"
  | "on_target";
interface Cause extends Pick<RowOf<"blame_part">, Shown> {
  part_count: Whole;
  wait_ns: Whole;
  all_count: Whole;
  all_ns: Whole;
}

const CAUSES_MAX = 8;
const part = sqlOf("blame_part");

/** The causes in a stretch, those that took most first, and what all of them took. */
function question(utid: number, { ts_ns, duration_ns }: Piece): string {
  const [start, end] = [ts_ns, ts_ns + duration_ns];
  return [
    part`SELECT ${"work"}, ${"call"}, ${"target"}, ${"waker_utid"}, ${"waker_tid"}, ${"waker_comm"}, ${"kind"}, ${"due"},`,
    part`${"on_utid"}, ${"on_tid"}, ${"on_comm"}, ${"on_call"}, ${"on_target"}, count(*) AS part_count,`,
    part`sum(least(${"ts_ns"} + ${"duration_ns"}, ${[end]}) - greatest(${"ts_ns"}, ${[start]}))::BIGINT AS wait_ns,`,
    "sum(part_count) OVER ()::BIGINT AS all_count, sum(wait_ns) OVER ()::BIGINT AS all_ns",
    part`FROM blame_part WHERE ${"utid"} = ${[utid]} AND ${"ts_ns"} < ${[end]}`,
    part`AND ${"ts_ns"} + ${"duration_ns"} > ${[start]} GROUP BY ALL`,
    part`ORDER BY wait_ns DESC, ${"due"}, ${"waker_tid"} LIMIT ${[CAUSES_MAX]}`,
  ].join(" ");
}

interface CausesProps {
  captureId: string;
  utid: number;
  piece: Piece;
  onThread: (utid: number) => void;
}

export function StretchCauses({ captureId, utid, piece, onThread }: CausesProps) {
  const sql = question(utid, piece);
  const [told, setTold] = useState<{ of: string; causes: Cause[]; error: ApiError | null } | null>(null);
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const abort = new AbortController();
    const give = (causes: Cause[], error: ApiError | null) => {
      if (!abort.signal.aborted) setTold({ of: sql, causes, error });
    };
    ask("sql", { method: "POST", json: { capture_id: captureId, sql }, signal: abort.signal })
      .then(async (answer) => give(exact<Cause[]>(await textOf(answer)), null))
      .catch((error) => give([], shown(error)));
    return () => abort.abort();
  }, [sql, turn]);
  if (told?.of !== sql) return null;
  if (told.error) return <Problem error={told.error} again={() => setTurn(turn + 1)} />;
  const [first] = told.causes;
  if (!first) return null;
  const rest = Number(first.all_count) - told.causes.reduce((sum, { part_count }) => sum + Number(part_count), 0);
  return (
    <>
      <h3>Waited {duration(first.all_ns)} for</h3>
      <ol class="stretch-causes">
        {told.causes.map((cause, number) => (
          <li key={number}>
            <i style={{ background: `var(${kindOf(cause.kind).colour})` }} />
            {safe(cause.due ?? "?")}: {duration(cause.wait_ns)}
            {Number(cause.part_count) > 1 && ` in ${count(cause.part_count)} parts`}
            <span class="quiet">{about(cause)}</span>
            {cause.on_tid !== cause.waker_tid && (
              <Lane says="due to" comm={cause.on_comm} tid={cause.on_tid} utid={cause.on_utid} onThread={onThread} />
            )}
            <Lane
              says="woken by"
              comm={cause.waker_comm}
              tid={cause.waker_tid}
              utid={cause.waker_utid}
              onThread={onThread}
            />
          </li>
        ))}
      </ol>
      {rest > 0 && <p class="quiet">{count(rest)} further parts</p>}
    </>
  );
}

/** Which work waited, in which call, and what the call at the other end of the chain was about. */
function about({ work, call, target, on_call, on_target }: Cause): string {
  const on = (name: string | null, what: string | null) => safe(what ? `${name} on ${what}` : (name ?? ""));
  const parts = [
    work === "thread" ? null : work,
    call && `in ${on(call, target)}`,
    on_call && (on_call !== call || on_target !== target) ? `behind ${on(on_call, on_target)}` : null,
  ];
  return parts.map((text) => (text ? `; ${text}` : "")).join("");
}

interface LaneProps {
  says: string;
  comm: string | null;
  tid: Whole | null;
  utid: Whole | null;
  onThread: (utid: number) => void;
}

/** Leads to the lane of a thread. */
export function Lane({ says, comm, tid, utid, onThread }: LaneProps) {
  if (tid === null || utid === null) return null;
  return (
    <>
      ; {says}{" "}
      <button type="button" class="plain stretch-thread" onClick={() => onThread(Number(utid))}>
        {threadName(comm, tid)}
      </button>
    </>
  );
}
