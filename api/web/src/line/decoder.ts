/** The page's side of the worker that decodes answers with lanes. */

import { ApiError } from "../api/fetch";
import type { Decoded, Shape } from "./decode";
import type { Job } from "./decode.worker";

interface Awaited {
  give: (found: Decoded) => void;
  fail: (error: ApiError) => void;
}

let worker: Worker | undefined;
const awaited = new Map<number, Awaited>();
let counted = 0;

/** It starts while the first answer is awaited. */
export function prepare(): Worker {
  return (worker ??= started());
}

/** The bytes are gone afterwards: they are handed over. */
export function inWorker(bytes: ArrayBuffer, shape: Shape): Promise<Decoded> {
  const job: Job = { number: ++counted, bytes, shape };
  return new Promise((give, fail) => {
    awaited.set(job.number, { give, fail });
    prepare().postMessage(job, [bytes]);
  });
}

function started(): Worker {
  const made = new Worker(new URL("./decode.worker.ts", import.meta.url), { type: "module" });
  made.addEventListener("message", ({ data }: MessageEvent<{ number: number; found?: Decoded }>) => {
    const one = awaited.get(data.number);
    awaited.delete(data.number);
    if (data.found) one?.give(data.found);
    else one?.fail(new ApiError("cut", "the answer is not whole"));
  });
  // Another version of perfcase has another file; or it has no memory left.
  made.addEventListener("error", () => {
    made.terminate();
    worker = undefined;
    for (const { fail } of awaited.values()) fail(new ApiError("page", "what decodes the lanes did not start"));
    awaited.clear();
  });
  return made;
}
