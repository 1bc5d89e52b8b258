/** Answers of several questions, each in a place of its own: while a place waits for another answer, it has the one before. */

import { useEffect, useRef, useState } from "preact/hooks";
import { type ApiError, type Query, rows, shown } from "../api/fetch";
import type { Row } from "../api/rows";

export interface Question {
  path: string;
  query: Query;
}

export interface Answered {
  rows: Row[] | undefined;
  error: ApiError | undefined;
  /** What `rows` were asked with: another question, while `isOld`. */
  of: Question;
  isOld: boolean;
}

interface State {
  key: string;
  of: Question;
  rows?: Row[];
  error?: ApiError;
}

/** The answers by place. What nobody asks any more is given up. */
export function useAnswers(questions: ReadonlyMap<string, Question>): {
  of: (place: string) => Answered | undefined;
  again: () => void;
} {
  const [states, setStates] = useState<ReadonlyMap<string, State>>(new Map());
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
      const give = (found: Partial<State>) => {
        if (abort.signal.aborted) return;
        asked.current.delete(place);
        setStates((before) => new Map(before).set(place, { key, of: question, ...found }));
      };
      rows(question.path, question.query, abort.signal).then(
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
  const of = (place: string): Answered | undefined => {
    const state = states.get(place);
    const question = questions.get(place);
    if (!question) return undefined;
    const isOld = state?.key !== keys.get(place);
    return { rows: state?.rows, error: isOld ? undefined : state?.error, of: state?.of ?? question, isOld };
  };
  return { of, again: () => setTurn((before) => before + 1) };
}
