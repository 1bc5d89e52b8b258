/** What a capture is, what is wrong in it, how far to trust it, and what to take away. */

import { useState } from "preact/hooks";
import { address } from "../api/fetch";
import { useSchema, useView } from "../api/hooks";
import type { RowOf, ViewName } from "../api/rows";
import { Lazy } from "../app/lazy";
import { type CaptureProps, OVERVIEW_PICTURES } from "../app/pages";
import { filterParams, go, href, isPart } from "../app/route";
import { CaptureCard } from "../parts/capture-card";
import { Findings, Headlines, useFindings } from "../parts/findings";
import { Problem, Waiting } from "../parts/problem";
import { safe } from "../parts/safe";
import { count, ratio, size } from "../parts/units";

const TABLES: [string, string][] = [
  ["parquet", "Parquet"],
  ["csv", "CSV"],
];

export default function Overview(props: CaptureProps) {
  const { captureId, filters } = props;
  const [capture, setCapture] = useState(props.capture);
  const stem = safe(capture.name).replace(/\.perfcase$/, "");
  const kept = filterParams(filters);
  const findings = useFindings(props);
  const fired = [...new Set(findings.data?.flatMap(({ finding }) => finding ?? []))];
  const schema = useSchema();
  return (
    <div class={isPart(filters) ? "overview" : "overview is-kept"}>
      <div class="overview-main">
        <Headlines captureId={captureId} filters={filters} answer={findings} />
        {OVERVIEW_PICTURES.map(({ id, load }) => (
          <Lazy key={id} load={load} props={props} />
        ))}
        <Findings captureId={captureId} filters={filters} answer={findings} />
      </div>
      <aside>
        <section>
          <h2>Capture</h2>
          <Machine captureId={captureId} />
          <CaptureCard
            capture={capture}
            onChange={(changed) => {
              setCapture(changed);
              props.onChanged();
            }}
            onDeleted={() => go("captures")}
            place={{ filters, durationNs: capture.duration_ns, findings: fired }}
          />
        </section>
        <Quality captureId={captureId} filters={filters} />
        <section>
          <h2>To take away</h2>
          <ul class="links">
            <li>
              <a href={address(`captures/${captureId}/summary`, { ...kept, to: "html" })} download={`${stem}.html`}>
                Summary for the ticket, HTML
              </a>
            </li>
            <li>
              <a href={address(`captures/${captureId}/summary`, { ...kept, to: "md" })} download={`${stem}.md`}>
                Summary for the ticket, Markdown
              </a>
            </li>
            {schema?.exports.map(({ name, readers, suffix }) => (
              <li key={name}>
                <a href={address(`captures/${captureId}/export`, { ...kept, to: name })} download={`${stem}.${suffix}`}>
                  Samples as {name}, for {readers}
                </a>
              </li>
            ))}
            {TABLES.map(([to, name]) => (
              <li key={to}>
                <a href={address(`captures/${captureId}/export`, { ...kept, to })} download={`${stem}-${to}.tar`}>
                  All tables and views as {name}
                </a>
              </li>
            ))}
          </ul>
        </section>
      </aside>
    </div>
  );
}

function Machine({ captureId }: { captureId: string }) {
  const { data, error, again } = useView(captureId, "capture", {}, "later");
  if (error) return <Problem error={error} again={again} />;
  const row = data?.[0];
  if (!row) return data ? null : <Waiting />;
  const facts: [string, string | null][] = [
    ["CPUs", row.cpu_count === null ? null : `${count(row.cpu_count)} × ${row.cpu_model ?? "?"}`],
    ["Memory", row.memory_bytes === null ? null : size(row.memory_bytes)],
    ["System", [row.os, row.machine].filter(Boolean).join(", ")],
    ["Recorded by", row.command],
  ];
  return (
    <dl class="facts">
      {facts.map(([name, text]) =>
        text ? (
          <div key={name}>
            <dt>{name}</dt>
            <dd class={name === "Recorded by" ? "mono" : ""}>{safe(text)}</dd>
          </div>
        ) : null,
      )}
    </dl>
  );
}

/** What a reader must know before believing a figure. */
function Quality({ captureId, filters }: Pick<CaptureProps, "captureId" | "filters">) {
  const { data, error, again } = useView(captureId, "data_quality", {}, "later");
  const notices = data?.filter(
    (one) => one.status !== "available" || one.lost_count || one.error_count || one.warning_count,
  );
  return (
    <section class="quality">
      <h2>How far to trust it</h2>
      {error && <Problem error={error} again={again} />}
      {notices && !notices.length && <p class="quiet">Every source is complete.</p>}
      <dl>
        {notices?.map((one) => (
          <div key={one.source}>
            <dt>
              {safe(one.source ?? "?")} <span class={`badge ${tone(one)}`}>{one.status}</span>
            </dt>
            <dd>
              {one.meaning && safe(one.meaning)}
              {one.lost_count ? ` (${count(one.lost_count)} lost, ${ratio(one.lost_ratio)})` : null}
              {one.remedy && <p class="quiet">{safe(one.remedy)}</p>}
            </dd>
          </div>
        ))}
      </dl>
      <p>
        <a
          href={href(["c", captureId, "views"], { ...filterParams(filters), view: "data_quality" satisfies ViewName })}
        >
          All sources
        </a>
        ,{" "}
        <a
          href={href(["c", captureId, "views"], { ...filterParams(filters), view: "import_issue" satisfies ViewName })}
        >
          what the import noticed
        </a>
      </p>
    </section>
  );
}

function tone({ status, error_count, lost_count }: RowOf<"data_quality">): string {
  if (status === "failed" || error_count) return "critical";
  return status === "degraded" || lost_count ? "warning" : "note";
}
