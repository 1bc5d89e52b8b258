/** Before an upload: which ticket and labels its captures get. */

import { useEffect, useState } from "preact/hooks";
import { useGet } from "../api/hooks";
import type { Page } from "../api/types.gen";
import { NOT_REDACTED, REMEDY, SHOWN_BY } from "../api/words.gen";
import { redactionOf } from "../app/redaction";
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

/** What to say before files are sent that are not redacted; empty while it is not known, and where all of them are. */
async function unredacted(files: readonly File[]): Promise<string> {
  const all = await Promise.all(files.map(redactionOf));
  const found = files.filter((_, index) => all[index] === "not_redacted");
  if (!found.length) return "";
  const names = found.slice(0, FILES_SHOWN).map((file) => safe(file.name));
  const more = found.length > FILES_SHOWN ? ` and ${found.length - FILES_SHOWN} more` : "";
  const head =
    files.length === 1
      ? NOT_REDACTED.replaceAll("{name}", () => names[0]!)
      : `${found.length} of ${files.length} files are not redacted: ${names.join(", ")}${more}.`;
  const name = files.length === 1 ? names[0]! : "FILE";
  return `${head} ${`${SHOWN_BY} (${REMEDY})`.replaceAll("{name}", () => name)}`;
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
  const [warning, setWarning] = useState("");
  useEffect(() => {
    let isOld = false;
    void unredacted(files).then((text) => isOld || setWarning(text));
    return () => void (isOld = true);
  }, [files]);
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
        {warning && (
          <p class="upload-warning" role="status">
            {warning}
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
