/** Figures that stay in sight while others are awaited: dim, and said to be old, so that nobody reads them as what the address asks for. */

import type { ComponentChildren } from "preact";

/** `isOld`: they are the answer to another question than the address has now. `why`: beside "Loading". */
export function Fresh({ isOld, why, children }: { isOld: boolean; why?: string; children: ComponentChildren }) {
  return (
    <div class="fresh" aria-busy={isOld}>
      {isOld && (
        <p class="fresh-note" role="status">
          <span>{why ?? "Loading …"}</span>
        </p>
      )}
      <div class="fresh-figures">{children}</div>
    </div>
  );
}
