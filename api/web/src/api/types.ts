/** What the server's routes answer; the same names as in its OpenAPI description. */

export type Role = "viewer" | "uploader" | "admin";

export interface Account {
  name: string;
  role: Role;
  ticket_prefix: string;
}

export interface Capture {
  capture_id: string;
  name: string;
  size_bytes: number;
  ticket: string;
  state: "uploaded" | "importing" | "ready" | "failed";
  reason: string | null;
  damage: string | null;
  uploaded_ns: number;
  host: string | null;
  kernel: string | null;
  started_ns: number | null;
  duration_ns: number | null;
  remark: string | null;
  labels: string[];
  findings: Partial<Record<Severity, number>>;
}

export interface CapturePage {
  captures: Capture[];
  total: number;
}

export interface Note {
  note_id: number;
  author: string;
  text: string;
  written_ns: number;
}

export interface Upload {
  upload_id: string;
  name: string;
  size_bytes: number;
  offset_bytes: number;
  capture_id: string | null;
}

export interface ImportState {
  state: Capture["state"];
  phase?: string;
  records?: number;
  reason?: string | null;
}

export type Severity = "critical" | "warning" | "note";

/** A row of the view `finding`. */
export interface Finding {
  finding: string;
  severity: Severity;
  subject: string;
  message: string;
  score: number | null;
  title: string;
  means: string | null;
  /** Steps, with "; " between them. */
  next: string | null;
  /** One SELECT. */
  evidence: string | null;
}

export interface Column {
  name: string;
  unit: string | null;
  description: string;
}

/** Buckets: a row is one. */
export interface Histogram {
  kind: "histogram";
  low: string;
  high: string;
  count: string;
  keys: string[];
  unit: string | null;
}

/** A row is an interval; without a length a moment. */
export interface Intervals {
  kind: "intervals";
  time: string;
  length: string | null;
  values: { column: string; unit: string | null }[];
  keys: string[];
}

/** A chart of a page, as a view's header asks for it. */
export interface Chart {
  page: string;
  place: number;
  is_instead: boolean;
  title: string;
  values: { column: string; label: string; unit: string | null }[];
  keys: string[];
  where: string | null;
}

/** A view or a table, as GET /v1/schema describes it. */
export interface Entry {
  name: string;
  group: string;
  description: string;
  columns: Column[];
}

export interface ViewEntry extends Entry {
  /** Numbers that one may set. */
  parameters: string[];
  plot: Histogram | Intervals | null;
  charts: Chart[];
}

export interface Schema {
  views: ViewEntry[];
  tables: Entry[];
}

/** A value of a table's cell. Whole numbers that a double cannot hold are BigInt. */
export type Value = string | number | bigint | boolean | null | Value[] | { [name: string]: Value };
export type Row = Record<string, Value>;
