/** A view of a capture as a table: sorted and filtered as the address says, by the server; downloads; why it is empty. */

import type { ComponentChild } from "preact";
import { useState } from "preact/hooks";
import { address } from "../api/fetch";
import { useView } from "../api/hooks";
import type { AnyColumn, Row } from "../api/rows";
import type { Column, TableEntry } from "../api/types.gen";
import type { CaptureProps } from "../app/pages";
import { FILTERS, filterParams, useRoute } from "../app/route";
import { useChunks } from "./chunks";
import { Fresh } from "./fresh";
import { Problem, Waiting } from "./problem";
import { RowDetail } from "./row-detail";
import { both, ordering, sortOf, sortText, sqlOf } from "./sql";
import { Table } from "./table";
import { plural, reads } from "./units";

const FORMATS = ["csv", "parquet", "arrow", "json"];
const DOWNLOAD_ROWS = 1_000_000;

export interface ViewTableProps extends Pick<CaptureProps, "captureId" | "filters" | "onFilters"> {
  view: TableEntry;
  /** The order as long as the address names none: `-on_cpu_ns`. */
  sort?: string;
  /** The view has an order of its own, which is that of `sort`, with the recorder's threads last. */
  isOrdered?: boolean;
  /** A column that is none of the view's, and the one that sorts it. */
  sortedBy?: Record<string, string>;
  /** Parameters of the view: `interval_ns=100000000`. */
  settings?: string[];
  /** Only these, in this order; a row's details have all. */
  show?: readonly string[];
  cells?: Record<string, (row: Row) => ComponentChild>;
  widths?: Record<string, number>;
  /** A column that the view has not, made by `cells`. */
  extra?: readonly Column[];
  /** Instead of the row's details. */
  onRow?: (row: Row) => void;
}

export function ViewTable(props: ViewTableProps) {
  const { captureId, filters, view, settings = [], show, extra = [] } = props;
  const { params, set } = useRoute();
  const where = params.get("where");
  const onWhere = (condition: string | null) => set({ where: condition });
  const chosen = params.get("sort");
  const sort = sortOf(chosen ?? props.sort ?? null);
  const order = props.isOrdered && chosen === null ? null : ordering(sort);
  const path = `captures/${captureId}/views/${view.name}`;
  const query = { ...filterParams(filters), where, order, set: settings };
  const { rows, isWhole, bytesRead, isLoading, isOld, error, more, again } = useChunks(path, query);
  const [open, setOpen] = useState<Row>();
  const known = [...view.columns, ...extra];
  const columns = show
    ? show.map((name) => known.find((column) => column.name === name)).filter((one) => one !== undefined)
    : known;
  return (
    <div class="view-table">
      <WhereField value={where} onChange={onWhere} example={example(view)} />
      {error ? (
        <Problem error={error} again={again} />
      ) : rows.length ? (
        <Fresh isOld={isOld}>
          <Table
            label={view.name}
            columns={columns}
            rows={rows}
            sort={sort}
            onSort={(by) => set({ sort: sortText(by && { ...by, name: props.sortedBy?.[by.name] ?? by.name }) })}
            onEnd={more}
            onRow={props.onRow ?? setOpen}
            {...(props.cells && { cells: props.cells })}
            {...(props.widths && { widths: props.widths })}
          />
        </Fresh>
      ) : isLoading ? (
        <Waiting />
      ) : (
        <WhyEmpty {...props} where={where} onWhere={onWhere} />
      )}
      {rows.length > 0 && (
        <div class="table-foot">
          <span role="status">
            {isOld
              ? ""
              : isWhole
                ? plural(rows.length, "row")
                : `first ${plural(rows.length, "row")}; more as you scroll`}
            {isOld ? "" : reads(bytesRead)}
          </span>
          <span class="spring" />
          <span>Download</span>
          {FORMATS.map((format) => (
            <a
              key={format}
              href={address(path, { ...query, format, limit: DOWNLOAD_ROWS })}
              download={`${view.name}.${format}`}
            >
              {format}
            </a>
          ))}
        </div>
      )}
      {open && (
        <RowDetail
          title={view.name}
          columns={view.columns}
          row={open}
          onClose={() => setOpen(undefined)}
          filters={filters}
          onFilters={(change) => {
            setOpen(undefined);
            props.onFilters(change);
          }}
          onWhere={(condition) => {
            setOpen(undefined);
            onWhere(both(where, condition));
          }}
        />
      )}
    </div>
  );
}

/** A condition on columns that the view has. */
function example({ columns }: TableEntry): string {
  const has = (wanted: string) => columns.some(({ name }) => name === wanted);
  const names: AnyColumn[] = ["comm", "process", "device_name", "name", "view_name"];
  const name = names.find(has);
  const amount = columns.find(({ unit }) => unit === "ns" || unit === "bytes" || unit === "count")?.name;
  const parts = [name && `${name} = '…'`, amount && `${amount} > 1e6`].filter(Boolean);
  return parts.join(" AND ") || "a condition in SQL";
}

/** A condition in SQL; it counts when the reader leaves the field or presses Enter. */
function WhereField(props: { value: string | null; onChange: (where: string | null) => void; example: string }) {
  const { value, onChange } = props;
  return (
    <form
      class="where"
      onSubmit={(event) => {
        event.preventDefault();
        const field = event.currentTarget.elements.namedItem("where") as HTMLInputElement;
        onChange(field.value.trim() || null);
      }}
    >
      <label>
        <span class="where-name">where</span>
        <input
          key={value ?? ""}
          name="where"
          class="mono"
          data-search=""
          spellcheck={false}
          autocomplete="off"
          placeholder={props.example}
          defaultValue={value ?? ""}
        />
      </label>
      <button type="submit">Apply</button>
      {value && (
        <button type="button" class="plain" onClick={() => onChange(null)}>
          Clear
        </button>
      )}
    </form>
  );
}

interface WhyEmptyProps extends ViewTableProps {
  where: string | null;
  onWhere: (where: null) => void;
}

function WhyEmpty({ captureId, view, where, filters, onWhere, onFilters }: WhyEmptyProps) {
  const { data } = useView(captureId, "view_coverage", {
    where: sqlOf("view_coverage")`${"view_name"} = ${[view.name]}`,
  });
  const isFiltered = FILTERS.some((name) => filters[name]?.length);
  const told = data?.[0];
  return (
    <div class="empty why-empty">
      <p>
        <strong>No rows.</strong>{" "}
        {where ? "None meets the condition." : isFiltered ? "None in this part of the capture." : null}
      </p>
      {where && (
        <button type="button" onClick={() => onWhere(null)}>
          Without the condition
        </button>
      )}
      {isFiltered && (
        <button type="button" onClick={() => onFilters({ window: null, process: [], thread: [], cpu: [], cgroup: [] })}>
          The whole capture
        </button>
      )}
      {/* What the whole has says nothing of a part, nor of a condition. */}
      {told?.sources && !(told.is_fed && (where || isFiltered)) && (
        <dl>
          <Why name="Missing">
            {told.is_fed
              ? "Its tables have rows, but none of the kind that it shows."
              : `Nothing in ${told.missing_tables}.`}
          </Why>
          <Why name="Why">{told.reason}</Why>
          <Why name={told.is_fed ? "Such rows come from" : "To record it"}>{told.how}</Why>
          <Why name="On that host">{told.remedy}</Why>
        </dl>
      )}
    </div>
  );
}

function Why({ name, children }: { name: string; children: string | null }) {
  return children ? (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  ) : null;
}
