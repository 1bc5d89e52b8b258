/** The head of a column in words. The name that SQL has stands below it: a condition needs that. */

import type { Column } from "../api/types.gen";
import { isInstant } from "./cell";
import { STATES } from "./states";

/** Names that words are made of are no words themselves. */
const SPELLED: Record<string, string> = {
  comm: "thread name",
  cpi: "CPI",
  cpu: "CPU",
  cpus: "CPUs",
  errno: "error",
  fd: "descriptor",
  fds: "descriptors",
  id: "number",
  io: "I/O",
  ip: "IP",
  ipc: "IPC",
  nr: "number",
  numa: "NUMA",
  pid: "process ID",
  ppid: "parent's ID",
  ret: "result",
  rx: "received",
  tcp: "TCP",
  tid: "thread ID",
  ts: "when",
  tx: "sent",
  upid: "process number",
  utid: "thread number",
  util: "in use",
};
/** These stand first: the mean wait. */
const STATISTICS: Record<string, string> = {
  avg: "mean",
  max: "largest",
  min: "smallest",
  p50: "median",
  stddev: "deviation of",
  total: "total",
};
/** Names that mean more than their parts; what the states of threads are called on every page. */
const WHOLE: Record<string, string> = {
  bucket_max: "bucket's end",
  bucket_min: "bucket's start",
  on_cpu: STATES[0].word,
  run_queue: STATES[1].word,
  disk_sleep: STATES[2].word,
  sleep: STATES[3].word,
};
const SUFFIX = /_(ns|bytes|ratio|count|per_s)$/;
/** What kind of figure stands in the cells, which have units of their own. */
const KINDS: Record<string, string> = { ns: "time", bytes: "size", ratio: "share", count: "count" };

const SAYS: Record<string, RegExp> = { time: /(^| )(duration|time|latency|age)$/ };

/** The words of a head, and the kind of its figures. */
export function heading({ name, unit }: Pick<Column, "name" | "unit">): { words: string; kind: string } {
  const bare = name.replace(SUFFIX, "").replace(SUFFIX, "");
  const parts = bare.split("_");
  const others = parts.filter((part) => !STATISTICS[part]);
  const known = WHOLE[others.join("_")];
  const words =
    WHOLE[bare] ??
    [
      ...parts.flatMap((part) => STATISTICS[part] ?? []),
      ...(known ? [known] : others.map((part) => SPELLED[part] ?? part)),
    ].join(" ");
  const kind = isInstant(name) ? "since the start" : unit ? (KINDS[unit] ?? unit) : "";
  // What a duration is, or pages, the words say already.
  return { words, kind: SAYS[kind]?.test(words) || words.endsWith(kind) ? "" : kind };
}
