/** Dark or light: the reader's system decides until the reader does. */

import { store } from "./store";

export type Theme = "auto" | "light" | "dark";

const KEY = "perfcase.theme";
const NEXT: Record<Theme, Theme> = { auto: "light", light: "dark", dark: "auto" };

/** What was chosen; pictures on a canvas draw again when it changes, or when the system's scheme does. */
export const theme = store<{ chosen: Theme; isDark: boolean }>({ chosen: "auto", isDark: false });

const system = matchMedia("(prefers-color-scheme: dark)");

function choose(chosen: Theme): void {
  if (chosen === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
  theme.set({ chosen, isDark: chosen === "auto" ? system.matches : chosen === "dark" });
}

/** Applies what was chosen before. */
export function startTheme(): void {
  const kept = localStorage.getItem(KEY);
  choose(kept === "light" || kept === "dark" ? kept : "auto");
  system.addEventListener("change", () => choose(theme.get().chosen));
}

/** The next of auto, light, dark. */
export function switchTheme(): void {
  const next = NEXT[theme.get().chosen];
  if (next === "auto") localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, next);
  choose(next);
}

/** A colour of the style sheet as a canvas takes it: `colour("--ink")`. */
export function colour(name: string): string {
  const probe = document.createElement("i");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}
