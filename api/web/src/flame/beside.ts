/** The figures beside a flame graph, of whole callchains: where the graph lacks what is too small to be seen, the server has them. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ApiError, type Query } from "../api/fetch";
import { type Answer, useGet } from "../api/hooks";
import type { Functions, Neighbours } from "../api/types.gen";
import { beside, callees, callers, type FlameDoc, FlameTree } from "./tree";

/** How to ask more about a graph: the route that gave it, with what it was asked. */
export interface Source {
  path: string;
  query: Query;
}

const TYPED_MS = 250;

/** A text, once nobody has changed it for a moment. */
function useCalm(text: string): string {
  const [calm, setCalm] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setCalm(text), TYPED_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return text && calm;
}

/** Where the graph that is shown is from. While another one is awaited its figures stay those of this one. */
function useSource(source: Source | null): Source | null {
  const last = useRef(source);
  if (source) last.current = source;
  return last.current;
}

/** The functions in a node and below, and what a search finds there. `given`: null while another graph is awaited. */
export function useFunctions(
  doc: FlameDoc,
  tree: FlameTree,
  given: Source | null,
  node: number,
  find: string,
): Answer<Functions> {
  const source = useSource(given);
  const isWhole = doc.pruned.nodes === 0;
  const here = useMemo(() => (isWhole ? beside(tree, node, find) : undefined), [isWhole, tree, node, find]);
  const calm = useCalm(find);
  const told = useGet<Functions>(isWhole || !source ? null : source.path, {
    ...source?.query,
    format: "functions",
    node: node || null,
    find: calm,
  });
  if (here) return { data: here, error: undefined, loading: false, again: () => undefined };
  const isOther = told.data && !told.loading && told.data.weight !== tree.weight[node];
  return {
    ...told,
    data: isOther ? undefined : told.data,
    error: isOther ? new ApiError("cut", "the functions are those of another graph") : told.error,
    loading: told.loading || calm !== find,
  };
}

/** Who calls a function and what it calls; `self`: what was counted in itself. */
export interface Around {
  above: FlameTree;
  below: FlameTree;
  self: number;
}

export function useAround(doc: FlameDoc, tree: FlameTree, given: Source | null, of: string): Answer<Around> {
  const source = useSource(given);
  const isWhole = doc.pruned.nodes === 0;
  const here = useMemo(() => (isWhole && of ? around(tree, of) : undefined), [isWhole, tree, of]);
  const isAsked = !isWhole && source && of !== "";
  const told = useGet<Neighbours>(isAsked ? source.path : null, { ...source?.query, format: "neighbours", of });
  const { data } = told;
  const there = useMemo(
    () => data && { above: FlameTree.ofPaths(data.callers), below: FlameTree.ofPaths(data.callees), self: data.self },
    [data],
  );
  if (isWhole || !of) return { data: here, error: undefined, loading: false, again: () => undefined };
  return { ...told, data: there };
}

/** The same of a tree that has all of its nodes. */
export function around(tree: FlameTree, of: string): Around | undefined {
  const name = tree.names.indexOf(of);
  if (name < 0) return undefined;
  let self = 0;
  for (let node = 0; node < tree.size; node++) if (tree.name[node] === name) self += tree.self[node]!;
  const [up, down] = [callers(tree, name), callees(tree, name)];
  // Upside down, what a function calls is where its callers were.
  return tree.isInverted ? { above: down, below: up, self } : { above: up, below: down, self };
}
