/** What each thread did, a lane a thread; zoom by dragging or by the wheel, a click tells of the stretch that it hits. */

import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { useView } from "../api/hooks";
import { setting } from "../api/rows";
import type { CaptureProps } from "../app/pages";
import { filterParams, useRoute } from "../app/route";
import { useStore } from "../app/store";
import { colour, theme } from "../app/theme";
import { useWidth } from "../app/width";
import { Fresh } from "../parts/fresh";
import { gapsOf } from "../parts/hatch";
import { Problem, Waiting } from "../parts/problem";
import { sqlOf } from "../parts/sql";
import { STATES } from "../parts/states";
import { duration } from "../parts/units";
import { seconds, windowText } from "../timeline/window";
import { KINDS } from "./causes";
import { draw, heightOf, type Lane, lanesOf, type Picked, pickedAt, pickedBeside, said, tracksOf } from "./draw";
import { Stretch } from "./stretch";
import "./lanes.css";

const BUCKETS = 1200;
const MORE = 60;
/** A thread has at most two rows in a bucket. */
const ROWS_MAX = 400_000;

export default function Lanes({ captureId, capture, filters, onFilters }: CaptureProps) {
  const { params, set } = useRoute();
  const length = Number(capture.duration_ns ?? 0);
  const limit = Math.min(600, Number(params.get("lanes")) || MORE);
  // The lanes' own zoom stands beside the filter, so that looking closer does not ask every other page again.
  const whole = (filters.window && seconds(filters.window, length / 1e9)) || [0, length / 1e9];
  const zoomed = (params.get("zoom") && seconds(params.get("zoom")!, length / 1e9)) || whole;
  const [from, to] = zoomed.map((at) => Math.round(at * 1e9)) as [number, number];
  const scope = filterParams({ ...filters, window: null });
  // In the view's own order: the busiest first, the recorder's last.
  const threads = useView(captureId, "thread_time", {
    where: sqlOf("thread_time")`coalesce(${"pid"}, 1) <> 0`,
    limit: limit + 1,
    ...filterParams(filters),
  });
  const known = threads.data?.slice(0, limit) ?? [];
  const asked = known.length ? captureId : null;
  const buckets = Math.min(BUCKETS, Math.floor(ROWS_MAX / (2 * limit)));
  const rows = useView(asked, "thread_lane", {
    where: sqlOf("thread_lane")`${"utid"} IN ${known.map(({ utid }) => utid)}`,
    set: [
      setting("thread_lane", "start_ns", from),
      setting("thread_lane", "end_ns", to),
      setting("thread_lane", "buckets", buckets),
    ],
    limit: ROWS_MAX,
    ...scope,
  });
  const causes = useView(asked, "blame_lane", {
    where: sqlOf("blame_lane")`${"utid"} IN ${known.map(({ utid }) => utid)}`,
    set: [
      setting("blame_lane", "start_ns", from),
      setting("blame_lane", "end_ns", to),
      setting("blame_lane", "buckets", buckets),
    ],
    limit: ROWS_MAX,
    ...scope,
  });
  const span = useView(captureId, "recorded_span", {
    where: sqlOf("recorded_span")`${"table_name"} = ${["thread_state"]}`,
  });
  const isLoading = [threads, rows, causes, span].some(({ loading }) => loading);
  const gaps = gapsOf(
    (span.data ?? []).map(({ start_ts_ns, end_ts_ns }) => [Number(start_ts_ns), Number(end_ts_ns)]),
    span.data ? length : 0,
  );
  const isKnown = rows.data !== undefined && causes.data !== undefined;
  const lanes = useMemo(
    () => (rows.data && causes.data ? lanesOf(known, rows.data, causes.data) : []),
    [rows.data, causes.data],
  );
  const [picked, setPicked] = useState<Picked | null>(null);
  const zoom = (part: [number, number] | null) =>
    set({ zoom: part && (part[0] > 0 || part[1] < length) ? windowText([part[0] / 1e9, part[1] / 1e9]) : null }, true);
  const failed = [threads, rows, causes, span].find(({ error }) => error);
  if (failed?.error) return <Problem error={failed.error} again={failed.again} />;
  const isZoomed = params.has("zoom");
  return (
    <section aria-label="States of threads">
      <div class="row lanes-head">
        <h2>Threads over time</h2>
        <span class="quiet">
          {duration(from)} to {duration(to)}: {duration(to - from)}
          {gaps.some(([begin, end]) => begin < to && end > from) && "; hatched: no states were recorded"}
        </span>
        <span class="spring" />
        <button type="button" disabled={!isZoomed} onClick={() => zoom(null)}>
          Zoom out
        </button>
        <button
          type="button"
          disabled={!isZoomed}
          title="Look at this part in every page"
          onClick={() => onFilters({ window: windowText(zoomed as [number, number]) })}
        >
          Only this part
        </button>
      </div>
      <Legend hasCauses={Boolean(causes.data?.length)} />
      {!threads.data || (known.length > 0 && !isKnown) || (known.length === 0 && isLoading) ? (
        <Waiting />
      ) : known.length === 0 ? (
        <p class="empty">
          No thread's states are known in this part of the capture: no context switches were recorded here.
        </p>
      ) : (
        <Fresh isOld={isLoading}>
          <Chart
            lanes={lanes}
            from={from}
            to={to}
            gaps={gaps}
            end={length}
            onZoom={zoom}
            picked={picked}
            onPick={setPicked}
          />
        </Fresh>
      )}
      {threads.data && threads.data.length > limit && (
        <p class="row">
          <button type="button" onClick={() => set({ lanes: limit + MORE }, true)}>
            More threads
          </button>
          <span class="quiet">The {limit} that ran most are shown.</span>
        </p>
      )}
      {picked && (
        <Stretch captureId={captureId} picked={picked} zoom={params.get("zoom")} onClose={() => setPicked(null)} />
      )}
    </section>
  );
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

const NAMES = 150;

function Chart({
  lanes,
  from,
  to,
  gaps,
  end,
  onZoom,
  picked,
  onPick,
}: {
  lanes: Lane[];
  from: number;
  to: number;
  gaps: [number, number][];
  end: number;
  onZoom: (part: [number, number] | null) => void;
  picked: Picked | null;
  onPick: (picked: Picked) => void;
}) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const canvas = useRef<HTMLCanvasElement>(null);
  const { isDark } = useStore(theme);
  const [drag, setDrag] = useState<[number, number] | null>(null);
  const [at, setAt] = useState(0);
  const [hover, setHover] = useState<{ told: Picked; x: number; y: number } | null>(null);
  const tracks = useMemo(() => tracksOf(lanes), [lanes]);
  const height = heightOf(tracks);
  const names = width < 500 ? 96 : NAMES;
  const room = Math.max(width - names, 1);
  const colours = useMemo(
    () => new Map([...STATES, ...KINDS].map(({ colour: name }) => [name, colour(name)])),
    [isDark],
  );
  const paint = useMemo(() => ["--ink", "--ink-3", "--line", "--sunk", "--accent", "--hatch"].map(colour), [isDark]);
  useLayoutEffect(() => {
    const element = canvas.current;
    if (!element || !width) return;
    const density = devicePixelRatio || 1;
    element.width = Math.round(width * density);
    element.height = Math.round(height * density);
    const context = element.getContext("2d")!;
    context.setTransform(density, 0, 0, density, 0, 0);
    draw(context, tracks, { from, to, gaps, names, width, colours, paint, at, picked, drag });
    element.dataset.painted = "1";
  });
  const time = (event: MouseEvent) => {
    const x = event.clientX - canvas.current!.getBoundingClientRect().left - names;
    return from + (Math.min(Math.max(x, 0), room) / room) * (to - from);
  };
  const down = (event: MouseEvent) => {
    if (event.button !== 0) return;
    const begin = time(event);
    const move = (moved: MouseEvent) => setDrag([begin, time(moved)]);
    const up = (last: MouseEvent) => {
      removeEventListener("mousemove", move);
      removeEventListener("mouseup", up);
      setDrag(null);
      const over = time(last);
      if ((Math.abs(over - begin) / (to - from)) * room > 4) onZoom([Math.min(begin, over), Math.max(begin, over)]);
      else hit(event);
    };
    addEventListener("mousemove", move);
    addEventListener("mouseup", up);
    event.preventDefault();
    box.current!.focus({ preventScroll: true });
  };
  const under = (event: MouseEvent) => {
    const y = event.clientY - canvas.current!.getBoundingClientRect().top;
    const number = tracks.findIndex((track) => y >= track.top && y < track.top + track.height);
    const track = tracks[number];
    return { number, y, told: track ? pickedAt(track, time(event), (to - from) / room) : null };
  };
  const hit = (event: MouseEvent) => {
    const { number, told } = under(event);
    if (number >= 0) setAt(number);
    if (told) onPick(told);
  };
  const look = (event: MouseEvent) => {
    const x = event.clientX - canvas.current!.getBoundingClientRect().left;
    const { told, y } = under(event);
    setHover(told && x >= names && !event.buttons ? { told, x, y } : null);
  };
  const wheel = (event: WheelEvent) => {
    if (!event.ctrlKey && !event.shiftKey) return;
    event.preventDefault();
    scale(event.deltaY + event.deltaX > 0 ? 1.5 : 1 / 1.5, time(event));
  };
  const scale = (by: number, about: number) => {
    const span = Math.min(Math.max((to - from) * by, 1000), end);
    const begin = Math.min(Math.max(about - ((about - from) / (to - from)) * span, 0), end - span);
    onZoom([begin, begin + span]);
  };
  const pan = (part: number) => {
    const by = Math.min(Math.max((to - from) * part, -from), end - to);
    onZoom([from + by, to + by]);
  };
  const step = (by: number) => {
    const track = tracks[at];
    const next = track && pickedBeside(track, picked, by);
    if (next) onPick(next);
  };
  const key = (event: KeyboardEvent) => {
    const middle = (from + to) / 2;
    const moves: Record<string, () => void> = {
      ArrowUp: () => setAt(Math.max(at - 1, 0)),
      ArrowDown: () => setAt(Math.min(at + 1, tracks.length - 1)),
      ArrowLeft: () => (event.shiftKey ? pan(-0.25) : step(-1)),
      ArrowRight: () => (event.shiftKey ? pan(0.25) : step(1)),
      "+": () => scale(1 / 1.5, picked?.at ?? middle),
      "-": () => scale(1.5, middle),
      Escape: () => onZoom(null),
    };
    const move = moves[event.key];
    if (!move || event.ctrlKey || event.metaKey || event.altKey) return;
    move();
    event.preventDefault();
  };
  // Preact listens to wheels passively: then the page would scroll as well.
  const wheeled = useRef(wheel);
  wheeled.current = wheel;
  useLayoutEffect(() => {
    const element = box.current!;
    const listen = (event: WheelEvent) => wheeled.current(event);
    element.addEventListener("wheel", listen, { passive: false });
    return () => element.removeEventListener("wheel", listen);
  }, []);
  const track = tracks[at];
  return (
    <>
      <div
        ref={box}
        class="lanes"
        tabIndex={0}
        role="application"
        aria-label="Lanes of threads. Up and down choose a thread, its states or what it waited for, left and right a stretch, plus and minus zoom, Escape shows all."
        onMouseDown={down}
        onMouseMove={look}
        onMouseLeave={() => setHover(null)}
        onDblClick={() => onZoom(null)}
        onKeyDown={key}
      >
        <canvas ref={canvas} style={{ width: "100%", height: `${height}px` }} class="lanes-canvas" aria-hidden="true" />
        {hover && <Tip {...hover} width={width} />}
      </div>
      <p class="visually-hidden" aria-live="polite">
        {track ? track.lane.name + (track.shows === "causes" ? ", what it waited for" : "") : ""}
        {track && picked?.lane.utid === track.lane.utid && picked.shows === track.shows ? `: ${said(picked)}` : ""}
      </p>
      <p class="quiet lanes-how">
        Drag to zoom, Ctrl and the wheel too; a double click shows all. A click tells of a stretch.
      </p>
    </>
  );
}

function Tip({ told, x, y, width }: { told: Picked; x: number; y: number; width: number }) {
  const style = x > width / 2 ? { right: `${width - x + 12}px` } : { left: `${x + 12}px` };
  return (
    <div class="lanes-tip" style={{ ...style, top: `${y + 16}px` }} aria-hidden="true">
      <b>{told.lane.name}</b>
      <span>{said(told)}</span>
    </div>
  );
}
