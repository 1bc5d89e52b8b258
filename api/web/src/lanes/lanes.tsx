/** What each thread did, a lane a thread; zoom by dragging or by the wheel, a click tells of the stretch that it hits. */

import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { useView } from "../api/hooks";
import { setting } from "../api/rows";
import type { CaptureProps } from "../app/pages";
import { filterParams, useRoute } from "../app/route";
import { useStore } from "../app/store";
import { colour, theme } from "../app/theme";
import { Problem } from "../parts/problem";
import { sqlOf } from "../parts/sql";
import { duration } from "../parts/units";
import { seconds, windowText } from "../timeline/window";
import { draw, GROUPS, type Lane, type LaneRow, lanesOf, ROW, stretchAt } from "./draw";
import { Stretch } from "./stretch";
import "./lanes.css";

const BUCKETS = 1200;
const MORE = 60;

export interface Picked {
  lane: Lane;
  row: LaneRow;
  /** The moment that was clicked, in ns. */
  at: number;
}

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
  const rows = useView(known.length ? captureId : null, "thread_lane", {
    where: sqlOf("thread_lane")`${"utid"} IN ${known.map(({ utid }) => utid)}`,
    set: [
      setting("thread_lane", "start_ns", from),
      setting("thread_lane", "end_ns", to),
      setting("thread_lane", "buckets", BUCKETS),
    ],
    limit: 400_000,
    ...scope,
  });
  const lanes = useMemo(() => (rows.data ? lanesOf(known, rows.data) : []), [rows.data]);
  const [picked, setPicked] = useState<Picked | null>(null);
  const zoom = (part: [number, number] | null) =>
    set({ zoom: part && (part[0] > 0 || part[1] < length) ? windowText([part[0] / 1e9, part[1] / 1e9]) : null }, true);
  const error = threads.error ?? rows.error;
  if (error) return <Problem error={error} again={threads.error ? threads.again : rows.again} />;
  const isZoomed = params.has("zoom");
  return (
    <section aria-label="States of threads">
      <div class="row lanes-head">
        <h2>Threads over time</h2>
        <span class="quiet">
          {duration(from)} to {duration(to)}: {duration(to - from)}
          {rows.loading && rows.data ? " – loading" : ""}
        </span>
        <span class="spring" />
        <Legend />
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
      {!threads.data || (known.length > 0 && !rows.data) ? (
        <p class="waiting" role="status">
          Loading …
        </p>
      ) : known.length === 0 ? (
        <p class="empty">
          No thread's states are known in this part of the capture: no context switches were recorded here.
        </p>
      ) : (
        <Chart lanes={lanes} from={from} to={to} end={length} onZoom={zoom} picked={picked} onPick={setPicked} />
      )}
      {threads.data && threads.data.length > limit && (
        <p class="row">
          <button type="button" onClick={() => set({ lanes: limit + MORE }, true)}>
            More threads
          </button>
          <span class="quiet">The {limit} that ran most are shown.</span>
        </p>
      )}
      {picked && <Stretch captureId={captureId} picked={picked} onClose={() => setPicked(null)} />}
    </section>
  );
}

function Legend() {
  return (
    <span class="lanes-legend">
      {GROUPS.map(({ text, colour }) => (
        <span key={text}>
          <i style={{ background: `var(${colour})` }} />
          {text}
        </span>
      ))}
    </span>
  );
}

const NAMES = 150;

function Chart({
  lanes,
  from,
  to,
  end,
  onZoom,
  picked,
  onPick,
}: {
  lanes: Lane[];
  from: number;
  to: number;
  end: number;
  onZoom: (part: [number, number] | null) => void;
  picked: Picked | null;
  onPick: (picked: Picked) => void;
}) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const { isDark } = useStore(theme);
  const [width, setWidth] = useState(0);
  const [drag, setDrag] = useState<[number, number] | null>(null);
  const [at, setAt] = useState(0);
  const names = width < 500 ? 96 : NAMES;
  const room = Math.max(width - names, 1);
  const colours = useMemo(() => new Map(GROUPS.map(({ colour: name }) => [name, colour(name)])), [isDark]);
  const paint = useMemo(() => ["--ink", "--ink-3", "--line", "--sunk", "--accent"].map(colour), [isDark]);
  useLayoutEffect(() => {
    const element = box.current!;
    const measure = () => setWidth(element.clientWidth);
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    const element = canvas.current;
    if (!element || !width) return;
    const density = devicePixelRatio || 1;
    const height = (lanes.length + 1) * ROW;
    element.width = Math.round(width * density);
    element.height = Math.round(height * density);
    const context = element.getContext("2d")!;
    context.setTransform(density, 0, 0, density, 0, 0);
    draw(context, lanes, { from, to, names, width, colours, paint, at, picked, drag });
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
  const hit = (event: MouseEvent) => {
    const y = event.clientY - canvas.current!.getBoundingClientRect().top;
    const number = Math.floor(y / ROW) - 1;
    const lane = lanes[number];
    if (!lane) return;
    setAt(number);
    choose(lane, time(event));
  };
  const choose = (lane: Lane, moment: number) => {
    const row = stretchAt(lane, moment, (to - from) / room);
    if (row) onPick({ lane, row, at: moment });
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
    const lane = lanes[at]!;
    const now =
      picked && picked.lane.utid === lane.utid ? lane.rows.indexOf(picked.row) : by > 0 ? -1 : lane.rows.length;
    const row = lane.rows[now + by];
    if (row) onPick({ lane, row, at: row.ts_ns + row.duration_ns / 2 });
  };
  const key = (event: KeyboardEvent) => {
    const middle = (from + to) / 2;
    const moves: Record<string, () => void> = {
      ArrowUp: () => setAt(Math.max(at - 1, 0)),
      ArrowDown: () => setAt(Math.min(at + 1, lanes.length - 1)),
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
  const lane = lanes[at];
  return (
    <>
      <div
        ref={box}
        class="lanes"
        tabIndex={0}
        role="application"
        aria-label="Lanes of threads. Up and down choose a thread, left and right a stretch, plus and minus zoom, Escape shows all."
        onMouseDown={down}
        onDblClick={() => onZoom(null)}
        onKeyDown={key}
      >
        <canvas
          ref={canvas}
          style={{ width: "100%", height: `${(lanes.length + 1) * ROW}px` }}
          class="lanes-canvas"
          aria-hidden="true"
        />
      </div>
      <p class="visually-hidden" aria-live="polite">
        {lane
          ? `${lane.name}${picked && picked.lane.utid === lane.utid ? `: ${picked.row.state}, ${duration(picked.row.duration_ns)}` : ""}`
          : ""}
      </p>
      <p class="quiet lanes-how">
        Drag to zoom, Ctrl and the wheel too; a double click shows all. A click tells of a stretch.
      </p>
    </>
  );
}
