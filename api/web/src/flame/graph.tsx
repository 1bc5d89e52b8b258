/** A flame graph with its tools: search, which way up, callers and callees of a function. Its state is the caller's. */

import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { Answer } from "../api/hooks";
import { useStore } from "../app/store";
import { theme } from "../app/theme";
import { Fresh } from "../parts/fresh";
import { Problem, Waiting } from "../parts/problem";
import { safe } from "../parts/safe";
import { count, ratio } from "../parts/units";
import { FlameCanvas } from "./canvas";
import { amount, difference, kindColour, kindText } from "./draw";
import { TopFunctions } from "./top";
import { SearchFrames } from "./search";
import { Actions, type Shaping, Switches } from "./shaping";
import { type Around, type Source, useAround, useFunctions } from "./beside";
import { type FlameDoc, FlameTree, search } from "./tree";
import "./flame.css";

/** What of a flame graph a link holds. */
export interface FlameState {
  /** The key of the frame that fills the width; 0: all. */
  at: number;
  /** What is searched for. */
  find: string;
  /** The function whose callers and callees are shown. */
  of: string;
  /** The root is at the bottom. */
  up: boolean;
}

export interface FlameGraphProps {
  doc: FlameDoc;
  /** Where the graph is from; null while another one is awaited. */
  source: Source | null;
  state: FlameState;
  onState: (change: Partial<FlameState>) => void;
  shaping: Shaping;
  onShaping: (change: Partial<Shaping>) => void;
  /** Opens the source and assembly of a function of an object, where samples are counted. */
  onCode?: ((name: string, object: string) => void) | undefined;
}

export function FlameGraph({ doc, source, state, onState, shaping, onShaping, onCode }: FlameGraphProps) {
  const tree = useMemo(() => FlameTree.of(doc), [doc]);
  const zoom = useMemo(() => tree.find(state.at), [tree, state.at]);
  const [chosen, setChosen] = useState({ tree, node: zoom });
  const found = useMemo(() => (state.find ? search(tree, state.find, zoom) : null), [tree, state.find, zoom]);
  const top = useFunctions(doc, tree, source, zoom, state.find);
  const around = useAround(doc, tree, source, state.of);
  const isOfNone = state.of && !around.loading && !around.error && !weighs(around.data?.below);
  const carried = useMemo(() => tree.carried(chosen.node, chosen.tree), [tree, chosen]);
  const node = carried >= 0 ? carried : zoom;
  if (!(tree.weight[0]! > 0 || (tree.base?.[0] ?? 0) > 0)) {
    return (
      <p class="empty">
        {doc.left_out?.length || doc.stacks_left_out.some(({ weight }) => weight > 0)
          ? "Only what is left out was seen in this part of the capture: nothing to draw."
          : "No stacks in this part of the capture: nothing to draw."}
      </p>
    );
  }
  return (
    <section class="flame-graph" aria-label={doc.title}>
      <div class="row flame-tools">
        <SearchFrames
          value={state.find}
          onFind={(find) => onState({ find })}
          found={
            state.find && top.data && !top.loading
              ? {
                  share: tree.weight[zoom] ? top.data.found / tree.weight[zoom]! : 0,
                  weight: amount(top.data.found, doc.unit),
                }
              : null
          }
        />
        <span class="spring" />
        <Legend tree={tree} />
        <Switches shaping={shaping} onShaping={onShaping} />
        <button type="button" aria-pressed={state.up} onClick={() => onState({ up: !state.up })}>
          {state.up ? "Root at the bottom" : "Root at the top"}
        </button>
        <button type="button" disabled={zoom === 0} onClick={() => onState({ at: 0 })}>
          Show all
        </button>
      </div>
      <div class="flame-beside">
        <FlameCanvas
          tree={tree}
          unit={doc.unit}
          label={doc.title}
          zoom={zoom}
          hits={found?.hits ?? null}
          isUp={state.up}
          onZoom={(to) => onState({ at: tree.key[to]! })}
          onFocus={(to) => setChosen({ tree, node: to })}
        />
        <Answered answer={top}>
          {(found) => (
            <TopFunctions
              tree={tree}
              unit={doc.unit}
              zoom={zoom}
              found={found}
              onPick={(name) => onState({ of: name })}
            />
          )}
        </Answered>
      </div>
      <p class="row">
        {node > 0 && (
          <>
            <button type="button" onClick={() => onState({ of: tree.label(node) })}>
              Callers and callees of <span class="mono flame-name">{tree.label(node)}</span>
            </button>
            <Actions shaping={shaping} onShaping={onShaping} name={tree.label(node)} tree={tree} node={node} />
            <OpenCode tree={tree} node={node} onCode={onCode} />
          </>
        )}
        <span class="spring" />
        {tree.base && (
          <span class="quiet">
            Width: {doc.b_name}; colour: the difference from {doc.a_name}, of which {ratio(gone(tree))} is in paths that
            are not here.
          </span>
        )}
        {doc.pruned.nodes > 0 && (
          <span class="quiet">
            {count(doc.pruned.nodes)} frames with less than {(100 * doc.pruned.ratio_below).toPrecision(2)} % each are
            left out.
          </span>
        )}
      </p>
      {state.of && !isOfNone && (
        <Answered answer={around}>
          {(found) => (
            <Sandwich tree={tree} unit={doc.unit} around={found} onState={onState}>
              <Actions
                shaping={shaping}
                onShaping={onShaping}
                name={state.of}
                tree={tree}
                node={tree.nodeOf(doc.names.indexOf(state.of))}
              />
              <OpenCode tree={tree} node={tree.nodeOf(doc.names.indexOf(state.of))} onCode={onCode} />
            </Sandwich>
          )}
        </Answered>
      )}
      {isOfNone && (
        <p class="row quiet">
          <span>
            <span class="mono">{safe(state.of)}</span> is in none of these stacks.
          </span>
        </p>
      )}
    </section>
  );
}

/** Figures beside the graph, once they are there; those of another question are dim. */
function Answered<T>({ answer, children }: { answer: Answer<T>; children: (data: T) => ComponentChildren }) {
  const { data, error, loading, again } = answer;
  if (error && !loading) return <Problem error={error} again={again} />;
  if (data === undefined) return <Waiting />;
  return <Fresh isOld={loading}>{children(data)}</Fresh>;
}

function weighs(tree: FlameTree | undefined): boolean {
  return tree !== undefined && (tree.weight[0]! > 0 || (tree.base?.[0] ?? 0) > 0);
}

function OpenCode({ tree, node, onCode }: { tree: FlameTree; node: number } & Pick<FlameGraphProps, "onCode">) {
  const object = tree.objectOf(node);
  if (!onCode || !object || tree.kinds[tree.kind[node]!] === "object") return null;
  return (
    <button type="button" onClick={() => onCode(tree.label(node), object)}>
      Source and assembly
    </button>
  );
}

/** Who calls a function, above; what it calls, below. */
function Sandwich({
  tree,
  unit,
  around: { above, below, self },
  onState,
  children,
}: {
  tree: FlameTree;
  unit: string;
  around: Around;
  onState: (change: Partial<FlameState>) => void;
  children: ComponentChildren;
}) {
  const [zooms, setZooms] = useState([0, 0]);
  const label = below.label(0);
  const weight = below.weight[0]!;
  const pick = (of: FlameTree) => (node: number) => node > 0 && onState({ of: of.label(node) });
  return (
    <section class="flame-sandwich" aria-label={`Callers and callees of ${label}`}>
      <div class="row">
        <h2 class="mono flame-name">{label}</h2>
        <span class="quiet">
          {amount(weight, unit)}, {ratio(tree.weight[0] ? weight / tree.weight[0]! : 0)} of all; in itself{" "}
          {amount(self, unit)}
        </span>
        <span class="spring" />
        {children}
        <button type="button" onClick={() => onState({ of: "" })}>
          Close
        </button>
      </div>
      <h3>Callers</h3>
      <FlameCanvas
        key={`callers ${label}`}
        tree={above}
        unit={unit}
        selfIn={tree.isInverted ? "itself" : label}
        label={`Callers of ${label}`}
        zoom={Math.min(zooms[0]!, above.size - 1)}
        onZoom={(to) => setZooms([to, zooms[1]!])}
        isUp
        heightMax={320}
      />
      <h3>Callees</h3>
      <FlameCanvas
        key={`callees ${label}`}
        tree={below}
        unit={unit}
        label={`Callees of ${label}`}
        zoom={Math.min(zooms[1]!, below.size - 1)}
        onZoom={(to) => setZooms([zooms[0]!, to])}
        heightMax={320}
      />
      <div class="flame-lists">
        <Neighbours title="Called by" of={above} unit={unit} onPick={pick(above)} />
        <Neighbours title="Calls" of={below} unit={unit} onPick={pick(below)} />
      </div>
    </section>
  );
}

/** The functions next to one, the heaviest first. */
function Neighbours({
  title,
  of,
  unit,
  onPick,
}: {
  title: string;
  of: FlameTree;
  unit: string;
  onPick: (node: number) => void;
}) {
  const heaviest = of
    .callees(0)
    .sort((a, b) => of.weight[b]! - of.weight[a]!)
    .slice(0, 12);
  return (
    <div>
      <h3>{title}</h3>
      {heaviest.length === 0 && <p class="quiet">nobody</p>}
      <ol class="flame-list">
        {heaviest.map((node) => (
          <li key={node}>
            <button type="button" class="plain mono" title={of.label(node)} onClick={() => onPick(node)}>
              {of.label(node)}
            </button>
            <span>{amount(of.weight[node]!, unit)}</span>
            <span>{ratio(of.share(node))}</span>
          </li>
        ))}
      </ol>
    </div>
  );
}

/** The share of the base that is in paths which only it has. */
function gone(tree: FlameTree): number {
  let weight = 0;
  for (let node = 1; node < tree.size; node++) {
    if (!tree.weight[node] && tree.weight[tree.parent[node]!]) weight += tree.base![node]!;
  }
  return tree.base?.[0] ? weight / tree.base[0]! : 0;
}

function Legend({ tree }: { tree: FlameTree }) {
  const { isDark } = useStore(theme);
  const entries = useMemo(() => {
    if (tree.base) {
      return [
        [difference(1, 1, isDark), "larger share"],
        [difference(-1, 1, isDark), "smaller share"],
      ] as const;
    }
    const seen = new Set<string>();
    for (let node = 1; node < tree.size; node++) seen.add(tree.kinds[tree.kind[node]!]!);
    return [...seen].map((kind) => [kindColour(kind, isDark), kindText(kind)] as const);
  }, [tree, isDark]);
  return (
    <span class="flame-legend">
      {entries.map(([colour, text]) => (
        <span key={text}>
          <i style={{ background: colour }} />
          {text}
        </span>
      ))}
    </span>
  );
}
