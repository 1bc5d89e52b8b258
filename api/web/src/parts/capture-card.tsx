/** One capture: ticket, labels, notes; download, delete. */

import { useState } from "preact/hooks";
import { address, ask, shown, type ApiError } from "../api/fetch";
import type { Capture } from "../api/types.gen";
import { moment } from "../app/clock";
import { may } from "../app/session";
import { Confirm } from "./dialog";
import { type NotePlace, Notes } from "./notes";
import { Problem } from "./problem";
import { safe } from "./safe";
import { duration, size } from "./units";

interface CardProps {
  capture: Capture;
  /** It was changed. */
  onChange: (capture: Capture) => void;
  onDeleted: () => void;
  /** Where one looks in the capture, if it is open. */
  place?: NotePlace;
}

export function CaptureCard({ capture, onChange, onDeleted, place }: CardProps) {
  const [error, setError] = useState<ApiError>();
  const [isAsking, setAsking] = useState(false);
  const path = `captures/${capture.capture_id}`;
  const attempt = async (act: () => Promise<void>) => {
    setError(undefined);
    try {
      await act();
    } catch (failure) {
      setError(shown(failure));
    }
  };
  const change = (json: object) =>
    attempt(async () => onChange(await (await ask(path, { method: "PATCH", json })).json()));
  return (
    <div class="card">
      <dl class="facts">
        <Fact name="Host">{capture.host && safe(capture.host)}</Fact>
        <Fact name="Kernel">{capture.kernel && safe(capture.kernel)}</Fact>
        <Fact name="Recorded">{capture.started_ns && moment(capture.started_ns)}</Fact>
        <Fact name="Duration">{capture.duration_ns !== null && duration(capture.duration_ns)}</Fact>
        <Fact name="Size">{size(capture.size_bytes)}</Fact>
        <Fact name="Uploaded">{moment(capture.uploaded_ns)}</Fact>
        <Fact name="Remark">{capture.remark && safe(capture.remark)}</Fact>
        <Fact name="Not imported">{capture.reason && safe(capture.reason)}</Fact>
        <Fact name="Damage">{capture.damage && safe(capture.damage)}</Fact>
        <Fact name="Ticket">
          {may("uploader") ? (
            <Edit label="Ticket" value={capture.ticket} onSave={(ticket) => void change({ ticket })} />
          ) : (
            capture.ticket
          )}
        </Fact>
        <Fact name="Labels">
          <Labels capture={capture} onSave={(labels) => void change({ labels })} />
        </Fact>
      </dl>
      {error && <Problem error={error} />}
      <div class="row actions">
        <a class="button" href={address(`${path}/original`)} download={capture.name}>
          Download original
        </a>
        {capture.state === "failed" && may("uploader") && (
          <button
            type="button"
            onClick={() =>
              void attempt(async () => onChange(await (await ask(`${path}/import`, { method: "POST" })).json()))
            }
          >
            Import again
          </button>
        )}
        {may("uploader") && (
          <button type="button" class="danger" onClick={() => setAsking(true)}>
            Delete
          </button>
        )}
      </div>
      <Notes captureId={capture.capture_id} place={place} />
      {isAsking && (
        <Confirm
          question={`Delete ${safe(capture.name)}?`}
          consequence="The original, its import and its notes are removed from the server for good."
          act="Delete"
          onNo={() => setAsking(false)}
          onYes={() => {
            setAsking(false);
            void attempt(async () => {
              await ask(path, { method: "DELETE" });
              onDeleted();
            });
          }}
        />
      )}
    </div>
  );
}

function Fact({ name, children }: { name: string; children: preact.ComponentChildren }) {
  if (children === null || children === false || children === "" || children === 0) return null;
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Edit({ label, value, onSave }: { label: string; value: string; onSave: (value: string) => void }) {
  const [now, setNow] = useState(value);
  return (
    <form
      class="row edit"
      onSubmit={(event) => {
        event.preventDefault();
        onSave(now.trim());
      }}
    >
      <input aria-label={label} value={now} onInput={(event) => setNow(event.currentTarget.value)} />
      {now.trim() !== value && <button type="submit">Save</button>}
    </form>
  );
}

function Labels({ capture, onSave }: { capture: Capture; onSave: (labels: string[]) => void }) {
  const [added, setAdded] = useState("");
  const mayChange = may("uploader");
  return (
    <form
      class="row edit"
      onSubmit={(event) => {
        event.preventDefault();
        if (added.trim()) onSave([...new Set([...capture.labels, added.trim()])]);
        setAdded("");
      }}
    >
      {capture.labels.map((label) => (
        <span class="chip" key={label}>
          {safe(label)}
          {mayChange && (
            <button
              type="button"
              aria-label={`Remove label ${label}`}
              onClick={() => onSave(capture.labels.filter((one) => one !== label))}
            >
              ×
            </button>
          )}
        </span>
      ))}
      {mayChange ? (
        <>
          <input
            aria-label="New label"
            placeholder="Label"
            value={added}
            onInput={(event) => setAdded(event.currentTarget.value)}
          />
          {added.trim() && <button type="submit">Add</button>}
        </>
      ) : (
        !capture.labels.length && <span class="quiet">none</span>
      )}
    </form>
  );
}
