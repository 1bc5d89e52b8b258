/** A table of any length: only the rows in sight are in the document. Sorted by a click on a head, walked by keys. */

import { elementScroll, observeElementOffset, observeElementRect, Virtualizer } from "@tanstack/virtual-core";
import type { ComponentChild } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Row } from "../api/rows";
import type { Column } from "../api/types.gen";
import { compare, exactly, isNumeric, written } from "./cell";
import { heading } from "./heading";
import { safe } from "./safe";
import type { Sort } from "./sql";
import { UNKNOWN } from "./units";

const [ROW_PX, TALL_PX] = [25, 42];
const HEAD_PX = 43;
const MEASURED_ROWS = 200;
const [NARROWEST, WIDEST] = [6, 56];

export interface TableProps {
  label: string;
  columns: readonly Column[];
  rows: readonly Row[];
  /** Given with onSort: the caller has sorted the rows. Without: the table sorts what it has. */
  sort?: Sort | null;
  onSort?: (sort: Sort | null) => void;
  /** Enter, or a click on a row. */
  onRow?: ((row: Row) => void) | undefined;
  /** The end of the rows came into sight. */
  onEnd?: (() => void) | undefined;
  /** Cells that are more than text. */
  cells?: Record<string, (row: Row) => ComponentChild>;
  /** Cells have two lines: those that `cells` makes may use both. */
  isTall?: boolean;
  /** Columns whose width is not by their text, in ch. */
  widths?: Record<string, number>;
}

export function Table(props: TableProps) {
  const { columns, onRow, onEnd, cells = {} } = props;
  const [own, setOwn] = useState<Sort | null>(null);
  const sort = props.onSort ? (props.sort ?? null) : own;
  const rows = useMemo(
    () => (props.onSort || !own ? props.rows : sorted(props.rows, own)),
    [props.rows, own, props.onSort],
  );
  const [at, setAt] = useState(-1);
  const scroll = useRef<HTMLDivElement>(null);
  const rowPx = props.isTall ? TALL_PX : ROW_PX;
  const virtual = useVirtual(rows.length, scroll, rowPx);
  const items = virtual.getVirtualItems();
  const shape = useMemo(
    () => measured(columns, props.rows, props.widths ?? {}),
    [columns, props.rows, JSON.stringify(props.widths)],
  );
  const last = items.at(-1)?.index ?? -1;

  useEffect(() => {
    if (rows.length && last >= rows.length - 1) onEnd?.();
  }, [last, rows.length]);
  useEffect(() => setAt(-1), [columns]);

  const press = (name: string) => {
    const numeric = shape.numeric.has(name);
    const next = nextSort(sort, name, numeric);
    if (props.onSort) props.onSort(next);
    else setOwn(next);
  };
  const walk = (event: KeyboardEvent) => {
    const page = Math.max(1, Math.floor((scroll.current?.clientHeight ?? 0) / rowPx) - 2);
    const steps: Record<string, number> = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: page,
      PageUp: -page,
      Home: -Infinity,
      End: Infinity,
    };
    const step = steps[event.key];
    if (event.target !== scroll.current) return;
    if (step !== undefined) {
      const next = Math.min(rows.length - 1, Math.max(0, at + step));
      setAt(next);
      virtual.scrollToIndex(next);
    } else if (event.key === "Enter" && rows[at]) {
      onRow?.(rows[at]);
    } else {
      return;
    }
    event.preventDefault();
  };
  const before = items[0]?.start ?? 0;
  const after = virtual.getTotalSize() - (items.at(-1)?.end ?? 0);
  return (
    <div
      class={`table ${shape.isStretched ? "wide" : ""} ${props.isTall ? "tall" : ""}`}
      ref={scroll}
      tabIndex={0}
      role="region"
      aria-label={props.label}
      onKeyDown={walk}
    >
      <table
        aria-rowcount={rows.length}
        style={{ width: shape.isStretched ? `max(100%, ${shape.total}ch)` : `${shape.total}ch` }}
      >
        <colgroup>
          {columns.map(({ name }) => (
            <col key={name} style={name === shape.wide ? {} : { width: `${shape.widths.get(name)}ch` }} />
          ))}
        </colgroup>
        <thead onKeyDown={walkHeads}>
          <tr>
            {columns.map((column, index) => (
              <Head
                key={column.name}
                column={column}
                isFirst={index === 0}
                isNumeric={shape.numeric.has(column.name)}
                sort={sort?.name === column.name ? sort : null}
                onPress={() => press(column.name)}
              />
            ))}
          </tr>
        </thead>
        <tbody>
          {before > 0 && <tr style={{ height: `${before}px` }} aria-hidden="true" />}
          {items.map(({ index }) => {
            const row = rows[index];
            if (!row) return null;
            return (
              <tr
                key={index}
                aria-rowindex={index + 1}
                class={`${index === at ? "at" : ""} ${onRow ? "opens" : ""}`}
                onClick={() => {
                  // Who marks text wants to copy it.
                  if (getSelection()?.isCollapsed === false) return;
                  setAt(index);
                  onRow?.(row);
                }}
              >
                {columns.map((column) => (
                  <Cell
                    key={column.name}
                    column={column}
                    row={row}
                    own={cells[column.name]}
                    isNumeric={shape.numeric.has(column.name)}
                  />
                ))}
              </tr>
            );
          })}
          {after > 0 && <tr style={{ height: `${after}px` }} aria-hidden="true" />}
        </tbody>
      </table>
    </div>
  );
}

interface HeadProps {
  column: Column;
  isFirst: boolean;
  isNumeric: boolean;
  sort: Sort | null;
  onPress: () => void;
}

function Head({ column, isFirst, isNumeric, sort, onPress }: HeadProps) {
  const { words, kind } = heading(column);
  const about = [`${safe(column.name)}${column.unit ? ` (${column.unit})` : ""}`, safe(column.description)];
  return (
    <th
      scope="col"
      class={isNumeric ? "number" : ""}
      aria-sort={sort ? (sort.isDescending ? "descending" : "ascending") : "none"}
    >
      <button type="button" tabIndex={isFirst ? 0 : -1} title={about.filter(Boolean).join("\n")} onClick={onPress}>
        <span class="head-words">
          {safe(words)}
          {kind && <span class="head-kind"> {kind}</span>}
          {sort && <span class="sort">{sort.isDescending ? "▾" : "▴"}</span>}
        </span>
        {words !== column.name && <span class="head-name mono">{safe(column.name)}</span>}
      </button>
    </th>
  );
}

interface CellProps {
  column: Column;
  row: Row;
  own: ((row: Row) => ComponentChild) | undefined;
  isNumeric: boolean;
}

function Cell({ column, row, own, isNumeric }: CellProps) {
  if (own) return <td class={isNumeric ? "number" : ""}>{own(row)}</td>;
  const value = row[column.name];
  if (value === null || value === undefined) return <td class={isNumeric ? "number null" : "null"}>{UNKNOWN}</td>;
  const text = written(value, column);
  const share = column.unit === "ratio" && typeof value === "number" && value > 0 && value <= 1 ? value : null;
  return (
    <td
      class={`${isNumeric ? "number" : ""} ${value === 0 ? "zero" : ""}`}
      title={exactly(value, column.unit)}
      style={share === null ? {} : { "--share": `${100 * share}%` }}
      data-share={share === null ? undefined : ""}
    >
      {text}
    </td>
  );
}

/** ← and → go along the heads. */
function walkHeads(event: KeyboardEvent): void {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step || !(event.target instanceof HTMLElement)) return;
  const heads = [...(event.currentTarget as HTMLElement).querySelectorAll("button")];
  heads[heads.indexOf(event.target as HTMLButtonElement) + step]?.focus();
  event.preventDefault();
}

/** First the direction that is wanted mostly, then the other, then none. */
function nextSort(now: Sort | null, name: string, isNumeric: boolean): Sort | null {
  if (now?.name !== name) return { name, isDescending: isNumeric };
  return now.isDescending === isNumeric ? { name, isDescending: !isNumeric } : null;
}

function sorted(rows: readonly Row[], sort: Sort): Row[] {
  const sign = sort.isDescending ? -1 : 1;
  const isNull = (row: Row) => row[sort.name] === null || row[sort.name] === undefined;
  // What is unknown comes last in both directions.
  return [...rows].sort((a, b) =>
    isNull(a) || isNull(b) ? Number(isNull(a)) - Number(isNull(b)) : sign * compare(a[sort.name], b[sort.name]),
  );
}

interface Shape {
  widths: Map<string, number>;
  numeric: Set<string>;
  total: number;
  /** The column of long text that takes what room is left. */
  wide: string | null;
  isStretched: boolean;
}

function measured(columns: readonly Column[], rows: readonly Row[], given: Record<string, number>): Shape {
  const some = rows.slice(0, MEASURED_ROWS);
  const widths = new Map<string, number>();
  const numeric = new Set<string>();
  let wide: string | null = null;
  for (const column of columns) {
    if (some.some((row) => isNumeric(row[column.name]))) numeric.add(column.name);
    // Heads are set smaller than cells, and letters are narrower than the digits that ch counts.
    const { words, kind } = heading(column);
    let chars = Math.ceil(Math.max(column.name.length * 0.88, (words.length + kind.length + 1) * 0.86)) + 1;
    for (const row of some) chars = Math.max(chars, written(row[column.name], column).length);
    const width = given[column.name] ?? Math.min(WIDEST, Math.max(NARROWEST, chars)) + 2;
    widths.set(column.name, width);
    if (!numeric.has(column.name) && width > 26 && width > (wide ? widths.get(wide)! : 0)) wide = column.name;
  }
  return { widths, numeric, total: [...widths.values()].reduce((a, b) => a + b, 0), wide, isStretched: wide !== null };
}

function useVirtual(
  count: number,
  scroll: { current: HTMLDivElement | null },
  rowPx: number,
): Virtualizer<HTMLDivElement, Element> {
  const [, setTurn] = useState(0);
  const options = {
    count,
    getScrollElement: () => scroll.current,
    estimateSize: () => rowPx,
    overscan: 12,
    // Below the head, which stays in sight.
    scrollPaddingStart: HEAD_PX,
    observeElementRect,
    observeElementOffset,
    scrollToFn: elementScroll,
    onChange: () => setTurn((turn) => turn + 1),
  };
  const [virtual] = useState(() => new Virtualizer<HTMLDivElement, Element>(options));
  virtual.setOptions(options);
  useLayoutEffect(() => virtual._didMount(), []);
  useLayoutEffect(() => virtual._willUpdate());
  return virtual;
}
