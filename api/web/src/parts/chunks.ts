/** Rows of a view in portions: the next comes when the reader gets there. */

import { useEffect, useRef, useState } from "preact/hooks";
import { type ApiError, ask, bytesRead, exact, type Query, shown, textOf } from "../api/fetch";
import type { Row } from "../api/rows";

const PORTION = 500;

export interface Chunks {
  rows: Row[];
  /** There are no more. */
  isWhole: boolean;
  /** What the server read of the tables' files, for all portions; null where it does not say. */
  bytesRead: number | null;
  isLoading: boolean;
  /** The rows are the answer to the question before. */
  isOld: boolean;
  error: ApiError | undefined;
  more: () => void;
  again: () => void;
}

async function fetchPortion(path: string, query: Query, signal: AbortSignal): Promise<[Row[], number | null]> {
  const answer = await ask(path, { query, signal });
  return [exact<Row[]>(await textOf(answer)), bytesRead(answer)];
}

export function useChunks(path: string | null, query: Query): Chunks {
  const key = JSON.stringify([path, query]);
  const [turn, setTurn] = useState(0);
  const [state, setState] = useState<Omit<Chunks, "isOld" | "more" | "again"> & { key: string }>({
    key: "",
    rows: [],
    isWhole: false,
    bytesRead: null,
    isLoading: path !== null,
    error: undefined,
  });
  const abort = useRef<AbortController | undefined>(undefined);
  const isAsked = useRef(false);

  const fetch = (offset: number) => {
    if (path === null || isAsked.current) return;
    isAsked.current = true;
    const { signal } = (abort.current = new AbortController());
    setState((before) => ({ ...before, isLoading: true, error: undefined }));
    fetchPortion(path, { ...query, limit: PORTION, offset: offset || null }, signal).then(
      ([found, read]) => {
        isAsked.current = false;
        setState((before) => ({
          key,
          rows: offset ? [...before.rows, ...found] : found,
          isWhole: found.length < PORTION,
          bytesRead: offset && read !== null && before.bytesRead !== null ? before.bytesRead + read : read,
          isLoading: false,
          error: undefined,
        }));
      },
      (error) => {
        if (signal.aborted) return;
        isAsked.current = false;
        setState({ key, rows: [], isWhole: false, bytesRead: null, isLoading: false, error: shown(error) });
      },
    );
  };
  useEffect(() => {
    fetch(0);
    return () => {
      abort.current?.abort();
      isAsked.current = false;
    };
  }, [key, turn]);
  const isOld = path !== null && state.key !== key;
  return {
    ...state,
    error: isOld ? undefined : state.error,
    isLoading: isOld || state.isLoading,
    isOld,
    more: () => {
      if (!state.isWhole && !state.isLoading && state.key === key) fetch(state.rows.length);
    },
    again: () => setTurn((before) => before + 1),
  };
}
