/** Any view or table of a capture. */

import { useMemo, useState } from "preact/hooks";
import { useSchema } from "../api/hooks";
import type { TableEntry } from "../api/types.gen";
import type { CaptureProps } from "../app/pages";
import { filterParams, href, useRoute } from "../app/route";
import { BlameGaps, FOLLOWED } from "../parts/blame-gaps";
import { Waiting } from "../parts/problem";
import { sentence } from "../parts/units";
import { ViewTable } from "../parts/view-table";

export default function Views({ captureId, filters, onFilters }: CaptureProps) {
  const { params, set } = useRoute();
  const schema = useSchema();
  const name = params.get("view");
  if (!schema) return <Waiting />;
  const view = [...schema.views, ...schema.tables].find((one) => one.name === name);
  const parameters = schema.views.find((one) => one === view)?.parameters;
  const settings = params.getAll("set");
  return (
    <div class={name ? "views has-view" : "views"}>
      <Catalogue
        views={schema.views}
        tables={schema.tables}
        open={name}
        link={(to) => href(["c", captureId, "views"], { ...filterParams(filters), view: to })}
      />
      <section>
        {view ? (
          <>
            <p class="views-back">
              <a href={href(["c", captureId, "views"], filterParams(filters))}>All views</a>
            </p>
            <h2>{view.name}</h2>
            <p class="quiet about">{sentence(view.description)}</p>
            {parameters?.map((parameter) => (
              <Setting
                key={`${view.name} ${parameter}`}
                name={parameter}
                value={settings.find((one) => one.startsWith(`${parameter}=`))?.slice(parameter.length + 1) ?? ""}
                onChange={(value) =>
                  set({
                    set: [
                      ...settings.filter((one) => !one.startsWith(`${parameter}=`)),
                      ...(value ? [`${parameter}=${value}`] : []),
                    ],
                  })
                }
              />
            ))}
            {FOLLOWED.includes(view.name) && <BlameGaps captureId={captureId} filters={filters} />}
            <ViewTable
              key={view.name}
              captureId={captureId}
              filters={filters}
              onFilters={onFilters}
              view={view}
              settings={settings}
            />
          </>
        ) : (
          <p class="empty">{name ? `There is no view ${name}.` : "Choose a view: each answers one question."}</p>
        )}
      </section>
    </div>
  );
}

/** What readers look for first stands first; then what is rarer, what is about the capture itself, and the tables. */
const FIRST = ["overview", "scheduler", "off cpu", "syscalls", "profiles", "locks", "block", "memory", "network"];

function weight(group: string): number {
  const at = FIRST.indexOf(group);
  return at >= 0 ? at : group.startsWith("tables: ") ? 99 : group === "about" ? 98 : 97;
}

interface CatalogueProps {
  views: TableEntry[];
  tables: TableEntry[];
  open: string | null;
  link: (name: string) => string;
}

function Catalogue({ views, tables, open, link }: CatalogueProps) {
  const [text, setText] = useState("");
  const groups = useMemo(() => {
    const wanted = text.toLowerCase().split(/\s+/).filter(Boolean);
    const found = new Map<string, TableEntry[]>();
    for (const [all, kind] of [
      [views, ""],
      [tables, "tables: "],
    ] as const) {
      for (const entry of all) {
        const words = `${entry.name} ${entry.description} ${entry.group}`.toLowerCase();
        if (!wanted.every((word) => words.includes(word))) continue;
        const group = kind + entry.group.replaceAll("_", " ");
        found.set(group, [...(found.get(group) ?? []), entry]);
      }
    }
    for (const entries of found.values()) entries.sort((a, b) => a.name.localeCompare(b.name));
    return [...found].sort(([a], [b]) => weight(a) - weight(b) || a.localeCompare(b));
  }, [views, tables, text]);
  return (
    <nav class="catalogue" aria-label="Views and tables">
      <input
        type="search"
        aria-label="Search views"
        placeholder="Search views and tables"
        data-search={open ? undefined : ""}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          const first = groups[0]?.[1][0];
          if (event.key === "Enter" && first) location.hash = link(first.name);
        }}
      />
      <div class="catalogue-groups">
        {groups.map(([group, entries]) => (
          <details
            key={group}
            open={text !== "" || !group.startsWith("tables: ") || entries.some(({ name }) => name === open)}
          >
            <summary>{group}</summary>
            <ul>
              {entries.map((entry) => (
                <li key={entry.name}>
                  <a
                    href={link(entry.name)}
                    title={sentence(entry.description)}
                    aria-current={entry.name === open ? "page" : undefined}
                  >
                    {entry.name}
                    <span class="catalogue-about">{entry.description}</span>
                  </a>
                </li>
              ))}
            </ul>
          </details>
        ))}
      </div>
    </nav>
  );
}

function Setting({ name, value, onChange }: { name: string; value: string; onChange: (value: string) => void }) {
  return (
    <label class="setting">
      {name}{" "}
      <input
        inputMode="numeric"
        placeholder="default"
        defaultValue={value}
        onChange={(event) => onChange(event.currentTarget.value.trim())}
      />
    </label>
  );
}
