/** The tracks of the time line, from above: pinned ones, the host's charts, CPUs, processes with their threads. */

import type { RowOf } from "../api/rows";
import type { Intervals } from "../api/types.gen";
import type { Drawn } from "../parts/charts";
import type { Heat } from "./heat";
import { type Shows, threadName } from "./lanes";
import { inOrder, type Movable, type Move } from "./order";
import type { Lines } from "./series";
import type { Span } from "./span";

interface Common {
  /** Names it in the address. */
  id: string;
  title: string;
  height: number;
  /** How far its title stands in. */
  depth: number;
}

export interface GroupTrack extends Common {
  kind: "group";
  isOpen: boolean;
  count: number;
  /** Those of a process. */
  pid: number | null;
}
export interface ChartTrack extends Common {
  kind: "chart";
  drawn: Drawn<Intervals>;
  lines: Lines;
  /** The part of the recording that the lines are about. */
  span: Span;
}
export interface LaneTrack extends Common {
  kind: "lane";
  /** A thread's number in the capture, or a CPU. */
  of: number;
  /** As filters name it: a tid or a CPU; null: nothing is known of it. */
  filter: string | null;
  /** What it shows, from above. */
  shows: readonly Shows[];
}
export interface MarksTrack extends Common {
  kind: "marks";
  marks: readonly Mark[];
}

export interface HeatTrack extends Common {
  kind: "heat";
  /** null: not asked for, or awaited. */
  heat: Heat | null;
  /** The part of the recording that it is about. */
  span: Span;
  /** Stretches, in ns, of which nothing was recorded. */
  gaps: readonly Span[];
  /** Its rows are fiftieths of a second. */
  isOffset: boolean;
}

/** A moment, in ns, and what is told of it. */
export interface Mark {
  at: number;
  /** Where it lasts. */
  until?: number;
  /** It is of the whole recording: no moment is known. */
  isWhole?: boolean;
  colour: string;
  text: string;
}

export type Track = GroupTrack | ChartTrack | LaneTrack | MarksTrack | HeatTrack;
/** A track in its place. */
export type Placed<T extends Track = Track> = T & Movable & { top: number };

export const HEIGHTS: Record<Shows, number> = { states: 17, runs: 22, calls: 9, causes: 9 };
export const CHART = 70;
/** Two pixels for each fiftieth of a second. */
export const HEAT = 106;
/** Targets of a finger are no smaller (WCAG 2.2, 2.5.8). */
const LEAST = 24;

/** Threads in one question. */
export const PORTION = 32;
/** How many threads are seen at first; those of further processes are folded. */
const UNFOLDED = 48;
const CPUS_UNFOLDED = 16;

export interface Thread {
  utid: number;
  tid: string;
  pid: number | null;
  comm: string | null;
}

/** Each thread once, in the view's order: the busiest first. */
export function threadsOf(rows: readonly RowOf<"thread_time">[]): Thread[] {
  const found = new Map<number, Thread>();
  for (const { utid, tid, pid, comm } of rows) {
    const number = Number(utid);
    if (!found.has(number))
      found.set(number, { utid: number, tid: String(tid), pid: pid === null ? null : Number(pid), comm });
  }
  return [...found.values()];
}

export interface Given {
  charts: readonly Omit<ChartTrack, keyof Common | "kind">[];
  marks: readonly { id: string; title: string; marks: readonly Mark[] }[];
  /** What each finding is about, over time. */
  findings: readonly { id: string; title: string; marks: readonly Mark[] }[];
  heats: readonly Omit<HeatTrack, "height" | "depth" | "kind">[];
  cpus: readonly number[];
  threads: readonly Thread[];
  /** The names of processes, by pid. */
  processes: ReadonlyMap<number, string>;
  /** The host's charts can be folded. */
  isGrouped: boolean;
  hasCalls: boolean;
  hasCauses: boolean;
  /** Part of the title of a track or of its group; others are left out. */
  find: string;
  /** Groups that are not as they were at first. */
  turned: readonly string[];
  pinned: readonly string[];
  /** null: nothing is moved. */
  moves: readonly Move[] | null;
}

/** Tracks that can be folded together; without a title they stand by themselves. */
interface Section {
  id: string;
  title: string | null;
  tracks: Track[];
  isOpen: boolean;
  pid?: number | null;
}

const PINNED = "pinned";

export function tracksOf(given: Given): Placed[] {
  const sections = sectionsOf(given);
  const all = sections.flatMap(({ tracks }) => tracks);
  const pinned = given.pinned.flatMap((id) => all.find((track) => track.id === id) ?? []);
  const found: (Track & Movable)[] = [];
  const moves = given.moves ?? [];
  const add = ({ id, title, tracks, isOpen, pid = null }: Section, wanted: string) => {
    const has = (name: string | null) => name?.toLowerCase().includes(wanted);
    const named = has(title) ? tracks : tracks.filter((track) => has(track.title));
    const inner = inOrder(named, (track) => track.id, moves);
    if (!inner.length) return;
    const isShown = Boolean(wanted) || given.turned.includes(id) !== isOpen;
    const group = { kind: "group", id, title: title ?? "", height: LEAST, depth: 0, isOpen: isShown, pid } as const;
    const isFixed = given.moves === null;
    if (title !== null) found.push({ ...group, count: inner.length, among: isFixed || id === PINNED ? null : "" });
    const among = isFixed ? null : title === null ? "" : id;
    if (title === null || isShown) found.push(...inner.map((track) => ({ ...track, among })));
  };
  const copies = pinned.map((track) => ({ ...track, id: `pin:${track.id}`, depth: 0 }));
  add({ id: PINNED, title: "Pinned", tracks: copies, isOpen: true }, "");
  // What stands alone is moved by its own name.
  const idOf = ({ id, title, tracks: inner }: Section) => (title === null ? (inner[0]?.id ?? id) : id);
  for (const section of inOrder(sections, idOf, moves)) add(section, given.find.trim().toLowerCase());
  return placed(found);
}

function sectionsOf(given: Given): Section[] {
  const charts = given.charts.map((chart): ChartTrack => {
    const { title } = chart.drawn.chart;
    return { ...chart, kind: "chart", id: chartId(chart.drawn), title, height: CHART, depth: 0 };
  });
  const marked = (all: Given["marks"]) =>
    all.map((one): MarksTrack => ({ ...one, kind: "marks", height: LEAST, depth: 0 }));
  const isFirst = ({ drawn }: ChartTrack) => drawn.chart.page === "timeline";
  const sections: Section[] = [
    { id: "findings", title: "Findings", tracks: marked(given.findings), isOpen: true },
    {
      id: "host",
      title: given.isGrouped ? "Host" : null,
      tracks: [...marked(given.marks.filter(({ marks }) => marks.length)), ...charts.filter(isFirst)],
      isOpen: true,
    },
    { id: "more", title: "More of the host", tracks: charts.filter((chart) => !isFirst(chart)), isOpen: false },
    {
      id: "heat",
      title: "Heat maps",
      tracks: given.heats.map((one): HeatTrack => ({ ...one, kind: "heat", height: HEAT, depth: 0 })),
      isOpen: false,
    },
    {
      id: "cpus",
      title: "CPUs",
      tracks: given.cpus.map((cpu) => lane(`cpu:${cpu}`, `CPU ${cpu}`, cpu, String(cpu), ["runs"], 1)),
      isOpen: given.cpus.length <= CPUS_UNFOLDED,
    },
  ];
  const shows: Shows[] = ["states"];
  if (given.hasCalls) shows.push("calls");
  if (given.hasCauses) shows.push("causes");
  let seen = 0;
  for (const threads of processesOf(given.threads)) {
    const main = threads.find(({ pid, tid }) => String(pid) === tid) ?? threads[0]!;
    const depth = threads.length > 1 ? 1 : 0;
    sections.push({
      id: `p:${main.pid}`,
      title: depth ? threadName(given.processes.get(main.pid ?? -1) ?? main.comm, main.pid ?? main.tid) : null,
      tracks: threads.map(({ utid, comm, tid }) => lane(`t:${utid}`, threadName(comm, tid), utid, tid, shows, depth)),
      isOpen: seen < UNFOLDED,
      pid: main.pid,
    });
    seen += threads.length;
  }
  return sections;
}

/** The threads of each process; of what no process is known, each stands alone. */
function processesOf(threads: readonly Thread[]): Thread[][] {
  const found = new Map<string, Thread[]>();
  for (const thread of threads) {
    const key = thread.pid === null ? `thread ${thread.utid}` : String(thread.pid);
    const known = found.get(key);
    if (known) known.push(thread);
    else found.set(key, [thread]);
  }
  return [...found.values()];
}

export function placed(tracks: readonly (Track & Movable)[]): Placed[] {
  let top = 0;
  return tracks.map((track) => {
    const here = { ...track, top };
    top += track.height;
    return here;
  });
}

export const heightOf = (tracks: readonly Placed[]): number => {
  const last = tracks.at(-1);
  return last ? last.top + last.height : 0;
};

export const chartId = ({ view, chart }: Drawn<Intervals>) => `chart:${view.name}.${chart.page}.${chart.place}`;

function lane(
  id: string,
  title: string,
  of: number,
  filter: string | null,
  shows: readonly Shows[],
  depth: number,
): LaneTrack {
  const height = Math.max(
    shows.reduce((sum, one) => sum + HEIGHTS[one], 2),
    LEAST,
  );
  return { kind: "lane", id, title, of, filter, shows, height, depth };
}

/** Which part of a lane is at a height below its top, and where that part begins. */
export function partAt({ shows }: LaneTrack, y: number): { shows: Shows; top: number } {
  let top = 1;
  for (const one of shows) {
    if (y < top + HEIGHTS[one]) return { shows: one, top };
    top += HEIGHTS[one];
  }
  return { shows: shows.at(-1)!, top: top - HEIGHTS[shows.at(-1)!] };
}

/** The row of a heat map at a height below its track's top; from below. */
export function heatRow({ heat }: HeatTrack, y: number): number {
  const rows = heat?.rows.length ?? 0;
  return Math.min(Math.max(Math.floor(((HEAT - 3 - y) / (HEAT - 6)) * rows), 0), Math.max(rows - 1, 0));
}

/** The moment that is meant: where a column is a second, the row says when in it. */
export function momentOf(track: Track, at: number, y: number): number {
  if (track.kind !== "heat" || !track.isOffset || !track.heat) return at;
  return Math.floor(at / 1e9) * 1e9 + track.heat.rows[heatRow(track, y)]!;
}

/** The track as it stands where it is not pinned. */
export const unpinned = (id: string) => id.replace(/^pin:/, "");

/** What is chosen: a track, or a piece of it at a moment. In the address: `t:17.states@1234567`. */
export interface Pick {
  id: string;
  shows: Shows | null;
  /** ns. */
  at: number | null;
}

export function pickOf(text: string | null): Pick | null {
  const match = /^([\w:.]+?)(?:\.(states|calls|causes|runs)@(\d+))?$/.exec(text ?? "");
  if (!match) return null;
  return {
    id: match[1]!,
    shows: (match[2] as Shows | undefined) ?? null,
    at: match[3] === undefined ? null : Number(match[3]),
  };
}

export function pickText(pick: Pick | null): string | null {
  return (
    pick && (pick.shows === null || pick.at === null ? pick.id : `${pick.id}.${pick.shows}@${Math.round(pick.at)}`)
  );
}
