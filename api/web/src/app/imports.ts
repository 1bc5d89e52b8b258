/** Imports that wait or work on the server. One connection tells of all: a browser has only six to a host. */

import { get, shown } from "../api/fetch";
import type { Capture } from "../api/types.gen";
import { store } from "./store";

/** What the server says of an import (GET /v1/imports). */
export interface Import {
  capture_id: string;
  /** Whether nothing is left if it is cancelled. */
  is_new: boolean;
  state: "uploaded" | "importing" | End["state"];
  /** Its place in the queue, of so many. */
  place?: number;
  of?: number;
  phase?: string;
  step?: number;
  steps?: number;
  records?: number;
  /** How far the step is, where that is known. */
  done?: number;
  total?: number;
  unit?: "ns" | "questions";
}

/** How an import ended. */
export interface End {
  state: "ready" | "failed" | "gone";
  reason?: string | null;
}

const AGAIN_MS = 1000;

/** By capture. */
export const imports = store<ReadonlyMap<string, Import>>(new Map());

type Tell = (end: End) => void;
const awaited = new Map<string, Set<Tell>>();
const asking = new Set<string>();
let events: EventSource | undefined;

/** Tells how an import has ended. The answer stops listening. */
export function whenImported(captureId: string, tell: Tell): () => void {
  const all = awaited.get(captureId) ?? new Set();
  awaited.set(captureId, all.add(tell));
  listen();
  return () => {
    all.delete(tell);
    if (!all.size && awaited.get(captureId) === all) awaited.delete(captureId);
    if (!awaited.size) close();
  };
}

function close(): void {
  events?.close();
  events = undefined;
}

function listen(): void {
  if (events || !awaited.size) return;
  events = new EventSource("v1/imports");
  events.addEventListener("imports", (event) => {
    const told: Import[] = JSON.parse(event.data);
    const open = told.filter(({ state }) => !isEnd(state));
    imports.set(new Map(open.map((one) => [one.capture_id, one])));
    // The server ends when there is none, and a browser would connect again.
    if (!open.length) close();
    for (const one of told) if (isEnd(one.state)) tell(one.capture_id, one as End);
    for (const captureId of awaited.keys()) if (!imports.get().has(captureId)) void settle(captureId);
  });
  events.onerror = () => {
    // A refusal is final for the browser: the next question says what it is.
    if (events?.readyState !== EventSource.CLOSED) return;
    close();
    for (const captureId of awaited.keys()) void settle(captureId);
  };
}

function isEnd(state: string): state is End["state"] {
  return state === "ready" || state === "failed" || state === "gone";
}

function tell(captureId: string, end: End): void {
  const all = awaited.get(captureId) ?? [];
  awaited.delete(captureId);
  for (const each of [...all]) each(end);
  if (!awaited.size) close();
}

/** Finds out what became of an import that the list does not have. */
async function settle(captureId: string): Promise<void> {
  if (asking.has(captureId)) return;
  asking.add(captureId);
  let found: Pick<Capture, "state" | "reason"> | { state: "gone" } | undefined;
  try {
    found = await get<Capture>(`captures/${captureId}`);
  } catch (error) {
    if (shown(error).kind === "not_found") found = { state: "gone" };
  } finally {
    asking.delete(captureId);
  }
  if (found && isEnd(found.state)) tell(captureId, found as End);
  // It began after the list was made, or the server does not answer.
  else setTimeout(listen, AGAIN_MS);
}
