/** Waits: what they were for, who ended them, from where. */

import type { CaptureProps } from "../app/pages";
import { part, ViewParts } from "../parts/view-parts";

export const WAITS = [
  part("cause", "By cause", "blame_by_comm", null, [
    "wait_ns",
    "wait_ratio",
    "wait_count",
    "wait_max_ns",
    "comm",
    "work",
    "call",
    "cause",
    "on_comm",
    "on_call",
    "on_target",
    "on_function",
  ]),
  part(
    "wait",
    "One by one",
    "blame_part",
    "duration_ns",
    [
      "duration_ns",
      "ts_ns",
      "comm",
      "tid",
      "call",
      "target",
      "due",
      "waker_comm",
      "waker_tid",
      "on_comm",
      "on_tid",
      "on_call",
      "on_target",
    ],
    false,
  ),
  part("sleep", "All sleeps, by who ended them", "off_wake", "off_cpu_ns", [
    "off_cpu_ns",
    "sleep_ns",
    "sleep_count",
    "off_cpu_max_ns",
    "comm",
    "waker_comm",
    "is_interrupt",
    "stack",
    "waker_stack",
  ]),
];

export default function Waits(props: CaptureProps) {
  return <ViewParts {...props} label="Waits" parts={WAITS} />;
}
