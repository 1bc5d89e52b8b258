/** What differs between two captures, or between two parts of one: first whether they can be compared at all. */

import { useEffect, useState } from "preact/hooks";
import { useGet, useSchema } from "../api/hooks";
import type { Row } from "../api/rows";
import type { Comparison, Difference, Page } from "../api/types.gen";
import { Lazy } from "../app/lazy";
import { FilterBar } from "../app/filters";
import { filtersOf, FILTERS, href, type Params, sharedParams, useRoute } from "../app/route";
import { Dialog } from "../parts/dialog";
import { amount, COLUMNS, difference, measured, SHOWN, tableRow } from "../parts/differences";
import { Fresh } from "../parts/fresh";
import { Problem, Waiting } from "../parts/problem";
import { safe } from "../parts/safe";
import { Table } from "../parts/table";
import { count, plural, ratio, UNKNOWN } from "../parts/units";

const LINES = 200;
/** Windows are each side's own. */
const SHARED = FILTERS.filter((kind) => kind !== "window");
const FLAME = async () => ({ default: (await import("../flame/page")).DiffFlame });

export default function DiffPage() {
  const { params } = useRoute();
  const [a, b, aWindow, bWindow] = ["a", "b", "a_window", "b_window"].map((name) => params.get(name));
  const isAsked = Boolean(a && (b || (aWindow && bWindow)));
  const isFlame = params.get("as") === "flame";
  useEffect(() => {
    document.title = "Compare – perfcase";
  }, []);
  return (
    <main class="diff">
      <Sides />
      {!isAsked && <p class="empty">Choose two captures, or two windows of one, such as 0s..10s and 20s..30s.</p>}
      {isAsked && (
        <>
          <nav class="segments" aria-label="How to compare">
            {[
              ["", "What changed"],
              ["flame", "Flame graph"],
            ].map(([id, title]) => (
              <a
                key={id}
                href={href("diff", { ...Object.fromEntries(params), ...sharedParams(filtersOf(params)), as: id! })}
                aria-current={(params.get("as") ?? "") === id ? "true" : undefined}
              >
                {title}
              </a>
            ))}
          </nav>
          {isFlame ? (
            <Lazy load={FLAME} props={{ a: a!, b: b ?? null, aWindow: aWindow ?? null, bWindow: bWindow ?? null }} />
          ) : (
            <DiffResult
              query={{
                a: a!,
                b: b ?? null,
                a_window: aWindow ?? null,
                b_window: bWindow ?? null,
                ...sharedParams(filtersOf(params)),
                view: params.get("view"),
                per: params.get("per"),
              }}
            />
          )}
        </>
      )}
    </main>
  );
}

/** The two sides, and what they are compared by. */
function Sides() {
  const { params, set } = useRoute();
  const schema = useSchema();
  const { data, error, again } = useGet<Page>("captures", { limit: 1000 });
  if (error) return <Problem error={error} again={again} />;
  const ready = data?.captures.filter(({ state }) => state === "ready") ?? [];
  const side = (name: "a" | "b") => (
    <div class="row side">
      <span class={`side-name ${name}`}>{name.toUpperCase()}</span>
      <select
        aria-label={`Capture ${name.toUpperCase()}`}
        value={params.get(name) ?? ""}
        onChange={(event) => set({ [name]: event.currentTarget.value })}
      >
        <option value="">{name === "a" ? "choose a capture" : "another part of A"}</option>
        {ready.map(({ capture_id, name: its, ticket, host }) => (
          <option key={capture_id} value={capture_id}>
            {[its, ticket, host]
              .filter(Boolean)
              .map((one) => safe(one!))
              .join(" · ")}
          </option>
        ))}
      </select>
      <input
        aria-label={`Window of ${name.toUpperCase()}`}
        placeholder={name === "a" ? "window: 0s..10s" : "window: 20s..30s"}
        title="Only this time of it, from its beginning"
        spellcheck={false}
        key={params.get(`${name}_window`) ?? ""}
        defaultValue={params.get(`${name}_window`) ?? ""}
        onChange={(event) => set({ [`${name}_window`]: event.currentTarget.value.trim() })}
      />
    </div>
  );
  const swap = () =>
    set({ a: params.get("b"), b: params.get("a"), a_window: params.get("b_window"), b_window: params.get("a_window") });
  return (
    <div class="sides">
      {side("a")}
      {side("b")}
      <div class="row">
        <button type="button" disabled={!params.get("b")} onClick={swap}>
          Swap A and B
        </button>
        <select
          aria-label="View"
          value={params.get("view") ?? ""}
          onChange={(event) => set({ view: event.currentTarget.value })}
        >
          <option value="">all views, ranked</option>
          {schema?.views.map(({ name }) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
        <input
          aria-label="Per event"
          placeholder="per event, else per second"
          title="Divide amounts by how often this event came on each side: a tracepoint, counter, system call or sampled event"
          key={params.get("per") ?? ""}
          defaultValue={params.get("per") ?? ""}
          onChange={(event) => set({ per: event.currentTarget.value.trim() })}
        />
      </div>
      <FilterBar kinds={SHARED} />
    </div>
  );
}

/** What is asked of GET /v1/diff. */
type DiffQuery = { a: string; b: string | null; a_window: string | null; b_window: string | null } & Params;

function DiffResult({ query }: { query: DiffQuery }) {
  const { data, error, loading, again } = useGet<Comparison>("diff", { ...query, limit: LINES });
  const [open, setOpen] = useState<Difference>();
  if (error) return <Problem error={error} again={again} />;
  if (!data) return <Waiting what="Comparing all views; this takes a while the first time" />;
  const rows = data.differences.map(tableRow);
  return (
    <Fresh isOld={loading}>
      <div class="compared">
        <Comparability diff={data} />
        {data.in_short.length > 0 && (
          <section aria-label="In short">
            <h2>In short</h2>
            <ul class="moved">
              {data.in_short.map((one) => (
                <li key={one}>{safe(one)}</li>
              ))}
            </ul>
          </section>
        )}
        <Fired diff={data} />
        {data.stacks && (
          <section>
            <h2>Stacks</h2>
            <p>{safe(data.stacks.sentence)}</p>
            <ul class="moved">
              {[...data.stacks.counters, ...data.stacks.moved].map((one) => (
                <li key={one}>{safe(one)}</li>
              ))}
            </ul>
          </section>
        )}
        <section>
          <h2>What changed most</h2>
          {rows.length ? (
            <Table
              label="Differences"
              columns={COLUMNS}
              rows={rows}
              cells={SHOWN}
              isTall
              widths={{ "#": 5, view: 21, key: 25, measure: 17, A: 15, B: 15, difference: 15, noise: 11, why: 25 }}
              onRow={(row: Row) =>
                setOpen(data.differences.find((one) => one.rank === row["#"] && one.view === row.view))
              }
            />
          ) : (
            <p class="empty">No differences.</p>
          )}
          <p class="table-foot">
            {plural(rows.length, "difference")}
            {rows.length === LINES && " shown, the first"}
            {data.noise_count ? `; ${count(data.noise_count)} more within the noise` : ""}
          </p>
        </section>
        <NotCompared diff={data} />
        {open && <Details one={open} query={query} onClose={() => setOpen(undefined)} />}
      </div>
    </Fresh>
  );
}

function Comparability({ diff }: { diff: Comparison }) {
  const differing = diff.comparability.filter(({ is_same }) => !is_same);
  const alike = diff.comparability.filter(({ is_same }) => is_same).map(({ name }) => name);
  return (
    <section>
      <h2>Can they be compared?</h2>
      {differing.length > 0 && (
        <table class="list conditions">
          <thead>
            <tr>
              <th>Differs</th>
              <th>A</th>
              <th>B</th>
              <th>What it means</th>
            </tr>
          </thead>
          <tbody>
            {differing.map(({ name, a, b, means }) => (
              <tr key={name}>
                <td>{name}</td>
                <td>{safe(a ?? UNKNOWN)}</td>
                <td>{safe(b ?? UNKNOWN)}</td>
                <td class="quiet">{means}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <p class="quiet">
        {differing.length ? "Alike: " : "Yes. Alike: "}
        {alike.join(", ")}
      </p>
      {diff.settings.length > 0 && (
        <details>
          <summary>{plural(diff.settings.length, "setting")} of the machines differ</summary>
          <dl class="settings">
            {diff.settings.map(({ key, a, b }) => (
              <div key={key}>
                <dt class="mono">{safe(key)}</dt>
                <dd>{safe(a ?? UNKNOWN)}</dd>
                <dd>{safe(b ?? UNKNOWN)}</dd>
              </div>
            ))}
          </dl>
        </details>
      )}
    </section>
  );
}

function Fired({ diff }: { diff: Comparison }) {
  if (!diff.findings.length) return null;
  return (
    <section>
      <h2>Findings</h2>
      <ul class="fired">
        {diff.findings.map(({ finding, title, state, a, b, follows_from }) => {
          const side = b ?? a;
          return (
            <li key={finding} class={follows_from ? "follows" : undefined}>
              <span class="row">
                {side && <span class={`badge ${side.severity}`}>{side.severity}</span>}
                <strong>
                  {follows_from && "follows from it: "}
                  {title}
                </strong>{" "}
                <span class="quiet">{state}</span>
              </span>
              {state !== "in both" && side && (
                <p>
                  {safe(side.subject)}: {safe(side.message)}
                </p>
              )}
            </li>
          );
        })}
      </ul>
    </section>
  );
}

function NotCompared({ diff }: { diff: Comparison }) {
  if (!diff.not_compared.length) return null;
  const by = (lacks: string) =>
    diff.not_compared.filter((one) => one.lacks === lacks && !one.why).map(({ view }) => view);
  return (
    <section>
      <h2>Not compared</h2>
      {diff.not_compared.map(
        ({ view, lacks, why }) => why && <p key={view}>{`${view}: it cannot be worked out in ${lacks}: ${why}`}</p>,
      )}
      {["A", "B"].map(
        (side) => by(side).length > 0 && <p key={side}>{`${side} has none of: ${by(side).join(", ")}`}</p>,
      )}
      {by("both").length > 0 && <p class="quiet">Neither has: {by("both").join(", ")}</p>}
    </section>
  );
}

function Details({ one, query, onClose }: { one: Difference; query: DiffQuery; onClose: () => void }) {
  const { params } = useRoute();
  const where = one.key_names.length === one.key_values.length ? one.key_names : [];
  const side = (name: "a" | "b") => {
    const id = name === "a" ? query.a : (query.b ?? query.a);
    const window = name === "a" ? query.a_window : query.b_window;
    return href(["c", id, "views"], { ...sharedParams(filtersOf(params)), window, view: one.view });
  };
  return (
    <Dialog label={`${one.view} ${one.measure}`} class="wide" onClose={onClose}>
      <h2>
        {one.view}: {safe(measured(one))}
      </h2>
      <dl class="facts">
        <div>
          <dt>Column</dt>
          <dd class="mono">{safe(one.measure)}</dd>
        </div>
        {where.map((name, at) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{safe(one.key_values[at] ?? "NULL")}</dd>
          </div>
        ))}
        <div>
          <dt>A</dt>
          <dd>{amount(one, "a")}</dd>
        </div>
        <div>
          <dt>B</dt>
          <dd>{amount(one, "b")}</dd>
        </div>
        <div>
          <dt>Difference</dt>
          <dd>{difference(one)}</dd>
        </div>
        <div>
          <dt>Noise between parts of one capture</dt>
          <dd>{one.noise_ratio === null ? "unknown" : `± ${ratio(one.noise_ratio)}`}</dd>
        </div>
        <div>
          <dt>Why it ranks here</dt>
          <dd>{safe(one.why)}</dd>
        </div>
      </dl>
      <p class="row actions">
        <a class="button" href={side("a")}>
          The view in A
        </a>
        <a class="button" href={side("b")}>
          The view in B
        </a>
        <a class="button" href={href("diff", { ...query, view: one.view })} onClick={onClose}>
          All of this view
        </a>
      </p>
    </Dialog>
  );
}
