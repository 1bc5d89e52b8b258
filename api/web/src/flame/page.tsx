/** Pages with flame graphs: CPU time, time off the CPU with or without wakers, and the difference of two captures. */

import type { ComponentChild } from "preact";
import { useMemo } from "preact/hooks";
import { useGet, useView } from "../api/hooks";
import type { Capture, Page } from "../api/types.gen";
import type { CaptureProps } from "../app/pages";
import { filterParams, filtersOf, type Params, sharedParams, useRoute } from "../app/route";
import { Fresh } from "../parts/fresh";
import { Problem, Waiting } from "../parts/problem";
import { safe } from "../parts/safe";
import { sqlOf } from "../parts/sql";
import { count } from "../parts/units";
import { amount } from "./draw";
import { FlameGraph, type FlameState } from "./graph";
import type { FlameDoc } from "./tree";

/** The state of a flame graph in the address, and how it is changed there. */
export function useFlameState(isUp = false): [FlameState, (change: Partial<FlameState>) => void, URLSearchParams] {
  const { params, set } = useRoute();
  const state: FlameState = {
    at: Number.parseInt(params.get("at") ?? "", 36) || 0,
    find: params.get("find") ?? "",
    of: params.get("of") ?? "",
    up: params.has("up") ? params.get("up") === "1" : isUp,
  };
  const change = (to: Partial<FlameState>) => {
    const next: Params = {};
    if (to.at !== undefined) next.at = to.at ? to.at.toString(36) : null;
    if (to.find !== undefined) next.find = to.find || null;
    if (to.of !== undefined) next.of = to.of || null;
    if (to.up !== undefined) next.up = to.up === isUp ? null : to.up ? "1" : "0";
    // A letter of a search is no step that "back" should return to.
    set(next, to.find !== undefined);
  };
  return [state, change, params];
}

/** What the machine was there for: neither its idle loop nor the recorder. A comparison counts the same unless it is asked otherwise. */
const WORK = sqlOf(
  "thread",
)`coalesce(${"pid"} <> 0, true) AND coalesce(${"utid"} NOT IN (SELECT ${"utid"} FROM recorder_thread), true)`;
const IS_ALL = "idle";

/** Whether the idle loop and the recorder are counted, too; the choice of it. */
function useAll(): [boolean, ComponentChild] {
  const { params, set } = useRoute();
  const isAll = params.get(IS_ALL) === "1";
  return [
    isAll,
    <label key={IS_ALL} class="row" title="Samples of the idle loop and of the recorder's own threads are not counted">
      <input
        type="checkbox"
        checked={!isAll}
        onChange={(event) => set({ [IS_ALL]: event.currentTarget.checked ? null : "1", at: null })}
      />
      without idle and recorder
    </label>,
  ];
}

/** The graph of a capture, or, where another one is chosen, how it differs from that; and the choice. */
function useFlame({ captureId, capture, filters }: CaptureProps, what: Params) {
  const { params, set } = useRoute();
  const base = params.get("base");
  const [isAll, allChoice] = useAll();
  const ofOne = useGet<FlameDoc>(base ? null : `captures/${captureId}/flamegraph`, {
    format: "json",
    ...what,
    where: isAll ? null : WORK,
    ...filterParams(filters),
  });
  const ofTwo = useGet<FlameDoc>(base ? "diff/flamegraph" : null, {
    format: "json",
    a: base,
    b: captureId,
    b_window: filters.window,
    where: isAll ? "true" : null,
    ...sharedParams(filters),
    ...what,
  });
  const { data, ...state } = base ? ofTwo : ofOne;
  const captures = useGet<Page>("captures", { limit: 500 }).data?.captures ?? [];
  const other = captures.find((one) => one.capture_id === base);
  // The server's name of it is that of the file as it lies there.
  const doc = useMemo(
    () => (data && base ? { ...data, a_name: safe(other?.name ?? "the other"), b_name: safe(capture.name) } : data),
    [data, other?.name],
  );
  return {
    ...state,
    doc,
    isAll,
    choice: (
      <>
        {allChoice}
        <BaseChoice
          captures={captures.filter((one) => one.capture_id !== captureId && one.state === "ready")}
          base={base}
          onBase={(to) => set({ base: to, event: null, at: null, of: null })}
        />
      </>
    ),
  };
}

export function OnCpu(props: CaptureProps) {
  const [state, change, params] = useFlameState();
  const { doc, error, loading, again, choice, isAll } = useFlame(props, counted("samples", params.get("event")));
  return (
    <>
      <div class="row flame-head">
        <h2>Flame graph</h2>
        <EventChoice doc={doc} isOld={loading} />
        {choice}
        {doc && !doc.base && !isAll && !loading && <LeftOut doc={doc} {...props} />}
      </div>
      <Shown data={doc} error={error} loading={loading} again={again} state={state} change={change} />
    </>
  );
}

/** How much of the event is not in the graph, so that its total is known all the same. */
function LeftOut({ doc, captureId, filters }: CaptureProps & { doc: FlameDoc }) {
  const where = sqlOf("profile_summary")`${"event"} = ${[doc.what]}`;
  const { data, loading } = useView(captureId, "profile_summary", { where, ...filterParams(filters) });
  const all = Number(data?.[0]?.period ?? 0);
  const shown = doc.weight[0] ?? 0;
  if (loading || all <= shown) return null;
  return (
    <span class="quiet flame-left-out">
      {amount(all - shown, doc.unit)} of {amount(all, doc.unit)} left out: idle and recorder
    </span>
  );
}

/** Whose samples are shown. */
function EventChoice({ doc, isOld }: { doc: FlameDoc | undefined; isOld: boolean }) {
  const { set } = useRoute();
  if (!doc?.events.length) return null;
  return (
    <select
      aria-label="Event"
      value={doc.what}
      onChange={(changed) => set({ event: changed.currentTarget.value, at: null, of: null })}
    >
      {doc.events.map((one) => (
        <option key={one.event} value={one.event}>
          {safe(one.event)}
          {isOld ? "" : ` (${count(one.sample_count)} samples)`}
        </option>
      ))}
    </select>
  );
}

/** Which other capture this one is compared with. */
function BaseChoice({
  captures,
  base,
  onBase,
}: {
  captures: Capture[];
  base: string | null;
  onBase: (to: string | null) => void;
}) {
  if (captures.length === 0) return null;
  return (
    <select
      class="flame-against"
      aria-label="Compare with"
      value={base ?? ""}
      onChange={(event) => onBase(event.currentTarget.value || null)}
    >
      <option value="">not compared</option>
      {captures.map((one) => (
        <option key={one.capture_id} value={one.capture_id}>
          compared with {safe([one.name, one.ticket].filter(Boolean).join(", "))}
        </option>
      ))}
    </select>
  );
}

const COUNTED = {
  samples: "Samples",
  off: "All time off the CPU",
  wakers: "Sleeps, with who woke them",
} as const;
type Counted = keyof typeof COUNTED;

/** What a route counts. */
function counted(what: Counted, event: string | null): Params {
  return what === "samples" ? { event } : { off_cpu: true, wakers: what === "wakers" };
}

function Modes({ of, now, onMode }: { of: readonly Counted[]; now: Counted; onMode: (to: Counted) => void }) {
  return (
    <span class="flame-modes" role="group" aria-label="What is counted">
      {of.map((one) => (
        <button key={one} type="button" aria-pressed={one === now} onClick={() => onMode(one)}>
          {COUNTED[one]}
        </button>
      ))}
    </span>
  );
}

export function OffCpu(props: CaptureProps) {
  const [state, change, params] = useFlameState();
  const { set } = useRoute();
  const what = params.get("wakers") === "1" ? "wakers" : "off";
  const { doc, error, loading, again, choice } = useFlame(props, counted(what, null));
  return (
    <>
      <div class="row flame-head">
        <h2>Off the CPU</h2>
        <Modes
          of={["off", "wakers"]}
          now={what}
          onMode={(to) => set({ wakers: to === "wakers" ? "1" : null, at: null, of: null })}
        />
        {choice}
      </div>
      <p class="quiet flame-what">
        {what === "wakers"
          ? "Each sleep by the callchain it began with; beyond the state, from leaf to root, the callchain that ended it."
          : "Where threads left their CPUs, by how long they stayed away; the state is the last frame."}
      </p>
      <Shown data={doc} error={error} loading={loading} again={again} state={state} change={change} />
    </>
  );
}

/** B's flame graph, coloured by the difference from A; windows make parts of one capture of them. */
export function DiffFlame(props: { a: string; b?: string | null; aWindow?: string | null; bWindow?: string | null }) {
  const [state, change, params] = useFlameState();
  const { set } = useRoute();
  const asked = params.get("counted") ?? "";
  const what: Counted = asked === "off" || asked === "wakers" ? asked : "samples";
  const [isAll, allChoice] = useAll();
  const { data, error, loading, again } = useGet<FlameDoc>("diff/flamegraph", {
    format: "json",
    a: props.a,
    b: props.b ?? null,
    a_window: props.aWindow ?? null,
    b_window: props.bWindow ?? null,
    ...sharedParams(filtersOf(params)),
    ...counted(what, params.get("event")),
    where: isAll ? "true" : null,
  });
  // The page around it calls them A and B.
  const named = useMemo(() => data && { ...data, a_name: "A", b_name: "B" }, [data]);
  return (
    <>
      <div class="row flame-head">
        <Modes
          of={["samples", "off", "wakers"]}
          now={what}
          onMode={(to) => set({ counted: to === "samples" ? null : to, event: null, at: null, of: null })}
        />
        <EventChoice doc={data} isOld={loading} />
        {allChoice}
      </div>
      <Shown data={named} error={error} loading={loading} again={again} state={state} change={change} />
    </>
  );
}

function Shown({
  data,
  error,
  loading,
  again,
  state,
  change,
}: {
  data: FlameDoc | undefined;
  error: ReturnType<typeof useGet>["error"];
  loading: boolean;
  again: () => void;
  state: FlameState;
  change: (to: Partial<FlameState>) => void;
}) {
  if (error) return <Problem error={error} again={again} />;
  if (!data) return <Waiting />;
  return (
    <Fresh isOld={loading}>
      <FlameGraph doc={data} state={state} onState={change} />
    </Fresh>
  );
}
