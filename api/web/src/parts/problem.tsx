/** What went wrong, in the server's words, with its remedy; and what is still awaited. */

import type { ApiError } from "../api/fetch";

export function Problem({ error, again }: { error: ApiError; again?: () => void }) {
  return (
    <div class="problem" role="alert">
      <p class="problem-message">{error.message}</p>
      {error.hint && <p class="problem-hint">{error.hint}</p>}
      {again && (
        <button type="button" onClick={again}>
          Try again
        </button>
      )}
    </div>
  );
}

export function Waiting({ what = "Loading" }: { what?: string }) {
  return (
    <p class="waiting" role="status">
      {what} …
    </p>
  );
}
