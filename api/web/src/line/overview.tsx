/** The host's part of the time line, on the overview: dragging over it chooses the part that everything else is about. */

import { useMemo } from "preact/hooks";
import { useSchema } from "../api/hooks";
import type { Schema } from "../api/types.gen";
import type { CaptureProps } from "../app/pages";
import { href, isPart } from "../app/route";
import { Fresh } from "../parts/fresh";
import { gapsOf } from "../parts/hatch";
import { Problem, Waiting } from "../parts/problem";
import { duration } from "../parts/units";
import { useLineState, useSpan } from "./address";
import { KernelLog, Missing, useHost } from "./host";
import { Charts } from "./charts";
import { holding } from "./span";
import { tracksOf } from "./tracks";

export default function OverviewLine(props: CaptureProps) {
  const schema = useSchema();
  if (props.capture.state !== "ready")
    return <p class="empty">Not imported yet: its time line comes with the import.</p>;
  if (!(Number(props.capture.duration_ns ?? 0) > 0))
    return <p class="empty">This capture has no time line, because its events have no times.</p>;
  return schema ? <HostLine schema={schema} {...props} /> : <Waiting />;
}

function HostLine({ schema, ...props }: CaptureProps & { schema: Schema }) {
  const { captureId, capture, filters } = props;
  const state = useLineState(props);
  const { length, part } = state;
  const { span, isMoving } = useSpan(state);
  // The charts show the whole recording: the part is what is chosen in them.
  const scope = { ...filters, window: null };
  const host = useHost(captureId, schema, ["timeline"], length, state.asked, scope);
  const tracks = useMemo(
    () =>
      tracksOf({
        charts: host.charts,
        isGrouped: false,
        marks: [{ id: "log", title: "Kernel log", marks: host.marks }],
        findings: [],
        heats: [],
        cpus: [],
        threads: [],
        processes: new Map(),
        hasCalls: false,
        hasCauses: false,
        find: "",
        turned: [],
        pinned: [],
        moves: null,
      }),
    [host.charts, host.marks],
  );
  // All answers about a whole capture are kept: its charts come at once, so nothing moves.
  const isFirst = host.isFirst && (!isPart(scope) || host.charts.length === 0);
  const hasGaps = host.charts.some(({ lines, span: own }) =>
    gapsOf(lines.known, own[1] / 1e9).some(([from, to]) => to * 1e9 > span[0] && from * 1e9 < span[1]),
  );
  return (
    <section class="time-line" aria-label="Time line">
      <div class="row">
        <h2>Time line</h2>
        <span class="quiet">
          {part
            ? `${duration(part[1] - part[0])} of ${duration(length)} chosen`
            : "drag over it to look at a part of the recording"}
          {hasGaps && "; hatched: nothing was recorded"}
          {host.cut.length > 0 && `; ${host.cut.join(", ")}: too many rows, zoom in for the dim part`}
        </span>
        <span class="spring" />
        {(part || state.isZoomed) && (
          <button
            type="button"
            onClick={() => {
              if (state.isZoomed) state.setSpan(null);
              if (part) state.setPart(null);
            }}
          >
            Whole recording
          </button>
        )}
        <a href={href(["c", captureId, "timeline"], { ...filters, zoom: null })}>CPUs and threads</a>
      </div>
      {host.failed && <Problem error={host.failed.error!} again={host.again} />}
      {isFirst ? (
        <Waiting />
      ) : (
        tracks.length > 0 && (
          <Fresh isOld={host.isOld}>
            <Charts
              tracks={tracks}
              span={span}
              isMoving={isMoving}
              end={length}
              startNs={capture.started_ns === null ? null : Number(capture.started_ns)}
              part={part}
              isAwaited={state.isMoving || host.isDetailAwaited}
              onSpan={state.setSpan}
              onPart={state.setPart}
            />
          </Fresh>
        )
      )}
      <KernelLog log={host.log} onPick={(at) => state.setSpan(holding(span, at, length))} />
      {!isFirst && <Missing captureId={captureId} charts={host.missing} isAll={!host.charts.length} />}
    </section>
  );
}
