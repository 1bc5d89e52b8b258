/** Pages with flame graphs: CPU time, time off the CPU with or without wakers, and the difference of two captures. */

import { useMemo, useRef } from "preact/hooks";
import { useGet } from "../api/hooks";
import type { Capture, Page } from "../api/types.gen";
import type { CaptureProps } from "../app/pages";
import { filterParams, FILTERS, filtersOf, type Params, sharedParams, useRoute } from "../app/route";
import { Fresh } from "../parts/fresh";
import { Problem, Waiting } from "../parts/problem";
import { safe } from "../parts/safe";
import { count, ratio } from "../parts/units";
import { Code } from "./code";
import { amount } from "./draw";
import type { Source } from "./beside";
import { FlameGraph, type FlameState } from "./graph";
import OverTime from "./over-time";
import { addressed, asked, Chips, chosenStacks, isShaped, type Shaping, shapingOf } from "./shaping";
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

/** The graph of a capture, or, where another one is chosen, how it differs from that; and the choice. */
function useFlame({ captureId, capture, filters }: CaptureProps, what: Params) {
  const { params, set } = useRoute();
  const base = params.get("base");
  const source: Source = base
    ? {
        path: "diff/flamegraph",
        query: { a: base, b: captureId, b_window: filters.window, ...sharedParams(filters), ...what },
      }
    : { path: `captures/${captureId}/flamegraph`, query: { ...what, ...filterParams(filters) } };
  const { data, ...state } = useGet<FlameDoc>(source.path, { format: "json", ...source.query });
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
    source,
    choice: (
      <BaseChoice
        captures={captures.filter((one) => one.capture_id !== captureId && one.state === "ready")}
        base={base}
        onBase={(to) => set({ base: to, event: null, at: null, of: null })}
      />
    ),
  };
}

export function OnCpu(props: CaptureProps) {
  const [state, change, params] = useFlameState();
  const { set } = useRoute();
  const { doc, source, error, loading, again, choice } = useFlame(props, counted("samples", params));
  /** Somebody has pressed for source and assembly: a link that shows them begins at the top. */
  const isCodeWanted = useRef(false);
  const isOverTime = params.get("as") === "time";
  const head = (
    <div class="row flame-head">
      <h2>Flame graph</h2>
      <span class="flame-modes" role="group" aria-label="What the width is">
        {[false, true].map((isTime) => (
          <button
            key={String(isTime)}
            type="button"
            aria-pressed={isTime === isOverTime}
            onClick={() => set({ as: isTime ? "time" : null, at: null, of: null })}
          >
            {isTime ? "Over time" : "By stack"}
          </button>
        ))}
      </span>
      <EventChoice doc={doc} isOld={loading} />
      {!isOverTime && choice}
    </div>
  );
  if (isOverTime && doc && !error) {
    return (
      <>
        {head}
        <OverTime
          {...props}
          event={doc.what}
          unit={doc.unit}
          isOld={loading}
          isShaped={isShaped(shapingOf(params))}
          state={state}
          onState={change}
        />
      </>
    );
  }
  return (
    <>
      {head}
      <Aside doc={loading ? undefined : doc} />
      <Shown
        data={doc}
        source={source}
        error={error}
        loading={loading}
        again={again}
        state={state}
        change={change}
        onCode={
          params.has("base")
            ? undefined
            : (code, object) => {
                isCodeWanted.current = true;
                set({ code, code_in: object });
              }
        }
      />
      {params.get("code") && !params.has("base") && (
        <Code
          captureId={props.captureId}
          name={params.get("code")!}
          isBrought={isCodeWanted.current}
          object={params.get("code_in")}
          what={{
            event: params.get("event"),
            ...(params.has("all") ? { where: "true" } : { workload: true }),
            ...chosenStacks(params),
            ...filterParams(props.filters),
          }}
          onObject={(to) => set({ code_in: to })}
          onClose={() => set({ code: null, code_in: null })}
        />
      )}
    </>
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

/** What a route counts. A comparison has neither the idle loop nor the recorder, unless a condition says more. */
function counted(what: Counted, params: URLSearchParams): Params {
  const workload = params.has("all") ? { where: "true" } : { workload: true };
  const more = { ...workload, ...asked(params) };
  return what === "samples"
    ? { event: params.get("event"), ...more }
    : { off_cpu: true, wakers: what === "wakers", ...more };
}

/** Whether all is shown, or only the work: one switch for every flame graph, with what it leaves out. */
function Aside({ doc }: { doc: FlameDoc | undefined }) {
  const { params, set } = useRoute();
  const isAll = params.has("all");
  const aside = doc?.left_out ?? [];
  const parts = [...aside, ...(doc?.stacks_left_out ?? [])];
  const whole = parts.reduce((sum, { weight }) => sum + weight, doc?.weight[0] ?? 0);
  const onShaping = (change: Partial<Shaping>) => set(addressed(change));
  return (
    <>
      <label class="flame-aside">
        <input
          type="checkbox"
          checked={!isAll}
          onChange={(event) => set({ all: event.currentTarget.checked ? null : "1", at: null })}
        />
        <span>
          Without idle, kernel threads and the recorder
          {doc && !isAll && aside.length > 0 && (
            <span class="quiet">
              {": "}
              {aside
                .map(({ what, weight }) => `${what} ${amount(weight, doc.unit)} (${ratio(whole ? weight / whole : 0)})`)
                .join(", ")}
            </span>
          )}
        </span>
      </label>
      <Chips shaping={shapingOf(params)} onShaping={onShaping} doc={doc} />
    </>
  );
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
  const { doc, source, error, loading, again, choice } = useFlame(props, counted(what, params));
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
      <Aside doc={loading ? undefined : doc} />
      <p class="quiet flame-what">
        {what === "wakers"
          ? "Each sleep by the callchain it began with; beyond the state, from leaf to root, the callchain that ended it."
          : `Where threads left their CPUs, by how long they stayed away; the state is the ${params.has("invert") ? "first" : "last"} frame.`}
      </p>
      <Shown data={doc} source={source} error={error} loading={loading} again={again} state={state} change={change} />
    </>
  );
}

/** B's flame graph, coloured by the difference from A; windows make parts of one capture of them. */
export function DiffFlame(props: { a: string; b?: string | null; aWindow?: string | null; bWindow?: string | null }) {
  const [state, change, params] = useFlameState();
  const { set } = useRoute();
  const asked = params.get("counted") ?? "";
  const what: Counted = asked === "off" || asked === "wakers" ? asked : "samples";
  const source: Source = {
    path: "diff/flamegraph",
    query: {
      a: props.a,
      b: props.b ?? null,
      a_window: props.aWindow ?? null,
      b_window: props.bWindow ?? null,
      ...sharedParams(filtersOf(params)),
      ...counted(what, params),
    },
  };
  const { data, error, loading, again } = useGet<FlameDoc>(source.path, { format: "json", ...source.query });
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
      </div>
      <Aside doc={loading ? undefined : data} />
      <Shown data={named} source={source} error={error} loading={loading} again={again} state={state} change={change} />
    </>
  );
}

function Shown({
  data,
  source,
  error,
  loading,
  again,
  state,
  change,
  onCode,
}: {
  data: FlameDoc | undefined;
  source: Source;
  error: ReturnType<typeof useGet>["error"];
  loading: boolean;
  again: () => void;
  state: FlameState;
  change: (to: Partial<FlameState>) => void;
  onCode?: ((name: string, object: string) => void) | undefined;
}) {
  const { params, set } = useRoute();
  if (error?.kind === "not_found" && source.path.startsWith("captures/") && !source.query.event) {
    const isPart = FILTERS.some((name) => [source.query[name] ?? []].flat().length);
    const what = isPart ? "No samples in this part of the capture" : "This capture has no samples";
    return <p class="empty">{what}: nothing to draw.</p>;
  }
  if (error) return <Problem error={error} again={again} />;
  if (!data) return <Waiting />;
  return (
    <Fresh isOld={loading}>
      <FlameGraph
        doc={data}
        source={loading ? null : source}
        state={state}
        onState={change}
        shaping={shapingOf(params)}
        onShaping={(to) => set(addressed(to))}
        onCode={onCode}
      />
    </Fresh>
  );
}
