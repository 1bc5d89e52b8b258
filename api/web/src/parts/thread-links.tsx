/** A thread: its figures, and where to look next. */

import type { RowOf, ViewName } from "../api/rows";
import type { Column } from "../api/types.gen";
import { CAPTURE_PAGES } from "../app/pages";
import { filterParams, type Filters, href } from "../app/route";
import { RowDetail } from "./row-detail";

interface ThreadLinksProps {
  captureId: string;
  row: RowOf<"thread_time">;
  columns: readonly Column[];
  filters: Filters;
  onClose: () => void;
  onFilters: (change: Partial<Filters>) => void;
}

export function ThreadLinks({ captureId, row, columns, filters, onClose, onFilters }: ThreadLinksProps) {
  const only = filterParams({ ...filters, thread: [String(row.tid)] });
  const pages = CAPTURE_PAGES.filter(({ isOfThread }) => isOfThread);
  return (
    <RowDetail
      title={`${row.comm ?? "?"} (${row.tid})`}
      columns={columns}
      row={row}
      onClose={onClose}
      filters={filters}
      onFilters={onFilters}
    >
      <p class="row">
        <span class="quiet">This thread alone:</span>
        {pages.map(({ id, title }) => (
          <a class="button" key={id} href={href(["c", captureId, id], only)}>
            {title}
          </a>
        ))}
        <a
          class="button"
          href={href(["c", captureId, "views"], { ...only, view: "off_cpu_by_thread" satisfies ViewName })}
        >
          Sleeps by state
        </a>
        <a
          class="button"
          href={href(["c", captureId, "views"], { ...only, view: "run_queue_wait" satisfies ViewName })}
        >
          Waits for a CPU
        </a>
      </p>
    </RowDetail>
  );
}
