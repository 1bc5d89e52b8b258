/** Before an upload: which ticket and labels its captures get. */

import { useState } from "preact/hooks";
import { useGet } from "../api/hooks";
import type { Page } from "../api/types.gen";
import type { Purpose } from "../app/uploads";
import { Dialog } from "./dialog";
import { safe } from "./safe";
import { plural, size } from "./units";

const KEY = "perfcase.upload-for";
const LABEL_MAX = 100;
const FILES_SHOWN = 5;

/** What was given for the upload before. */
function kept(): Purpose {
  try {
    const { ticket, labels } = JSON.parse(localStorage.getItem(KEY) ?? "{}");
    return {
      ticket: typeof ticket === "string" ? ticket : "",
      labels: Array.isArray(labels) ? labels.filter((one) => typeof one === "string") : [],
    };
  } catch {
    return { ticket: "", labels: [] };
  }
}

interface UploadDialogProps {
  files: readonly File[];
  /** The ticket that the list is about now. */
  ticket: string;
  onSend: (purpose: Purpose) => void;
  onClose: () => void;
}

export function UploadDialog({ files, ticket: current, onSend, onClose }: UploadDialogProps) {
  const [before] = useState(kept);
  const [ticket, setTicket] = useState(current || before.ticket);
  const [text, setText] = useState(before.labels.join(", "));
  const { data } = useGet<Page>("captures", { limit: 1000 });
  const tickets = [...new Set(data?.captures.map((one) => one.ticket).filter(Boolean))];
  const labels = [
    ...new Set(
      text
        .split(",")
        .map((one) => one.trim())
        .filter(Boolean),
    ),
  ];
  const isLong = labels.some((one) => one.length > LABEL_MAX);
  const submit = (event: Event) => {
    event.preventDefault();
    if (isLong) return;
    const purpose = { ticket: ticket.trim(), labels };
    localStorage.setItem(KEY, JSON.stringify(purpose));
    onSend(purpose);
  };
  return (
    <Dialog label="Upload" class="upload-dialog" onClose={onClose}>
      <form onSubmit={submit}>
        <h2>Upload {files.length === 1 ? safe(files[0]!.name) : plural(files.length, "capture")}</h2>
        <ul class="quiet">
          {files.slice(0, FILES_SHOWN).map((file) => (
            <li key={`${file.name} ${file.size}`}>
              {files.length > 1 && `${safe(file.name)}, `}
              {size(file.size)}
            </li>
          ))}
          {files.length > FILES_SHOWN && <li>and {plural(files.length - FILES_SHOWN, "more file")}</li>}
        </ul>
        <label>
          Ticket
          <input
            autofocus
            list="known-tickets"
            maxLength={200}
            placeholder="The one that the capture names"
            spellcheck={false}
            autocomplete="off"
            value={ticket}
            onInput={(event) => setTicket(event.currentTarget.value)}
          />
        </label>
        <datalist id="known-tickets">
          {tickets.map((one) => (
            <option key={one} value={one} />
          ))}
        </datalist>
        <label>
          Labels, with commas between
          <input
            placeholder="build=41, canary"
            spellcheck={false}
            autocomplete="off"
            aria-invalid={isLong}
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </label>
        {isLong && (
          <p class="problem-hint" role="alert">
            A label may have {LABEL_MAX} characters.
          </p>
        )}
        <div class="row actions">
          <button type="submit" class="primary" disabled={isLong}>
            Upload
          </button>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  );
}
