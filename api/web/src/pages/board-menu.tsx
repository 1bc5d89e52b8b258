/** The boards of a team, and the one that a figure is added to. */

import { useRef, useState } from "preact/hooks";
import { type ApiError, ask, shown } from "../api/fetch";
import { useGet } from "../api/hooks";
import type { Board } from "../api/types.gen";
import { go, href } from "../app/route";
import { may } from "../app/session";
import { Problem } from "../parts/problem";
import { safe } from "../parts/safe";
import { SaveDialog } from "../parts/save-dialog";
import { plural } from "../parts/units";

/** `figure`: the one that is shown, as a board has it; null where none is. */
export function BoardMenu({ figure }: { figure: string | null }) {
  const { data, error, again } = useGet<Board[]>("boards");
  const [isSaving, setSaving] = useState(false);
  const [failure, setFailure] = useState<ApiError>();
  const adding = useRef<HTMLDetailsElement>(null);
  const open = (id: number) => go("history", { board: id });
  const add = async ({ board_id, name, figures }: Board) => {
    setFailure(undefined);
    try {
      await ask(`boards/${board_id}`, { method: "PUT", json: { name, figures: [...figures, figure] } });
      open(board_id);
    } catch (refused) {
      setFailure(shown(refused));
    }
  };
  const look = (event: { currentTarget: HTMLDetailsElement }) => event.currentTarget.open && again();
  return (
    <>
      {figure !== null && may("uploader") && (
        <details class="menu" ref={adding} onToggle={look}>
          <summary class="button">Add to a board</summary>
          <ul>
            {data?.map((board) => (
              <li key={board.board_id}>
                <button type="button" class="plain" onClick={() => void add(board)}>
                  {safe(board.name)} <span class="quiet">{plural(board.figures.length, "figure")}</span>
                </button>
              </li>
            ))}
            <li>
              <button
                type="button"
                class="plain"
                onClick={() => {
                  adding.current?.removeAttribute("open");
                  setSaving(true);
                }}
              >
                A new board …
              </button>
            </li>
          </ul>
        </details>
      )}
      <details class="menu" onToggle={look}>
        <summary class="button">Boards</summary>
        <ul>
          {error && (
            <li>
              <Problem error={error} again={again} />
            </li>
          )}
          {data && !data.length && <li class="quiet">None yet: choose a figure, then add it to a new one.</li>}
          {data?.map((board) => (
            <li key={board.board_id}>
              <a class="board-link" href={href("history", { board: board.board_id })}>
                {safe(board.name)} <span class="quiet">{plural(board.figures.length, "figure")}</span>
              </a>
            </li>
          ))}
        </ul>
      </details>
      {failure && <Problem error={failure} />}
      {isSaving && (
        <SaveDialog
          what="board"
          name=""
          path="boards"
          content={{ figures: figure === null ? [] : [figure] }}
          known={[]}
          onClose={() => setSaving(false)}
          onSaved={(_name, id) => {
            setSaving(false);
            open(id);
          }}
        />
      )}
    </>
  );
}
