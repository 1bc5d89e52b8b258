/** How long things took, and how often: the views that are histograms, of all or of one thread, call or device. */

import { useMemo } from "preact/hooks";
import { useRows, useSchema } from "../api/hooks";
import type { Histogram } from "../api/types.gen";
import type { CaptureProps } from "../app/pages";
import { filterParams, useRoute } from "../app/route";
import { written } from "../parts/cell";
import { type Drawn, places } from "../parts/charts";
import { Fresh } from "../parts/fresh";
import { heading } from "../parts/heading";
import { Problem, Waiting } from "../parts/problem";
import { safe } from "../parts/safe";
import { count, ratio, sentence } from "../parts/units";
import { type Bucket, groups } from "./data";
import "./histogram.css";

const GROUPS_MAX = 200;

export default function Histograms(props: CaptureProps) {
  const schema = useSchema();
  if (!schema) return <Waiting />;
  return (
    <div class="histograms">
      {places(schema, "histograms", "histogram").map(({ first }) => (
        <Shown key={first.view.name} drawn={first} {...props} />
      ))}
    </div>
  );
}

function Shown({ drawn, captureId, filters }: CaptureProps & { drawn: Drawn<Histogram> }) {
  const { view, plot, chart } = drawn;
  const { params, set } = useRoute();
  const { data, error, loading, again } = useRows(`captures/${captureId}/views/${view.name}`, {
    by: chart.keys.join(",") || "-",
    where: chart.where,
    limit: 50_000,
    ...filterParams(filters),
  });
  const chosen = params.get(view.name) ?? "";
  const [all, ...known] = useMemo(() => groups(drawn, data ?? []), [data]);
  const shown = chosen ? known.find(({ name }) => name === chosen) : all;
  const spelled = (value: number) => written(value, { name: "", unit: plot.unit });
  const noun = chart.values[0]!.label;
  return (
    <section class="histogram" aria-label={chart.title}>
      <h2>{chart.title}</h2>
      <p class="quiet">{sentence(view.description)}</p>
      {error && <Problem error={error} again={again} />}
      {!data && !error && <Waiting />}
      {data && !all && !loading && <p class="empty">None in this part of the capture.</p>}
      {data && !all && loading && <Waiting />}
      {all && (
        <Fresh isOld={loading}>
          <label class="row">
            <span class="quiet">by {chart.keys.map((name) => heading({ name, unit: null }).words).join(", ")}</span>
            <select
              aria-label={`Group: ${chart.title}`}
              value={chosen}
              onChange={(event) => set({ [view.name]: event.currentTarget.value }, true)}
            >
              <option value="">all ({count(all.count)})</option>
              {known.slice(0, GROUPS_MAX).map((group) => (
                <option key={group.name} value={group.name}>
                  {safe(group.name)} ({count(group.count)})
                </option>
              ))}
            </select>
          </label>
          {shown ? (
            <>
              <Bars of={shown.buckets} noun={noun} spelled={spelled} />
              <p class="quiet">
                {counted(shown.count, noun)}; half below {spelled(shown.half)}, 99 of 100 below {spelled(shown.most)},
                all below {spelled(shown.all)}
              </p>
            </>
          ) : (
            <p class="empty">There is no {safe(chosen)} in this part of the capture.</p>
          )}
        </Fresh>
      )}
    </section>
  );
}

/** `1 wait`, `2 waits`: the schema has the word for many. */
function counted(number: number, noun: string): string {
  return `${count(number)} ${number === 1 ? noun.replace(/(?<=ch)es$|s$/, "") : noun}`;
}

function Bars({ of, noun, spelled }: { of: Bucket[]; noun: string; spelled: (value: number) => string }) {
  const most = Math.max(...of.map((bucket) => bucket.count));
  // About as many labels as there is room for; at the last bar there is none.
  const every = Math.ceil(of.length / 8);
  return (
    <ol class="bars">
      {of.map((bucket, number) => {
        const text = `${spelled(bucket.min)} to ${spelled(bucket.max)}: ${counted(bucket.count, noun)}, ${ratio(bucket.share)}`;
        return (
          <li key={bucket.min} title={text} aria-label={text}>
            <span class="bar-room" aria-hidden="true">
              {/* What is there is seen, however rare: the rare ones are often what is looked for. */}
              <span style={{ height: bucket.count ? `max(2px, ${(100 * bucket.count) / most}%)` : "0" }} />
            </span>
            <span class="bar-label" aria-hidden="true">
              {number % every === 0 && (number < of.length - 1 || every === 1) ? spelled(bucket.min) : ""}
            </span>
          </li>
        );
      })}
    </ol>
  );
}
