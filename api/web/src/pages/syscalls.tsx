/** System calls by thread, by descriptor and by the other end; the slowest; what is open. */

import type { CaptureProps } from "../app/pages";
import { type Part, part, ViewParts } from "../parts/view-parts";

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

export default function Syscalls(props: CaptureProps) {
  return <ViewParts {...props} label="System calls" parts={PARTS} />;
}

/** Those that tell which files and sockets were used, with which other ends. */
const DESCRIPTORS = PARTS.filter(({ id }) => ["files", "peers", "open"].includes(id));

export function Descriptors(props: CaptureProps) {
  return <ViewParts {...props} label="Descriptors" parts={DESCRIPTORS} />;
}
