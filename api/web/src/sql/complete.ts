/** What may stand next in a query: tables, views, and the columns of those that the query names. */

import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import type { Column, TableEntry, Schema } from "../api/types.gen";

interface Words {
  entries: Map<string, TableEntry>;
  names: Completion[];
  /** Columns of everything, for a query that names no table yet. */
  columns: Completion[];
}

/** So many tables that have a column are named. */
const PLACES = 4;

function described({ name, unit, description }: Column, of: string): Completion {
  const detail = unit && unit !== "count" ? unit : "";
  return { label: name, type: "property", detail, info: `${of}: ${description}`, boost: 2 };
}

export function words(schema: Schema): Words {
  const entries = new Map<string, TableEntry>();
  const names: Completion[] = [];
  const places = new Map<string, { column: Column; of: string[] }>();
  for (const [kind, all] of [
    ["view", schema.views],
    ["table", schema.tables],
  ] as const) {
    for (const entry of all) {
      entries.set(entry.name, entry);
      for (const column of entry.columns) {
        const known = places.get(column.name);
        if (known) known.of.push(entry.name);
        else places.set(column.name, { column, of: [entry.name] });
      }
      names.push({
        label: entry.name,
        type: kind === "view" ? "interface" : "class",
        detail: kind,
        info: entry.description,
      });
    }
  }
  const columns = [...places.values()].map(({ column, of }) => ({
    ...described(
      column,
      of.length > PLACES ? `${of.slice(0, PLACES).join(", ")} and ${of.length - PLACES} more` : of.join(", "),
    ),
    boost: 1,
  }));
  return { entries, names, columns };
}

/** Aliases of a query, and the names of tables themselves, to what they stand for. */
function named(text: string, entries: Map<string, TableEntry>): Map<string, TableEntry> {
  const found = new Map<string, TableEntry>();
  for (const [, name, alias] of text.matchAll(
    /\b(?:from|join|,)\s*([a-z_][a-z0-9_]*)(?:\s+(?:as\s+)?([a-z_][a-z0-9_]*))?/gi,
  )) {
    const entry = entries.get(name!.toLowerCase());
    if (!entry) continue;
    found.set(name!.toLowerCase(), entry);
    if (alias && !/^(where|on|using|group|order|join|left|inner|cross|limit|union|select|asof|natural)$/i.test(alias))
      found.set(alias.toLowerCase(), entry);
  }
  return found;
}

export function completing({ entries, names, columns: all }: Words) {
  return (context: CompletionContext): CompletionResult | null => {
    const text = context.state.doc.toString();
    const of = named(text, entries);
    const dotted = context.matchBefore(/([a-zA-Z_]\w*)\.\w*/);
    if (dotted) {
      const at = dotted.text.indexOf(".");
      const entry =
        of.get(dotted.text.slice(0, at).toLowerCase()) ?? entries.get(dotted.text.slice(0, at).toLowerCase());
      if (!entry) return null;
      return {
        from: dotted.from + at + 1,
        options: entry.columns.map((one) => described(one, entry.name)),
        validFor: /^\w*$/,
      };
    }
    const word = context.matchBefore(/\w+/);
    if (!word && !context.explicit) return null;
    const columns = new Map<string, Completion>();
    for (const entry of new Set(of.values()))
      for (const column of entry.columns)
        if (!columns.has(column.name)) columns.set(column.name, described(column, entry.name));
    // Where a table is awaited, its columns are not.
    const before = text.slice(0, word?.from ?? context.pos);
    const isTable = /\b(from|join)\s+$/i.test(before);
    return {
      from: word?.from ?? context.pos,
      options: isTable ? names : [...(of.size ? columns.values() : all), ...names],
      validFor: /^\w*$/,
    };
  };
}
