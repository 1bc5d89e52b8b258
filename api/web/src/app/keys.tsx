/** Keys that work everywhere, and the page that tells them. */

import { Dialog } from "../parts/dialog";
import { store, useStore } from "./store";
import { switchTheme } from "./theme";

const HELP: [string, string][] = [
  ["/", "search, or the filter of a table"],
  ["?", "this help"],
  ["t", "dark, light, or as the system has it"],
  ["g c", "captures"],
  ["g s", "SQL"],
  ["g d", "compare two captures"],
  ["1 … 9", "the pages of a capture"],
  ["↑ ↓ Home End", "rows of a table; Enter opens one"],
  ["← →", "columns of a table's head; Enter sorts"],
  ["w s a d", "time line: closer, farther, back, on; z shows what is chosen, p pins a track"],
  ["↑ ↓ ← → Enter", "tracks and pieces of a time line; Esc goes back"],
  ["Alt ↑ ↓", "time line: moves a track or a group up or down; its title is dragged, too"],
  ["↑ ↓ ← → Enter", "frames of a flame graph; Enter zooms, Esc shows all"],
  ["Ctrl Enter", "run the SQL"],
  ["Esc", "close; leave a field"],
];

const GO: Record<string, string> = { c: "#/captures", s: "#/sql", d: "#/diff" };

export const help = store(false);

function isTyping(target: EventTarget | null): boolean {
  const element = target instanceof HTMLElement ? (target.shadowRoot?.activeElement ?? target) : null;
  return element !== null && (element.matches("input, textarea, select") || (element as HTMLElement).isContentEditable);
}

/** Listens for as long as the page is open. */
export function startKeys(): void {
  let before = "";
  addEventListener("keydown", (event) => {
    // A field of its own kind has answered it, and closed what it had open.
    if (event.defaultPrevented) return;
    if (event.key === "Escape") {
      help.set(false);
      if (isTyping(event.target)) (event.target as HTMLElement).blur();
      return;
    }
    if (isTyping(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
    const after = before;
    before = event.key;
    if (after === "g" && GO[event.key]) {
      location.hash = GO[event.key]!;
    } else if (event.key === "/") {
      const field = [...document.querySelectorAll<HTMLInputElement>("[data-search]")].find((one) => one.offsetParent);
      if (!field) return;
      field.focus();
      field.select();
    } else if (event.key === "?") {
      help.set((open) => !open);
    } else if (event.key === "t") {
      switchTheme();
    } else if (/^[1-9]$/.test(event.key)) {
      document.querySelectorAll<HTMLElement>(".tabs a")[Number(event.key) - 1]?.click();
      return;
    } else {
      return;
    }
    event.preventDefault();
  });
}

export function Help() {
  if (!useStore(help)) return null;
  return (
    <Dialog label="Keys" class="help" onClose={() => help.set(false)}>
      <h2>Keys</h2>
      <dl>
        {HELP.map(([keys, what]) => (
          <div key={keys}>
            <dt>
              {keys.split(" ").map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
