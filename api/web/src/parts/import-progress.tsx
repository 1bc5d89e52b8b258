/** How far an import is: the place in the queue, or the step in words, with a bar where it is known how much there is of it. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { shown } from "../api/fetch";
import type { Capture } from "../api/types.gen";
import type { Import } from "../app/imports";
import { cancelImport } from "../app/uploads";
import { count, duration } from "./units";

/** The steps by the names that the importer and the server have for them (perfcase_api/import_phases.py). */
const WORDS: Record<string, string> = {
  reading: "opening the sources",
  events: "reading records",
  "threads, stacks and calls": "writing threads, stacks and calls",
  findings: "judging by the rules",
  figures: "working out figures for histories",
  "first page": "answering the first page",
};

interface ImportProgressProps {
  now: Import | undefined;
  name: string;
  children?: ComponentChildren;
}

export function ImportProgress({ now, name, children }: ImportProgressProps) {
  const isBar = now?.state === "importing";
  return (
    <span class="import-progress">
      {isBar && (
        <progress max={now.total ?? 1} value={now.total ? now.done : undefined} aria-label={`Import of ${name}`} />
      )}
      <span class="quiet">{importWords(now)}</span>
      {children}
    </span>
  );
}

export function CancelImport({ capture, onCancelled }: { capture: Capture; onCancelled: () => void }) {
  const [problem, setProblem] = useState("");
  const cancel = async () => {
    try {
      await cancelImport(`captures/${capture.capture_id}/import`);
      onCancelled();
    } catch (error) {
      const { message, hint } = shown(error);
      setProblem([message, hint].filter(Boolean).join("; "));
    }
  };
  return (
    <>
      <button
        type="button"
        class="plain"
        aria-label={`Cancel the import of ${capture.name}`}
        onClick={() => void cancel()}
      >
        Cancel
      </button>
      {problem && (
        <span class="uploads-failed" role="alert">
          {problem}
        </span>
      )}
    </>
  );
}

export function importWords(now: Import | undefined): string {
  if (!now) return "waits for its import";
  if (now.state === "uploaded")
    return now.place ? `waits for its import: ${ordinal(now.place)} of ${count(now.of)}` : "waits for its import";
  if (!now.phase) return "begins";
  const step = now.step ? `step ${now.step} of ${now.steps}: ` : "";
  const far = !now.total
    ? null
    : now.unit === "ns"
      ? `${duration(now.done)} of ${duration(now.total)} of the recording`
      : `${count(now.done)} of ${count(now.total)} questions`;
  const records = now.records ? `${count(now.records)} records` : null;
  return [`${step}${WORDS[now.phase] ?? now.phase}`, records, far].filter(Boolean).join(", ");
}

function ordinal(number: number): string {
  const ending = number % 100 > 10 && number % 100 < 14 ? "th" : (["th", "st", "nd", "rd"][number % 10] ?? "th");
  return `${count(number)}${ending}`;
}
