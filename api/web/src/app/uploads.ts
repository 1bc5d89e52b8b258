/** Uploads that go on by themselves: in parts, from where the server has them, after anything that interrupts. */

import { ApiError, ask, get, shown } from "../api/fetch";
import type { Upload } from "../api/types.gen";
import { whenImported } from "./imports";
import { redactionOf } from "./redaction";
import { store } from "./store";

export interface Sending {
  key: string;
  name: string;
  sizeBytes: number;
  sentBytes: number;
  state: "sending" | "waiting" | "importing" | "cancelling" | "ready" | "failed";
  captureId?: string;
  /** False: the same file was on the server before, with a ticket and labels of its own. */
  isNew?: boolean;
  error?: ApiError | undefined;
}

/** What belongs to the captures of some files. */
export interface Purpose {
  ticket: string;
  labels: string[];
}

interface Job extends Purpose {
  file: File;
  isDamagedTaken: boolean;
  abort: AbortController;
  uploadId?: string;
}

/** Parts grow while all goes well: a reader sees progress at once, and a large file needs few requests. */
const [PART_BYTES, PART_BYTES_MAX] = [1 << 20, 32 << 20];
const RETRIES = 6;
const KEPT = "perfcase.upload.";

/** Newest first. Every list of captures is notified. */
export const uploads = store<Sending[]>([]);
/** Counts imports that ended, so that lists are asked for again. */
export const arrived = store(0);

const jobs = new Map<string, Job>();

function change(key: string, now: Partial<Sending>): void {
  uploads.set((all) => all.map((one) => (one.key === key ? { ...one, ...now } : one)));
}

/** Begins to send files, or goes on with those that this browser began to send before. */
export function send(given: Iterable<File>, { ticket, labels }: Purpose): void {
  for (const file of given) {
    const key = `${file.name} ${file.size} ${file.lastModified}`;
    const known = uploads.get().find((one) => one.key === key);
    if (known && known.state !== "failed" && known.state !== "ready") continue;
    uploads.set((all) => [
      { key, name: file.name, sizeBytes: file.size, sentBytes: 0, state: "sending" },
      ...all.filter((one) => one.key !== key),
    ]);
    jobs.set(key, { file, ticket, labels, isDamagedTaken: false, abort: new AbortController() });
    void run(key);
  }
}

/** Sends a failed one again; `isDamagedTaken`: although its checksums do not agree. */
export function sendAgain(key: string, isDamagedTaken = false): void {
  const job = jobs.get(key);
  if (!job) return;
  job.isDamagedTaken ||= isDamagedTaken;
  job.abort = new AbortController();
  change(key, { state: "sending", sentBytes: 0, error: undefined });
  void run(key);
}

/** Whether a failed one can be sent again: its file is known. */
export function canSendAgain(key: string): boolean {
  return jobs.has(key);
}

export function dismiss(key: string): void {
  jobs.delete(key);
  uploads.set((all) => all.filter((one) => one.key !== key));
}

/** Gives one up, wherever it is: nothing of it is left on the server. */
export function cancel(key: string): void {
  const one = uploads.get().find((each) => each.key === key);
  change(key, { state: "cancelling" });
  if (one?.captureId) void cancelled(key, `captures/${one.captureId}/import`);
  // Who sends it sees that, and cancels it.
  else jobs.get(key)?.abort.abort();
}

async function cancelled(key: string, path: string | null): Promise<void> {
  try {
    if (path) await cancelImport(path);
    dismiss(key);
  } catch (error) {
    change(key, { state: "failed", error: shown(error) });
  }
  localStorage.removeItem(KEPT + key);
  arrived.set((number) => number + 1);
}

/** Deletes what is under way there; that it is gone already is what was wanted. */
export async function cancelImport(path: string): Promise<void> {
  try {
    await ask(path, { method: "DELETE" });
  } catch (error) {
    const failure = shown(error);
    if (failure.kind === "not_found") return;
    throw failure.kind === "conflict"
      ? new ApiError("conflict", "not cancelled: it is imported already", "its details have a button that deletes it")
      : failure;
  }
}

async function run(key: string): Promise<void> {
  const job = jobs.get(key)!;
  const { signal } = job.abort;
  try {
    const made = await whole(key, job, signal);
    signal.throwIfAborted();
    localStorage.removeItem(KEPT + key);
    jobs.delete(key);
    const captureId = made.capture_id!;
    change(key, { state: "importing", captureId, isNew: made.is_new ?? true });
    arrived.set((number) => number + 1);
    follow(key, captureId);
  } catch (error) {
    if (signal.aborted) return cancelled(key, job.uploadId ? `uploads/${job.uploadId}` : null);
    const failure = shown(error);
    // The server forgot it; what is sent next begins at the start.
    if (failure.kind !== "network") localStorage.removeItem(KEPT + key);
    change(key, { state: "failed", error: failure });
  }
}

/** Waits, or for as long as it is not cancelled. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", () => (clearTimeout(timer), done()), { once: true });
  });
}

async function whole(key: string, job: Job, signal: AbortSignal): Promise<Upload> {
  const { file } = job;
  if (!file.size) throw new ApiError("input", `${file.name} is empty`);
  let upload = await begun(key, job);
  job.uploadId = upload.upload_id;
  let failures = 0;
  let part = PART_BYTES;
  while (upload.capture_id === null) {
    signal.throwIfAborted();
    change(key, { state: "sending", sentBytes: upload.offset_bytes });
    try {
      const answer = await ask(`uploads/${upload.upload_id}`, {
        method: "PATCH",
        body: file.slice(upload.offset_bytes, upload.offset_bytes + part),
        headers: { "Upload-Offset": String(upload.offset_bytes), "Content-Type": "application/octet-stream" },
        signal,
      });
      upload = await answer.json();
      failures = 0;
      part = Math.min(2 * part, PART_BYTES_MAX);
    } catch (error) {
      signal.throwIfAborted();
      const failure = shown(error);
      failures += 1;
      part = PART_BYTES;
      if (!["network", "conflict", "too_many", "environment"].includes(failure.kind) || failures > RETRIES)
        throw failure;
      change(key, { state: "waiting" });
      await pause(500 * 2 ** failures, signal);
      upload = await get<Upload>(`uploads/${upload.upload_id}`).catch(() => upload);
    }
  }
  change(key, { sentBytes: file.size });
  return upload;
}

async function begun(key: string, { file, ticket, labels, isDamagedTaken }: Job): Promise<Upload> {
  const purpose = JSON.stringify([ticket, labels]);
  const [id, keptPurpose] = (localStorage.getItem(KEPT + key) ?? "").split(" ", 2);
  if (id && !isDamagedTaken) {
    const path = `uploads/${id}`;
    const known = await get<Upload>(path).catch(() => null);
    if (known && keptPurpose === encodeURIComponent(purpose)) return known;
    // Begun for another ticket: that is what it would have.
    if (known) await ask(path, { method: "DELETE" }).catch(() => null);
  }
  const redaction = await redactionOf(file);
  // A server that takes only redacted captures refuses others before a byte of them is sent.
  const is_redacted = redaction === "unknown" ? null : redaction === "redacted";
  const json = { name: file.name, size_bytes: file.size, ticket, labels, accept_damaged: isDamagedTaken, is_redacted };
  const upload: Upload = await (await ask("uploads", { method: "POST", json })).json();
  localStorage.setItem(KEPT + key, `${upload.upload_id} ${encodeURIComponent(purpose)}`);
  return upload;
}

function follow(key: string, captureId: string): void {
  whenImported(captureId, ({ state, reason }) => {
    const now = uploads.get().find((one) => one.key === key)?.state;
    if (state === "ready") change(key, { state });
    else if (state === "failed")
      change(key, { state, error: new ApiError("input", `not imported: ${reason ?? "no reason is known"}`) });
    else if (now !== "cancelling")
      change(key, {
        state: "failed",
        error: new ApiError("not_found", "it was cancelled or deleted on the server"),
      });
    arrived.set((number) => number + 1);
  });
}
