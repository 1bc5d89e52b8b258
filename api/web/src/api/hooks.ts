/** Answers of the server as state of a component. */

import { useEffect, useState } from "preact/hooks";
import { type ApiError, ask, exact, get, type Query, rows, shown, textOf, type Urgency } from "./fetch";
import { type Row, type RowOf, type ViewName, viewPath } from "./rows";
import type { Schema } from "./types.gen";

export interface Answer<T> {
  /** While `loading`: those of the question before. */
  data: T | undefined;
  error: ApiError | undefined;
  loading: boolean;
  /** Asks again. */
  again: () => void;
}

type Fetch<T> = (path: string, query: Query, signal: AbortSignal, urgency?: Urgency) => Promise<T>;

function useAnswer<T>(fetch: Fetch<T>, path: string | null, query: Query, urgency?: Urgency): Answer<T> {
  const [turn, setTurn] = useState(0);
  const key = JSON.stringify([path, query, turn]);
  const [state, setState] = useState<{ key?: string; data?: T; error?: ApiError }>({});
  useEffect(() => {
    if (path === null) return;
    const abort = new AbortController();
    fetch(path, query, abort.signal, urgency).then(
      (data) => setState({ key, data }),
      (error) => {
        if (!abort.signal.aborted) setState({ key, error: shown(error) });
      },
    );
    return () => abort.abort();
  }, [key]);
  // By what was asked, not by an effect: that would come a picture late.
  const loading = path !== null && state.key !== key;
  return {
    data: path === null ? undefined : state.data,
    error: path === null || loading ? undefined : state.error,
    loading,
    again: () => setTurn((before) => before + 1),
  };
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

/** The rows of a SELECT over a part of a capture, at most `limit`; `null` asks nothing. */
export function useSql<T = Row>(captureId: string, sql: string | null, part: Query, limit: number): Answer<T[]> {
  const fetch: Fetch<T[]> = async (path, { sql: statement, ...query }, signal) => {
    const given = Object.entries(query).filter(([, value]) => (Array.isArray(value) ? value.length : value));
    const json = { sql: statement, limit, ...Object.fromEntries(given) };
    return exact(await textOf(await ask(path, { method: "POST", json, signal })));
  };
  return useAnswer<T[]>(fetch, sql === null ? null : "sql", { capture_id: captureId, sql, ...part });
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
