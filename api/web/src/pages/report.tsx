/** The first five minutes of an investigation: the sections of the report, with links to what is behind each. */

import "../style/report.css";
import { Fragment } from "preact";
import { address } from "../api/fetch";
import { useGet } from "../api/hooks";
import type { Report } from "../api/types.gen";
import type { CaptureProps } from "../app/pages";
import { filterParams, type Filters, href } from "../app/route";
import { exactly } from "../parts/cell";
import { Fresh } from "../parts/fresh";
import { Problem, Waiting } from "../parts/problem";
import { safe } from "../parts/safe";
import { count, UNKNOWN } from "../parts/units";

type Block = Report["sections"][number]["blocks"][number];
type Of<K extends Block["kind"]> = Extract<Block, { kind: K }>;
type Link = Of<"source">["link"];
type Cell = Of<"table">["rows"][number][number];
type Place = Pick<CaptureProps, "captureId" | "filters">;

export default function ReportPage({ captureId, filters }: CaptureProps) {
  const path = `captures/${captureId}/report`;
  const query = filterParams(filters);
  const { data, error, loading, again } = useGet<Report>(path, { ...query, format: "json" });
  if (error) return <Problem error={error} again={again} />;
  if (!data) return <Waiting what="Writing the report" />;
  return (
    <Fresh isOld={loading}>
      <div class="report">
        <p class="row report-tools">
          <a class="button" href={address(path, query)} download="report.txt">
            Text
          </a>
          <a class="button" href={address(path, { ...query, format: "json" })} download="report.json">
            JSON
          </a>
          <button type="button" onClick={() => print()}>
            Print
          </button>
        </p>
        <nav class="report-contents" aria-label="Sections">
          {data.sections.map(({ name, title }) => (
            <button key={name} type="button" class="plain" onClick={() => show(name)}>
              {title}
            </button>
          ))}
        </nav>
        {data.sections.map(({ name, title, blocks }) => (
          <section key={name} aria-labelledby={`report-${name}`}>
            <h2 id={`report-${name}`} tabIndex={-1}>
              {title}
            </h2>
            {grouped(blocks).map((group, place) => (
              <Group key={place} group={group} title={title} captureId={captureId} filters={filters} />
            ))}
          </section>
        ))}
      </div>
    </Fresh>
  );
}

/** An address that ends in #name would be another page of the application. */
function show(name: string): void {
  const heading = document.getElementById(`report-${name}`);
  heading?.scrollIntoView({ block: "start" });
  heading?.focus({ preventScroll: true });
}

/** Facts, and the views behind one block, stand together. */
function grouped(blocks: readonly Block[]): Block[][] {
  const groups: Block[][] = [];
  for (const block of blocks) {
    const last = groups.at(-1);
    if (last?.[0]?.kind === block.kind && (block.kind === "fact" || block.kind === "source")) last.push(block);
    else groups.push([block]);
  }
  return groups;
}

function Group({ group, title, ...place }: Place & { group: Block[]; title: string }) {
  const first = group[0]!;
  switch (first.kind) {
    case "line":
      return <p class={first.tone ?? ""}>{safe(first.text)}</p>;
    case "fact":
      return (
        <dl class="report-facts">
          {group.map((fact) =>
            fact.kind === "fact" ? (
              <Fragment key={fact.label}>
                <dt>{fact.label}</dt>
                <dd>{safe(fact.text)}</dd>
              </Fragment>
            ) : null,
          )}
        </dl>
      );
    case "check":
      return (
        <div class={`report-check ${first.tone ?? ""}`}>
          <h3>{first.tool}</h3>
          <p>
            {first.text && `${safe(first.text)} `}
            <ViewLink link={first.link} {...place} />
          </p>
        </div>
      );
    case "finding":
      return <Finding finding={first} {...place} />;
    case "table":
      return <Rows table={first} label={title} {...place} />;
    case "source":
      return (
        <p class="row report-source">
          {group.map((source) =>
            source.kind === "source" ? <ViewLink key={source.link.view} link={source.link} {...place} /> : null,
          )}
        </p>
      );
    default:
      // A command of a terminal: what it shows is on another page here.
      return null;
  }
}

function Finding({ finding, captureId, filters }: Place & { finding: Of<"finding"> }) {
  const { severity, title, subjects, more_count, evidence, link } = finding;
  const kept = filterParams(filters);
  return (
    <article class={`finding ${severity}`}>
      <header>
        <span class={`badge ${severity}`}>{severity}</span>
        <h3>
          <a href={href(["c", captureId, "overview"], { ...kept, finding: link.finding })}>{title}</a>
        </h3>
      </header>
      <ul>
        {subjects.map(({ subject, message }) => (
          <li key={subject}>
            <strong>{safe(subject)}</strong>: {safe(message)}
          </li>
        ))}
        {more_count > 0 && <li>and {count(more_count)} more</li>}
      </ul>
      <p class="report-source">
        <a href={href("sql", { capture: captureId, sql: evidence, ...kept })}>Open the evidence in SQL</a>
      </p>
    </article>
  );
}

function Rows({ table, label, ...place }: Place & { table: Of<"table">; label: string }) {
  return (
    <div class="report-table" role="group" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {table.columns.map(({ heading, is_text }, index) => (
              <th key={index} scope="col" class={is_text ? "" : "number"}>
                {heading || <span class="visually-hidden">more</span>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.map((row, number) => (
            <tr key={number}>
              {row.map((cell, index) => {
                const shown = <CellText cell={cell} {...place} />;
                const kind = table.columns[index]?.is_text ? "" : "number";
                return index ? (
                  <td key={index} class={kind} title={exact(cell)}>
                    {shown}
                  </td>
                ) : (
                  <th key={index} scope="row" class={kind} title={exact(cell)}>
                    {shown}
                  </th>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function exact({ value, unit }: Cell): string {
  return exactly(value, unit ?? null);
}

/** The value of a cell, as a link where it is about a view, a thread or a process. */
function CellText({ cell, captureId, filters }: Place & { cell: Cell }) {
  const { link } = cell;
  const text = cell.text === "-" ? UNKNOWN : safe(cell.text);
  if (!link) return <>{text}</>;
  if (link.view !== undefined) return <ViewLink link={{ view: link.view }} captureId={captureId} filters={filters} />;
  const only: Partial<Filters> =
    link.thread === undefined ? { process: [String(link.process)] } : { thread: [String(link.thread)] };
  return <a href={href(["c", captureId, "threads"], filterParams({ ...filters, ...only }))}>{text}</a>;
}

/** Opens the view with the condition and the order of the report. */
function ViewLink({ link, captureId, filters }: Place & { link: Link }) {
  const [column, way] = link.order?.split(" ") ?? [];
  const sort = column && `${way === "DESC" ? "-" : ""}${column}`;
  const kept = { ...filterParams(filters), view: link.view, where: link.where, sort };
  return (
    <a class="report-view" href={href(["c", captureId, "views"], kept)}>
      Open view <code>{link.view}</code>
    </a>
  );
}
