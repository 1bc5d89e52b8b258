/** What the time line asks for: which threads and CPUs there are, the pieces of the lanes in sight, the path to what is picked. */

import { useMemo } from "preact/hooks";
import { bytesByColumn } from "../api/fetch";
import { useView } from "../api/hooks";
import { setting, type ViewName, viewPath } from "../api/rows";
import type { filterParams } from "../app/route";
import { sqlOf } from "../parts/sql";
import { type Ask, type Question, useAnswers } from "./answers";
import type { Decoded } from "./decode";
import { inWorker, prepare } from "./decoder";
import { type Data, inSight, type Loaded } from "./draw";
import { type Lane, laneByNumber, SHAPES, type Shows } from "./lanes";
import type { Box } from "./overlay";
import type { Span } from "./span";
import { type LaneTrack, type Placed, PORTION, threadsOf } from "./tracks";

/** Buckets of what is asked for, which is two to four times what is seen. */
export const BUCKETS = 2400;
/** A lane has at most two rows in a bucket. */
const ROWS_MAX = 2 * BUCKETS * PORTION;
/** Segments of a critical path within one wait. */
const PATH_MAX = 10_000;
export const THREADS_MAX = 2000;
const PROCESSES_MAX = 5000;
/** Until the end of the recording. */
const FOREVER = 2n ** 63n - 1n;
const VIEWS = {
  states: "thread_lane",
  calls: "call_lane",
  causes: "blame_lane",
  runs: "cpu_lane",
} as const satisfies Record<Shows, ViewName>;

/** Which threads and CPUs there are, and when their states were recorded. */
export function useThreads(captureId: string, scope: ReturnType<typeof filterParams>) {
  // Nothing is drawn without them. In the view's own order: the busiest first, the recorder's last.
  const where = sqlOf("thread_time")`coalesce(${"pid"}, 1) <> 0`;
  const times = useView(captureId, "thread_time", { where, limit: THREADS_MAX, ...scope }, "first");
  // In one bucket, a row or two of each CPU.
  const inOne = setting("cpu_lane", "buckets", 1);
  const cpus = useView(captureId, "cpu_lane", { set: inOne, limit: 20000, ...scope }, "first");
  const spans = useView(captureId, "recorded_span", {}, "first");
  // As findings and the report call a process, which is not always as its main thread is called.
  const last = sqlOf("process_name")`${"until_ts_ns"} = ${[FOREVER]} AND ${"name"} IS NOT NULL`;
  const names = useView(captureId, "process_name", { where: last, limit: PROCESSES_MAX }, "first");
  const failed = [times, cpus, spans].find(({ error }) => error);
  return {
    processes: useMemo(
      () => new Map((names.data ?? []).flatMap(({ pid, name }) => (pid === null ? [] : [[Number(pid), name!]]))),
      [names.data],
    ),
    threads: useMemo(() => threadsOf(times.data ?? []), [times.data]),
    cpus: useMemo(
      () =>
        [...new Set((cpus.data ?? []).flatMap(({ cpu }) => (cpu === null ? [] : Number(cpu))))].sort((a, b) => a - b),
      [cpus.data],
    ),
    spans: useMemo(() => spans.data ?? [], [spans.data]),
    isCut: (times.data?.length ?? 0) >= THREADS_MAX,
    isFirst: !times.data || !cpus.data || !spans.data,
    isOld: [times, cpus].some(({ loading, data }) => loading && data),
    failed: failed && { error: failed.error!, again: failed.again },
  };
}

const made = new WeakMap<Decoded, Map<number, Lane>>();
const showsOf = (place: string) => place.split(" ")[0] as Shows;
const forLanes: Ask<Decoded> = async ({ path, query, urgency }, signal, place) => {
  prepare();
  return inWorker(await bytesByColumn(path, query, signal, urgency), SHAPES[showsOf(place)]);
};

/** The pieces of the lanes in sight, in portions of threads, so that scrolling asks only for what is new. */
export function useLanes(
  captureId: string,
  tracks: readonly Placed[],
  [top, bottom]: Span,
  threads: ReturnType<typeof threadsOf>,
  cpus: readonly number[],
  asked: Span,
  scope: ReturnType<typeof filterParams>,
) {
  const portionOf = useMemo(
    () => new Map(threads.map(({ utid }, index) => [utid, Math.floor(index / PORTION)])),
    [threads],
  );
  const questions = new Map<string, Question>();
  const lanesOf = new Map<string, readonly number[]>();
  for (const track of inSight(tracks, top, bottom - top)) {
    if (track.kind !== "lane") continue;
    for (const shows of track.shows) {
      const number = shows === "runs" ? Math.floor(cpus.indexOf(track.of) / PORTION) : portionOf.get(track.of);
      const place = `${shows} ${number}`;
      if (number === undefined || questions.has(place)) continue;
      const view = VIEWS[shows];
      const portion = [number * PORTION, (number + 1) * PORTION] as const;
      const lanes = shows === "runs" ? cpus.slice(...portion) : threads.slice(...portion).map(({ utid }) => utid);
      lanesOf.set(place, lanes);
      questions.set(place, {
        path: viewPath(captureId, view),
        query: {
          where:
            shows === "runs" ? sqlOf("cpu_lane")`${"cpu"} IN ${lanes}` : sqlOf("thread_lane")`${"utid"} IN ${lanes}`,
          set: [
            setting(view, "start_ns", asked[0]),
            setting(view, "end_ns", asked[1]),
            setting(view, "buckets", BUCKETS),
          ],
          limit: ROWS_MAX,
          ...scope,
        },
        span: asked,
        about: JSON.stringify([view, lanes, scope]),
      });
    }
  }
  const answers = useAnswers(questions, forLanes);
  const found = [...questions.keys()].map((place) => ({
    shows: showsOf(place),
    of: lanesOf.get(place)!,
    answer: answers.of(place),
  }));
  const [data, loaded] = useMemo(() => {
    const lanes = { states: new Map(), calls: new Map(), causes: new Map(), runs: new Map() };
    const spans = { states: new Map(), calls: new Map(), causes: new Map(), runs: new Map() };
    for (const { shows, of, answer } of found) {
      if (!answer?.rows || answer.isOld) continue;
      let some = made.get(answer.rows);
      if (!some) made.set(answer.rows, (some = laneByNumber(shows, answer.rows)));
      for (const [one, lane] of some) lanes[shows].set(one, lane);
      for (const lane of of) spans[shows].set(lane, answer.span);
    }
    return [lanes as Data, spans as Loaded];
  }, [found.map(({ answer, of }) => `${idOf(answer?.rows)} ${answer?.isOld} ${of.length}`).join()]);
  const failed = found.find(({ answer }) => answer?.error)?.answer?.error;
  const isOld = found.some(({ answer }) => answer?.rows && answer.isOld);
  return {
    data,
    loaded,
    isOld,
    isAwaited: found.some(({ answer }) => answer?.isAwaited),
    failed,
    again: failed?.kind === "page" ? () => location.reload() : answers.again,
  };
}

const ids = new WeakMap<Decoded, number>();
let counted = 0;
function idOf(rows: Decoded | undefined): number {
  if (!rows) return 0;
  if (!ids.has(rows)) ids.set(rows, ++counted);
  return ids.get(rows)!;
}

/** The critical path through a picked wait: who was waited for, and on which lane that is seen. */
export function usePath(
  captureId: string,
  utid: number | null,
  picked: Box | null,
  laneOf: (utid: number) => Placed<LaneTrack> | undefined,
): Box[] {
  const { data } = useView(utid === null ? null : captureId, "critical_path", {
    set: utid === null ? [] : [setting("critical_path", "critical_path_utid", utid)],
    where:
      picked &&
      sqlOf(
        "critical_path",
      )`${"ts_ns"} < ${[Math.round(picked.to)]} AND ${"ts_ns"} + ${"duration_ns"} > ${[Math.round(picked.from)]}`,
    limit: PATH_MAX,
  });
  return (data ?? []).flatMap(({ on_utid, ts_ns, duration_ns }) => {
    const track = on_utid === null ? undefined : laneOf(Number(on_utid));
    return track
      ? { track, shows: "states" as const, from: Number(ts_ns), to: Number(ts_ns) + Number(duration_ns) }
      : [];
  });
}
