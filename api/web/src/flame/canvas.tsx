/** A flame graph that is looked at: wheel and keys move, a click zooms, and the focused frame is said in words. */

import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { useStore } from "../app/store";
import { colour, theme } from "../app/theme";
import { useWidth } from "../app/width";
import { ratio } from "../parts/units";
import { amount, at, Colours, draw, type Port, ROW, rows, type Scene, top } from "./draw";
import type { FlameTree } from "./tree";

export interface FlameCanvasProps {
  tree: FlameTree;
  unit: string;
  /** In what `self` was counted: "itself" is each frame. */
  selfIn?: string;
  /** When a frame begins, where the width is time. */
  when?: (node: number) => string;
  /** What the picture shows, for those who do not see it. */
  label: string;
  zoom: number;
  onZoom: (node: number) => void;
  /** Told when another frame has the focus. */
  onFocus?: ((node: number) => void) | undefined;
  hits?: Uint8Array | null;
  isUp?: boolean;
  /** Over time: where nothing was recorded. */
  gaps?: Scene["gaps"];
  /** CSS pixels; what does not fit is scrolled. */
  heightMax?: number;
}

/** What is said of a frame. */
export function told(tree: FlameTree, node: number, unit: string, selfIn: string, zoom: number): string {
  let text = `${tree.label(node)}: ${amount(tree.weight[node]!, unit)}, ${shares(tree, node, zoom).join(", ")}`;
  if (tree.self[node]) text += `; in ${selfIn} ${amount(tree.self[node]!, unit)}`;
  const where = tree.where(node);
  if (where) text += `; from ${where}`;
  if (tree.base) text += `; before ${amount(tree.base[node]!, unit)}, ${ratio(tree.baseShare(node))}`;
  return text;
}

/** The share that a frame has of all, and of the frame that fills the width. */
function shares(tree: FlameTree, node: number, zoom: number): string[] {
  const found = [`${ratio(tree.share(node))} of all`];
  if (zoom > 0 && node !== zoom && tree.weight[zoom] && tree.isWithin(node, zoom)) {
    found.push(`${ratio(tree.weight[node]! / tree.weight[zoom]!)} of ${tree.label(zoom)}`);
  }
  return found;
}

export function FlameCanvas(props: FlameCanvasProps) {
  const { tree, unit, zoom, hits = null, isUp = false, heightMax = 620, selfIn = "itself" } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const { isDark } = useStore(theme);
  const [hover, setHover] = useState<{ node: number; x: number; y: number } | null>(null);
  const [focused, setFocused] = useState({ tree, node: -1 });
  const focus = useMemo(() => tree.carried(focused.node, focused.tree), [tree, focused]);
  const setFocus = (node: number) => setFocused({ tree, node });
  const colours = useMemo(
    () =>
      new Colours(tree, {
        isDark,
        ink: colour("--ink"),
        paper: colour("--paper"),
        hatch: colour("--hatch"),
        hit: isDark ? "#a3349f" : "#f0a3ee",
      }),
    [tree, isDark],
  );
  const whole = useMemo(() => Math.max(rows(tree, zoom), 1) * ROW, [tree, zoom]);
  const height = Math.min(whole, heightMax);
  const scene: Scene = { tree, zoom, hover: hover?.node ?? -1, focus, hits, isUp, gaps: props.gaps };
  const port = (): Port => ({ width, height, whole, scroll: box.current?.scrollTop ?? 0 });

  useLayoutEffect(() => {
    if (box.current) box.current.scrollTop = isUp ? whole : 0;
  }, [tree, whole, isUp]);

  const paint = () => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (!element || !context || !width) return;
    const density = devicePixelRatio || 1;
    const size = [Math.round(width * density), Math.round(height * density)] as const;
    if (element.width !== size[0] || element.height !== size[1]) [element.width, element.height] = size;
    context.setTransform(density, 0, 0, density, 0, 0);
    draw(context, scene, port(), colours);
    // For a benchmark that measures how long a reader waits.
    if (tree.size > 1 && !element.dataset.painted) element.dataset.painted = String(Math.round(performance.now()));
  };
  useLayoutEffect(paint);

  const choose = (node: number) => {
    setFocus(node);
    props.onZoom(node);
    props.onFocus?.(node);
  };
  const go = (node: number | undefined) => {
    if (node === undefined || node < 0 || node >= tree.size) return;
    setFocus(node);
    props.onFocus?.(node);
    const element = box.current!;
    const y = top({ ...port(), scroll: 0 }, isUp, tree.depth[node]!);
    if (y < element.scrollTop) element.scrollTop = y;
    else if (y + ROW > element.scrollTop + height) element.scrollTop = y + ROW - height;
  };
  const beside = (node: number, step: number) => {
    if (node <= 0) return undefined;
    const row = tree.callees(tree.parent[node]!);
    return row[row.indexOf(node) + step];
  };
  const key = (event: KeyboardEvent) => {
    const now = focus >= 0 ? focus : zoom;
    const deeper = () => {
      const below = tree.callees(now).sort((a, b) => tree.weight[b]! - tree.weight[a]!);
      go(below[0]);
    };
    const moves: Record<string, () => void> = {
      ArrowUp: () => (isUp ? deeper() : go(tree.parent[now])),
      ArrowDown: () => (isUp ? go(tree.parent[now]) : deeper()),
      ArrowLeft: () => go(beside(now, -1)),
      ArrowRight: () => go(beside(now, 1)),
      Home: () => go(0),
      Enter: () => choose(now),
      " ": () => choose(now),
      Escape: () => props.onZoom(0),
    };
    const move = moves[event.key];
    if (!move || event.ctrlKey || event.metaKey || event.altKey) return;
    move();
    event.preventDefault();
  };
  const under = (event: MouseEvent) => {
    const area = canvas.current!.getBoundingClientRect();
    const [x, y] = [event.clientX - area.left, event.clientY - area.top];
    return { node: at(scene, port(), x, y), x, y };
  };
  const spoken = focus >= 0 ? focus : zoom;
  const spot = hover && hover.node >= 0 ? hover : null;
  return (
    <div class="flame">
      <div
        ref={box}
        class="flame-box"
        style={{ height: `${height}px` }}
        tabIndex={0}
        role="application"
        aria-label={`${props.label}. Arrows go from frame to frame, Enter zooms, Escape shows all.`}
        onKeyDown={key}
        onScroll={paint}
        onFocus={() => focus < 0 && setFocus(zoom)}
        onMouseMove={(event) => setHover(under(event))}
        onMouseLeave={() => setHover(null)}
        onClick={(event) => {
          const { node } = under(event);
          if (node >= 0) choose(node);
        }}
      >
        <canvas ref={canvas} class="flame-canvas" style={{ width: "100%", height: `${height}px` }} aria-hidden="true" />
        <div style={{ height: `${whole - height}px` }} />
      </div>
      {spot && <Tip {...{ tree, unit, selfIn, zoom, width }} {...spot} when={props.when?.(spot.node)} />}
      <p class="flame-told" aria-live="polite">
        {tree.size ? told(tree, spoken, unit, selfIn, zoom) : ""}
        {tree.size && props.when ? `; begins at ${props.when(spoken)}` : ""}
      </p>
    </div>
  );
}

function Tip({
  tree,
  unit,
  selfIn,
  zoom,
  node,
  x,
  y,
  width,
  when,
}: {
  tree: FlameTree;
  unit: string;
  selfIn: string;
  zoom: number;
  node: number;
  x: number;
  y: number;
  width: number;
  when: string | undefined;
}) {
  const style = x > width / 2 ? { right: `${width - x + 12}px` } : { left: `${x + 12}px` };
  return (
    <div class="flame-tip" style={{ ...style, top: `${y + 16}px` }} aria-hidden="true">
      <b>{tree.label(node)}</b>
      <span>
        {amount(tree.weight[node]!, unit)} · {shares(tree, node, zoom).join(" · ")}
        {tree.self[node] ? ` · in ${selfIn} ${amount(tree.self[node]!, unit)}` : ""}
      </span>
      {when && <span>begins at {when}</span>}
      {tree.where(node) && <span>{tree.where(node)}</span>}
      {tree.base && (
        <span>
          before {amount(tree.base[node]!, unit)} · {ratio(tree.baseShare(node))}
        </span>
      )}
    </div>
  );
}
