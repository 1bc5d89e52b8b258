/** The functions of what a flame graph shows, those first in which most was counted. */

import { useMemo, useState } from "preact/hooks";
import { useStore } from "../app/store";
import { theme } from "../app/theme";
import { ratio } from "../parts/units";
import { amount, kindColour } from "./draw";
import { type FlameTree, functions, type Part } from "./tree";

const MOST = 25;
const SHARES = {
  self: "in itself",
  total: "with what it calls",
  change: "what changed",
} as const;
type By = keyof typeof SHARES;

interface TopProps {
  tree: FlameTree;
  unit: string;
  /** The frame that fills the width: only what is in it counts. */
  zoom: number;
  /** The text of a search: other functions are left out. */
  find: string;
  onPick: (name: string) => void;
}

export function TopFunctions({ tree, unit, zoom, find, onPick }: TopProps) {
  const [chosen, setBy] = useState<By | null>(null);
  const { isDark } = useStore(theme);
  const all = tree.weight[zoom]!;
  const before = tree.base?.[zoom] ?? 0;
  const found = useMemo(() => functions(tree, zoom), [tree, zoom]);
  // Time off the CPU is that of a state, in no function itself.
  const hasSelf = found.some(({ self }) => self > 0);
  const ways = (Object.keys(SHARES) as By[]).filter((one) =>
    one === "change" ? tree.base : one === "total" || hasSelf,
  );
  const by = chosen && ways.includes(chosen) ? chosen : tree.base ? "change" : ways[0]!;
  const change = ({ total, base }: Part) => (all ? total / all : 0) - (before ? base / before : 0);
  const size = (part: Part) => (by === "change" ? Math.abs(change(part)) : part[by]);
  const parts = useMemo(() => {
    const wanted = find.toLowerCase();
    const named = found.filter(({ name }) => tree.names[name]!.toLowerCase().includes(wanted));
    const order = (a: Part, b: Part) => size(b) - size(a) || (tree.names[a.name]! < tree.names[b.name]! ? -1 : 1);
    return named.filter((part) => size(part) > 0).sort(order);
  }, [found, find, by]);
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
        {parts.slice(0, MOST).map((part) => (
          <li key={`${part.name} ${part.kind}`}>
            <button
              type="button"
              class="plain mono"
              title={`Callers and callees of ${tree.names[part.name]}`}
              onClick={() => onPick(tree.names[part.name]!)}
            >
              <i style={{ background: kindColour(tree.kinds[part.kind]!, isDark) }} />
              {tree.names[part.name]}
            </button>
            <span>{amount(by === "self" ? part.self : part.total, unit)}</span>
            <span>
              {by === "change"
                ? `${change(part) > 0 ? "+" : ""}${ratio(change(part))}`
                : ratio(all ? part[by] / all : 0)}
            </span>
          </li>
        ))}
      </ol>
      <p class="quiet">
        {parts.length > MOST ? `${MOST} of ${parts.length.toLocaleString("en-US")} functions. ` : ""}
        {zoom ? "Shares are of the frame that fills the width." : ""}
      </p>
    </section>
  );
}
