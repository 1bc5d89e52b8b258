/** Answers of the server as state of a component. */

import { useEffect, useState } from "preact/hooks";
import { type ApiError, get, type Query, rows, shown, type Urgency } from "./fetch";
import { type Row, type RowOf, type ViewName, viewPath } from "./rows";
import type { Schema } from "./types.gen";

export interface Answer<T> {
  data: T | undefined;
  error: ApiError | undefined;
  loading: boolean;
  /** Asks again. */
  again: () => void;
}

type Fetch<T> = (path: string, query: Query, signal: AbortSignal, urgency?: Urgency) => Promise<T>;

function useAnswer<T>(fetch: Fetch<T>, path: string | null, query: Query, urgency?: Urgency): Answer<T> {
  const [state, setState] = useState<Omit<Answer<T>, "again">>({
    data: undefined,
    error: undefined,
    loading: path !== null,
  });
  const [turn, setTurn] = useState(0);
  const key = JSON.stringify([path, query]);
  useEffect(() => {
    if (path === null) return;
    const abort = new AbortController();
    // The answer before stays visible until the next is there.
    setState((before) => ({ ...before, error: undefined, loading: true }));
    fetch(path, query, abort.signal, urgency).then(
      (data) => setState({ data, error: undefined, loading: false }),
      (error) => {
        if (!abort.signal.aborted) setState({ data: undefined, error: shown(error), loading: false });
      },
    );
    return () => abort.abort();
  }, [key, turn]);
  return { ...state, again: () => setTurn((before) => before + 1) };
}

/** The JSON of a route; `null` asks nothing. What is asked before the component goes away is given up. */
export function useGet<T>(path: string | null, query: Query = {}): Answer<T> {
  return useAnswer<T>(get, path, query);
}

/** The rows of a route that answers a table, with exact whole numbers. */
export function useRows<T = Row>(path: string | null, query: Query = {}, urgency?: Urgency): Answer<T[]> {
  return useAnswer<T[]>(rows, path, query, urgency);
}

/** The rows of a view or table; without a capture nothing is asked. */
export function useView<V extends ViewName>(
  captureId: string | null,
  view: V,
  query: Query = {},
  urgency?: Urgency,
): Answer<RowOf<V>[]> {
  return useRows<RowOf<V>>(captureId && viewPath(captureId, view), query, urgency);
}

let schema: Promise<Schema> | undefined;

/** All views and tables with their columns: asked for once. */
export function useSchema(): Schema | undefined {
  const [known, setKnown] = useState<Schema>();
  useEffect(() => {
    schema ??= get<Schema>("schema");
    schema.then(setKnown, () => {
      schema = undefined;
    });
  }, []);
  return known;
}
