/** Several views of one thing, of which one is open: the address says which, and how it is sorted and filtered. */

import { useSchema } from "../api/hooks";
import type { ColumnOf, ViewName } from "../api/rows";
import type { CaptureProps } from "../app/pages";
import { linked, OF_A_TABLE, useRoute } from "../app/route";
import { BlameGaps, FOLLOWED } from "./blame-gaps";
import { Waiting } from "./problem";
import { sentence } from "./units";
import { ViewTable } from "./view-table";

export interface Part {
  id: string;
  title: string;
  view: ViewName;
  sort: string;
  show: string[] | null;
  /** The view has an order of its own, which is that of `sort`, with the recorder's threads last. */
  isOrdered: boolean;
}

/** A part that shows some columns of a view, in this order; none: all. */
export function part<V extends ViewName>(
  id: string,
  title: string,
  view: V,
  sort: ColumnOf<V> | null,
  show: ColumnOf<V>[] | null,
  isOrdered = true,
): Part {
  return { id, title, view, sort: sort ? `-${sort}` : "", show, isOrdered };
}

export const partOf = (parts: readonly Part[], id: string | null): Part =>
  parts.find((one) => one.id === id) ?? parts[0]!;

interface PartsProps extends Pick<CaptureProps, "captureId" | "filters" | "onFilters"> {
  label: string;
  parts: readonly Part[];
}

export function ViewParts({ label, parts, captureId, filters, onFilters }: PartsProps) {
  const { params } = useRoute();
  const schema = useSchema();
  const shown = partOf(parts, params.get("by"));
  const view = schema?.views.find(({ name }) => name === shown.view);
  if (!view) return <Waiting />;
  return (
    <>
      <nav class="segments" aria-label={label}>
        {parts.map(({ id, title }) => (
          <a key={id} href={linked({ ...OF_A_TABLE, by: id })} aria-current={id === shown.id ? "true" : undefined}>
            {title}
          </a>
        ))}
      </nav>
      <p class="quiet about">{sentence(view.description)}</p>
      {FOLLOWED.includes(view.name) && <BlameGaps captureId={captureId} filters={filters} />}
      <ViewTable
        key={shown.id}
        captureId={captureId}
        filters={filters}
        onFilters={onFilters}
        view={view}
        isOrdered={shown.isOrdered}
        sort={shown.sort}
        {...(shown.show && { show: shown.show })}
      />
    </>
  );
}
