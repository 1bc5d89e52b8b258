/** The parameters of a query, and the types of what is typed for them. The server has the same rule (perfcase/case/values.py). */

/** What is not looked into for a parameter comes first: texts, names, comments. */
const PARTS =
  /[eE]'(?:[^'\\]|\\.|'')*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\/\*[\s\S]*?\*\/|\$([A-Za-z_]\w*)?\$[\s\S]*?\$\1\$|\$([A-Za-z_]\w*)/g;

/** The names of `$name` in a query, each once, in their order. */
export function parametersOf(sql: string): string[] {
  const found = new Map<string, string>();
  for (const [, , name] of sql.matchAll(PARTS))
    if (name && !found.has(name.toLowerCase())) found.set(name.toLowerCase(), name);
  return [...found.values()];
}

export function typeOf(text: string): "text" | "whole number" | "number" | "true or false" | "null" {
  if (text.length > 1 && text.startsWith("'") && text.endsWith("'")) return "text";
  const word = text.trim();
  if (/^(true|false)$/i.test(word)) return "true or false";
  if (/^null$/i.test(word)) return "null";
  if (/^[+-]?[0-9]{1,38}$/.test(word)) return "whole number";
  return /^[+-]?(?:[0-9]+\.[0-9]*|\.?[0-9]+)(?:[eE][+-]?[0-9]{1,3})?$/.test(word) ? "number" : "text";
}

/** The values of `name=value`, by name in small letters. */
export function valuesOf(settings: readonly string[]): Map<string, string> {
  return new Map(
    settings.map((one) => {
      const at = one.indexOf("=");
      return [one.slice(0, at).toLowerCase(), one.slice(at + 1)] as const;
    }),
  );
}

/** The other way round: what an address and a route have, for these parameters. */
export function settingsOf(names: readonly string[], values: ReadonlyMap<string, string>): string[] {
  return names.map((name) => `${name}=${values.get(name.toLowerCase()) ?? ""}`);
}
