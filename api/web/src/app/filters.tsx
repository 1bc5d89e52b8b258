/** The bar of filters: every query of a capture's pages is about this part of it. */

import { useState } from "preact/hooks";
import { filtersOf, FILTERS, useRoute } from "./route";

const HINTS: Record<(typeof FILTERS)[number], [string, string]> = {
  window: ["10s..20s", "Only this time of the recording, from its beginning."],
  process: ["java", "Only processes of this name or pid; * stands for anything."],
  thread: ["worker-*", "Only threads of this name or tid; * stands for anything."],
  cpu: ["0-3", "Only what happened on these CPUs."],
  cgroup: ["/web", "Only what is in this control group."],
};

/** `kinds`: which there are. */
export function FilterBar({ kinds = FILTERS }: { kinds?: readonly (typeof FILTERS)[number][] }) {
  const { params, set } = useRoute();
  const filters = filtersOf(params);
  const [kind, setKind] = useState(kinds[0]!);
  const [value, setValue] = useState("");
  const add = (event: Event) => {
    event.preventDefault();
    const given = value.trim();
    if (!given) return;
    set({ [kind]: kind === "window" ? given : [...new Set([...filters[kind], given])] });
    setValue("");
  };
  const chips = kinds.flatMap((name) =>
    (name === "window" ? (filters.window ? [filters.window] : []) : filters[name]).map((one) => [name, one] as const),
  );
  const drop = (name: (typeof FILTERS)[number], one: string) =>
    set({ [name]: name === "window" ? null : filters[name].filter((other) => other !== one) });
  return (
    <form class="filters" onSubmit={add} aria-label="Filters">
      <span class="filters-name">Only</span>
      {chips.map(([name, one]) => (
        <span class="chip" key={`${name} ${one}`}>
          <span class="chip-name">{name}</span> {one}
          <button type="button" aria-label={`Remove ${name} ${one}`} onClick={() => drop(name, one)}>
            ×
          </button>
        </span>
      ))}
      <select
        aria-label="Kind of filter"
        value={kind}
        onChange={(event) => setKind(event.currentTarget.value as (typeof FILTERS)[number])}
      >
        {kinds.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
      <input
        aria-label="Filter"
        title={HINTS[kind][1]}
        placeholder={HINTS[kind][0]}
        spellcheck={false}
        value={value}
        onInput={(event) => setValue(event.currentTarget.value)}
      />
      <button type="submit" disabled={!value.trim()}>
        Add
      </button>
      {chips.length > 1 && (
        <button type="button" class="plain" onClick={() => set(Object.fromEntries(kinds.map((name) => [name, null])))}>
          Clear all
        </button>
      )}
    </form>
  );
}
