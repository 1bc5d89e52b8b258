/** Decodes answers beside the page's main thread: an answer of some MB takes it longer than several frames. */

import { buffersOf, decoded, type Shape } from "./decode";

export interface Job {
  number: number;
  bytes: ArrayBuffer;
  shape: Shape;
}

addEventListener("message", ({ data: { number, bytes, shape } }: MessageEvent<Job>) => {
  try {
    const found = decoded(bytes, shape);
    postMessage({ number, found }, { transfer: buffersOf(found) });
  } catch {
    postMessage({ number });
  }
});
