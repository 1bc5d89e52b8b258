/** System calls by thread, by descriptor and by the other end; the slowest; what is open. */

import { useSchema } from "../api/hooks";
import type { ColumnOf, ViewName } from "../api/rows";
import type { CaptureProps } from "../app/pages";
import { filterParams, href, useRoute } from "../app/route";
import { Waiting } from "../parts/problem";
import { sortOf, sortText } from "../parts/sql";
import { sentence } from "../parts/units";
import { ViewTable } from "../parts/view-table";

interface Part {
  id: string;
  title: string;
  view: ViewName;
  sort: string;
  show: string[] | null;
}

/** A part that shows some columns of a view, in this order; none: all. */
function part<V extends ViewName>(
  id: string,
  title: string,
  view: V,
  sort: ColumnOf<V> | null,
  show: ColumnOf<V>[] | null,
): Part {
  return { id, title, view, sort: sort ? `-${sort}` : "", show };
}

const PARTS: Part[] = [
  part("threads", "By thread", "syscall_summary", "duration_total_ns", [
    "comm",
    "tid",
    "name",
    "call_count",
    "error_count",
    "duration_total_ns",
    "duration_avg_ns",
    "duration_max_ns",
    "duration_min_ns",
    "duration_stddev_ns",
    "open_count",
  ]),
  part("files", "By descriptor", "syscall_by_fd", "duration_total_ns", [
    "comm",
    "tid",
    "name",
    "fd",
    "kind",
    "target",
    "peer",
    "call_count",
    "error_count",
    "duration_total_ns",
    "duration_avg_ns",
    "duration_max_ns",
    "moved_bytes",
  ]),
  part("peers", "By the other end", "peer_wait", "wait_ns", [
    "peer",
    "kind",
    "comm",
    "tid",
    "name",
    "call_count",
    "wait_ns",
    "wait_avg_ns",
    "wait_max_ns",
    "fds",
    "attributed_by",
  ]),
  part("slow", "Slowest", "slow_syscalls", "known_ns", [
    "known_ns",
    "ts_ns",
    "comm",
    "tid",
    "name",
    "fd",
    "args",
    "ret",
    "errno_name",
    "cut_at",
  ]),
  part("open", "Open files", "file_descriptor", null, [
    "comm",
    "pid",
    "fd",
    "kind",
    "target",
    "protocol",
    "state",
    "local",
    "peer",
    "is_deleted",
    "holder_count",
    "ts_ns",
  ]),
  part("stalls", "Late answers", "tcp_stalls", "gap_ns", null),
];

export default function Syscalls({ captureId, filters, onFilters }: CaptureProps) {
  const { params, set } = useRoute();
  const schema = useSchema();
  const shown = PARTS.find(({ id }) => id === params.get("by")) ?? PARTS[0]!;
  const view = schema?.views.find(({ name }) => name === shown.view);
  if (!view) return <Waiting />;
  return (
    <>
      <nav class="segments" aria-label="System calls">
        {PARTS.map(({ id, title }) => (
          <a
            key={id}
            href={href(["c", captureId, "syscalls"], { ...filterParams(filters), by: id })}
            aria-current={id === shown.id ? "true" : undefined}
          >
            {title}
          </a>
        ))}
      </nav>
      <p class="quiet about">{sentence(view.description)}</p>
      <ViewTable
        key={shown.id}
        captureId={captureId}
        filters={filters}
        onFilters={onFilters}
        view={view}
        where={params.get("where")}
        onWhere={(where) => set({ where })}
        isOwnOrder={params.get("sort") === null}
        sort={sortOf(params.get("sort") ?? shown.sort)}
        onSort={(sort) => set({ sort: sortText(sort) })}
        {...(shown.show && { show: shown.show })}
      />
    </>
  );
}
