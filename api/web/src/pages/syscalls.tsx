/** System calls by thread, by descriptor and by the other end; the slowest; what is open. */

import { useSchema } from "../api/hooks";
import type { CaptureProps } from "../app/pages";
import { filterParams, href, useRoute } from "../app/route";
import { Waiting } from "../parts/problem";
import { sortOf, sortText } from "../parts/sql";
import { sentence } from "../parts/units";
import { ViewTable } from "../parts/view-table";

interface Part {
  id: string;
  title: string;
  view: string;
  sort: string;
  show?: string[];
}

const PARTS: Part[] = [
  {
    id: "threads",
    title: "By thread",
    view: "syscall_summary",
    sort: "-duration_total_ns",
    show: [
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
    ],
  },
  {
    id: "files",
    title: "By descriptor",
    view: "syscall_by_fd",
    sort: "-duration_total_ns",
    show: [
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
    ],
  },
  {
    id: "peers",
    title: "By the other end",
    view: "peer_wait",
    sort: "-wait_ns",
    show: [
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
    ],
  },
  {
    id: "slow",
    title: "Slowest",
    view: "slow_syscalls",
    sort: "-known_ns",
    show: ["known_ns", "ts_ns", "comm", "tid", "name", "fd", "args", "ret", "errno_name", "cut_at"],
  },
  {
    id: "open",
    title: "Open files",
    view: "file_descriptor",
    sort: "",
    show: [
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
    ],
  },
  { id: "stalls", title: "Late answers", view: "tcp_stalls", sort: "-gap_ns" },
];

export default function Syscalls({ captureId, filters, onFilters }: CaptureProps) {
  const { params, set } = useRoute();
  const schema = useSchema();
  const part = PARTS.find(({ id }) => id === params.get("by")) ?? PARTS[0]!;
  const view = schema?.views.find(({ name }) => name === part.view);
  if (!view) return <Waiting />;
  return (
    <>
      <nav class="segments" aria-label="System calls">
        {PARTS.map(({ id, title }) => (
          <a
            key={id}
            href={href(["c", captureId, "syscalls"], { ...filterParams(filters), by: id })}
            aria-current={id === part.id ? "true" : undefined}
          >
            {title}
          </a>
        ))}
      </nav>
      <p class="quiet about">{sentence(view.description)}</p>
      <ViewTable
        key={part.id}
        captureId={captureId}
        filters={filters}
        onFilters={onFilters}
        view={view}
        where={params.get("where")}
        onWhere={(where) => set({ where })}
        isOwnOrder={params.get("sort") === null}
        sort={sortOf(params.get("sort") ?? part.sort)}
        onSort={(sort) => set({ sort: sortText(sort) })}
        {...(part.show && { show: part.show })}
      />
    </>
  );
}
