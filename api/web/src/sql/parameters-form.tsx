/** A box for each parameter of a query, which says what is typed there. */

import { safe } from "../parts/safe";
import { typeOf } from "./parameters";

interface ParametersProps {
  names: readonly string[];
  values: ReadonlyMap<string, string>;
  onChange: (values: ReadonlyMap<string, string>) => void;
  onRun: () => void;
}

export function Parameters({ names, values, onChange, onRun }: ParametersProps) {
  if (!names.length) return null;
  return (
    <form
      class="row parameters"
      aria-label="Parameters"
      onSubmit={(event) => {
        event.preventDefault();
        onRun();
      }}
    >
      {names.map((name) => {
        const key = name.toLowerCase();
        const value = values.get(key) ?? "";
        return (
          <label key={key}>
            <span class="mono">${safe(name)}</span>
            <input
              value={value}
              spellcheck={false}
              autocomplete="off"
              maxLength={900}
              title="12 is a whole number, 1.5 a number, true and false are what they say, null is unknown; all else is text, and so is '12'"
              onInput={(event) => onChange(new Map(values).set(key, event.currentTarget.value))}
            />
            <span class="quiet">{value === "" ? "empty text" : typeOf(value)}</span>
          </label>
        );
      })}
      <button type="submit" class="visually-hidden" tabIndex={-1}>
        Run with these
      </button>
    </form>
  );
}
