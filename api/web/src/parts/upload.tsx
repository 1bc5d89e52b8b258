/** Where captures are dropped, and how their uploads and imports go. */

import { useEffect, useRef, useState } from "preact/hooks";
import { href } from "../app/route";
import { useStore } from "../app/store";
import { imports } from "../app/imports";
import { canSendAgain, cancel, dismiss, send, sendAgain, type Sending, uploads } from "../app/uploads";
import { ImportProgress } from "./import-progress";
import { safe } from "./safe";
import { size } from "./units";
import { UploadDialog } from "./upload-dialog";

export function UploadButton({ ticket }: { ticket: string }) {
  const picker = useRef<HTMLInputElement>(null);
  const [isOver, setOver] = useState(false);
  const [chosen, setChosen] = useState<File[]>([]);
  const add = (files: Iterable<File>) => setChosen((before) => [...before, ...files]);
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
      add(event.dataTransfer!.files);
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
  }, []);
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
          add(event.currentTarget.files ?? []);
          event.currentTarget.value = "";
        }}
      />
      <button type="button" class="primary" onClick={() => picker.current?.click()}>
        Upload
      </button>
      {isOver && (
        <div class="drop">
          <p>Drop captures to upload them</p>
        </div>
      )}
      {chosen.length > 0 && (
        <UploadDialog
          files={chosen}
          ticket={ticket}
          onClose={() => setChosen([])}
          onSend={(purpose) => {
            send(chosen, purpose);
            setChosen([]);
          }}
        />
      )}
    </>
  );
}

export function Uploads() {
  const all = useStore(uploads);
  const known = useStore(imports);
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
          {(one.state === "sending" || one.state === "waiting") && (
            <progress max={one.sizeBytes} value={one.sentBytes} aria-label={one.name} />
          )}
          {one.state === "importing" ? (
            <ImportProgress now={known.get(one.captureId!)} name={one.name} />
          ) : (
            <span class={one.state === "failed" ? "uploads-failed" : "quiet"} role="status">
              {said(one)}
            </span>
          )}
          {["sending", "waiting", "importing"].includes(one.state) && one.isNew !== false && (
            <button type="button" aria-label={`Cancel ${one.name}`} onClick={() => cancel(one.key)}>
              Cancel
            </button>
          )}
          {one.state === "failed" && canSendAgain(one.key) && (
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

function said(one: Sending): string | undefined {
  switch (one.state) {
    case "sending":
      return `${size(one.sentBytes)} of ${size(one.sizeBytes)}`;
    case "waiting":
      return `${size(one.sentBytes)} of ${size(one.sizeBytes)} are there; the connection broke, trying again`;
    case "cancelling":
      return "cancelling …";
    case "ready":
      return one.isNew === false ? "ready: it was here before, with the ticket and labels that it has" : "ready";
    case "failed":
      return [one.error?.message, one.error?.hint].filter(Boolean).join("; ");
  }
}
