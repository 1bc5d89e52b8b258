/** How much of what threads waited for was not followed to its cause, above the rows of what was. */

import { useView } from "../api/hooks";
import type { CaptureProps } from "../app/pages";
import { filterParams } from "../app/route";
import { Fresh } from "./fresh";
import { Problem } from "./problem";
import { safe } from "./safe";
import { duration, plural, ratio } from "./units";

/** Views and tables of waits that are followed to their cause. */
export const FOLLOWED = ["blame", "blame_by_comm", "blame_part"];

export function BlameGaps({ captureId, filters }: Pick<CaptureProps, "captureId" | "filters">) {
  const { data, error, loading, again } = useView(captureId, "blame_gap", filterParams(filters));
  if (error) return <Problem error={error} again={again} />;
  if (!data?.length) return null;
  const reasons = data.map(({ part_count, wait_ns, wait_ratio, meaning }) => {
    const parts = plural(Number(part_count), "part");
    return `${parts} of waits, ${duration(wait_ns)}, ${ratio(wait_ratio)} of the time waited (${safe(meaning ?? "?")})`;
  });
  return (
    <Fresh isOld={loading}>
      <p class="quiet blame-gaps">Not followed to its cause: {reasons.join("; ")}</p>
    </Fresh>
  );
}
