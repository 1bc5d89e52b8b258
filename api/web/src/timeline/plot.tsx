/** One chart of the timeline: lines over the seconds of a recording; dragging over it chooses a part. */

import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { useStore } from "../app/store";
import { timeOfDay, zone } from "../app/clock";
import { colour, theme } from "../app/theme";
import { written } from "../parts/cell";
import { figure } from "../parts/units";
import { gapsOf, hatch } from "../parts/hatch";
import { type Lines, pointAt } from "./series";

const COLOURS = ["--accent", "--note", "--good", "--warning", "--critical", "--state-other"];
const HEIGHT = 84;
const AXIS_HEIGHT = 26;
/** Steps of an axis of bytes: 1, 2, 4, … */
const POWERS = Array.from({ length: 50 }, (_, power) => 2 ** power);
/** What an axis reaches at least: an idle network is no hill. */
const least = (unit: string | null) => (unit?.startsWith("bytes") ? 1024 : 1);
const spelled = (unit: string | null, value: number) => written(value, { name: "", unit });

/** The time under the cursor: since the beginning of the recording, and of day. */
function moment(left: number, self: uPlot, startNs: number | null): string {
  if (left < 0) return "";
  const at = self.posToVal(left, "x");
  return startNs === null ? `${at.toFixed(3)} s` : `${at.toFixed(3)} s, ${timeOfDay(startNs + at * 1e9)} ${zone.get()}`;
}

export interface PlotProps {
  title: string;
  unit: string | null;
  lines: Lines;
  /** Seconds of the whole recording. */
  end: number;
  /** When it began, in ns since 1970, where that is known. */
  startNs: number | null;
  /** The part that is chosen, in seconds. */
  part: [number, number] | null;
  onPart: (part: [number, number] | null) => void;
  /** Moments, in seconds, and the colours that they are marked with. */
  marks: { at: number; colour: string }[];
  hasAxis: boolean;
}

export function Plot({ title, unit, lines, end, startNs, part, onPart, marks, hasAxis }: PlotProps) {
  const mount = useRef<HTMLDivElement>(null);
  const { isDark } = useStore(theme);
  // What the chart's own listeners see: the part of now, not of when it was made.
  const now = useRef({ part, onPart });
  now.current = { part, onPart };
  const chart = useRef<uPlot | null>(null);
  // Before the first picture: a chart that comes after it would move what is below.
  useLayoutEffect(() => {
    const element = mount.current!;
    const [ink, line, wash, edge, none] = ["--ink-2", "--line", "--accent-wash", "--accent", "--hatch"].map(colour);
    const gaps = gapsOf(lines.known, end);
    const height = () => HEIGHT + (hasAxis ? AXIS_HEIGHT : 0);
    const axis: uPlot.Axis = {
      stroke: ink!,
      grid: { stroke: line!, width: 1 },
      ticks: { stroke: line!, width: 1, size: 4 },
      font: "11px system-ui, sans-serif",
    };
    const made = new uPlot(
      {
        width: element.clientWidth,
        height: height(),
        padding: [6, 10, hasAxis ? 0 : 7, 0],
        cursor: {
          sync: { key: "timeline" },
          drag: { x: true, y: false, setScale: false },
          points: { size: 5 },
          // Where a line is not known there is no figure: not the next one that is.
          dataIdx: (_self, series, nearest, time) => (series ? pointAt(lines, series - 1, nearest, time) : nearest),
        },
        legend: { live: true },
        scales: {
          x: { time: false, range: () => [0, end] },
          y: { range: (_self, low, high) => [Math.min(0, low ?? 0), Math.max(least(unit), high ?? 0)] },
        },
        axes: [
          {
            ...axis,
            size: hasAxis ? AXIS_HEIGHT : 0,
            ticks: { ...axis.ticks, show: hasAxis },
            values: (_self, splits) => splits.map((split) => (hasAxis ? `${figure(split)} s` : "")),
          },
          {
            ...axis,
            size: 68,
            space: 22,
            ...(unit?.startsWith("bytes") ? { incrs: POWERS } : {}),
            values: (_self, splits) =>
              splits.map((split) => (unit === "ratio" ? `${Math.round(100 * split)} %` : spelled(unit, split))),
          },
        ],
        series: [
          { label: "", value: (self) => moment(self.cursor.left ?? -1, self, startNs) },
          ...lines.lines.map(({ label }, index) => ({
            label,
            stroke: colour(COLOURS[index % COLOURS.length]!),
            width: 1.4,
            points: { show: false },
            value: (_self: uPlot, value: number | null) => (value === null ? "–" : spelled(unit, value)),
          })),
        ],
        hooks: {
          // The time under the cursor is the cursor's, not that of the nearest figure.
          setCursor: [(self) => self.setLegend({}, false)],
          drawClear: [
            (self) => {
              for (const gap of gaps) {
                const [left, right] = gap.map((at) => self.valToPos(at, "x", true)) as [number, number];
                hatch(self.ctx, [left, self.bbox.top, right - left, self.bbox.height], none!, devicePixelRatio || 1);
              }
              const chosen = now.current.part;
              if (!chosen) return;
              const [left, right] = chosen.map((at) => self.valToPos(at, "x", true)) as [number, number];
              self.ctx.fillStyle = wash!;
              self.ctx.fillRect(left, self.bbox.top, Math.max(right - left, 1), self.bbox.height);
              self.ctx.fillStyle = edge!;
              for (const x of [left, right]) self.ctx.fillRect(x - 0.5, self.bbox.top, 1, self.bbox.height);
            },
          ],
          draw: [
            (self) => {
              const unit = devicePixelRatio || 1;
              for (const { at, colour: name } of marks) {
                self.ctx.fillStyle = colour(name);
                self.ctx.fillRect(self.valToPos(at, "x", true) - unit, self.bbox.top, 2 * unit, 8 * unit);
              }
            },
          ],
          setSelect: [
            (self) => {
              const { left, width } = self.select;
              if (width < 3) return;
              const from = Math.max(0, self.posToVal(left, "x"));
              const to = Math.min(end, self.posToVal(left + width, "x"));
              self.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
              now.current.onPart([from, to]);
            },
          ],
        },
      },
      [lines.x, ...lines.lines.map(({ y }) => y)],
      element,
    );
    made.over.addEventListener("dblclick", () => now.current.onPart(null));
    chart.current = made;
    const observer = new ResizeObserver(() => {
      if (element.clientWidth !== made.width) made.setSize({ width: element.clientWidth, height: height() });
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
    };
  }, [lines, end, startNs, unit, marks, hasAxis, isDark]);
  useEffect(() => chart.current?.redraw(false), [part?.[0], part?.[1]]);
  return (
    <figure class="timeline-chart">
      <figcaption>{title}</figcaption>
      <div ref={mount} class="timeline-plot" role="img" aria-label={`${title} over the time of the recording`} />
    </figure>
  );
}
