/** What people found out: on a capture, on a part of its time, on a finding. */

import { useState } from "preact/hooks";
import { type ApiError, ask, shown } from "../api/fetch";
import { useGet } from "../api/hooks";
import type { Note } from "../api/types.gen";
import { moment } from "../app/clock";
import { filterParams, type Filters, href } from "../app/route";
import { may } from "../app/session";
import { seconds } from "../line/window";
import { Problem } from "./problem";
import { safe } from "./safe";
import { stretch } from "./units";

/** Where one looks: what a new note may belong to. */
export interface NotePlace {
  filters: Filters;
  durationNs: number | null;
  /** The rules that fired. */
  findings: readonly string[];
}

export function Notes({ captureId, place }: { captureId: string; place?: NotePlace | undefined }) {
  const { data, error, again } = useGet<Note[]>(`captures/${captureId}/notes`);
  const [failure, setFailure] = useState<ApiError>();
  const attempt = async (act: () => Promise<unknown>) => {
    setFailure(undefined);
    try {
      await act();
    } catch (refused) {
      setFailure(shown(refused));
    }
    again();
  };
  return (
    <section class="notes" aria-label="Notes">
      <h3>Notes</h3>
      {error && <Problem error={error} again={again} />}
      {data?.map((note) => (
        <article key={note.note_id}>
          <p class="quiet notes-head">
            <span>
              {safe(note.author)}, {moment(note.written_ns)}
            </span>
            <Where note={note} captureId={captureId} filters={place?.filters} />
            {may("uploader") && (
              <button
                type="button"
                class="plain"
                aria-label={`Delete the note of ${note.author}`}
                onClick={() =>
                  void attempt(() => ask(`captures/${captureId}/notes/${note.note_id}`, { method: "DELETE" }))
                }
              >
                ×
              </button>
            )}
          </p>
          <p class="notes-text">{lines(note.text)}</p>
        </article>
      ))}
      {data && !data.length && !may("uploader") && <p class="quiet">none</p>}
      {failure && <Problem error={failure} />}
      {may("uploader") && (
        <NewNote
          place={place}
          onAdd={(json) => attempt(() => ask(`captures/${captureId}/notes`, { method: "POST", json }))}
        />
      )}
    </section>
  );
}

/** Lines stay lines; what would reorder or hide text is spelled out. */
function lines(text: string): string {
  return text.split(/\r?\n/).map(safe).join("\n");
}

/** Links to what a note belongs to. */
function Where({ note, captureId, filters }: { note: Note; captureId: string; filters: Filters | undefined }) {
  const { start_ns, end_ns, finding } = note;
  const path = ["c", captureId, "overview"];
  const kept = filters ? filterParams(filters) : {};
  return (
    <>
      {start_ns !== null && end_ns !== null && (
        <a href={href(path, { ...kept, window: `${secondsOf(start_ns)}..${secondsOf(end_ns)}` })}>
          {stretch(start_ns, end_ns)}
        </a>
      )}
      {finding !== null && <a href={href(path, { ...kept, finding })}>{safe(finding)}</a>}
    </>
  );
}

/** A time as a window has it, to the nanosecond. */
function secondsOf(ns: number): string {
  const text = String(Number((ns / 1e9).toFixed(9)));
  return text.includes("e") ? `${ns}ns` : `${text}s`;
}

function NewNote({ place, onAdd }: { place: NotePlace | undefined; onAdd: (note: object) => Promise<void> }) {
  const [text, setText] = useState("");
  const [isOfPart, setOfPart] = useState(true);
  const [finding, setFinding] = useState("");
  const window = place?.filters.window ?? null;
  const part = window && place?.durationNs ? seconds(window, place.durationNs / 1e9) : null;
  const add = async (event: Event) => {
    event.preventDefault();
    const [start_ns, end_ns] = part && isOfPart ? part.map((at) => Math.round(at * 1e9)) : [null, null];
    await onAdd({ text: text.trim(), start_ns, end_ns, finding: finding || null });
    setText("");
    setFinding("");
  };
  return (
    <form onSubmit={(event) => void add(event)}>
      <textarea
        aria-label="New note"
        placeholder="What you found out"
        rows={2}
        maxLength={20_000}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      {part && (
        <label>
          <input type="checkbox" checked={isOfPart} onChange={(event) => setOfPart(event.currentTarget.checked)} /> on{" "}
          {window}
        </label>
      )}
      {place && place.findings.length > 0 && (
        <label>
          on the finding{" "}
          <select value={finding} onChange={(event) => setFinding(event.currentTarget.value)}>
            <option value="">none</option>
            {place.findings.map((name) => (
              <option key={name} value={name}>
                {safe(name)}
              </option>
            ))}
          </select>
        </label>
      )}
      <button type="submit" disabled={!text.trim()}>
        Add note
      </button>
    </form>
  );
}
