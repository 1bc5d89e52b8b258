/** The tracks of the time line, from above: pinned ones, the host's charts, CPUs, processes with their threads. */

import type { RowOf } from "../api/rows";
import type { Intervals } from "../api/types.gen";
import type { Drawn } from "../parts/charts";
import { safe } from "../parts/safe";
import { type Shows, threadName } from "./lanes";
import type { Lines } from "./series";

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

/** A moment, in ns, and what is told of it. */
export interface Mark {
  at: number;
  /** Where it lasts. */
  until?: number;
  colour: string;
  text: string;
}

export type Track = GroupTrack | ChartTrack | LaneTrack | MarksTrack;
/** A track in its place. */
export type Placed<T extends Track = Track> = T & { top: number };

export const HEIGHTS: Record<Shows, number> = { states: 17, runs: 17, calls: 9, causes: 9 };
export const CHART = 62;
const GROUP = 22;
const MARKS = 15;

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
  cpus: readonly number[];
  threads: readonly Thread[];
  /** The host's charts can be folded. */
  isGrouped: boolean;
  hasCalls: boolean;
  hasCauses: boolean;
  /** Part of the title of a track or of its group; others are left out. */
  find: string;
  /** Groups that are not as they were at first. */
  turned: readonly string[];
  pinned: readonly string[];
}

export function tracksOf(given: Given): Placed[] {
  const tracks: Track[] = [];
  const wanted = given.find.trim().toLowerCase();
  const isFound = (...names: string[]) => !wanted || names.some((name) => name.toLowerCase().includes(wanted));
  const isOpen = (id: string, atFirst: boolean) => Boolean(wanted) || given.turned.includes(id) !== atFirst;
  const group = (id: string, title: string, inner: Track[], atFirst: boolean, pid: number | null = null) => {
    if (!inner.length) return;
    const open = isOpen(id, atFirst);
    tracks.push({ kind: "group", id, title, height: GROUP, depth: 0, isOpen: open, count: inner.length, pid });
    if (open) tracks.push(...inner);
  };
  const charts = given.charts
    .filter(({ drawn }) => isFound(drawn.chart.title))
    .map((chart): ChartTrack => {
      const { title } = chart.drawn.chart;
      return { ...chart, kind: "chart", id: chartId(chart.drawn), title, height: CHART, depth: 0 };
    });
  const marks = given.marks
    .filter(({ title, marks: all }) => all.length && isFound(title))
    .map((one): MarksTrack => ({ ...one, kind: "marks", height: MARKS, depth: 0 }));
  const isMore = ({ drawn }: ChartTrack) => drawn.chart.page !== "timeline";
  const host: Track[] = [...marks, ...charts.filter((chart) => !isMore(chart))];
  const more = charts.filter(isMore);
  const cpus = given.cpus
    .filter((cpu) => isFound(`CPU ${cpu}`))
    .map((cpu): LaneTrack => lane(`cpu:${cpu}`, `CPU ${cpu}`, cpu, String(cpu), ["runs"], 1));
  const shows: Shows[] = [
    "states",
    ...(given.hasCalls ? (["calls"] as const) : []),
    ...(given.hasCauses ? (["causes"] as const) : []),
  ];
  const processes = new Map<string, Thread[]>();
  for (const thread of given.threads) {
    const key = thread.pid === null ? `utid ${thread.utid}` : String(thread.pid);
    const known = processes.get(key);
    if (known) known.push(thread);
    else processes.set(key, [thread]);
  }
  const every: Track[] = [...host, ...more, ...cpus];
  const parts = [...processes.values()].map((threads) => {
    const main = threads.find(({ pid, tid }) => String(pid) === tid) ?? threads[0]!;
    const title = `${safe(main.comm ?? "?")} ${main.pid ?? main.tid}`;
    const inner = threads
      .filter(({ comm, tid }) => isFound(title, threadName(comm, tid)))
      .map(({ utid, comm, tid }) =>
        lane(`t:${utid}`, threadName(comm, tid), utid, tid, shows, threads.length > 1 ? 1 : 0),
      );
    every.push(...inner);
    return { title, inner, pid: main.pid, isOne: threads.length === 1 };
  });
  const pinned = given.pinned.flatMap((id) => every.find((track) => track.id === id) ?? []);
  if (pinned.length)
    group(
      "pinned",
      "Pinned",
      pinned.map((track) => ({ ...track, id: `pin:${track.id}`, depth: 0 })),
      true,
    );
  if (given.isGrouped) {
    group("host", "Host", host, true);
    group("more", "More of the host", more, false);
  } else tracks.push(...host);
  group("cpus", "CPUs", cpus, given.cpus.length <= CPUS_UNFOLDED);
  let seen = 0;
  for (const { title, inner, pid, isOne } of parts) {
    if (isOne) tracks.push(...inner);
    else group(`p:${pid}`, title, inner, seen < UNFOLDED, pid);
    seen += inner.length;
  }
  return placed(tracks);
}

export function placed(tracks: readonly Track[]): Placed[] {
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
  const height = shows.reduce((sum, one) => sum + HEIGHTS[one], 2);
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
