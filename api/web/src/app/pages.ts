/** The pages of a capture. A page is a module whose default export takes CaptureProps; its code is fetched when it is opened. */

import type { Capture } from "../api/types";
import type { Load } from "./lazy";
import type { Filters } from "./route";

export interface CaptureProps {
  captureId: string;
  capture: Capture;
  /** The part of the capture that is looked at; pass it on with every query. */
  filters: Filters;
  /** Narrows or widens it; the address changes, and everything is asked again. */
  onFilters: (change: Partial<Filters>) => void;
}

export interface CapturePage {
  /** In the address: `#/c/<capture_id>/<id>`. */
  id: string;
  title: string;
  load: Load<CaptureProps>;
}

export const CAPTURE_PAGES: CapturePage[] = [
  { id: "overview", title: "Overview", load: () => import("../pages/overview") },
  { id: "flame", title: "Flame graph", load: () => import("../pages/flame") },
  { id: "offcpu", title: "Off-CPU", load: () => import("../pages/offcpu") },
  { id: "lanes", title: "Lanes", load: () => import("../pages/lanes") },
  { id: "histograms", title: "Histograms", load: () => import("../pages/histograms") },
  { id: "threads", title: "Threads", load: () => import("../pages/threads") },
  { id: "syscalls", title: "System calls", load: () => import("../pages/syscalls") },
  { id: "views", title: "Views", load: () => import("../pages/views") },
  { id: "report", title: "Report", load: () => import("../pages/report") },
];

/** Pictures on the overview, above the findings' tables, in this order. */
export const OVERVIEW_PICTURES: { id: string; title: string; load: Load<CaptureProps> }[] = [
  { id: "timeline", title: "Time line", load: () => import("../timeline/timeline") },
];
