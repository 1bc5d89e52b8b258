/** A value that components share. */

import { useEffect, useState } from "preact/hooks";

export interface Store<T> {
  get: () => T;
  set: (value: T | ((before: T) => T)) => void;
  subscribe: (tell: () => void) => () => void;
}

export function store<T>(first: T): Store<T> {
  let now = first;
  const told = new Set<() => void>();
  return {
    get: () => now,
    set(value) {
      now = typeof value === "function" ? (value as (before: T) => T)(now) : value;
      for (const tell of [...told]) tell();
    },
    subscribe(tell) {
      told.add(tell);
      return () => told.delete(tell);
    },
  };
}

/** The value now, and again whenever it changes. */
export function useStore<T>(from: Store<T>): T {
  const [value, setValue] = useState(from.get());
  useEffect(() => {
    const look = () => setValue(() => from.get());
    look();
    return from.subscribe(look);
  }, [from]);
  return value;
}
