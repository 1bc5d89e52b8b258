/** Everything over time, on one axis: the host's charts, CPUs, threads. What is chosen fills the panel below. */

import { useMemo, useState } from "preact/hooks";
import { useGet, useSchema, useView } from "../api/hooks";
import { type Row, setting, type ViewName, viewPath } from "../api/rows";
import type { Note, Schema } from "../api/types.gen";
import type { CaptureProps } from "../app/pages";
import { filterParams } from "../app/route";
import { Fresh } from "../parts/fresh";
import { gapsOf } from "../parts/hatch";
import { Problem, Waiting } from "../parts/problem";
import { safe } from "../parts/safe";
import { sqlOf } from "../parts/sql";
import { STATES } from "../parts/states";
import { count, duration } from "../parts/units";
import { useLineState } from "./address";
import { type Question, useAnswers } from "./answers";
import { KINDS } from "./causes";
import { type Data, inSight, type Loaded } from "./draw";
import { useFindingMarks } from "./findings";
import { useHeats } from "./heats";
import { KernelLog, Missing, useHost } from "./host";
import { LANES, type Lanes, pieceAt, type PieceOf, type Shows } from "./lanes";
import type { Box } from "./overlay";
import { Panel } from "./panel";
import { Picture } from "./picture";
import { holding, type Span } from "./span";
import { useInterval } from "./stretch";
import { type LaneTrack, type Mark, type Placed, PORTION, threadsOf, tracksOf } from "./tracks";

/** Buckets of what is asked for, which is two to four times what is seen. */
const BUCKETS = 2400;
/** A lane has at most two rows in a bucket. */
const ROWS_MAX = 2 * BUCKETS * PORTION;
const THREADS_MAX = 2000;
const VIEWS = {
  states: "thread_lane",
  calls: "call_lane",
  causes: "blame_lane",
  runs: "cpu_lane",
} as const satisfies Record<Shows, ViewName>;

export default function Line(props: CaptureProps) {
  const schema = useSchema();
  if (props.capture.state !== "ready")
    return <p class="empty">Not imported yet: its time line comes with the import.</p>;
  if (!(Number(props.capture.duration_ns ?? 0) > 0))
    return <p class="empty">This capture has no time line, because its events have no times.</p>;
  return schema ? <WholeLine schema={schema} {...props} /> : <Waiting />;
}

function WholeLine({ schema, ...props }: CaptureProps & { schema: Schema }) {
  const { captureId, capture, filters } = props;
  const state = useLineState(props);
  const { length, span, asked, part, pick } = state;
  // The line shows the whole recording: the part is what is chosen in it.
  const scope = useMemo(() => ({ ...filters, window: null }), [JSON.stringify({ ...filters, window: null })]);
  const host = useHost(captureId, schema, ["timeline", "lines"], length, asked, scope);
  const known = useThreads(captureId, filterParams(scope));
  const { threads } = known;
  const [seen, setSeen] = useState<Span>([0, 1200]);
  const hasTable = (name: string) =>
    known.spans.some(({ table_name, duration_ns }) => table_name === name && Number(duration_ns) > 0);
  const hasCauses = hasTable("thread_state");
  const hasCalls = hasTable("syscall");
  const gapsIn = useMemo(() => {
    const all = new Map<string, Span[]>();
    for (const { table_name } of known.spans) {
      const recorded = known.spans.filter((row) => row.table_name === table_name && Number(row.duration_ns) > 0);
      const parts = recorded.map((row) => [Number(row.start_ts_ns), Number(row.end_ts_ns)] as const);
      all.set(table_name ?? "", gapsOf(parts, length));
    }
    return (table: string) => all.get(table) ?? [];
  }, [known.spans]);
  const gaps = useMemo(() => {
    const [states, calls] = [gapsIn("thread_state"), gapsIn("syscall")];
    return { states, runs: states, causes: states, calls };
  }, [gapsIn]);
  const isHot =
    state.turned.includes("heat") || state.pinned.some((id) => id.startsWith("heat:")) || Boolean(state.find);
  const heats = useHeats(captureId, hasTable, gapsIn, isHot, length, asked, filterParams(scope));
  const findings = useFindingMarks(captureId, scope, !state.turned.includes("findings"), length);
  const told = useGet<Note[]>(`captures/${captureId}/notes`).data;
  const notes = useMemo(
    () =>
      (told ?? []).flatMap(({ start_ns, end_ns, author, text }): Mark[] =>
        start_ns === null
          ? []
          : [{ at: start_ns, until: end_ns ?? length, colour: "--note", text: `${safe(author)}: ${safe(text)}` }],
      ),
    [told],
  );
  const tracks = useMemo(
    () =>
      tracksOf({
        charts: host.charts,
        isGrouped: true,
        marks: [
          { id: "log", title: "Kernel log", marks: host.marks },
          { id: "notes", title: "Notes", marks: notes },
        ],
        findings: findings.tracks,
        heats: heats.all,
        cpus: known.cpus,
        threads,
        hasCalls,
        hasCauses,
        find: state.find,
        turned: state.turned,
        pinned: state.pinned,
      }),
    [
      host.charts,
      host.marks,
      notes,
      findings.tracks,
      heats.all,
      known.cpus,
      threads,
      hasCalls,
      hasCauses,
      state.find,
      state.turned.join(),
      state.pinned.join(),
    ],
  );
  const { data, loaded, isOld, isAwaited, failed, again } = useLanes(
    captureId,
    tracks,
    seen,
    threads,
    known.cpus,
    asked,
    filterParams(scope),
  );

  const track = pick
    ? tracks.find((one): one is Placed<LaneTrack> => one.id === pick.id && one.kind === "lane")
    : undefined;
  const piece =
    track && pick!.shows && pick!.at !== null
      ? pieceAt<PieceOf[Shows]>(data[pick!.shows].get(track.of) ?? [], pick!.at, (asked[1] - asked[0]) / BUCKETS)
      : null;
  const picked: Box | null = piece && {
    track: track!,
    shows: pick!.shows!,
    from: piece.ts_ns,
    to: piece.ts_ns + piece.duration_ns,
  };
  const utid = track && pick!.shows !== "runs" && track.id.replace("pin:", "").startsWith("t:") ? track.of : null;
  const interval = useInterval(captureId, utid, pick?.shows ? pick.at : null);
  const laneOf = (of: number) =>
    tracks.find((one): one is Placed<LaneTrack> => one.kind === "lane" && one.id.endsWith(`t:${of}`));
  const waker = interval?.interval?.waker_utid;
  const wakerLane = waker === null || waker === undefined ? undefined : laneOf(Number(waker));
  const arrow =
    picked && wakerLane && wakerLane.of !== utid
      ? {
          from: wakerLane,
          to: picked.track,
          at: Number(interval!.interval!.ts_ns) + Number(interval!.interval!.duration_ns),
        }
      : null;
  const path = usePath(captureId, picked && utid !== null && state.hasPath ? utid : null, picked, laneOf);
  const toThread = (to: number) => {
    const found = threads.find((one) => one.utid === to);
    const group = `p:${found?.pid}`;
    const isFolded = tracks.some((one) => one.kind === "group" && one.id === group && !one.isOpen);
    if (isFolded) state.turn(group);
    state.setPick({ id: `t:${to}`, shows: pick?.at ? "states" : null, at: pick?.at ?? null });
  };
  const problem =
    known.failed ??
    (host.failed && { error: host.failed.error!, again: host.again }) ??
    (failed && { error: failed, again }) ??
    heats.failed;
  const hasGaps = Object.values(gaps).some((all) => all.some(([begin, end]) => begin < span[1] && end > span[0]));
  const isWaiting = known.isFirst || (host.isFirst && !host.charts.length);
  return (
    <section class="time-line" aria-label="Time line">
      <div class="row line-head">
        <h2>Time line</h2>
        <input
          data-search
          type="search"
          class="line-find"
          placeholder="Find tracks"
          aria-label="Find tracks"
          spellcheck={false}
          value={state.find}
          onInput={(event) => state.setFind(event.currentTarget.value)}
        />
        <span class="quiet">
          {duration(span[0])} to {duration(span[1])}: {duration(span[1] - span[0])}
          {part && `; ${duration(part[1] - part[0])} chosen`}
          {hasGaps && "; hatched: nothing was recorded"}
          {host.cut.length > 0 && `; ${host.cut.join(", ")}: too many rows, zoom in for the dim part`}
        </span>
        <span class="spring" />
        <button type="button" disabled={!part} onClick={() => state.setSpan(part)}>
          Zoom to the chosen part
        </button>
        <button type="button" disabled={!state.isZoomed} onClick={() => state.setSpan(null)}>
          Zoom out
        </button>
        <button type="button" disabled={!part} onClick={() => state.setPart(null)}>
          Choose all
        </button>
      </div>
      {problem && <Problem error={problem.error} again={problem.again} />}
      {isWaiting && !problem ? (
        <Waiting />
      ) : tracks.length === 0 ? (
        <p class="empty">
          {state.find ? "No track has this in its name." : "Nothing in this part of the capture is known over time."}
        </p>
      ) : (
        <Fresh isOld={isOld || heats.isOld || host.isOld || known.isOld}>
          <Picture
            tracks={tracks}
            span={span}
            end={length}
            startNs={capture.started_ns === null ? null : Number(capture.started_ns)}
            part={part}
            data={data}
            gaps={gaps}
            loaded={loaded}
            isAwaited={state.isMoving || isAwaited || heats.isAwaited || host.isDetailAwaited}
            pick={pick}
            picked={picked}
            arrow={arrow}
            path={path}
            pinned={state.pinned}
            isTall
            onSpan={state.setSpan}
            onPart={state.setPart}
            onPick={state.setPick}
            onTurn={state.turn}
            onPin={state.pin}
            onSeen={(top, height) => setSeen([Math.floor(top / 200) * 200, Math.ceil((top + height) / 200) * 200])}
          />
        </Fresh>
      )}
      <Legend hasCauses={hasCauses && data.causes.size > 0} />
      {known.isCut && (
        <p class="quiet">The {count(THREADS_MAX)} threads that ran most are shown; a filter shows others.</p>
      )}
      <Panel
        {...props}
        state={state}
        track={track}
        process={pick?.id.startsWith("p:") ? pick.id.slice(2) : null}
        finding={findings.fired.find(({ name }) => pick?.id === `finding:${name}`) ?? null}
        piece={piece}
        told={interval}
        threads={threads}
        onThread={toThread}
      />
      <KernelLog log={host.log} onPick={(at) => state.setSpan(holding(span, at, length))} />
      {!isWaiting && <Missing captureId={captureId} charts={host.missing} isAll={false} />}
    </section>
  );
}

/** Which threads and CPUs there are, and when their states were recorded. */
function useThreads(captureId: string, scope: ReturnType<typeof filterParams>) {
  // In the view's own order: the busiest first, the recorder's last.
  const times = useView(captureId, "thread_time", {
    where: sqlOf("thread_time")`coalesce(${"pid"}, 1) <> 0`,
    limit: THREADS_MAX,
    ...scope,
  });
  // In one bucket, a row or two of each CPU.
  const cpus = useView(captureId, "cpu_lane", { set: setting("cpu_lane", "buckets", 1), limit: 20000, ...scope });
  const spans = useView(captureId, "recorded_span", {});
  const failed = [times, cpus, spans].find(({ error }) => error);
  return {
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

const made = new WeakMap<Row[], Lanes<Shows>>();

/** The pieces of the lanes in sight, in portions of threads, so that scrolling asks only for what is new. */
function useLanes(
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
  const answers = useAnswers(questions);
  const found = [...questions.keys()].map((place) => ({
    shows: place.split(" ")[0] as Shows,
    of: lanesOf.get(place)!,
    answer: answers.of(place),
  }));
  const [data, loaded] = useMemo(() => {
    const lanes = { states: new Map(), calls: new Map(), causes: new Map(), runs: new Map() };
    const spans = { states: new Map(), calls: new Map(), causes: new Map(), runs: new Map() };
    for (const { shows, of, answer } of found) {
      if (!answer?.rows || answer.isOld) continue;
      let pieces = made.get(answer.rows);
      if (!pieces) made.set(answer.rows, (pieces = LANES[shows](answer.rows as never) as Lanes<Shows>));
      for (const [lane, some] of pieces) lanes[shows].set(lane, some);
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
    again: answers.again,
  };
}

const ids = new WeakMap<Row[], number>();
let counted = 0;
function idOf(rows: Row[] | undefined): number {
  if (!rows) return 0;
  if (!ids.has(rows)) ids.set(rows, ++counted);
  return ids.get(rows)!;
}

/** The critical path through a picked wait: who was waited for, and on which lane that is seen. */
function usePath(
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
    limit: 500,
  });
  return (data ?? []).flatMap(({ on_utid, ts_ns, duration_ns }) => {
    const track = on_utid === null ? undefined : laneOf(Number(on_utid));
    return track
      ? { track, shows: "states" as const, from: Number(ts_ns), to: Number(ts_ns) + Number(duration_ns) }
      : [];
  });
}

function Legend({ hasCauses }: { hasCauses: boolean }) {
  return (
    <p class="lanes-legend">
      {STATES.map(({ word, means, colour }) => (
        <span key={word} title={means}>
          <i style={{ background: `var(${colour})` }} />
          {word}
        </span>
      ))}
      {hasCauses && (
        <span class="lanes-legend" title="Where it is known that the thread had work; otherwise what kept it up">
          Below, what a thread waited for:
          {KINDS.map(({ text, colour, isThin }) => (
            <span key={text}>
              <i class={isThin ? "lanes-thin" : "lanes-strip"} style={{ background: `var(${colour})` }} />
              {text}
            </span>
          ))}
        </span>
      )}
    </p>
  );
}
