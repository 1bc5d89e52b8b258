/* Made by scripts/page_types.py: do not edit. */
import type {Row, RowOf} from "./rows";

/**
 * What each route answers.
 */
export interface Answers {
  "POST /v1/captures": Capture;
  "GET /v1/captures": Page;
  "GET /v1/captures/{capture_id}": Capture;
  "PATCH /v1/captures/{capture_id}": Capture;
  "POST /v1/captures/{capture_id}/import": Capture;
  "GET /v1/captures/{capture_id}/notes": Note[];
  "POST /v1/captures/{capture_id}/notes": Note;
  "POST /v1/uploads": Upload;
  "GET /v1/uploads/{upload_id}": Upload;
  "PATCH /v1/uploads/{upload_id}": Upload;
  "POST /v1/sql": Row[];
  "GET /v1/captures/{capture_id}/views/{name}":
    | Row[]
    | {
        [k: string]: unknown[];
      };
  "GET /v1/captures/{capture_id}/findings": (RowOf<"finding"> | RowOf<"finding_coverage">)[];
  "GET /v1/captures/{capture_id}/info": Info;
  "GET /v1/captures/{capture_id}/report": Report;
  "GET /v1/captures/{capture_id}/flamegraph": Tree | Functions | Neighbours;
  "GET /v1/captures/{capture_id}/annotate": (Annotated | ObjectsOfAFunction)[];
  "GET /v1/captures/{capture_id}/export": {};
  "GET /v1/diff": Comparison | Difference[] | Caller[];
  "GET /v1/diff/flamegraph": TreeOfBoth | Functions | Neighbours;
  "GET /v1/history": (History | Banded)[];
  "GET /v1/schema": Schema;
  "GET /v1/schema/{name}": ViewInFull | TableEntry;
  "GET /v1/queries": Query[];
  "POST /v1/queries": Query;
  "PUT /v1/queries/{query_id}": Query;
  "GET /v1/boards": Board[];
  "POST /v1/boards": Board;
  "GET /v1/boards/{board_id}": Board;
  "PUT /v1/boards/{board_id}": Board;
  "GET /v1/sign-in": Ways;
  "GET /v1/me": Account;
  "POST /v1/session": Account;
  "GET /v1/tokens": Token[];
  "POST /v1/tokens": CreatedToken;
  "GET /v1/audit": Entry[];
  "GET /v1/health": {
    [k: string]: string;
  };
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
  findings: {
    [k: string]: number;
  };
}
export interface Page {
  captures: Capture[];
  total: number;
}
export interface Note {
  note_id: number;
  author: string;
  text: string;
  start_ns: number | null;
  end_ns: number | null;
  finding: string | null;
  written_ns: number;
}
export interface Upload {
  upload_id: string;
  name: string;
  size_bytes: number;
  offset_bytes: number;
  capture_id: string | null;
  is_new: boolean | null;
}
export interface Info {
  facts: {
    [k: string]: string;
  };
  sources: {
    name: string;
    status: string;
  }[];
}
export interface Report {
  format: "perfcase-report";
  format_version: string;
  file: string;
  sections: {
    name: string;
    title: string;
    blocks: (
      | {
          kind: "line";
          text: string;
          tone?: "quiet" | "note" | "warning" | "critical";
        }
      | {
          kind: "fact";
          label: string;
          text: string;
        }
      | {
          kind: "check";
          tool: string;
          text: string;
          tone?: "quiet" | "note" | "warning" | "critical";
          link: {
            view: string;
          };
        }
      | {
          kind: "finding";
          severity: "critical" | "warning" | "note";
          title: string;
          subjects: {
            subject: string;
            message: string;
          }[];
          more_count: number;
          means?: string;
          next?: string;
          follows_from?: string;
          evidence: string;
          link: {
            finding: string;
          };
        }
      | {
          kind: "table";
          columns: {
            heading: string;
            unit?: string;
            is_text?: true;
          }[];
          rows: {
            value: number | string | boolean | null;
            text: string;
            unit?: string;
            link?: {
              view?: string;
              thread?: number;
              process?: number;
            };
          }[][];
        }
      | {
          kind: "source";
          link: {
            view: string;
            where?: string;
            order?: string;
          };
        }
      | {
          kind: "command";
          text: string;
        }
    )[];
  }[];
}
export interface Tree {
  title: string;
  what: string;
  unit: string;
  events: SampledEvent[];
  left_out: LeftOut[];
  stacks_left_out: StacksLeftOut[];
  is_inverted: boolean;
  whole_objects: string[];
  names: string[];
  kinds: string[];
  objects: string[];
  sources: string[];
  parent: number[];
  name: number[];
  kind: number[];
  object: number[];
  source: number[];
  places: number[];
  weight: number[];
  self: number[];
  pruned: Pruned;
}
export interface SampledEvent {
  event: string;
  unit: string;
  sample_count: number;
}
export interface LeftOut {
  what: string;
  weight: number;
}
export interface StacksLeftOut {
  how: "include" | "exclude";
  name: string;
  weight: number;
}
export interface Pruned {
  nodes: number;
  ratio_below: number;
}
export interface Functions {
  weight: number;
  found: number;
  has_self: boolean;
  counts: Counts;
  names: string[];
  kinds: string[];
  self: number[];
  total: number[];
  base: number[];
}
export interface Counts {
  self: number;
  total: number;
  change: number;
}
export interface Neighbours {
  name: string;
  self: number;
  callers: Paths;
  callees: Paths;
}
export interface Paths {
  names: string[];
  kinds: string[];
  objects: string[];
  sources: string[];
  parent: number[];
  name: number[];
  kind: number[];
  object: number[];
  source: number[];
  places: number[];
  weight: number[];
  self: number[];
  base?: number[];
  base_self?: number[];
  pruned: Pruned;
}
export interface Annotated {
  symbol: unknown;
  dso: unknown;
  address: unknown;
  symbol_offset_bytes: unknown;
  source_file: unknown;
  source_line: unknown;
  inlined: unknown;
  sample_count: unknown;
  period: unknown;
  symbol_ratio: unknown;
  instruction: unknown;
  missing_reason: unknown;
  source_text?: unknown;
}
export interface ObjectsOfAFunction {
  dso_id: unknown;
  dso: unknown;
  path: unknown;
  build_id: unknown;
  sample_count: unknown;
}
export interface Comparison {
  a: Side;
  b: Side;
  in_short: string[];
  findings: Change[];
  comparability: Condition[];
  per: Per | null;
  settings: Setting[];
  not_compared: NotCompared[];
  stacks: StackComparison | null;
  noise_count: number;
  differences: Difference[];
}
export interface Side {
  name: string;
  duration_ns: number;
}
export interface Change {
  finding: string;
  title: string;
  state: string;
  a: WorstFinding | null;
  b: WorstFinding | null;
  is_judged: boolean;
  follows_from?: string | null;
}
export interface WorstFinding {
  severity: string;
  subject: string;
  message: string;
  score: number | null;
  count: number;
  follows_from?: string | null;
}
export interface Condition {
  name: string;
  a: string;
  b: string;
  is_same: boolean;
  means: string;
}
export interface Per {
  event: string;
  a: number;
  b: number;
}
export interface Setting {
  key: string;
  a: string | null;
  b: string | null;
}
export interface NotCompared {
  view: string;
  lacks: string;
  why: string;
}
export interface StackComparison {
  event: string;
  is_same_shape: boolean | null;
  overlap_ratio: number;
  expected_overlap_ratio: number;
  a_samples: number;
  b_samples: number;
  counters: string[];
  sentence: string;
  moved: string[];
}
export interface Difference {
  rank: number;
  view: string;
  key: string;
  key_names: (string | null)[];
  key_values: (string | null)[];
  measure: string;
  unit: string | null;
  per: string | null;
  state: string;
  a: number | null;
  b: number | null;
  a_per: number | null;
  b_per: number | null;
  difference: number;
  ratio: number | null;
  noise_ratio: number | null;
  sigmas: number | null;
  is_noise: boolean;
  share_ratio: number;
  score: number;
  also: (string | null)[];
  why: string;
}
export interface Caller {
  depth: number | null;
  path: string | null;
  a: number | null;
  b: number | null;
  a_per_s: number | null;
  b_per_s: number | null;
  difference_per_s: number | null;
  times: number | null;
  sigmas: number | null;
  a_ratio: number | null;
  b_ratio: number | null;
  a_samples: number | null;
  b_samples: number | null;
}
export interface TreeOfBoth {
  title: string;
  what: string;
  unit: string;
  a_name: string;
  b_name: string;
  events: SampledEvent[];
  stacks_left_out: StacksLeftOutOfBoth[];
  is_inverted: boolean;
  whole_objects: string[];
  names: string[];
  kinds: string[];
  objects: string[];
  sources: string[];
  parent: number[];
  name: number[];
  kind: number[];
  object: number[];
  source: number[];
  places: number[];
  weight: number[];
  self: number[];
  base: number[];
  base_self: number[];
  pruned: Pruned;
}
export interface StacksLeftOutOfBoth {
  how: "include" | "exclude";
  name: string;
  weight: number;
  base: number;
}
export interface History {
  recorded_at?: string | null;
  host?: string | null;
  ticket?: string | null;
  note?: string | null;
  labels?: string | null;
  capture: string | null;
  duration_ns?: number | null;
  kernel?: string | null;
  cpu_count?: number | null;
  cpu_model?: string | null;
  row_count?: number | null;
  value?: number | null;
  value_per_s?: number | null;
  in_baseline?: boolean | null;
  baseline_median?: number | null;
  baseline_mad?: number | null;
  deviation?: number | null;
  deviation_mads?: number | null;
  band?: string | null;
  band_since?: string | null;
  problem: string | null;
}
export interface Banded {
  view: string | null;
  key: string | null;
  measure: string | null;
  unit: string | null;
  low_count: number | null;
  high_count: number | null;
  low_median: number | null;
  high_median: number | null;
  times: number | null;
  separation: number | null;
  needed: number | null;
  low_hosts: (string | null)[] | null;
  high_hosts: (string | null)[] | null;
}
export interface Schema {
  views: ViewEntry[];
  tables: TableEntry[];
  exports: ExportEntry[];
}
export interface ViewEntry {
  name: string;
  group: string;
  description: string;
  columns: Column[];
  parameters: string[];
  changed_by: string[];
  plot: Histogram | Intervals | null;
  charts: Chart[];
}
export interface Column {
  name: string;
  unit: string | null;
  description: string;
}
export interface Histogram {
  low: string;
  high: string;
  count: string;
  keys: string[];
  unit: string | null;
  kind: "histogram";
}
export interface Intervals {
  time: string;
  length: string | null;
  values: string[];
  keys: string[];
  units: (string | null)[];
  kind: "intervals";
}
export interface Chart {
  page: string;
  place: number;
  is_instead: boolean;
  title: string;
  values: ChartValue[];
  keys: string[];
  where: string | null;
}
export interface ChartValue {
  column: string;
  label: string;
  unit: string | null;
}
export interface TableEntry {
  name: string;
  group: string;
  description: string;
  columns: Column[];
}
export interface ExportEntry {
  name: string;
  readers: string;
  suffix: string;
}
export interface ViewInFull {
  name: string;
  group: string;
  description: string;
  columns: Column[];
  parameters: string[];
  changed_by: string[];
  plot: Histogram | Intervals | null;
  charts: Chart[];
  sql: string;
}
export interface Query {
  query_id: number;
  name: string;
  sql: string;
  set: string[];
  chart: string;
  author: string;
  written_ns: number;
}
export interface Board {
  name: string;
  /**
   * @maxItems 30
   */
  figures: string[];
  board_id: number;
  author: string;
  written_ns: number;
}
export interface Ways {
  is_open: boolean;
  token: boolean;
  oidc: Provider | null;
}
export interface Provider {
  name: string;
  url: string;
}
export interface Account {
  name: string;
  role: "viewer" | "uploader" | "admin";
  ticket_prefix: string;
}
export interface Token {
  token_id: number;
  name: string;
  role: "viewer" | "uploader" | "admin";
  ticket_prefix: string;
  created_ns: number;
  expires_ns: number | null;
  revoked_ns: number | null;
  issuer: string | null;
}
export interface CreatedToken {
  token_id: number;
  name: string;
  role: "viewer" | "uploader" | "admin";
  ticket_prefix: string;
  created_ns: number;
  expires_ns: number | null;
  revoked_ns: number | null;
  issuer: string | null;
  secret: string;
}
export interface Entry {
  at_ns: number;
  who: string;
  address: string;
  action: string;
  subject: string;
  status: number;
}
