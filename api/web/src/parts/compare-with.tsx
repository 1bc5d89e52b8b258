/** From what is seen of one capture to the same of two: the other is A, this one B. */

import { useGet } from "../api/hooks";
import type { Page } from "../api/types.gen";
import { CAPTURE_PAGES } from "../app/pages";
import { filtersOf, go, sharedParams, useRoute } from "../app/route";
import { safe } from "./safe";

export interface CompareWithProps {
  captureId: string;
  page: string;
}

export function CompareWith({ captureId, page }: CompareWithProps) {
  const { params } = useRoute();
  const { data } = useGet<Page>("captures", { limit: 1000 });
  const others = data?.captures.filter((one) => one.state === "ready" && one.capture_id !== captureId) ?? [];
  const compared = CAPTURE_PAGES.find(({ id }) => id === page)?.compared;
  if (others.length === 0 || compared === null) return null;
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
          // The view that is open, on the page of views.
          view: params.get("view") ?? compared,
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
