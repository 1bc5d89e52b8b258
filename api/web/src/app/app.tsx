/** The frame around every page. */

import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { useGet, useSchema } from "../api/hooks";
import type { Capture } from "../api/types.gen";
import { Captures } from "../pages/captures";
import { CaptureCard } from "../parts/capture-card";
import { CompareWith } from "../parts/compare-with";
import { ImportProgress } from "../parts/import-progress";
import { Problem, Waiting } from "../parts/problem";
import { safe } from "../parts/safe";
import { switchZone, zone, ZONES } from "./clock";
import { FilterBar } from "./filters";
import { imports, whenImported } from "./imports";
import { Help, help } from "./keys";
import { Lazy } from "./lazy";
import { CAPTURE_PAGES, type CaptureProps, MOVED, TOP_PAGES } from "./pages";
import { FILTERS, filterParams, filtersOf, go, href, moveTo, type Route, set, useRoute } from "./route";
import { session, SignIn, signOut } from "./session";
import { useStore } from "./store";
import { switchTheme, theme } from "./theme";
import { Titles } from "./titles";

export function App() {
  const { state, error } = useStore(session);
  // Whatever says a time of day says it again in another zone.
  useStore(zone);
  const route = useRoute();
  if (state === "asking") return <Waiting />;
  if (state === "failed") return <Problem error={error!} again={() => location.reload()} />;
  if (state === "out") return <SignIn />;
  return (
    <>
      <Bar open={route.path[0] ?? "captures"} />
      <Opened route={route} />
      <Help />
      <Titles />
    </>
  );
}

function Bar({ open }: { open: string }) {
  const { account } = useStore(session);
  const { chosen } = useStore(theme);
  const top = TOP_PAGES.find(({ id }) => id === open);
  return (
    <header class="bar">
      <a class="brand" href={href("captures")}>
        perfcase
      </a>
      {/* Where one is, for who hears the page; a capture's pages have its name. */}
      {top && <h1 class="visually-hidden">{top.title}</h1>}
      <nav aria-label="Pages">
        {TOP_PAGES.filter(({ role }) => role === "viewer" || account?.role === role).map(({ id, title }) => (
          <a
            key={id}
            href={href(id)}
            aria-current={open === id || (id === "captures" && open === "c") ? "page" : undefined}
          >
            {title}
          </a>
        ))}
      </nav>
      <span class="spring" />
      <Zone />
      <button type="button" class="plain" title="Dark or light (t)" onClick={switchTheme}>
        {{ auto: "Auto", light: "Light", dark: "Dark" }[chosen]}
      </button>
      <button type="button" class="plain" title="Keys (?)" aria-label="Keys" onClick={() => help.set(true)}>
        ?
      </button>
      {account?.name === "open" ? null : (
        <button type="button" class="plain" title={`${account?.name}, ${account?.role}`} onClick={() => void signOut()}>
          Sign out
        </button>
      )}
    </header>
  );
}

/** The zone of all times of day, and the choice of it where there is one. */
function Zone() {
  const now = useStore(zone);
  const other = ZONES.find((one) => one !== now);
  const said = `All times of day are in ${now}`;
  return other ? (
    <button type="button" class="plain zone" title={`${said}. Press for ${other}`} onClick={switchZone}>
      {now}
    </button>
  ) : (
    <span class="quiet zone" title={said} tabIndex={0}>
      {now}
    </span>
  );
}

function Opened({ route }: { route: Route }) {
  const [first = "captures", captureId, page = "overview"] = route.path;
  useEffect(() => {
    scrollTo(0, 0);
  }, [first, captureId, page]);
  if (first === "captures") return <Captures />;
  const load = TOP_PAGES.find(({ id }) => id === first)?.load;
  if (load) return <Lazy key={first} load={load} props={{}} />;
  if (first === "c" && captureId) return <OfCapture key={captureId} captureId={captureId} page={page} route={route} />;
  return (
    <main>
      <p class="empty">
        There is no such page. <a href={href("captures")}>Captures</a>
      </p>
    </main>
  );
}

function OfCapture({ captureId, page: named, route }: { captureId: string; page: string; route: Route }) {
  const { data: capture, error, again } = useGet<Capture>(`captures/${captureId}`);
  const page = MOVED[named] ?? named;
  useLayoutEffect(() => {
    if (page !== named) moveTo(["c", captureId, page]);
  }, [named]);
  // What every page of a capture needs comes while the capture is asked for.
  useSchema();
  useEffect(() => {
    CAPTURE_PAGES.find(({ id }) => id === page)
      ?.load()
      .catch(() => undefined);
  }, [page]);
  const isAwaited = capture?.state === "uploaded" || capture?.state === "importing";
  useEffect(() => (isAwaited ? whenImported(captureId, again) : undefined), [captureId, isAwaited]);
  useEffect(() => {
    document.title = capture ? `${capture.name} – perfcase` : "perfcase";
  }, [capture]);
  const tabs = useRef<HTMLElement>(null);
  useEffect(() => {
    // In a narrow window the pages' names are a strip of which a part is seen.
    tabs.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [page, capture]);
  if (error)
    return (
      <main>
        {error.kind === "usage" || error.kind === "not_found" ? (
          <p class="empty">There is no such capture on this server, or it is of a ticket that is not yours.</p>
        ) : (
          <Problem error={error} again={again} />
        )}
        <p>
          <a href={href("captures")}>All captures</a>
        </p>
      </main>
    );
  const filters = filtersOf(route.params);
  const kept = filterParams(filters);
  const shown = CAPTURE_PAGES.find(({ id }) => id === page);
  // The head is there before the capture is known: what is below it does not move.
  const props: CaptureProps | null = capture
    ? {
        captureId,
        capture,
        filters,
        onChanged: again,
        onFilters: (change) =>
          set(Object.fromEntries(FILTERS.filter((name) => name in change).map((name) => [name, change[name]]))),
      }
    : null;
  return (
    <>
      <section class="capture-head" aria-label="The capture">
        <h1 title={captureId}>{capture?.name ?? "…"}</h1>
        <p class="quiet">{[capture?.ticket, capture?.host].filter(Boolean).join(" · ")}</p>
        <CompareWith captureId={captureId} page={page} />
        <nav ref={tabs} class="tabs" aria-label="Pages of this capture">
          {CAPTURE_PAGES.map(({ id, title }) => (
            <a key={id} href={href(["c", captureId, id], kept)} aria-current={id === page ? "page" : undefined}>
              {title}
            </a>
          ))}
        </nav>
        <FilterBar />
      </section>
      <main>
        {shown && props && isAwaited ? (
          <Importing capture={props.capture} />
        ) : props?.capture.state === "failed" ? (
          <NotImported capture={props.capture} onChanged={again} />
        ) : shown && props ? (
          <Lazy key={shown.id} load={shown.load} props={props} />
        ) : shown ? (
          <Waiting />
        ) : (
          <p class="empty">
            There is no such page.{" "}
            <button type="button" onClick={() => go(["c", captureId, "overview"], kept)}>
              Overview
            </button>
          </p>
        )}
      </main>
    </>
  );
}

/** Nothing can be asked of what is no capture: why, and what can be done with the file. */
function NotImported({ capture, onChanged }: { capture: Capture; onChanged: () => void }) {
  return (
    <section class="not-imported">
      <h2>It could not be imported</h2>
      <div class="problem" role="alert">
        {safe(capture.reason ?? "No reason is known.")}
      </div>
      <CaptureCard capture={{ ...capture, reason: null }} onChange={onChanged} onDeleted={() => go("captures")} />
    </section>
  );
}

/** Nothing of a capture can be asked while it is imported; what is open comes when its import ends. */
function Importing({ capture: { capture_id, name } }: { capture: Capture }) {
  return (
    <div class="empty">
      <ImportProgress now={useStore(imports).get(capture_id)} name={name} />
    </div>
  );
}
