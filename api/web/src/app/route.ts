/** The address holds the whole state of the page: `#/c/<capture>/<page>?window=10s..20s&…`. A link reproduces what is seen. */

import { useEffect, useState } from "preact/hooks";

export type ParamValue = string | number | boolean | null | undefined | readonly string[];
export type Params = Record<string, ParamValue>;

/** The part of a capture that is looked at: the query parameters of every route of an analysis. */
export interface Filters {
  window: string | null;
  process: string[];
  thread: string[];
  cpu: string[];
  cgroup: string[];
}

export const FILTERS = ["window", "process", "thread", "cpu", "cgroup"] as const;

export interface Route {
  /** `["c", capture_id, page]` */
  path: string[];
  params: URLSearchParams;
  /** Another page; what `params` does not name is gone. */
  go: (path: string | readonly string[], params?: Params) => void;
  /** The same page with other parameters; null takes one away. `replace`: without a step that "back" returns to. */
  set: (params: Params, replace?: boolean) => void;
}

/** The address of a page within the application. */
export function href(path: string | readonly string[], params: Params = {}): string {
  const parts = typeof path === "string" ? path.split("/").filter(Boolean) : path;
  const given = put(new URLSearchParams(), params).toString();
  return `#/${parts.map(encodeURIComponent).join("/")}${given ? `?${given}` : ""}`;
}

/** The filters that an address holds. */
export function filtersOf(params: URLSearchParams): Filters {
  const [process, thread, cpu, cgroup] = FILTERS.slice(1).map((name) => params.getAll(name).filter(Boolean));
  return { window: params.get("window") || null, process: process!, thread: thread!, cpu: cpu!, cgroup: cgroup! };
}

/** Whether they leave anything out. */
export function isPart(filters: Filters): boolean {
  return Object.values(filters).some((given) => given?.length);
}

/** The filters as parameters of a route or of an address. */
export function filterParams(filters: Filters): Record<string, string | string[] | null> {
  return { ...filters };
}

/** The filters that the sides of a comparison share: windows are each side's own. */
export function sharedParams(filters: Filters): Record<string, string[]> {
  const { window: _, ...shared } = filters;
  return shared;
}

/** What is open, and how to open something else. */
export function useRoute(): Route {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const look = () => setHash(location.hash);
    addEventListener("hashchange", look);
    addEventListener("popstate", look);
    look();
    return () => {
      removeEventListener("hashchange", look);
      removeEventListener("popstate", look);
    };
  }, []);
  return { ...read(hash), go, set };
}

function read(hash: string): Pick<Route, "path" | "params"> {
  const [path = "", query = ""] = hash.replace(/^#/, "").split("?", 2);
  return { path: path.split("/").filter(Boolean).map(decode), params: new URLSearchParams(query) };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function go(path: string | readonly string[], params: Params = {}): void {
  location.hash = href(path, params);
}

/** How one table is seen: another one has other columns. */
export const OF_A_TABLE: Params = { by: null, where: null, sort: null };

/** The address of what is open, with other parameters. */
export function linked(params: Params): string {
  const now = read(location.hash);
  return href(now.path, {}) + suffix(put(now.params, params));
}

export function set(params: Params, replace = false): void {
  const next = linked(params);
  if (next === location.hash) return;
  if (replace) replaceBy(next);
  else location.hash = next;
}

/** Another page with the same parameters, in place of this one: "back" does not return to it. */
export function moveTo(path: readonly string[]): void {
  replaceBy(href(path, {}) + suffix(read(location.hash).params));
}

function replaceBy(hash: string): void {
  history.replaceState(null, "", hash);
  dispatchEvent(new PopStateEvent("popstate"));
}

function suffix(params: URLSearchParams): string {
  const text = params.toString();
  return text ? `?${text}` : "";
}

function put(into: URLSearchParams, params: Params): URLSearchParams {
  for (const [name, value] of Object.entries(params)) {
    into.delete(name);
    if (value === null || value === undefined || value === false || value === "") continue;
    if (Array.isArray(value)) for (const one of value) into.append(name, one);
    else into.append(name, String(value));
  }
  return into;
}
