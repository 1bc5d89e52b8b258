/** What the waits in a stretch were due to: each cause, with its thread and who ended the wait as links to their lanes. */

import { useEffect, useState } from "preact/hooks";
import { type ApiError, ask, exact, shown, textOf } from "../api/fetch";
import type { RowOf, Whole } from "../api/rows";
import { href } from "../app/route";
import { Problem } from "../parts/problem";
import { safe } from "../parts/safe";
import { sqlOf } from "../parts/sql";
import { count, duration } from "../parts/units";
import { kindOf } from "./causes";
import type { Picked } from "./draw";

type Shown =
  | "work"
  | "call"
  | "target"
  | "waker_tid"
  | "waker_comm"
  | "kind"
  | "due"
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
function question({ lane, row }: Picked): string {
  const [start, end] = [row.ts_ns, row.ts_ns + row.duration_ns];
  return [
    part`SELECT ${"work"}, ${"call"}, ${"target"}, ${"waker_tid"}, ${"waker_comm"}, ${"kind"}, ${"due"},`,
    part`${"on_tid"}, ${"on_comm"}, ${"on_call"}, ${"on_target"}, count(*) AS part_count,`,
    part`sum(least(${"ts_ns"} + ${"duration_ns"}, ${[end]}) - greatest(${"ts_ns"}, ${[start]}))::BIGINT AS wait_ns,`,
    "sum(part_count) OVER ()::BIGINT AS all_count, sum(wait_ns) OVER ()::BIGINT AS all_ns",
    part`FROM blame_part WHERE ${"utid"} = ${[lane.utid]} AND ${"ts_ns"} < ${[end]}`,
    part`AND ${"ts_ns"} + ${"duration_ns"} > ${[start]} GROUP BY ALL`,
    part`ORDER BY wait_ns DESC, ${"due"}, ${"waker_tid"} LIMIT ${[CAUSES_MAX]}`,
  ].join(" ");
}

interface CausesProps {
  captureId: string;
  picked: Picked;
  zoom: string | null;
}

export function StretchCauses({ captureId, picked, zoom }: CausesProps) {
  const [told, setTold] = useState<{ of: Picked; causes: Cause[]; error: ApiError | null } | null>(null);
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const abort = new AbortController();
    const give = (causes: Cause[], error: ApiError | null) => {
      if (!abort.signal.aborted) setTold({ of: picked, causes, error });
    };
    ask("sql", { method: "POST", json: { capture_id: captureId, sql: question(picked) }, signal: abort.signal })
      .then(async (answer) => give(exact<Cause[]>(await textOf(answer)), null))
      .catch((error) => give([], shown(error)));
    return () => abort.abort();
  }, [picked, turn]);
  if (told?.of !== picked) return null;
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
              <Lane says="due to" comm={cause.on_comm} tid={cause.on_tid} captureId={captureId} zoom={zoom} />
            )}
            <Lane says="woken by" comm={cause.waker_comm} tid={cause.waker_tid} captureId={captureId} zoom={zoom} />
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
  captureId: string;
  zoom: string | null;
}

/** A link to the lane of a thread. */
function Lane({ says, comm, tid, captureId, zoom }: LaneProps) {
  if (tid === null) return null;
  const address = href(["c", captureId, "lanes"], { thread: [String(tid)], zoom });
  return (
    <>
      ; {says} <a href={address}>{safe(`${comm ?? "?"} ${tid}`)}</a>
    </>
  );
}
