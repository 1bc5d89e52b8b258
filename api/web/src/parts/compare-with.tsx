/** From what is seen of one capture to the same of two: the other is A, this one B. */

import { useGet } from "../api/hooks";
import type { CapturePage } from "../api/types";
import { filtersOf, go, sharedParams, useRoute } from "../app/route";
import { safe } from "./safe";

/** The view whose differences are those of a page; other pages lead to all of them, ranked. */
const VIEWS: Record<string, string> = {
  lanes: "thread_time",
  threads: "thread_time",
  histograms: "run_queue_latency",
  syscalls: "syscall_summary",
};

export interface CompareWithProps {
  captureId: string;
  page: string;
  /** The view that is open, on the page of views. */
  view: string | null;
}

export function CompareWith({ captureId, page, view }: CompareWithProps) {
  const { params } = useRoute();
  const { data } = useGet<CapturePage>("captures", { limit: 1000 });
  const others = data?.captures.filter((one) => one.state === "ready" && one.capture_id !== captureId) ?? [];
  // Flame graphs are compared where they stand.
  if (others.length === 0 || page === "flame" || page === "offcpu") return null;
  return (
    <select
      class="compare-with"
      aria-label="Compare this with"
      value=""
      onChange={(event) =>
        go("diff", {
          a: event.currentTarget.value,
          b: captureId,
          b_window: params.get("window"),
          ...sharedParams(filtersOf(params)),
          view: page === "views" ? view : VIEWS[page],
        })
      }
    >
      <option value="">Compare with</option>
      {others.map((one) => (
        <option key={one.capture_id} value={one.capture_id}>
          {safe([one.name, one.ticket, one.host].filter(Boolean).join(" · "))}
        </option>
      ))}
    </select>
  );
}
