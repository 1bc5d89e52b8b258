/** Below the time line: exactly what is chosen in it, in all the ways that the other pages have. */

import { useRows } from "../api/hooks";
import { viewPath } from "../api/rows";
import { Lazy } from "../app/lazy";
import { CAPTURE_PAGES, type CapturePage, type CaptureProps } from "../app/pages";
import { filterParams, type Filters, href, type Params, useRoute } from "../app/route";
import { Problem, Waiting } from "../parts/problem";
import { safe } from "../parts/safe";
import { partOf } from "../parts/view-parts";
import { duration, momentOf } from "../parts/units";
import type { LineState } from "./address";
import type { Fired } from "./findings";
import { type PieceOf, saidOf, type Shows } from "./lanes";
import type { Span } from "./span";
import { Stretch, type useInterval } from "./stretch";
import type { LaneTrack, Thread } from "./tracks";
import Waits, { WAITS } from "./waits";
import { EXACT, windowText } from "./window";

interface Tab extends Pick<CapturePage, "id" | "title" | "load"> {
  /** The page of its own, and which part of it, for the part that is open. */
  own: (by: string | null) => [page: string, params: Params];
}

/** Pages that tell of a part of a capture, and what is only here. */
const TABS: Tab[] = [
  ...CAPTURE_PAGES.filter(({ id }) => ["flame", "offcpu", "syscalls", "histograms", "threads"].includes(id)).map(
    (page): Tab => ({ ...page, own: (by) => [page.id, { by }] }),
  ),
  {
    id: "waits",
    title: "Waits",
    load: () => Promise.resolve({ default: Waits }),
    own: (by) => ["views", { view: partOf(WAITS, by).view }],
  },
  {
    id: "descriptors",
    title: "Descriptors",
    load: async () => ({ default: (await import("../pages/syscalls")).Descriptors }),
    own: (by) => ["syscalls", { by: by ?? "files" }],
  },
];
const CALLS_MAX = 8;

interface PanelProps extends CaptureProps {
  state: LineState;
  /** The lane that is picked. */
  track: LaneTrack | undefined;
  /** The process that is picked: its pid. */
  process: string | null;
  finding: Fired | null;
  piece: PieceOf[Shows] | null;
  told: ReturnType<typeof useInterval>;
  threads: readonly Thread[];
  onThread: (utid: number) => void;
}

export function Panel({ state, track, process, finding, piece, told, onThread, threads, ...props }: PanelProps) {
  const { captureId, filters } = props;
  const { part, pick } = state;
  const { params } = useRoute();
  if (!track && !process && !finding && !part) {
    return (
      <p class="quiet line-how">
        Drag to choose a part: it is the filter of all pages. A click tells of a piece or a track. W and S zoom, A and D
        move; Ctrl and the wheel, or two fingers, too. A double click shows all.
      </p>
    );
  }
  if (finding) return <Finding {...finding} captureId={captureId} onClose={() => state.setPick(null)} />;
  const shows = pick?.shows ?? null;
  const span: Span | null = piece ? [piece.ts_ns, piece.ts_ns + piece.duration_ns] : part;
  // A neighbour of a piece, rounded into it, would count as well.
  // A part that ends where a call does cuts its end off: it would be of a call that has not returned.
  const last = piece && shows === "calls" ? 1 : 0;
  const window = span && windowText([span[0] / 1e9, (span[1] + last) / 1e9], EXACT);
  const isCpu = track?.shows.includes("runs") ?? false;
  const run = shows === "runs" && piece ? (piece as PieceOf["runs"]) : null;
  const runner = run ? threads.find(({ utid }) => utid === run.utid) : undefined;
  const only: Filters = {
    ...filters,
    window: window ?? filters.window,
    ...(process ? { process: [process] } : {}),
    ...(track?.filter && isCpu ? { cpu: [track.filter] } : {}),
    ...(track?.filter && !isCpu ? { thread: [track.filter] } : {}),
    ...(runner ? { thread: [runner.tid] } : {}),
  };
  const title = track?.title ?? (process ? `Process ${process}` : "All that was recorded");
  const hasPiece = Boolean(track && piece);
  const open = TABS.find(({ id }) => id === state.panel) ?? (hasPiece ? undefined : TABS[0]);
  const [page, parts] = open?.own(params.get("by")) ?? [];
  return (
    <section class="line-panel" aria-label="What is chosen">
      <div class="row">
        <h2>{title}</h2>
        <span class="quiet">
          {piece && shows ? saidOf(shows, piece as never) : span ? duration(span[1] - span[0]) : "the whole recording"}
          {span && `, from ${momentOf(span[0], 6)}`}
        </span>
        <span class="spring" />
        {hasPiece && utidOf(track) !== null && (
          <label class="row">
            <input
              type="checkbox"
              checked={state.hasPath}
              onChange={(event) => state.setPath(event.currentTarget.checked)}
            />
            critical path
          </label>
        )}
        {pick && (
          <button type="button" onClick={() => state.setPick(null)}>
            Close
          </button>
        )}
      </div>
      <nav class="tabs line-tabs" aria-label="Ways to see what is chosen">
        {hasPiece && (
          <button type="button" class="plain" aria-pressed={!open} onClick={() => state.setPanel("")}>
            This piece
          </button>
        )}
        {TABS.map(({ id, title: name }) => (
          <button
            key={id}
            type="button"
            class="plain"
            aria-pressed={id === open?.id}
            onClick={() => state.setPanel(id)}
          >
            {name}
          </button>
        ))}
        {page && <a href={href(["c", captureId, page], { ...filterParams(only), ...parts })}>On a page of its own</a>}
      </nav>
      {!open && track && piece && shows && utidOf(track) !== null && (
        <Stretch captureId={captureId} utid={track.of} shows={shows} piece={piece} told={told} onThread={onThread} />
      )}
      {!open && run && (
        <p>
          <button type="button" class="plain stretch-thread" onClick={() => onThread(run.utid)}>
            {run.name}
          </button>
        </p>
      )}
      {!open && track && piece && shows === "calls" && <Calls captureId={captureId} filters={only} />}
      {open && <Lazy key={`${open.id}`} load={open.load} props={{ ...props, filters: only }} />}
    </section>
  );
}

function Finding({ name, title, rows, isCut, captureId, onClose }: Fired & { captureId: string; onClose: () => void }) {
  return (
    <section class="line-panel" aria-label="What is chosen">
      <div class="row">
        <h2>{title}</h2>
        <span class="spring" />
        <a href={href(["c", captureId, "overview"], { finding: name })}>What it means, and what to do next</a>
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
      <ul>
        {rows.map(({ subject, message }) => (
          <li key={subject}>
            <strong>{safe(subject ?? "")}</strong>: {safe(message ?? "")}
          </li>
        ))}
      </ul>
      {isCut && <p class="quiet">Only the first rows behind it are marked; its evidence on the overview has all.</p>}
    </section>
  );
}

const utidOf = (track: LaneTrack | undefined) => (track && !track.shows.includes("runs") ? track.of : null);

/** The calls of a piece, as strace prints them. */
function Calls({ captureId, filters }: { captureId: string; filters: Filters }) {
  const { data, error, again } = useRows<{ line: string }>(viewPath(captureId, "syscall_log"), {
    columns: ["line"],
    limit: CALLS_MAX + 1,
    ...filterParams(filters),
  });
  if (error) return <Problem error={error} again={again} />;
  if (!data) return <Waiting />;
  return (
    <ol class="mono line-calls">
      {data.slice(0, CALLS_MAX).map(({ line }, number) => (
        <li key={number}>{safe(line ?? "")}</li>
      ))}
      {data.length > CALLS_MAX && <li class="quiet">and more: System calls</li>}
    </ol>
  );
}
