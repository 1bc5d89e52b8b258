/** Queries that the team keeps on the server: opened by name, saved, deleted. */

import { useRef, useState } from "preact/hooks";
import { type ApiError, ask, shown } from "../api/fetch";
import { useGet } from "../api/hooks";
import type { Query } from "../api/types.gen";
import { moment } from "../app/clock";
import { may } from "../app/session";
import { Confirm } from "../parts/dialog";
import { Problem } from "../parts/problem";
import { safe } from "../parts/safe";
import { SaveDialog } from "../parts/save-dialog";

/** What is saved besides the name. */
export type Content = Pick<Query, "sql" | "set" | "chart">;

export function SavedQueries({ current, onChoose }: { current: Content; onChoose: (query: Content) => void }) {
  const menu = useRef<HTMLDetailsElement>(null);
  const { data, error, again } = useGet<Query[]>("queries");
  const [isSaving, setSaving] = useState(false);
  const [doomed, setDoomed] = useState<Query>();
  const [failure, setFailure] = useState<ApiError>();
  const [last, setLast] = useState("");
  const remove = async (query: Query) => {
    setFailure(undefined);
    try {
      await ask(`queries/${query.query_id}`, { method: "DELETE" });
    } catch (refused) {
      setFailure(shown(refused));
    }
    again();
  };
  return (
    <>
      {may("uploader") && (
        <button type="button" disabled={!current.sql.trim()} onClick={() => setSaving(true)}>
          Save
        </button>
      )}
      <details class="menu saved" ref={menu} onToggle={(event) => event.currentTarget.open && again()}>
        <summary class="button">Saved queries</summary>
        <ul>
          {error && (
            <li>
              <Problem error={error} again={again} />
            </li>
          )}
          {failure && (
            <li>
              <Problem error={failure} />
            </li>
          )}
          {data && !data.length && <li class="quiet">None yet.</li>}
          {data?.map((query) => (
            <li key={query.query_id} class="row">
              <button
                type="button"
                class="plain saved-name"
                title={query.sql}
                onClick={() => {
                  setLast(query.name);
                  onChoose(query);
                  menu.current?.removeAttribute("open");
                }}
              >
                <b>{safe(query.name)}</b>{" "}
                <span class="quiet">
                  {safe(query.author)}, {moment(query.written_ns)}
                </span>
              </button>
              {may("uploader") && (
                <button
                  type="button"
                  class="plain"
                  aria-label={`Delete ${query.name}`}
                  onClick={() => setDoomed(query)}
                >
                  ×
                </button>
              )}
            </li>
          ))}
        </ul>
      </details>
      {isSaving && (
        <SaveDialog
          what="query"
          name={last}
          path="queries"
          content={current}
          known={data?.map(({ query_id, name }) => ({ id: query_id, name })) ?? []}
          onClose={() => setSaving(false)}
          onSaved={(name) => {
            setLast(name);
            setSaving(false);
            again();
          }}
        />
      )}
      {doomed && (
        <Confirm
          question={`Delete the query ${safe(doomed.name)}?`}
          consequence="It is gone for everybody."
          act="Delete"
          onNo={() => setDoomed(undefined)}
          onYes={() => {
            setDoomed(undefined);
            void remove(doomed);
          }}
        />
      )}
    </>
  );
}
