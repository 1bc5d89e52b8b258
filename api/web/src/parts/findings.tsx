/** What is wrong: every rule that fired, what cost the workload most first, then what follows from it; what it means, what to look at next, the rows behind it. */

import { useEffect, useState } from "preact/hooks";
import { type Answer, useRows, useSchema, useView } from "../api/hooks";
import type { RowOf } from "../api/rows";
import type { CaptureProps } from "../app/pages";
import { filterParams, type Filters, href, useRoute } from "../app/route";
import { Fresh } from "./fresh";
import { Problem, Waiting } from "./problem";
import { safe } from "./safe";
import { sqlOf } from "./sql";
import { SqlRows } from "./sql-rows";
import { count } from "./units";

type Finding = RowOf<"finding">;

interface FindingsProps extends Pick<CaptureProps, "captureId" | "filters"> {
  answer: Answer<Finding[]>;
}

/** What `Headlines` and `Findings` show: asked once. */
export function useFindings({ captureId, filters }: Pick<CaptureProps, "captureId" | "filters">): Answer<Finding[]> {
  return useRows<Finding>(`captures/${captureId}/findings`, filterParams(filters), "first");
}

function goTo(finding: string): void {
  document.querySelector(`[data-finding="${CSS.escape(finding)}"]`)?.scrollIntoView({ block: "start" });
}

/** What is wrong in a sentence with figures each, for the top of a page: each leads to the rest of it. */
export function Headlines({ captureId, filters, answer: { data, loading } }: FindingsProps) {
  if (!data) return loading ? <Waiting what="Judging" /> : null;
  const rules = Map.groupBy(data, ({ finding }) => finding);
  if (!rules.size)
    return (
      <Fresh isOld={loading}>
        <p class="findings-none">Nothing is wrong by any of the rules that could be judged.</p>
      </Fresh>
    );
  return (
    <Fresh isOld={loading}>
      <ul class="headlines" aria-label="What is wrong">
        {[...rules].map(([finding, [first, ...others]]) => (
          <li key={finding}>
            <button type="button" onClick={() => goTo(finding ?? "")}>
              <span class={`badge ${first!.severity}`}>{first!.severity}</span>
              <span class="headline">
                <strong>{first!.title}</strong>
                <span class="headline-figures">
                  {safe(first!.subject ?? "")}: {safe(first!.message ?? "")}
                </span>
                {others.length > 0 && <span class="quiet">and {count(others.length)} more</span>}
              </span>
            </button>
            <a
              class="headline-when"
              href={href(["c", captureId, "timeline"], { ...filterParams(filters), pick: `finding:${finding}` })}
            >
              when<span class="visually-hidden">: {first!.title}</span>
            </a>
          </li>
        ))}
      </ul>
    </Fresh>
  );
}

export function Findings({ captureId, filters, answer }: FindingsProps) {
  const { data, error, loading, again } = answer;
  const wanted = useRoute().params.get("finding");
  useEffect(() => {
    if (wanted && data) goTo(wanted);
  }, [wanted, data]);
  if (error) return <Problem error={error} again={again} />;
  if (!data) return null;
  const rules = Map.groupBy(data, ({ finding, follows_from }) => `${finding} ${follows_from}`);
  return (
    <>
      {data.length > 0 && (
        <Fresh isOld={loading}>
          <section class="findings" aria-label="Findings">
            {[...rules.values()].map((fired) => (
              <Fired
                key={`${fired[0]!.finding} ${fired[0]!.follows_from}`}
                fired={fired}
                captureId={captureId}
                filters={filters}
              />
            ))}
          </section>
        </Fresh>
      )}
      <NotJudged captureId={captureId} filters={filters} />
    </>
  );
}

const SUBJECTS_SHOWN = 5;

function Fired({ fired, captureId, filters }: { fired: Finding[]; captureId: string; filters: Filters }) {
  const [isOpen, setOpen] = useState(false);
  const [isAll, setAll] = useState(false);
  const first = fired[0]!;
  const subjects = isAll ? fired : fired.slice(0, SUBJECTS_SHOWN);
  return (
    <article class={`finding ${first.severity}`} data-finding={first.finding}>
      <header>
        <span class={`badge ${first.severity}`}>{first.severity}</span>
        <h3>
          {first.follows_from && "follows from it: "}
          {first.title}
        </h3>
      </header>
      <ul>
        {subjects.map(({ subject, message }) => (
          <li key={subject}>
            <strong>{safe(subject ?? "")}</strong>: {safe(message ?? "")}
          </li>
        ))}
      </ul>
      {fired.length > SUBJECTS_SHOWN && (
        <button type="button" class="plain" onClick={() => setAll(!isAll)}>
          {isAll ? "Fewer" : `${fired.length - SUBJECTS_SHOWN} more`}
        </button>
      )}
      <dl>
        {first.means && (
          <div>
            <dt>Means</dt>
            <dd>{first.means}</dd>
          </div>
        )}
        {first.next && (
          <div>
            <dt>Next</dt>
            <dd>
              <ul>
                {first.next.split("; ").map((step) => (
                  <li key={step}>
                    <Step text={step} captureId={captureId} filters={filters} />
                  </li>
                ))}
              </ul>
            </dd>
          </div>
        )}
      </dl>
      {first.evidence && (
        <div class="row">
          <button type="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            {isOpen ? "Hide the evidence" : "Evidence"}
          </button>
          <a class="button" href={href("sql", { capture: captureId, sql: first.evidence, ...filterParams(filters) })}>
            Open in SQL
          </a>
        </div>
      )}
      {isOpen && first.evidence && (
        <div class="evidence">
          <SqlRows
            captureId={captureId}
            sql={first.evidence}
            filters={filters}
            label={`Evidence of ${first.finding}`}
          />
        </div>
      )}
    </article>
  );
}

/** A step whose views are links. */
function Step({ text, captureId, filters }: { text: string; captureId: string; filters: Filters }) {
  const schema = useSchema();
  const known = new Set([...(schema?.views ?? []), ...(schema?.tables ?? [])].map(({ name }) => name));
  const parts = text.split(/((?:perfcase (?:view|tables) )?\b[a-z][a-z0-9_]+\b)/);
  return (
    <>
      {parts.map((part) => {
        const name = /^(?:perfcase (?:view|tables) )?([a-z0-9_]+)$/.exec(part)?.[1];
        // One word alone, such as "thread", is more often a word than a table.
        const isLink = name && known.has(name) && (part !== name || name.includes("_"));
        return isLink ? (
          <a href={href(["c", captureId, "views"], { ...filterParams(filters), view: name })}>{name}</a>
        ) : (
          part
        );
      })}
    </>
  );
}

function NotJudged({ captureId, filters }: { captureId: string; filters: Filters }) {
  const where = sqlOf("finding_coverage")`NOT ${"is_judged"}`;
  const { data, error, loading, again } = useView(
    captureId,
    "finding_coverage",
    { ...filterParams(filters), where },
    "later",
  );
  if (error) return <Problem error={error} again={again} />;
  if (!data?.length) return null;
  return (
    <Fresh isOld={loading}>
      <details class="not-judged">
        <summary>{data.length === 1 ? "One rule" : `${data.length} rules`} could not be judged</summary>
        <dl>
          {data.map(({ finding, title, missing, reason, how }) => (
            <div key={finding}>
              <dt>{title}</dt>
              <dd class="quiet">{[missing && `needs ${missing}`, reason, how].filter(Boolean).join("; ")}</dd>
            </div>
          ))}
        </dl>
      </details>
    </Fresh>
  );
}
