/** A board: figures of histories under each other, which a team keeps under a name. */

import { useEffect, useMemo, useState } from "preact/hooks";
import { type ApiError, ask, shown } from "../api/fetch";
import { useGet, useRows } from "../api/hooks";
import type { Row } from "../api/rows";
import type { Board, Schema } from "../api/types.gen";
import { moment } from "../app/clock";
import { go, href } from "../app/route";
import { may } from "../app/session";
import { Confirm } from "../parts/dialog";
import { Fresh } from "../parts/fresh";
import { Problem, Waiting } from "../parts/problem";
import { safe } from "../parts/safe";
import { SaveDialog } from "../parts/save-dialog";
import { plural } from "../parts/units";
import { figureOf } from "./board-figures";
import { HistoryPlot } from "./history-plot";

interface BoardPageProps {
  id: string;
  schema: Schema | undefined;
  names: Map<string, string>;
}

export function BoardPage({ id, schema, names }: BoardPageProps) {
  const { data: board, error, again } = useGet<Board>(`boards/${id}`);
  const [isRenaming, setRenaming] = useState(false);
  const [isDoomed, setDoomed] = useState(false);
  const [failure, setFailure] = useState<ApiError>();
  useEffect(() => {
    document.title = board ? `${board.name} – perfcase` : "Board – perfcase";
  }, [board]);
  if (error)
    return error.kind === "not_found" || error.kind === "usage" ? (
      <p class="empty">There is no such board, or it is not of your tickets.</p>
    ) : (
      <Problem error={error} again={again} />
    );
  if (!board) return <Waiting />;
  const attempt = async (act: () => Promise<void>) => {
    setFailure(undefined);
    try {
      await act();
    } catch (refused) {
      setFailure(shown(refused));
    }
  };
  const change = (figures: string[]) =>
    attempt(async () => {
      await ask(`boards/${id}`, { method: "PUT", json: { name: board.name, figures } });
      again();
    });
  const swapped = (at: number) => {
    const figures = [...board.figures];
    [figures[at - 1], figures[at]] = [figures[at]!, figures[at - 1]!];
    return figures;
  };
  return (
    <>
      <div class="row">
        <h2>{safe(board.name)}</h2>
        <span class="quiet">
          {plural(board.figures.length, "figure")}, saved by {safe(board.author)}, {moment(board.written_ns)}
        </span>
        <span class="spring" />
        <a class="button" href={href("history")}>
          Another figure
        </a>
        {may("uploader") && (
          <>
            <button type="button" onClick={() => setRenaming(true)}>
              Rename
            </button>
            <button type="button" class="danger" onClick={() => setDoomed(true)}>
              Delete
            </button>
          </>
        )}
      </div>
      {failure && <Problem error={failure} />}
      {!board.figures.length && <p class="empty">It has no figure yet: choose one, then press Add to a board.</p>}
      {board.figures.map((address, at) => (
        <Figure key={`${address} ${at}`} address={address} schema={schema} names={names}>
          {may("uploader") && (
            <>
              {at > 0 && (
                <button
                  type="button"
                  class="plain"
                  aria-label={`Move figure ${at + 1} up`}
                  onClick={() => void change(swapped(at))}
                >
                  ↑
                </button>
              )}
              <button
                type="button"
                class="plain"
                aria-label={`Remove figure ${at + 1}`}
                onClick={() => void change(board.figures.filter((_, other) => other !== at))}
              >
                ×
              </button>
            </>
          )}
        </Figure>
      ))}
      {isRenaming && (
        <SaveDialog
          what="board"
          name={board.name}
          path="boards"
          content={{ figures: board.figures }}
          known={[{ id: board.board_id, name: board.name }]}
          replaced={board.board_id}
          onClose={() => setRenaming(false)}
          onSaved={() => {
            setRenaming(false);
            again();
          }}
        />
      )}
      {isDoomed && (
        <Confirm
          question={`Delete the board ${safe(board.name)}?`}
          consequence="It is gone for everybody. The captures and their figures stay."
          act="Delete"
          onNo={() => setDoomed(false)}
          onYes={() => {
            setDoomed(false);
            void attempt(async () => {
              await ask(`boards/${id}`, { method: "DELETE" });
              go("history");
            });
          }}
        />
      )}
    </>
  );
}

interface FigureProps {
  address: string;
  schema: Schema | undefined;
  names: Map<string, string>;
  children: preact.ComponentChildren;
}

function Figure({ address, schema, names, children }: FigureProps) {
  const figure = useMemo(() => figureOf(new URLSearchParams(address)), [address]);
  const { data, error, loading, again } = useRows<Row>(schema ? "history" : null, { ...figure, bands: true });
  const unit = schema?.views
    .find(({ name }) => name === figure.view)
    ?.columns.find(({ name }) => name === figure.measure)?.unit;
  const { view, measure, ...more } = figure;
  const words = Object.entries(more).flatMap(([name, value]) => (value ? [`${name} ${safe(value)}`] : []));
  return (
    <section class="board-figure">
      <div class="row">
        <h3>
          <a href={href("history", figure)}>
            {safe(measure)} of {safe(view)}
          </a>
        </h3>
        <span class="quiet">{words.join(", ")}</span>
        <span class="spring" />
        {children}
      </div>
      {error && <Problem error={error} again={again} />}
      {!data && !error && <Waiting what="Asking every capture" />}
      {data && !error && (
        <Fresh isOld={loading}>
          <HistoryPlot rows={data} unit={unit ?? null} names={names} />
          {data.length < 2 && (
            <p class="quiet">
              {data.length ? "One capture has it: that is no line yet." : "No capture has it."}{" "}
              <a href={href("history", figure)}>Its rows</a>
            </p>
          )}
        </Fresh>
      )}
    </section>
  );
}
