/** Answers of several questions, each in a place of its own: while a place waits for another answer, it has the one before. */

import { useEffect, useRef, useState } from "preact/hooks";
import { type ApiError, type Query, rowsByColumn, shown, type Urgency } from "../api/fetch";
import type { Row } from "../api/rows";
import type { Span } from "./span";

export interface Question {
  path: string;
  query: Query;
  /** The part of the recording that it is about. */
  span: Span;
  /** All else that it is about: an answer to a question with another one is no answer to this. */
  about: string;
  urgency?: Urgency;
}

export interface Answered<T = Row[]> {
  rows: T | undefined;
  error: ApiError | undefined;
  /** The part of the recording that `rows` are about. */
  span: Span;
  /** The rows are about something else. */
  isOld: boolean;
  /** An answer is awaited: about something else, or about another part, or as fine as that is seen. */
  isAwaited: boolean;
}

interface State<T> {
  key: string;
  of: Question;
  rows?: T;
  error?: ApiError;
}

/** How a question gets its answer. */
export type Ask<T> = (question: Question, signal: AbortSignal, place: string) => Promise<T>;

export const forRows: Ask<Row[]> = ({ path, query, urgency }, signal) => rowsByColumn(path, query, signal, urgency);

/** The answers by place. What nobody asks any more is given up. */
export function useAnswers<T>(
  questions: ReadonlyMap<string, Question>,
  ask: Ask<T>,
): {
  of: (place: string) => Answered<T> | undefined;
  again: () => void;
} {
  const [states, setStates] = useState<ReadonlyMap<string, State<T>>>(new Map());
  const [turn, setTurn] = useState(0);
  const asked = useRef(new Map<string, { key: string; abort: AbortController }>());
  const keys = new Map([...questions].map(([place, question]) => [place, JSON.stringify([question, turn])]));
  const all = JSON.stringify([...keys]);
  useEffect(() => {
    for (const [place, { key, abort }] of asked.current)
      if (keys.get(place) !== key) {
        abort.abort();
        asked.current.delete(place);
      }
    for (const [place, question] of questions) {
      const key = keys.get(place)!;
      if (states.get(place)?.key === key || asked.current.has(place)) continue;
      const abort = new AbortController();
      asked.current.set(place, { key, abort });
      const give = (found: Partial<State<T>>) => {
        if (abort.signal.aborted) return;
        asked.current.delete(place);
        setStates((before) => new Map(before).set(place, { key, of: question, ...found }));
      };
      ask(question, abort.signal, place).then(
        (found) => give({ rows: found }),
        (error) => give({ error: shown(error) }),
      );
    }
  }, [all]);
  useEffect(
    () => () => {
      for (const { abort } of asked.current.values()) abort.abort();
    },
    [],
  );
  const of = (place: string): Answered<T> | undefined => {
    const state = states.get(place);
    const question = questions.get(place);
    if (!question) return undefined;
    const isAwaited = state?.key !== keys.get(place);
    return {
      rows: state?.rows,
      error: isAwaited ? undefined : state?.error,
      span: state?.of.span ?? question.span,
      isOld: state?.of.about !== question.about,
      isAwaited,
    };
  };
  return { of, again: () => setTurn((before) => before + 1) };
}
