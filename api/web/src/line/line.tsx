/** Everything over time, on one axis: the host's charts, CPUs, threads. What is chosen fills the panel below. */

import { useMemo, useState } from "preact/hooks";
import { useGet, useSchema } from "../api/hooks";
import type { Note, Schema } from "../api/types.gen";
import type { CaptureProps } from "../app/pages";
import { filterParams } from "../app/route";
import { Fresh } from "../parts/fresh";
import { gapsOf } from "../parts/hatch";
import { Problem, Waiting } from "../parts/problem";
import { safe } from "../parts/safe";
import { STATES } from "../parts/states";
import { count, duration, stretch } from "../parts/units";
import { type LineState, spanOf, useLineState, useSpan } from "./address";
import { BUCKETS, THREADS_MAX, useLanes, usePath, useThreads } from "./asked";
import { KINDS } from "./causes";
import { useFindingMarks } from "./findings";
import { useHeats } from "./heats";
import { KernelLog, Missing, useHost } from "./host";
import { pieceAt, type Shows } from "./lanes";
import { moveText } from "./order";
import type { Box } from "./overlay";
import { Panel } from "./panel";
import { Picture, type PictureProps } from "./picture";
import { holding, type Span } from "./span";
import { useInterval } from "./stretch";
import { type LaneTrack, type Mark, type Placed, tracksOf } from "./tracks";

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
  // Not the span: in a frame in which only that moves, the picture and what says the span are made, and nothing else here.
  const { length, asked, part, pick } = state;
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
  const heats = useHeats(captureId, hasTable, gapsIn, isHot, asked, filterParams(scope));
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
        processes: known.processes,
        hasCalls,
        hasCauses,
        find: state.find,
        turned: state.turned,
        pinned: state.pinned,
        moves: state.moves,
      }),
    [
      host.charts,
      host.marks,
      notes,
      findings.tracks,
      heats.all,
      known.cpus,
      threads,
      known.processes,
      hasCalls,
      hasCauses,
      state.find,
      state.turned.join(),
      state.pinned.join(),
      state.moves.map(moveText).join(),
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
      ? pieceAt<Shows>(data[pick!.shows].get(track.of), pick!.at, (asked[1] - asked[0]) / BUCKETS)
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
        <Seen state={state} gaps={gaps} cut={host.cut} />
        <span class="spring" />
        {state.moves.length > 0 && (
          <button type="button" onClick={() => state.move(null)}>
            Reset order
          </button>
        )}
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
          <Moved
            state={state}
            tracks={tracks}
            end={length}
            startNs={capture.started_ns === null ? null : Number(capture.started_ns)}
            part={part}
            data={data}
            gaps={gaps}
            loaded={loaded}
            isAwaited={state.isMoving || isAwaited || heats.isAwaited || findings.isAwaited || host.isDetailAwaited}
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
            onMove={state.move}
            onSeen={(top, height) => {
              const now: Span = [Math.floor(top / 200) * 200, Math.ceil((top + height) / 200) * 200];
              setSeen((before) => (before.join() === now.join() ? before : now));
            }}
          />
        </Fresh>
      )}
      <Legend hasCauses={hasCauses && data.causes.size > 0} hasCalls={hasCalls} />
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
      <KernelLog log={host.log} onPick={(at) => state.setSpan(holding(spanOf(state), at, length))} />
      {!isWaiting && <Missing captureId={captureId} charts={host.missing} isAll={false} />}
    </section>
  );
}

/** What of the recording is in sight, in words. */
function Seen({ state, gaps, cut }: { state: LineState; gaps: PictureProps["gaps"]; cut: readonly string[] }) {
  const { span } = useSpan(state);
  const { part } = state;
  const hasGaps = Object.values(gaps).some((all) => all.some(([begin, end]) => begin < span[1] && end > span[0]));
  return (
    <span class="quiet">
      {stretch(...span)}: {duration(span[1] - span[0])}
      {part && `; ${duration(part[1] - part[0])} chosen`}
      {hasGaps && "; hatched: nothing was recorded"}
      {cut.length > 0 && `; ${cut.join(", ")}: too many rows, zoom in for the dim part`}
    </span>
  );
}

function Moved({ state, ...props }: { state: LineState } & Omit<PictureProps, "span" | "isMoving">) {
  return <Picture {...props} {...useSpan(state)} />;
}

function Legend({ hasCauses, hasCalls }: { hasCauses: boolean; hasCalls: boolean }) {
  return (
    <p class="lanes-legend">
      {STATES.map(({ word, means, colour }) => (
        <span key={word} title={means} tabIndex={0}>
          <i style={{ background: `var(${colour})` }} />
          {word}
        </span>
      ))}
      {hasCalls && (
        <span class="lanes-legend" title="Other colours tell neighbouring calls apart" tabIndex={0}>
          Below, system calls:
          <span>
            <i class="lanes-strip" style={{ background: "var(--critical)" }} />
            one that failed
          </span>
        </span>
      )}
      {hasCauses && (
        <span
          class="lanes-legend"
          title="Where it is known that the thread had work; otherwise what kept it up"
          tabIndex={0}
        >
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
