/** The functions of what a flame graph shows, those first in which most was counted. */

import { useMemo, useState } from "preact/hooks";
import { useStore } from "../app/store";
import { theme } from "../app/theme";
import { ratio } from "../parts/units";
import { amount, kindColour } from "./draw";
import type { Functions } from "../api/types.gen";
import { type By, change, type FlameTree, MOST, sizeBy } from "./tree";

const SHARES = {
  self: "in itself",
  total: "with what it calls",
  change: "what changed",
} as const;

interface TopProps {
  tree: FlameTree;
  unit: string;
  /** The frame that fills the width: only what is in it counts. */
  zoom: number;
  /** Those of names that a search finds. */
  found: Functions;
  onPick: (name: string) => void;
}

export function TopFunctions({ tree, unit, zoom, found, onPick }: TopProps) {
  const [chosen, setBy] = useState<By | null>(null);
  const { isDark } = useStore(theme);
  const all = tree.weight[zoom]!;
  const before = tree.base?.[zoom] ?? 0;
  // Time off the CPU is that of a state, in no function itself.
  const ways = (Object.keys(SHARES) as By[]).filter((one) =>
    one === "change" ? tree.base : one === "total" || found.has_self,
  );
  const by = chosen && ways.includes(chosen) ? chosen : tree.base ? "change" : ways[0]!;
  const parts = useMemo(() => {
    const { names, kinds, self, total, base } = found;
    const listed = names.map((name, at) => {
      const part = { self: self[at]!, total: total[at]!, base: base[at]! };
      return { ...part, name, kind: kinds[at]!, size: sizeBy(by, part, all, before) };
    });
    return listed
      .filter(({ size }) => size > 0)
      .sort((a, b) => b.size - a.size || (a.name < b.name ? -1 : 1))
      .slice(0, MOST);
  }, [found, by, all, before]);
  return (
    <section class="flame-top" aria-label="Top functions">
      <div class="row">
        <h3>Top functions</h3>
        <span class="spring" />
        <select
          aria-label="The functions are sorted by"
          value={by}
          onChange={(event) => setBy(event.currentTarget.value as By)}
        >
          {ways.map((one) => (
            <option key={one} value={one}>
              {SHARES[one]}
            </option>
          ))}
        </select>
      </div>
      <ol class="flame-list">
        {parts.map((part) => (
          <li key={`${part.name} ${part.kind}`}>
            <button
              type="button"
              class="plain mono"
              title={`Callers and callees of ${part.name}`}
              onClick={() => onPick(part.name)}
            >
              <i style={{ background: kindColour(part.kind, isDark) }} />
              {part.name}
            </button>
            <span>{amount(by === "self" ? part.self : part.total, unit)}</span>
            <span>
              {by === "change"
                ? `${change(part, all, before) > 0 ? "+" : ""}${ratio(change(part, all, before))}`
                : ratio(all ? part[by] / all : 0)}
            </span>
          </li>
        ))}
      </ol>
      <p class="quiet">
        {found.counts[by] > MOST ? `${MOST} of ${found.counts[by].toLocaleString("en-US")} functions. ` : ""}
        {zoom ? "Shares are of the frame that fills the width." : ""}
      </p>
    </section>
  );
}
