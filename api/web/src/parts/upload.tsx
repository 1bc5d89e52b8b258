/** Where captures are dropped, and how their uploads and imports go. */

import { useEffect, useRef, useState } from "preact/hooks";
import { href } from "../app/route";
import { useStore } from "../app/store";
import { dismiss, send, sendAgain, type Sending, uploads } from "../app/uploads";
import { safe } from "./safe";
import { count, size } from "./units";

export function UploadButton({ ticket }: { ticket: string }) {
  const picker = useRef<HTMLInputElement>(null);
  const [isOver, setOver] = useState(false);
  useEffect(() => {
    let depth = 0;
    const has = (event: DragEvent) => event.dataTransfer?.types.includes("Files");
    const over = (event: DragEvent) => {
      if (!has(event)) return;
      event.preventDefault();
      depth += event.type === "dragenter" ? 1 : 0;
      setOver(true);
    };
    const leave = () => {
      depth -= 1;
      if (depth <= 0) setOver(false);
    };
    const drop = (event: DragEvent) => {
      if (!has(event)) return;
      event.preventDefault();
      depth = 0;
      setOver(false);
      send(event.dataTransfer!.files, ticket);
    };
    const listened = [
      ["dragenter", over],
      ["dragover", over],
      ["dragleave", leave],
      ["drop", drop],
    ] as const;
    for (const [name, act] of listened) addEventListener(name, act as EventListener);
    return () => {
      for (const [name, act] of listened) removeEventListener(name, act as EventListener);
    };
  }, [ticket]);
  return (
    <>
      <input
        ref={picker}
        type="file"
        multiple
        class="visually-hidden"
        aria-label="Captures to upload"
        tabIndex={-1}
        onChange={(event) => {
          send(event.currentTarget.files ?? [], ticket);
          event.currentTarget.value = "";
        }}
      />
      <button type="button" class="primary" onClick={() => picker.current?.click()}>
        Upload
      </button>
      {isOver && (
        <div class="drop">
          <p>Drop captures to upload them{ticket && ` to ${safe(ticket)}`}</p>
        </div>
      )}
    </>
  );
}

export function Uploads() {
  const all = useStore(uploads);
  if (!all.length) return null;
  return (
    <ul class="uploads" aria-label="Uploads">
      {all.map((one) => (
        <li key={one.key}>
          <span class="uploads-name">
            {one.state === "ready" ? (
              <a href={href(["c", one.captureId!, "overview"])}>{safe(one.name)}</a>
            ) : (
              safe(one.name)
            )}
          </span>
          {one.state !== "ready" && one.state !== "failed" && (
            <progress
              max={one.sizeBytes}
              value={one.state === "importing" ? undefined : one.sentBytes}
              aria-label={one.name}
            />
          )}
          <span class={one.state === "failed" ? "uploads-failed" : "quiet"} role="status">
            {said(one)}
          </span>
          {one.state === "failed" && (
            <>
              <button type="button" onClick={() => sendAgain(one.key)}>
                Try again
              </button>
              {one.error?.kind === "input" && !one.captureId && (
                <button type="button" onClick={() => sendAgain(one.key, true)}>
                  Upload it as it is
                </button>
              )}
            </>
          )}
          {(one.state === "failed" || one.state === "ready") && (
            <button type="button" class="plain" aria-label={`Dismiss ${one.name}`} onClick={() => dismiss(one.key)}>
              ×
            </button>
          )}
        </li>
      ))}
    </ul>
  );
}

function said(one: Sending): string {
  switch (one.state) {
    case "sending":
      return `${size(one.sentBytes)} of ${size(one.sizeBytes)}`;
    case "waiting":
      return `${size(one.sentBytes)} of ${size(one.sizeBytes)} are there; the connection broke, trying again`;
    case "importing":
      return one.records === undefined ? "importing" : `importing: ${count(one.records)} records`;
    case "ready":
      return "ready";
    case "failed":
      return [one.error?.message, one.error?.hint].filter(Boolean).join("; ");
  }
}
