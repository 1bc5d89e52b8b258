/** Queries that were run in this browser, the latest first. */

const KEY = "perfcase.sql";
const KEPT = 50;

export function kept(): string[] {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(found) ? found.filter((one) => typeof one === "string") : [];
  } catch {
    return [];
  }
}

export function keep(sql: string): void {
  const text = sql.trim();
  localStorage.setItem(KEY, JSON.stringify([text, ...kept().filter((one) => one !== text)].slice(0, KEPT)));
}
