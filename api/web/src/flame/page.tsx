/** Pages with flame graphs: CPU time, time off the CPU with or without wakers, and the difference of two captures. */

import { useGet } from "../api/hooks";
import type { CaptureProps } from "../app/pages";
import { filterParams, type Params, useRoute } from "../app/route";
import { Problem, Waiting } from "../parts/problem";
import { count } from "../parts/units";
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

export function OnCpu({ captureId, filters }: CaptureProps) {
  const [state, change, params] = useFlameState();
  const { set } = useRoute();
  const event = params.get("event");
  const { data, error, loading, again } = useGet<FlameDoc>(`captures/${captureId}/flamegraph`, {
    format: "json",
    event,
    ...filterParams(filters),
  });
  return (
    <>
      <div class="row flame-head">
        <h2>Flame graph</h2>
        {data && data.events.length > 0 && (
          <select
            aria-label="Event"
            value={data.what}
            onChange={(changed) => set({ event: changed.currentTarget.value, at: null, of: null })}
          >
            {data.events.map((one) => (
              <option key={one.event} value={one.event}>
                {one.event} ({count(one.sample_count)} samples)
              </option>
            ))}
          </select>
        )}
        {data && loading && <span class="quiet">Loading …</span>}
      </div>
      <Shown data={data} error={error} again={again} state={state} change={change} />
    </>
  );
}

const OFF = [
  ["", "All time off the CPU"],
  ["1", "Sleeps, with who woke them"],
] as const;

export function OffCpu({ captureId, filters }: CaptureProps) {
  const [state, change, params] = useFlameState();
  const { set } = useRoute();
  const wakers = params.get("wakers") === "1";
  const { data, error, loading, again } = useGet<FlameDoc>(`captures/${captureId}/flamegraph`, {
    format: "json",
    off_cpu: true,
    wakers,
    ...filterParams(filters),
  });
  return (
    <>
      <div class="row flame-head">
        <h2>Off the CPU</h2>
        <span class="flame-modes" role="group" aria-label="What is counted">
          {OFF.map(([value, text]) => (
            <button
              key={value}
              type="button"
              aria-pressed={wakers === (value === "1")}
              onClick={() => set({ wakers: value, at: null, of: null })}
            >
              {text}
            </button>
          ))}
        </span>
        {data && loading && <span class="quiet">Loading …</span>}
      </div>
      <p class="quiet flame-what">
        {wakers
          ? "Each sleep by the callchain it began with; beyond the state, from leaf to root, the callchain that ended it."
          : "Where threads left their CPUs, by how long they stayed away; the state is the last frame."}
      </p>
      <Shown data={data} error={error} again={again} state={state} change={change} />
    </>
  );
}

/** B's flame graph, coloured by the difference from A; windows make parts of one capture of them. */
export function DiffFlame(props: { a: string; b?: string | null; aWindow?: string | null; bWindow?: string | null }) {
  const [state, change, params] = useFlameState();
  const { data, error, again } = useGet<FlameDoc>("diff/flamegraph", {
    format: "json",
    a: props.a,
    b: props.b ?? null,
    a_window: props.aWindow ?? null,
    b_window: props.bWindow ?? null,
    event: params.get("event"),
  });
  return <Shown data={data} error={error} again={again} state={state} change={change} />;
}

function Shown({
  data,
  error,
  again,
  state,
  change,
}: {
  data: FlameDoc | undefined;
  error: ReturnType<typeof useGet>["error"];
  again: () => void;
  state: FlameState;
  change: (to: Partial<FlameState>) => void;
}) {
  if (error) return <Problem error={error} again={again} />;
  if (!data) return <Waiting />;
  return <FlameGraph doc={data} state={state} onState={change} />;
}
