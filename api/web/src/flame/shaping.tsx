/** What is made of callchains before they are added up (perfcase/stacks/shaping.py): asked of the server, kept in the address. */

import type { StacksLeftOut, StacksLeftOutOfBoth } from "../api/types.gen";
import type { Params, ParamValue } from "../app/route";
import { safe } from "../parts/safe";
import { ratio } from "../parts/units";
import { amount } from "./draw";
import type { FlameDoc, FlameTree } from "./tree";

/** Names are those that the tree has; objects are its objects. */
export interface Shaping {
  /** Only stacks that have a frame of each of these names. */
  include: readonly string[];
  /** No stacks that have a frame of one of these names. */
  exclude: readonly string[];
  /** Objects whose frames are one. */
  collapse: readonly string[];
  /** Frames that repeat those directly before them are left out. */
  merge: boolean;
  /** The function that ran is at the root. */
  invert: boolean;
}

const LISTS = ["include", "exclude", "collapse"] as const;
type List = (typeof LISTS)[number];

export function shapingOf(params: URLSearchParams): Shaping {
  const [include, exclude, collapse] = LISTS.map((name) => params.getAll(name).filter(Boolean));
  return {
    include: include!,
    exclude: exclude!,
    collapse: collapse!,
    merge: params.has("merge"),
    invert: params.has("invert"),
  };
}

export function isShaped({ include, exclude, collapse, merge, invert }: Shaping): boolean {
  return include.length + exclude.length + collapse.length > 0 || merge || invert;
}

/** The same as parameters of the routes of flame graphs. */
export function asked(params: URLSearchParams): Params {
  const { merge, ...shaping } = shapingOf(params);
  return { ...shaping, merge_recursion: merge };
}

/** The same for what counts samples of these stacks and draws none: which stacks count. */
export function chosenStacks(params: URLSearchParams): Params {
  const { include, exclude, collapse } = shapingOf(params);
  return { include, exclude, collapse };
}

/** What of it changes, as parameters of the address. Another shape has other paths; what only leaves stacks out has the same. */
export function addressed(change: Partial<Shaping>): Params {
  const next: Params = {};
  for (const [name, value] of Object.entries(change) as [keyof Shaping, ParamValue][]) {
    next[name] = typeof value === "boolean" ? (value ? "1" : null) : value;
  }
  if ("collapse" in change || "merge" in change || "invert" in change) next.at = null;
  return next;
}

interface ShapingProps {
  shaping: Shaping;
  onShaping: (change: Partial<Shaping>) => void;
}

/** What is left out and what is one frame, each with a way to undo it. `doc`: the graph of it, once it is there. */
export function Chips({ shaping, onShaping, doc }: ShapingProps & { doc: FlameDoc | undefined }) {
  const without: readonly (StacksLeftOut & Partial<StacksLeftOutOfBoth>)[] = doc?.stacks_left_out ?? [];
  const whole = (side: "weight" | "base") =>
    without.reduce((sum, one) => sum + (one[side] ?? 0), doc?.[side]?.[0] ?? 0);
  const figures = (how: List, name: string) => {
    const one = without.find((each) => each.how === how && each.name === name);
    if (!one || !doc) return "";
    const part = (weight: number, all: number) => `${amount(weight, doc.unit)} (${ratio(all ? weight / all : 0)})`;
    const before = one.base === undefined ? "" : `, before ${part(one.base, whole("base"))}`;
    return `: ${part(one.weight, whole("weight"))} left out${before}`;
  };
  const isThere = (object: string) => !doc || doc.whole_objects.includes(object);
  const chips = [
    ...shaping.include.map((name) => ["include", name, "Only stacks with ", figures("include", name)] as const),
    ...shaping.exclude.map((name) => ["exclude", name, "Without stacks with ", figures("exclude", name)] as const),
    ...shaping.collapse.map(
      (name) => ["collapse", name, "As one frame: ", isThere(name) ? "" : ": in none of these stacks"] as const,
    ),
  ];
  if (!chips.length) return null;
  return (
    <ul class="flame-chips" aria-label="What is done to the stacks">
      {chips.map(([list, name, text, more]) => (
        <li key={`${list} ${name}`}>
          <span>
            {text}
            <span class="mono">{safe(name)}</span>
            {more}
          </span>
          <button
            type="button"
            class="plain"
            aria-label={`Undo: ${text}${safe(name)}`}
            title="Undo"
            onClick={() => onShaping({ [list]: shaping[list].filter((one) => one !== name) })}
          >
            ×
          </button>
        </li>
      ))}
    </ul>
  );
}

/** Two switches for how all stacks are drawn. */
export function Switches({ shaping, onShaping }: ShapingProps) {
  return (
    <>
      <button
        type="button"
        aria-pressed={shaping.merge}
        title="Frames that repeat the frames directly before them are left out: A A is A, A B A B is A B"
        onClick={() => onShaping({ merge: !shaping.merge })}
      >
        Merge recursion
      </button>
      <button
        type="button"
        aria-pressed={shaping.invert}
        title="The function that ran is at the root, on it who called it"
        onClick={() => onShaping({ invert: !shaping.invert })}
      >
        Invert
      </button>
    </>
  );
}

interface ActionsProps extends ShapingProps {
  name: string;
  tree: FlameTree;
  /** One of its frames; 0: the graph has none. */
  node: number;
}

/** What can be done about a function, or a thread or state. */
export function Actions({ shaping, onShaping, name, tree, node }: ActionsProps) {
  const object = node > 0 ? tree.objectOf(node) : "";
  const isOne = tree.kinds[tree.kind[node]!] === "object";
  const add = (list: List, one: string) => () => onShaping({ [list]: [...shaping[list], one] });
  return (
    <>
      {!shaping.include.includes(name) && (
        <button type="button" title={`Only stacks with ${name}`} onClick={add("include", name)}>
          Only stacks with it
        </button>
      )}
      <button type="button" title={`Without stacks with ${name}`} onClick={add("exclude", name)}>
        Without them
      </button>
      {object && !isOne && (
        <button type="button" onClick={add("collapse", object)}>
          <span class="mono flame-name">{object}</span> as one frame
        </button>
      )}
      {isOne && shaping.collapse.includes(object) && (
        <button type="button" onClick={() => onShaping({ collapse: shaping.collapse.filter((one) => one !== object) })}>
          Frames of <span class="mono flame-name">{object}</span>
        </button>
      )}
    </>
  );
}
