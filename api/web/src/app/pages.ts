/** All pages, and where there are links to them. A page is a module with a default export; its code is fetched when it is opened. */

import type { ViewName } from "../api/rows";
import type { Account, Capture } from "../api/types.gen";
import type { Load } from "./lazy";
import type { Filters } from "./route";

export interface CaptureProps {
  captureId: string;
  capture: Capture;
  /** The part of the capture that is looked at; pass it on with every query. */
  filters: Filters;
  /** Narrows or widens it; the address changes, and everything is asked again. */
  onFilters: (change: Partial<Filters>) => void;
  /** What is known of the capture itself was changed. */
  onChanged: () => void;
}

export interface CapturePage {
  /** In the address: `#/c/<capture_id>/<id>`. */
  id: string;
  title: string;
  load: Load<CaptureProps>;
  /** Whether a thread's row leads to it. */
  isOfThread?: boolean;
  /** The view whose differences from another capture are those of the page. Default: all, ranked. null: it has them itself. */
  compared?: ViewName | null;
}

/** Pages beside those of a capture. The first one is there at once. */
export const TOP_PAGES: { id: string; title: string; role: Account["role"]; load?: Load<object> }[] = [
  { id: "captures", title: "Captures", role: "viewer" },
  { id: "diff", title: "Compare", role: "viewer", load: () => import("../pages/diff") },
  { id: "history", title: "History", role: "viewer", load: () => import("../pages/history") },
  { id: "sql", title: "SQL", role: "viewer", load: () => import("../pages/sql") },
  { id: "admin", title: "Admin", role: "admin", load: () => import("../pages/admin") },
];

/** The pages of a capture, which take CaptureProps. */
export const CAPTURE_PAGES: CapturePage[] = [
  { id: "overview", title: "Overview", load: () => import("../pages/overview") },
  {
    id: "timeline",
    title: "Time line",
    load: () => import("../pages/timeline"),
    isOfThread: true,
    compared: "thread_time",
  },
  { id: "flame", title: "Flame graph", load: () => import("../pages/flame"), isOfThread: true, compared: null },
  { id: "offcpu", title: "Off-CPU", load: () => import("../pages/offcpu"), isOfThread: true, compared: null },
  {
    id: "histograms",
    title: "Histograms",
    load: () => import("../pages/histograms"),
    compared: "run_queue_latency",
  },
  { id: "threads", title: "Threads", load: () => import("../pages/threads"), compared: "thread_time" },
  {
    id: "syscalls",
    title: "System calls",
    load: () => import("../pages/syscalls"),
    isOfThread: true,
    compared: "syscall_summary",
  },
  { id: "views", title: "Views", load: () => import("../pages/views") },
  { id: "report", title: "Report", load: () => import("../pages/report") },
];

/** Pages of a capture that were: links to them lead to what took their place. */
export const MOVED: Record<string, string> = { lanes: "timeline" };

/** Pictures on the overview, above the findings' tables, in this order. */
export const OVERVIEW_PICTURES: { id: string; title: string; load: Load<CaptureProps> }[] = [
  { id: "timeline", title: "Time line", load: () => import("../line/overview") },
];
