/** How long things took, and how often: the views that are histograms, of all or of one thread, call or device. */

import { useMemo } from "preact/hooks";
import { useRows } from "../api/hooks";
import type { CaptureProps } from "../app/pages";
import { filterParams, useRoute } from "../app/route";
import { Problem, Waiting } from "../parts/problem";
import { safe } from "../parts/safe";
import { count, duration, ratio, size } from "../parts/units";
import { below, buckets, groups, type Bucket, type Source, SOURCES } from "./data";
import "./histogram.css";

const GROUPS_MAX = 200;

export default function Histograms(props: CaptureProps) {
  return (
    <div class="histograms">
      {SOURCES.map((source) => (
        <Histogram key={source.id} source={source} {...props} />
      ))}
    </div>
  );
}

function Histogram({ source, captureId, filters }: CaptureProps & { source: Source }) {
  const { params, set } = useRoute();
  const { data, error, again } = useRows(`captures/${captureId}/views/${source.view}`, {
    limit: 50_000,
    ...filterParams(filters),
  });
  const chosen = params.get(source.id) ?? "";
  const known = useMemo(() => groups(source, data ?? []), [data]);
  const shown = useMemo(() => buckets(source, data ?? [], chosen), [data, chosen]);
  const spelled = source.unit === "ns" ? duration : size;
  const total = shown.reduce((sum, bucket) => sum + bucket.count, 0);
  return (
    <section class="histogram" aria-label={source.title}>
      <h2>{source.title}</h2>
      <p class="quiet">{source.what}</p>
      {error && <Problem error={error} again={again} />}
      {!data && !error && <Waiting />}
      {data && known.length === 0 && <p class="empty">None in this part of the capture.</p>}
      {known.length > 0 && (
        <>
          <select
            aria-label={`Group: ${source.title}`}
            value={chosen}
            onChange={(event) => set({ [source.id]: event.currentTarget.value }, true)}
          >
            <option value="">all ({count(known.reduce((sum, group) => sum + group.count, 0))})</option>
            {known.slice(0, GROUPS_MAX).map(({ name, count: number }) => (
              <option key={name} value={name}>
                {safe(name)} ({count(number)})
              </option>
            ))}
          </select>
          {shown.length === 0 ? (
            <p class="empty">There is no {safe(chosen)} in this part of the capture.</p>
          ) : (
            <>
              <Bars of={shown} noun={source.noun} spelled={spelled} total={total} />
              <p class="quiet">
                {count(total)} {source.noun}; half below {spelled(below(shown, 0.5))}, 99 of 100 below{" "}
                {spelled(below(shown, 0.99))}, all below {spelled(below(shown, 1))}
              </p>
            </>
          )}
        </>
      )}
    </section>
  );
}

function Bars({
  of,
  noun,
  spelled,
  total,
}: {
  of: Bucket[];
  noun: string;
  spelled: (value: number) => string;
  total: number;
}) {
  const most = Math.max(...of.map((bucket) => bucket.count));
  // About as many labels as there is room for; at the last bar there is none.
  const every = Math.ceil(of.length / 8);
  return (
    <ol class="bars">
      {of.map((bucket, number) => {
        const text = `${spelled(bucket.min)} to ${spelled(bucket.max)}: ${count(bucket.count)} ${noun}, ${ratio(bucket.count / total)}`;
        return (
          <li key={bucket.min} title={text} aria-label={text}>
            <span class="bar-room" aria-hidden="true">
              {/* What is there is seen, however rare: the rare ones are often what is looked for. */}
              <span style={{ height: bucket.count ? `max(2px, ${(100 * bucket.count) / most}%)` : "0" }} />
            </span>
            <span class="bar-label" aria-hidden="true">
              {number % every === 0 && number < of.length - 1 ? spelled(bucket.min) : ""}
            </span>
          </li>
        );
      })}
    </ol>
  );
}
