/** Uploads that go on by themselves: in parts, from where the server has them, after anything that interrupts. */

import { ApiError, ask, get, shown } from "../api/fetch";
import type { Capture, Upload } from "../api/types.gen";
import { store } from "./store";

/** An event of an import. */
export interface ImportState {
  state: Capture["state"];
  phase?: string;
  records?: number;
  reason?: string | null;
}

export interface Sending {
  key: string;
  name: string;
  sizeBytes: number;
  sentBytes: number;
  state: "sending" | "waiting" | "importing" | "ready" | "failed";
  captureId?: string;
  records?: number;
  error?: ApiError;
}

/** Parts grow while all goes well: a reader sees progress at once, and a large file needs few requests. */
const [PART_BYTES, PART_BYTES_MAX] = [1 << 20, 32 << 20];
const RETRIES = 6;
const KEPT = "perfcase.upload.";

/** Newest first. Every list of captures is notified. */
export const uploads = store<Sending[]>([]);
/** Counts imports that ended, so that lists are asked for again. */
export const arrived = store(0);

const files = new Map<string, { file: File; ticket: string; isDamagedTaken: boolean }>();
const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));

function change(key: string, now: Partial<Sending>): void {
  uploads.set((all) => all.map((one) => (one.key === key ? { ...one, ...now } : one)));
}

/** Begins to send files, or goes on with those that this browser began to send before. */
export function send(given: Iterable<File>, ticket: string): void {
  for (const file of given) {
    const key = `${file.name} ${file.size} ${file.lastModified}`;
    const known = uploads.get().find((one) => one.key === key);
    if (known && known.state !== "failed" && known.state !== "ready") continue;
    uploads.set((all) => [
      { key, name: file.name, sizeBytes: file.size, sentBytes: 0, state: "sending" },
      ...all.filter((one) => one.key !== key),
    ]);
    files.set(key, { file, ticket, isDamagedTaken: false });
    void run(key);
  }
}

/** Sends a failed one again; `isDamagedTaken`: although its checksums do not agree. */
export function sendAgain(key: string, isDamagedTaken = false): void {
  const known = files.get(key);
  if (!known) return;
  known.isDamagedTaken ||= isDamagedTaken;
  change(key, { state: "sending", sentBytes: 0, error: undefined });
  void run(key);
}

export function dismiss(key: string): void {
  files.delete(key);
  uploads.set((all) => all.filter((one) => one.key !== key));
}

async function run(key: string): Promise<void> {
  try {
    const captureId = await whole(key);
    localStorage.removeItem(KEPT + key);
    files.delete(key);
    change(key, { state: "importing", captureId });
    arrived.set((number) => number + 1);
    follow(key, captureId);
  } catch (error) {
    const failure = shown(error);
    // The server forgot it; what is sent next begins at the start.
    if (failure.kind !== "network") localStorage.removeItem(KEPT + key);
    change(key, { state: "failed", error: failure });
  }
}

async function whole(key: string): Promise<string> {
  const { file } = files.get(key)!;
  if (!file.size) throw new ApiError("input", `${file.name} is empty`);
  let upload = await begun(key);
  let failures = 0;
  let part = PART_BYTES;
  while (upload.capture_id === null) {
    change(key, { state: "sending", sentBytes: upload.offset_bytes });
    try {
      const answer = await ask(`uploads/${upload.upload_id}`, {
        method: "PATCH",
        body: file.slice(upload.offset_bytes, upload.offset_bytes + part),
        headers: { "Upload-Offset": String(upload.offset_bytes), "Content-Type": "application/octet-stream" },
      });
      upload = await answer.json();
      failures = 0;
      part = Math.min(2 * part, PART_BYTES_MAX);
    } catch (error) {
      const failure = shown(error);
      failures += 1;
      part = PART_BYTES;
      if (!["network", "conflict", "too_many", "environment"].includes(failure.kind) || failures > RETRIES)
        throw failure;
      change(key, { state: "waiting" });
      await pause(500 * 2 ** failures);
      upload = await get<Upload>(`uploads/${upload.upload_id}`).catch(() => upload);
    }
  }
  change(key, { sentBytes: file.size });
  return upload.capture_id;
}

async function begun(key: string): Promise<Upload> {
  const { file, ticket, isDamagedTaken } = files.get(key)!;
  const kept = localStorage.getItem(KEPT + key);
  if (kept && !isDamagedTaken) {
    const known = await get<Upload>(`uploads/${kept}`).catch(() => null);
    if (known) return known;
  }
  const json = { name: file.name, size_bytes: file.size, ticket, accept_damaged: isDamagedTaken };
  const upload: Upload = await (await ask("uploads", { method: "POST", json })).json();
  localStorage.setItem(KEPT + key, upload.upload_id);
  return upload;
}

function follow(key: string, captureId: string): void {
  followImport(captureId, (progress) => {
    if (progress.state === "ready") change(key, { state: "ready" });
    else if (progress.state === "failed")
      change(key, {
        state: "failed",
        error: new ApiError("input", `not imported: ${progress.reason ?? "no reason is known"}`),
      });
    else if (progress.records !== undefined) change(key, { records: progress.records });
    if (progress.state === "ready" || progress.state === "failed") arrived.set((number) => number + 1);
  });
}

/** Tells how an import goes until it ends; the answer stops listening. */
export function followImport(captureId: string, tell: (state: ImportState) => void): () => void {
  const events = new EventSource(`v1/captures/${captureId}/progress`);
  events.addEventListener("import", (event) => {
    const progress: ImportState = JSON.parse(event.data);
    tell(progress);
    if (progress.state === "ready" || progress.state === "failed") events.close();
  });
  return () => events.close();
}
