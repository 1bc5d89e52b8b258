/** The tracks on one axis of time: drawn, pointed at, moved by mouse, fingers and keys. What is seen and chosen is the caller's. */

import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { store, useStore } from "../app/store";
import { colour, theme } from "../app/theme";
import { useWidth } from "../app/width";
import { STATES } from "../parts/states";
import { KINDS } from "./causes";
import { AXIS, type Data, inSight, LINE_COLOURS, PAINTED, type Picture as Drawing } from "./draw";
import { cellAt } from "./heat";
import { Labels } from "./labels";
import { type PieceOf, pieceAt, pieceOf, saidOf, type Shows } from "./lanes";
import { useMoving } from "./moving";
import type { Move } from "./order";
import { type Above, type Box, drawAbove, hasAny } from "./overlay";
import { CALL_COLOURS, PROCESS_COLOURS } from "./pieces";
import { type Drawn, drawAfter } from "./shift";
import { moved, type Span, zoomed } from "./span";
import { heatRow, heightOf, type LaneTrack, momentOf, partAt, type Pick, type Placed } from "./tracks";
import "./line.css";

const NAMES = 190;
const NAMES_NARROW = 112;
/** Titles are made in steps of so many pixels: a scroll that is shorter leaves them as they are. */
const STEP = 100;
const SHOWN: Record<Shows, string> = {
  states: "states",
  calls: "system calls",
  causes: "what it waited for",
  runs: "who ran",
};

export interface PictureProps {
  tracks: readonly Placed[];
  span: Span;
  /** The span changes from frame to frame. */
  isMoving?: boolean;
  /** ns of the whole recording. */
  end: number;
  /** When it began, in ns since 1970, where that is known. */
  startNs: number | null;
  part: Span | null;
  data: Data;
  gaps: Drawing["gaps"];
  /** The part of the recording that is known of each lane: a piece that reaches its edge goes on beyond it. */
  loaded: Drawing["loaded"];
  /** Something finer is awaited. */
  isAwaited: boolean;
  pick: Pick | null;
  picked: Box | null;
  arrow: Above["arrow"];
  path: readonly Box[];
  /** null: there is nothing to pin. */
  pinned: readonly string[] | null;
  /** It is as high as the window has room, and scrolls; else as high as its tracks. */
  isTall: boolean;
  onSpan: (span: Span | null) => void;
  onPart: (part: Span | null) => void;
  onPick: (pick: Pick | null) => void;
  onTurn: (id: string) => void;
  onPin: (id: string) => void;
  /** null: the tracks stay where they are. */
  onMove: ((move: Move) => void) | null;
  /** Tells which part of the tracks is in sight, when it changes. */
  onSeen?: (scroll: number, height: number) => void;
}

/** Where the mouse is on the picture. */
interface Place {
  x: number;
  y: number;
  isPressed: boolean;
}

export function Picture(props: PictureProps) {
  const { tracks, span, isMoving = false, end, part, data, gaps, loaded, picked, pick, isTall } = props;
  const [from, to] = span;
  const scroller = useRef<HTMLDivElement>(null);
  const width = useWidth(scroller);
  const [base, above] = [useRef<HTMLCanvasElement>(null), useRef<HTMLCanvasElement>(null)];
  const drawn = useRef<Drawn | null>(null);
  /** The size of the upper canvas while nothing is drawn on it. */
  const clear = useRef<string | null>(null);
  const { isDark } = useStore(theme);
  const [scroll, setScroll] = useState(0);
  const [view, setView] = useState(0);
  const [drag, setDrag] = useState<Span | null>(null);
  const [mouse, setMouse] = useState<Place | null>(null);
  /** The moment under the mouse, for what follows it without the picture. */
  const cursor = useMemo(() => store<number | null>(null), []);
  const [at, setAt] = useState<{ id: string | null; part: number }>({ id: null, part: 0 });
  const total = AXIS + heightOf(tracks);
  const height = isTall ? Math.min(view || total, total) : total;
  const names = width < 560 ? NAMES_NARROW : NAMES;
  const room = Math.max(width - names, 1);
  const paint = useMemo(
    () =>
      new Map(
        [
          ...PAINTED,
          ...LINE_COLOURS,
          ...PROCESS_COLOURS,
          ...CALL_COLOURS,
          ...[...STATES, ...KINDS].map((one) => one.colour),
        ].map((name) => [name, colour(name)]),
      ),
    [isDark],
  );
  useLayoutEffect(() => {
    const element = scroller.current!;
    const measure = () => setView(element.clientHeight);
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, []);
  // What a link picks is brought into sight.
  const pickedId = tracks.some(({ id }) => id === pick?.id) ? pick!.id : null;
  useLayoutEffect(() => {
    const track = tracks.find(({ id }) => id === pickedId);
    const element = scroller.current!;
    if (
      !track ||
      (track.top >= element.scrollTop && track.top + track.height < element.scrollTop + element.clientHeight)
    )
      return;
    element.scrollTop = Math.max(track.top - element.clientHeight / 3, 0);
  }, [pickedId]);
  useLayoutEffect(() => props.onSeen?.(scroll, height), [scroll, height]);
  useLayoutEffect(() => {
    const context = width ? sized(base.current!, width, height) : null;
    if (!context) return;
    const picture = { span, names, width, height, scroll, data, loaded, gaps, paint };
    drawn.current = drawAfter(context, tracks, picture, drawn.current, isMoving);
    base.current!.dataset.painted = `${from}..${to}`;
    base.current!.dataset.drawn = drawn.current.isWhole ? "whole" : "part";
  }, [tracks, from, to, isMoving, names, width, height, scroll, data, loaded, gaps, paint]);
  useLayoutEffect(() => {
    const row = pick && !picked ? (tracks.find(({ id }) => id === pick.id) ?? null) : null;
    const shown = { part: drag ?? part, cursor: point?.ns ?? null, picked, row, arrow: props.arrow, path: props.path };
    const size = hasAny(shown) ? null : `${width} ${height}`;
    // Nothing above the tracks, as in the frame before: to clear it again would have all of its pixels put together again.
    if (size !== null && size === clear.current) return;
    const context = width ? sized(above.current!, width, height) : null;
    if (!context) return;
    // On what the tracks show, which is up to two pixels beside the span while that moves.
    drawAbove(context, shown, { span: drawn.current?.picture.span ?? span, names, width, height, scroll, paint });
    clear.current = size;
  });

  const here = Math.max(
    tracks.findIndex(({ id }) => id === at.id),
    0,
  );
  const current = tracks[here];
  const shows = current?.kind === "lane" ? current.shows[Math.min(at.part, current.shows.length - 1)]! : null;
  const left = () => base.current!.getBoundingClientRect();
  const timeAt = (x: number) => from + (Math.min(Math.max(x - names, 0), room) / room) * (to - from);
  const time = (event: { clientX: number }) => timeAt(event.clientX - left().x);
  const under = (event: { clientY: number }) => underAt(event.clientY - left().y);
  const underAt = (y: number) => {
    if (y < AXIS) return null;
    const index = tracks.findIndex((track) => y - AXIS + scroll < track.top + track.height);
    return index < 0 ? null : { track: tracks[index]!, y: y - AXIS + scroll - tracks[index]!.top };
  };
  const pieceUnder = (track: Placed<LaneTrack>, y: number, ns: number) => {
    const { shows: one } = partAt(track, y);
    const piece = pieceAt<Shows>(data[one].get(track.of), ns, (to - from) / room);
    return piece && { shows: one, piece };
  };
  const told = (track: LaneTrack, one: Shows, piece: PieceOf[Shows]): string => {
    const known = loaded[one].get(track.of) ?? [0, end];
    const last = piece.ts_ns + piece.duration_ns;
    const isCut = (piece.ts_ns <= known[0] && known[0] > 0) || (last >= known[1] && known[1] < end);
    return saidOf(one, piece as never) + (isCut ? " of what is drawn: it goes on beyond" : "");
  };
  const look = (event: MouseEvent) => {
    const box = left();
    setMouse({ x: event.clientX - box.x, y: event.clientY - box.y, isPressed: event.buttons !== 0 });
  };
  // What is told is what is under the mouse now: the picture may move under it, and an answer may arrive.
  const pointed = ({ x, y, isPressed }: Place) => {
    if (x < names || y > height) return null;
    const ns = timeAt(x);
    const found = isPressed ? null : underAt(y);
    let text: string | null = null;
    if (found?.track.kind === "lane") {
      const hit = pieceUnder(found.track, found.y, ns);
      text = hit && told(found.track, hit.shows, hit.piece);
    } else if (found?.track.kind === "heat" && found.track.heat) {
      text = cellAt(found.track.heat, ns, heatRow(found.track, found.y))?.text ?? null;
    } else if (found?.track.kind === "marks") {
      const pixel = (to - from) / room;
      const near = found.track.marks.filter(
        (mark) => ns > mark.at - 4 * pixel && ns < (mark.until ?? mark.at) + 4 * pixel,
      );
      text =
        near
          .slice(0, 4)
          .map((mark) => mark.text)
          .join("\n") || null;
    }
    return { ns, x, y, text, title: found?.track.title ?? "" };
  };
  const point = mouse && pointed(mouse);
  const pointedNs = point?.ns ?? null;
  useLayoutEffect(() => cursor.set(pointedNs), [pointedNs]);
  const hit = (event: MouseEvent) => {
    const found = under(event);
    if (!found) return;
    const { track } = found;
    if (track.kind === "lane") {
      const piece = pieceUnder(track, found.y, time(event));
      setAt({ id: track.id, part: Math.max(piece ? track.shows.indexOf(piece.shows) : 0, 0) });
      props.onPick({ id: track.id, shows: piece?.shows ?? null, at: piece ? time(event) : null });
    } else {
      setAt({ id: track.id, part: 0 });
      const isProcess = track.kind === "group" && track.pid !== null;
      if (isProcess || track.id.startsWith("finding:")) props.onPick({ id: track.id, shows: null, at: null });
    }
  };
  const down = (event: MouseEvent) => {
    if (event.button !== 0 || (event.target as HTMLElement).closest("button")) return;
    if (event.clientX - left().x < names) return;
    const track = under(event)?.track;
    const moment = (of: MouseEvent) => {
      const y = of.clientY - left().y - AXIS + scroll - (track?.top ?? 0);
      return track ? momentOf(track, time(of), y) : time(of);
    };
    const begin = moment(event);
    const move = (now: MouseEvent) => setDrag([Math.min(begin, moment(now)), Math.max(begin, moment(now))]);
    const up = (last: MouseEvent) => {
      removeEventListener("mousemove", move);
      removeEventListener("mouseup", up);
      setDrag(null);
      const over = moment(last);
      const isDrag = Math.hypot(last.clientX - event.clientX, last.clientY - event.clientY) > 4;
      if (isDrag && over !== begin) props.onPart([Math.min(begin, over), Math.max(begin, over)]);
      else hit(event);
    };
    addEventListener("mousemove", move);
    addEventListener("mouseup", up);
    event.preventDefault();
    scroller.current!.focus({ preventScroll: true });
  };
  const scale = (by: number, about: number) => props.onSpan(zoomed(span, by, about, end));
  const pan = (by: number) => props.onSpan(moved(span, by, end));
  const wheel = (event: WheelEvent) => {
    if (event.ctrlKey) scale(event.deltaY > 0 ? 1.25 : 1 / 1.25, time(event));
    else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
      pan((event.deltaX || event.deltaY) / room);
    else return;
    event.preventDefault();
  };
  // Preact listens to wheels passively: then the page would scroll as well.
  const wheeled = useRef(wheel);
  wheeled.current = wheel;
  useLayoutEffect(() => {
    const element = scroller.current!;
    const listen = (event: WheelEvent) => wheeled.current(event);
    element.addEventListener("wheel", listen, { passive: false });
    return () => element.removeEventListener("wheel", listen);
  }, []);
  const touch = useFingers(time, span, room, (to) => props.onSpan(to), end);

  const bringUp = ({ top, height: own }: Placed) => {
    const element = scroller.current!;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (AXIS + top + own > element.scrollTop + element.clientHeight)
      element.scrollTop = AXIS + top + own - element.clientHeight;
  };
  const moving = useMoving(tracks, scroller, props.onMove, (track) => {
    setAt({ id: track.id, part: 0 });
    bringUp(track);
  });
  const walk = (by: number) => {
    const places = tracks.flatMap((track, index) =>
      track.kind === "lane"
        ? track.shows.map((_, number) => ({ track: index, part: number }))
        : [{ track: index, part: 0 }],
    );
    const now = places.findIndex((place) => place.track === here && place.part === at.part);
    const next = places[Math.min(Math.max(now + by, 0), places.length - 1)];
    if (!next) return;
    setAt({ id: tracks[next.track]!.id, part: next.part });
    bringUp(tracks[next.track]!);
  };
  const step = (by: number) => {
    if (current?.kind !== "lane" || !shows) return;
    const lane = data[shows].get(current.of);
    if (!lane) return;
    const { ts_ns, duration_ns } = lane.rows.numbers;
    const edge = (row: number) => ts_ns![row]! + duration_ns![row]!;
    const rows = Array.from({ length: lane.end - lane.first }, (_, row) => lane.first + row);
    const isHere = pick?.id === current.id && pick.shows === shows && picked;
    const now = isHere ? rows.find((row) => ts_ns![row] === picked.from && edge(row) === picked.to) : undefined;
    const row =
      now !== undefined
        ? now + by
        : by > 0
          ? rows.find((one) => edge(one) > from)
          : rows.findLast((one) => ts_ns![one]! < to);
    if (row === undefined || row < lane.first || row >= lane.end) return;
    const next = pieceOf<Shows>(lane, row);
    const middle = next.ts_ns + next.duration_ns / 2;
    props.onPick({ id: current.id, shows, at: middle });
    if (middle < from || middle > to) props.onSpan(moved(span, (middle - (from + to) / 2) / (to - from), end));
  };
  const about = () => point?.ns ?? (picked ? (picked.from + picked.to) / 2 : (from + to) / 2);
  const key = (event: KeyboardEvent) => {
    if (moving.key(event, current)) return;
    if (event.ctrlKey || event.metaKey || event.altKey || (event.target as HTMLElement).matches("input, select"))
      return;
    const isButton = (event.target as HTMLElement).matches("button");
    const moves: Record<string, () => void> = {
      ArrowUp: () => walk(-1),
      ArrowDown: () => walk(1),
      ArrowLeft: () => (event.shiftKey ? pan(-0.25) : step(-1)),
      ArrowRight: () => (event.shiftKey ? pan(0.25) : step(1)),
      w: () => scale(1 / 1.5, about()),
      s: () => scale(1.5, about()),
      a: () => pan(-0.2),
      d: () => pan(0.2),
      "+": () => scale(1 / 1.5, about()),
      "-": () => scale(1.5, about()),
      z: () => {
        const box = picked ? ([picked.from, picked.to] as const) : part;
        if (box)
          props.onSpan([Math.max(box[0] - (box[1] - box[0]) / 20, 0), Math.min(box[1] + (box[1] - box[0]) / 20, end)]);
      },
      p: () => current && current.kind !== "group" && props.onPin(current.id),
      Escape: () => (pick ? props.onPick(null) : part ? props.onPart(null) : props.onSpan(null)),
    };
    if (!isButton)
      moves[" "] = () => {
        if (current && (current.kind !== "group" || current.pid !== null))
          props.onPick({ id: current.id, shows: null, at: null });
      };
    if (!isButton)
      moves.Enter = () => {
        if (current?.kind === "group") props.onTurn(current.id);
        else if (current) props.onPick({ id: current.id, shows: null, at: null });
      };
    const move = moves[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!move) return;
    move();
    event.preventDefault();
  };
  const near = Math.floor(scroll / STEP) * STEP;
  // In a frame in which only the time moves the titles stay as they are, and nothing of them is looked at.
  const labels = useMemo(
    () => (
      <Labels
        tracks={inSight(tracks, near - 200, height + 400)}
        total={total}
        width={names}
        current={current?.id ?? null}
        pick={pick}
        cursor={cursor}
        startNs={props.startNs}
        pinned={props.pinned}
        onPick={props.onPick}
        onTurn={props.onTurn}
        onPin={props.onPin}
        moving={props.onMove && moving}
      />
    ),
    [tracks, near, height, names, current?.id, pick?.id, props.startNs, props.pinned?.join(), moving.edge],
  );
  const spoken = picked && current && shows && picked.track.id === current.id && picked.shows === shows;
  const piece = spoken
    ? pieceAt<Shows>(data[shows].get(current.kind === "lane" ? current.of : -1), pick!.at ?? picked.from, 1)
    : null;
  return (
    <>
      <div
        ref={scroller}
        class={isTall ? "line line-tall" : "line"}
        tabIndex={0}
        role="application"
        data-detail={props.isAwaited ? "awaited" : "whole"}
        aria-label="Tracks over time. Up and down choose a track, left and right a piece of it. W and S zoom, A and D move, Z shows what is chosen, P pins, Alt with up or down moves a track, Space chooses a track or a process, Enter opens, Escape goes back."
        onScroll={(event) => setScroll(event.currentTarget.scrollTop)}
        onMouseDown={down}
        onMouseMove={look}
        onMouseLeave={() => setMouse(null)}
        onDblClick={(event) => {
          if ((event.target as HTMLElement).closest("button")) return;
          if (part) props.onPart(null);
          else props.onSpan(null);
        }}
        onKeyDown={key}
        {...touch}
      >
        <div class="line-canvases" aria-hidden="true">
          <canvas ref={base} class="line-canvas" />
          <canvas ref={above} class="line-above" />
        </div>
        {labels}
        {point?.text && <Tip {...point} width={width} scroll={scroll} />}
      </div>
      <p class="visually-hidden" aria-live="polite">
        {current?.title}
        {moving.placeOf(current)}
        {shows && shows !== "states" ? `, ${SHOWN[shows]}` : ""}
        {current?.kind === "group" ? `, ${current.count} tracks, ${current.isOpen ? "open" : "folded"}` : ""}
        {piece && shows && current?.kind === "lane" ? `: ${told(current, shows, piece)}` : ""}
      </p>
    </>
  );
}

function sized(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D {
  const density = devicePixelRatio || 1;
  const [wide, high] = [Math.round(width * density), Math.round(height * density)];
  if (canvas.width !== wide || canvas.height !== high) {
    canvas.width = wide;
    canvas.height = high;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext("2d")!;
  context.setTransform(density, 0, 0, density, 0, 0);
  return context;
}

/** The moments under fingers stay under them: one moves the time, two also zoom it. Up and down scrolls, as everywhere. */
function useFingers(
  time: (event: { clientX: number }) => number,
  span: Span,
  room: number,
  onSpan: (span: Span) => void,
  end: number,
) {
  const fingers = useRef(new Map<number, number>());
  const isTouch = (event: PointerEvent) => event.pointerType === "touch";
  const lift = (event: PointerEvent) => void fingers.current.delete(event.pointerId);
  return {
    onPointerDown: (event: PointerEvent) =>
      void (isTouch(event) && fingers.current.set(event.pointerId, event.clientX)),
    onPointerUp: lift,
    onPointerCancel: lift,
    onPointerMove: (event: PointerEvent) => {
      const known = fingers.current;
      const was = known.get(event.pointerId);
      if (!isTouch(event) || was === undefined) return;
      const [other] = [...known].filter(([id]) => id !== event.pointerId).map(([, x]) => x);
      known.set(event.pointerId, event.clientX);
      if (other === undefined) onSpan(moved(span, (was - event.clientX) / room, end));
      else if (Math.abs(event.clientX - other) > 8)
        onSpan(
          zoomed(
            span,
            Math.abs(was - other) / Math.abs(event.clientX - other),
            // Each finger tells of itself alone: the other one stays where it is.
            time({ clientX: other }),
            end,
          ),
        );
    },
  };
}

interface TipProps {
  text: string | null;
  title: string;
  x: number;
  y: number;
  width: number;
  scroll: number;
}

function Tip({ text, title, x, y, width, scroll }: TipProps) {
  // A transform is no shift of the layout, and none is worked out where the pointer moves.
  const left = x > width / 2 ? `calc(${x - 12}px - 100%)` : `${x + 12}px`;
  return (
    <div class="line-tip" style={{ transform: `translate(${left}, ${y + scroll + 16}px)` }} aria-hidden="true">
      <b>{title}</b>
      <span>{text}</span>
    </div>
  );
}
