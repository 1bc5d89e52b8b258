/** The source lines and instructions of a function, with the samples at each. */

import { useEffect, useMemo, useRef } from "preact/hooks";
import { useRows } from "../api/hooks";
import type { Params } from "../app/route";
import { Fresh } from "../parts/fresh";
import { Problem, Waiting } from "../parts/problem";
import { safe } from "../parts/safe";
import { count, plural, ratio } from "../parts/units";
import "./code.css";

interface CodeRow {
  dso: string;
  address: number | bigint;
  source_file: string | null;
  source_line: number | null;
  /** Only with perfcase open --source. */
  source_text?: string | null;
  inlined: string | null;
  sample_count: number;
  symbol_ratio: number | null;
  instruction: string | null;
  missing_reason: string | null;
}

/** A share from which a row is marked. */
const HOT = 0.1;
/** More rows are slow in a browser: then only those near samples are shown. */
const MOST = 2000;
const NEAR = 8;

/** An object that has the function. */
interface ObjectRow {
  dso_id: number | null;
  dso: string;
  path: string;
  build_id: string | null;
  sample_count: number;
}

interface CodeProps {
  captureId: string;
  name: string;
  /** Its name, its path, its build ID or its number. */
  object: string | null;
  /** Somebody has just asked for it: it is brought into sight, below the picture. */
  isBrought: boolean;
  /** Which samples count: what the picture above counts. */
  what: Params;
  onObject: (to: string) => void;
  onClose: () => void;
}

/** What an object is chosen by. */
const keyOf = ({ dso_id, path }: ObjectRow) => (dso_id === null ? path : String(dso_id));

export function Code({ captureId, name, object, isBrought, what, onObject, onClose }: CodeProps) {
  const path = `captures/${captureId}/annotate`;
  const query = { function: name, format: "json", ...what };
  const objects = useRows<ObjectRow>(path, { ...query, objects: true });
  const isIt = ({ dso, path: its, build_id, dso_id }: ObjectRow) =>
    object === null || [dso, its, build_id, String(dso_id)].includes(object);
  // Several may share a name: then the one with the most samples, and the choice says so.
  const chosen = objects.data?.find(isIt) ?? objects.data?.[0];
  const rows = useRows<CodeRow>(chosen ? path : null, { ...query, dso: chosen ? keyOf(chosen) : null });
  const error = objects.error ?? rows.error;
  const again = objects.error ? objects.again : rows.again;
  const { data } = rows;
  const loading = objects.loading || rows.loading;
  const section = useRef<HTMLElement>(null);
  // Again when it is as long as it will be: before, a short page ends above it.
  useEffect(() => {
    if (isBrought) section.current?.scrollIntoView({ block: "start" });
  }, [name, Boolean(data), Boolean(error)]);
  return (
    <section ref={section} class="flame-code" aria-label={`Source and assembly of ${safe(name)}`}>
      <div class="row">
        <h2 class="mono flame-name">{safe(name)}</h2>
        {objects.data && objects.data.length > 1 && chosen ? (
          <select
            class="flame-code-object"
            aria-label="Object"
            value={keyOf(chosen)}
            onChange={(event) => onObject(event.currentTarget.value)}
          >
            {objects.data.map((one) => (
              <option key={keyOf(one)} value={keyOf(one)}>
                {safe(one.path)}
                {one.build_id ? `, build ID ${safe(one.build_id)}` : ""}: {plural(Number(one.sample_count), "sample")}
              </option>
            ))}
          </select>
        ) : (
          <span class="quiet">{chosen ? safe(chosen.dso) : object && safe(object)}</span>
        )}
        <span class="spring" />
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
      {error ? (
        <Problem error={error} again={again} />
      ) : data ? (
        <Fresh isOld={loading}>
          <Listing rows={data} />
        </Fresh>
      ) : (
        <Waiting />
      )}
    </section>
  );
}

function Listing({ rows }: { rows: CodeRow[] }) {
  const shown = useMemo(() => near(rows), [rows]);
  const samples = rows.reduce((sum, row) => sum + Number(row.sample_count), 0);
  const reasons = [...new Set(rows.map((row) => row.missing_reason).filter((why) => why !== null))];
  const isBare = rows.every((row) => row.instruction === null);
  let line = "";
  return (
    <>
      <p class="quiet">
        {samples ? `${count(samples)} samples of its own. ` : "No samples of its own: it only calls others here. "}
        {shown.length < rows.length &&
          `${count(shown.length)} of ${count(rows.length)} instructions: those near samples. `}
        {reasons.map((why) => `${isBare ? "No assembly" : "Some rows have no instruction"}: ${safe(why)}. `)}
        {isBare &&
          rows.length > 0 &&
          "Record with --symbols full, or import with --debug-dir, to see the instructions."}
      </p>
      {shown.length > 0 && (
        <div class="flame-code-rows" tabIndex={0} role="region" aria-label="Instructions">
          <table class="mono">
            <thead>
              <tr>
                <th scope="col">Address</th>
                <th scope="col">Samples</th>
                <th scope="col">Share</th>
                <th scope="col">
                  <span class="visually-hidden">Share as a bar</span>
                </th>
                <th scope="col">Instruction</th>
              </tr>
            </thead>
            <tbody>
              {shown.flatMap((row) => {
                const place = row.source_file ? `${row.source_file}:${row.source_line ?? "?"}` : "";
                const isNew = place !== line && place !== "";
                line = place;
                const share = row.symbol_ratio ?? 0;
                const address = `0x${BigInt(row.address).toString(16)}`;
                return [
                  isNew && (
                    <tr key={`${address} line`}>
                      <th scope="rowgroup" colSpan={5}>
                        {safe(place)}
                        {row.inlined && ` (inlined: ${safe(row.inlined)})`}
                        {row.source_text && <span class="flame-code-text">{safe(row.source_text)}</span>}
                      </th>
                    </tr>
                  ),
                  <tr key={address} class={share >= HOT ? "is-hot" : undefined}>
                    <td>{address}</td>
                    <td class="number">{row.sample_count ? count(Number(row.sample_count)) : ""}</td>
                    <td class="number">{row.sample_count ? ratio(share) : ""}</td>
                    <td class="flame-code-bars">
                      <span class="flame-code-bar" style={{ width: `${100 * share}%` }} />
                    </td>
                    <td>{row.instruction === null ? "" : safe(row.instruction)}</td>
                  </tr>,
                ];
              })}
            </tbody>
          </table>
        </div>
      )}
    </>
  );
}

/** All rows, or, of many, those near samples. */
function near(rows: CodeRow[]): CodeRow[] {
  if (rows.length <= MOST) return rows;
  const wanted = new Set<number>();
  rows.forEach((row, at) => {
    if (row.sample_count) for (let by = -NEAR; by <= NEAR; by++) wanted.add(at + by);
  });
  return rows.filter((_, at) => wanted.has(at)).slice(0, MOST);
}
