/** All captures in scope: found by ticket, host, label, finding, time; uploaded; two of them compared. */

import { useEffect, useState } from "preact/hooks";
import { useGet } from "../api/hooks";
import type { Capture, Page } from "../api/types.gen";
import { imports, whenImported } from "../app/imports";
import { arrived } from "../app/uploads";
import { go, href, useRoute } from "../app/route";
import { dayStart, moment, zone } from "../app/clock";
import { may } from "../app/session";
import { useStore } from "../app/store";
import { CaptureCard } from "../parts/capture-card";
import { Dialog } from "../parts/dialog";
import { Fresh } from "../parts/fresh";
import { CancelImport, ImportProgress } from "../parts/import-progress";
import { Problem, Waiting } from "../parts/problem";
import { safe } from "../parts/safe";
import { UploadButton, Uploads } from "../parts/upload";
import { count, duration, plural, size } from "../parts/units";

const PAGE_ROWS = 100;
const TYPED_MS = 250;
const HEADS: [string, string, string?][] = [
  ["name", "Capture"],
  ["ticket", "Ticket"],
  ["host", "Host"],
  ["started", "Recorded"],
  ["duration", "Duration", "number"],
  ["size", "Size", "number"],
  ["findings", "Findings"],
];
const FIELDS: [string, string, string][] = [
  ["ticket", "Ticket", "Begins with this"],
  ["host", "Host", "* stands for anything"],
  ["label", "Label", "Exactly this label"],
  ["finding", "Finding", "The name of a rule that fired: cpu_saturation"],
];

export function Captures() {
  const { params, set } = useRoute();
  const sort = params.get("sort") ?? "-started";
  const offset = Number(params.get("offset") ?? 0) || 0;
  const asked = Object.fromEntries(["text", ...FIELDS.map(([name]) => name)].map((name) => [name, params.get(name)]));
  const query = {
    ...asked,
    after_ns: ns(params.get("after")),
    before_ns: ns(params.get("before"), true),
    sort,
    offset: offset || null,
    limit: PAGE_ROWS,
  };
  const { data, error, loading, again } = useGet<Page>("captures", query);
  const [chosen, setChosen] = useState<string[]>([]);
  const [open, setOpen] = useState<Capture>();
  const ended = useStore(arrived);
  useEffect(() => {
    document.title = "Captures – perfcase";
    if (ended) again();
  }, [ended]);
  const isFiltered = Object.values(asked).some(Boolean) || params.has("after") || params.has("before");
  const choose = (id: string) =>
    setChosen((before) => (before.includes(id) ? before.filter((one) => one !== id) : [...before, id].slice(-2)));
  return (
    <main class="captures">
      <div class="row">
        <Search name="text" label="Search" placeholder="Search names, hosts, tickets, notes" isMain />
        <span class="spring" />
        <button
          type="button"
          disabled={chosen.length !== 2}
          title="Choose two captures by their boxes"
          onClick={() => go("diff", { a: chosen[0], b: chosen[1] })}
        >
          Compare
        </button>
        {may("uploader") && <UploadButton ticket={params.get("ticket") ?? ""} />}
      </div>
      <div class="row search-more">
        {FIELDS.map(([name, label, hint]) => (
          <Search key={name} name={name} label={label} placeholder={label} hint={hint} />
        ))}
        <Day name="after" label="From" />
        <Day name="before" label="to" />
        {isFiltered && (
          <button
            type="button"
            class="plain"
            onClick={() =>
              set({
                text: null,
                ticket: null,
                host: null,
                label: null,
                finding: null,
                after: null,
                before: null,
                offset: null,
              })
            }
          >
            Clear
          </button>
        )}
      </div>
      <Uploads />
      {error && <Problem error={error} again={again} />}
      {!data && !error && <Waiting />}
      {data && !data.captures.length && (
        <p class="empty">
          {isFiltered
            ? "No capture matches."
            : may("uploader")
              ? "No captures yet. Drop .perfcase files here, or a perf.data or trace.dat."
              : "No captures yet."}
        </p>
      )}
      {data && data.total > 0 && (
        <Fresh isOld={loading}>
          <table class="list">
            <thead>
              <tr>
                <th class="list-box">
                  <span class="visually-hidden">Compare</span>
                </th>
                {HEADS.map(([name, title, kind]) => (
                  <th
                    key={name}
                    class={kind ?? ""}
                    aria-sort={sort.endsWith(name) ? (sort.startsWith("-") ? "descending" : "ascending") : "none"}
                  >
                    <button
                      type="button"
                      onClick={() => set({ sort: sort === `-${name}` ? name : `-${name}`, offset: null })}
                    >
                      {title}
                      {sort.endsWith(name) && <span class="sort">{sort.startsWith("-") ? "▾" : "▴"}</span>}
                    </button>
                  </th>
                ))}
                <th>
                  <span class="visually-hidden">Delete</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {data.captures.map((capture) => (
                <Line
                  key={capture.capture_id}
                  capture={capture}
                  isChosen={chosen.includes(capture.capture_id)}
                  onChoose={() => choose(capture.capture_id)}
                  onDetails={() => setOpen(capture)}
                  onImported={again}
                />
              ))}
            </tbody>
          </table>
          <div class="table-foot">
            <span>
              {data.total > PAGE_ROWS
                ? `${count(offset + 1)} to ${count(offset + data.captures.length)} of ${plural(data.total, "capture")}`
                : plural(data.total, "capture")}
            </span>
            {offset > 0 && (
              <button type="button" onClick={() => set({ offset: Math.max(0, offset - PAGE_ROWS) || null })}>
                Before
              </button>
            )}
            {offset + data.captures.length < data.total && (
              <button type="button" onClick={() => set({ offset: offset + PAGE_ROWS })}>
                Next
              </button>
            )}
          </div>
        </Fresh>
      )}
      {open && (
        <Dialog label={open.name} class="wide" onClose={() => setOpen(undefined)}>
          <h2>{safe(open.name)}</h2>
          <CaptureCard
            capture={open}
            onChange={(changed) => {
              setOpen(changed);
              again();
            }}
            onDeleted={() => {
              setOpen(undefined);
              again();
            }}
          />
        </Dialog>
      )}
    </main>
  );
}

interface LineProps {
  capture: Capture;
  isChosen: boolean;
  onChoose: () => void;
  onDetails: () => void;
  onImported: () => void;
}

function Line({ capture, isChosen, onChoose, onDetails, onImported }: LineProps) {
  const isReady = capture.state === "ready";
  useEffect(() => {
    if (isReady || capture.state === "failed") return;
    return whenImported(capture.capture_id, () => onImported());
  }, [capture.capture_id, capture.state]);
  const at = useStore(imports).get(capture.capture_id);
  return (
    <tr>
      <td class="list-box">
        <input
          type="checkbox"
          aria-label={`Compare ${capture.name}`}
          checked={isChosen}
          disabled={!isReady}
          onChange={onChoose}
        />
      </td>
      <td class="list-name">
        {isReady ? <a href={href(["c", capture.capture_id, "overview"])}>{safe(capture.name)}</a> : safe(capture.name)}
        {capture.state === "failed" && <span class="badge critical">not imported</span>}
        {(capture.state === "importing" || capture.state === "uploaded") && (
          <>
            <span class="badge note">{(at?.state ?? capture.state) === "uploaded" ? "waiting" : "importing"}</span>
            <ImportProgress now={at} name={capture.name}>
              {at?.is_new && may("uploader") && <CancelImport capture={capture} onCancelled={onImported} />}
            </ImportProgress>
          </>
        )}
        {capture.damage && <span class="badge warning">damaged</span>}
        {capture.labels.map((label) => (
          <span class="badge label" key={label}>
            {safe(label)}
          </span>
        ))}
        {capture.remark && <span class="list-remark">{safe(capture.remark)}</span>}
      </td>
      <td>{safe(capture.ticket)}</td>
      <td>{safe(capture.host ?? "")}</td>
      <td class="list-time">{moment(capture.started_ns)}</td>
      <td class="number">{duration(capture.duration_ns)}</td>
      <td class="number">{size(capture.size_bytes)}</td>
      <td>{isReady && <FindingCounts findings={capture.findings} />}</td>
      <td>
        <button type="button" class="plain" onClick={onDetails}>
          Details
        </button>
      </td>
    </tr>
  );
}

export function FindingCounts({ findings }: { findings: Capture["findings"] }) {
  if (!Object.values(findings).some(Boolean)) return <span class="quiet">no findings</span>;
  return (
    <span class="row counts">
      {["critical", "warning", "note"].map((severity) =>
        findings[severity] ? (
          <span class={`badge ${severity}`} key={severity}>
            {severity === "critical" ? `${findings[severity]} critical` : plural(findings[severity], severity)}
          </span>
        ) : null,
      )}
    </span>
  );
}

interface SearchProps {
  name: string;
  label: string;
  placeholder: string;
  hint?: string;
  isMain?: boolean;
}

/** A field whose text goes into the address when the reader pauses. */
function Search({ name, label, placeholder, hint, isMain }: SearchProps) {
  const { params, set } = useRoute();
  const given = params.get(name) ?? "";
  const [text, setText] = useState(given);
  useEffect(() => setText(given), [given]);
  useEffect(() => {
    if (text === given) return;
    const timer = setTimeout(() => set({ [name]: text, offset: null }, true), TYPED_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <input
      type="search"
      class={isMain ? "search-main" : ""}
      data-search={isMain ? "" : undefined}
      aria-label={label}
      placeholder={placeholder}
      title={hint}
      spellcheck={false}
      value={text}
      onInput={(event) => setText(event.currentTarget.value)}
    />
  );
}

function Day({ name, label }: { name: string; label: string }) {
  const { params, set } = useRoute();
  return (
    <label class="day">
      {label}{" "}
      <input
        type="date"
        title={`A day in ${zone.get()}`}
        value={params.get(name) ?? ""}
        onChange={(event) => set({ [name]: event.currentTarget.value, offset: null }, true)}
      />
    </label>
  );
}

/** The beginning of a day in the page's zone, or its end, as the route takes it. */
function ns(day: string | null, isEnd = false): string | null {
  if (!day) return null;
  const at = dayStart(day, isEnd ? 1 : 0);
  return Number.isNaN(at) ? null : `${at}000000`;
}
