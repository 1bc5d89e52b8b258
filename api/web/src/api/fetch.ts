/** Requests to the server that gave this page, and its one shape of errors. */

import type { Row, Value } from "./rows";

/** What the server says of a request that it did not answer. */
export class ApiError extends Error {
  constructor(
    readonly kind: string,
    message: string,
    readonly hint: string | null = null,
    readonly status = 0,
  ) {
    super(message);
  }
}

export type QueryValue = string | number | boolean | null | undefined | readonly string[];
export type Query = Record<string, QueryValue>;

let onSignedOut: () => void = () => undefined;

/** Called when the server no longer accepts the session. */
export function whenSignedOut(act: () => void): void {
  onSignedOut = act;
}

/** A route's address, from the page's own; lists become repeated parameters, what is empty is left out. */
export function address(path: string, query: Query = {}): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === null || value === undefined || value === false || value === "") continue;
    for (const one of Array.isArray(value) ? value : [value]) given.append(name, String(one));
  }
  const text = given.toString();
  return text ? `v1/${path}?${text}` : `v1/${path}`;
}

export interface RequestOptions {
  method?: string;
  query?: Query;
  body?: BodyInit | null;
  json?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
  urgency?: Urgency | undefined;
}

/** When the server and the browser answer it, of what is asked at once (RFC 9218): what is at the top of a page first, notes on it last. */
export type Urgency = "first" | "later";
const PRIORITIES = { first: ["u=1", "high"], later: ["u=5", "low"] } as const;

/** The answer to a request, or an ApiError. */
export async function ask(path: string, options: RequestOptions = {}): Promise<Response> {
  const headers = { ...options.headers };
  let body = options.body ?? null;
  if (options.json !== undefined) {
    headers["Content-Type"] = "application/json";
    body = JSON.stringify(options.json);
  }
  const [said, priority] = options.urgency ? PRIORITIES[options.urgency] : [undefined, "auto" as const];
  if (said) headers["Priority"] = said;
  const init: RequestInit = { priority, method: options.method ?? "GET", headers, body, credentials: "same-origin" };
  if (options.signal) init.signal = options.signal;
  let answer: Response;
  try {
    answer = await fetch(address(path, options.query), init);
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new ApiError("network", "the server does not answer", "is perfcase serve still running?");
  }
  if (answer.ok) return answer;
  const told = await refusal(answer);
  if (told.kind === "unauthorized" && path !== "session") onSignedOut();
  throw told;
}

async function refusal(answer: Response): Promise<ApiError> {
  try {
    const { error } = await answer.json();
    return new ApiError(error.kind, error.message, error.hint ?? null, answer.status);
  } catch {
    return new ApiError("internal", `${answer.status} ${answer.statusText}`, null, answer.status);
  }
}

/** The JSON of an answer. */
export async function get<T>(path: string, query: Query = {}, signal?: AbortSignal, urgency?: Urgency): Promise<T> {
  return exact(await textOf(await ask(path, { query, signal, urgency })));
}

/** All of an answer. It may end early after it began well: the server stops a question whenever it must. */
export const textOf = (answer: Response): Promise<string> => whole(answer.text());

async function whole<T>(read: Promise<T>): Promise<T> {
  try {
    return await read;
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiError("cut", "the connection broke");
  }
}

/** The rows of a table or view. */
export async function rows<T = Row>(
  path: string,
  query: Query = {},
  signal?: AbortSignal,
  urgency?: Urgency,
): Promise<T[]> {
  return exact(await textOf(await ask(path, { query, signal, urgency })));
}

/**
 * The rows of a view, sent column by column: a third of the text, two thirds of the bytes on the wire. Arrow is longer in both, and
 * needs a reader of its own.
 */
export async function rowsByColumn<T = Row>(
  path: string,
  query: Query = {},
  signal?: AbortSignal,
  urgency?: Urgency,
): Promise<T[]> {
  const columns = exact<Record<string, Value[]>>(await textOf(await byColumn(path, query, signal, urgency)));
  const names = Object.keys(columns);
  const lists = Object.values(columns);
  const length = lists[0]?.length ?? 0;
  if (lists.some((list) => !Array.isArray(list) || list.length !== length))
    throw new ApiError("cut", "the answer is not whole");
  const found: Row[] = Array.from({ length }, () => ({}));
  lists.forEach((list, at) => {
    const name = names[at]!;
    for (let number = 0; number < length; number++) found[number]![name] = list[number]!;
  });
  return found as T[];
}

/** The same answer as it came, to be decoded elsewhere. */
export async function bytesByColumn(
  path: string,
  query: Query,
  signal: AbortSignal,
  urgency?: Urgency,
): Promise<ArrayBuffer> {
  return whole((await byColumn(path, query, signal, urgency)).arrayBuffer());
}

const byColumn = (path: string, query: Query, signal?: AbortSignal, urgency?: Urgency): Promise<Response> =>
  ask(path, { query: { ...query, format: "columns" }, signal, urgency });

/** How many bytes of the tables' files the server read for an answer: 0 for one that it had kept; null where it does not say. */
export function bytesRead(answer: Response): number | null {
  const said = answer.headers.get("Perfcase-Bytes-Read");
  return said === null ? null : Number(said);
}

/** JSON whose whole numbers are kept to the last digit: a time of day in ns does not fit a double. */
export function exact<T>(text: string): T {
  // To look at each number takes ten times as long as to parse it, and few answers have a number of so many digits.
  const parse = LONG.test(text) ? exactly : JSON.parse;
  try {
    return parse(text);
  } catch {
    throw new ApiError("cut", "the answer is not whole");
  }
}

/** As many digits as the smallest number has that a double does not hold; not those behind a point. */
const LONG = /(?<![.\d])\d{16}/;

function exactly(text: string) {
  // TypeScript does not know the reviver's third argument yet.
  const revive = (_name: string, value: unknown, context?: { source?: string }): unknown =>
    typeof value === "number" &&
    !Number.isSafeInteger(value) &&
    context?.source !== undefined &&
    /^-?\d+$/.test(context.source)
      ? BigInt(context.source)
      : value;
  return JSON.parse(text, revive as (name: string, value: unknown) => unknown);
}

/** Any error as one that can be shown. */
export function shown(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return new ApiError("internal", error instanceof Error ? error.message : String(error));
}
