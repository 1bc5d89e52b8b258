/** Asks for the name under which something is saved for the team; a name that is taken is replaced only if one says so. */

import { useState } from "preact/hooks";
import { type ApiError, ask, shown } from "../api/fetch";
import { Dialog } from "./dialog";
import { Problem } from "./problem";

interface SaveDialogProps {
  what: string;
  /** The name that is offered. */
  name: string;
  /** The route of all of them. */
  path: string;
  content: object;
  known: readonly { id: number; name: string }[];
  /** The one that gets the name, whichever it is. */
  replaced?: number;
  onSaved: (name: string, id: number) => void;
  onClose: () => void;
}

export function SaveDialog({ what, name: offered, path, content, known, replaced, onSaved, onClose }: SaveDialogProps) {
  const [name, setName] = useState(offered);
  const [error, setError] = useState<ApiError>();
  const clean = name.trim().replace(/\s+/g, " ");
  const taken = known.find((one) => one.name === clean);
  const save = async (event: Event) => {
    event.preventDefault();
    setError(undefined);
    try {
      const id = replaced ?? taken?.id;
      const [method, place] = id === undefined ? (["POST", path] as const) : (["PUT", `${path}/${id}`] as const);
      const saved = await (await ask(place, { method, json: { ...content, name: clean } })).json();
      onSaved(saved.name, saved[`${what}_id`]);
    } catch (refused) {
      setError(shown(refused));
    }
  };
  return (
    <Dialog label={`Save the ${what}`} class="save-dialog" onClose={onClose}>
      <form onSubmit={(event) => void save(event)}>
        <h2>Save the {what} for your team</h2>
        <label>
          Name
          <input
            autofocus
            maxLength={100}
            spellcheck={false}
            autocomplete="off"
            value={name}
            onInput={(event) => setName(event.currentTarget.value)}
          />
        </label>
        <p class="quiet" role="status">
          {taken && replaced === undefined
            ? "There is one of this name: it will be replaced."
            : "Everybody who sees all of your tickets can open it."}
        </p>
        {error && <Problem error={error} />}
        <div class="row actions">
          <button type="submit" class="primary" disabled={!clean}>
            {taken && replaced === undefined ? "Replace" : "Save"}
          </button>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  );
}
