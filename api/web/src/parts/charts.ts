/** The charts of a page: the headers of the views say which there are, in which order, and what they show. */

import type { Chart, Histogram, Intervals, Schema, ViewEntry } from "../api/types.gen";

export interface Drawn<P = Histogram | Intervals> {
  view: ViewEntry;
  plot: P;
  chart: Chart;
}

/** A place on a page: its chart, and the one of captures that have no rows for that. */
export interface Place<P> {
  first: Drawn<P>;
  instead: Drawn<P> | undefined;
}

/** The places of a page, from above. */
export function places<K extends "histogram" | "intervals">(
  schema: Schema,
  page: string,
  kind: K,
): Place<Extract<Histogram | Intervals, { kind: K }>>[] {
  type P = Extract<Histogram | Intervals, { kind: K }>;
  const all = schema.views.flatMap((view) =>
    view.plot?.kind === kind
      ? view.charts.filter((chart) => chart.page === page).map((chart) => ({ view, plot: view.plot as P, chart }))
      : [],
  );
  return all
    .filter(({ chart }) => !chart.is_instead)
    .sort((a, b) => a.chart.place - b.chart.place)
    .map((first) => ({
      first,
      instead: all.find(({ chart }) => chart.is_instead && chart.place === first.chart.place),
    }));
}
