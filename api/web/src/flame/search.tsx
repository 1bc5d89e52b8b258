/** The field that searches frames, and how much of what is seen they are. */

import { ratio } from "../parts/units";

interface SearchProps {
  value: string;
  onFind: (text: string) => void;
  /** What the frames that were found weigh, as a share and in words; null: nothing is searched for. */
  found: { share: number; weight: string } | null;
}

export function SearchFrames({ value, onFind, found }: SearchProps) {
  return (
    <>
      <input
        data-search
        type="search"
        class="flame-search"
        placeholder="Search frames"
        aria-label="Search frames"
        spellcheck={false}
        value={value}
        onInput={(event) => onFind(event.currentTarget.value)}
      />
      <span class="quiet" role="status">
        {found && `${ratio(found.share)} matches, ${found.weight}`}
      </span>
    </>
  );
}
