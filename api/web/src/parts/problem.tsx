/** What went wrong, in words for who reads it, with what to do on the page; and what is still awaited. */

import type { ApiError } from "../api/fetch";

const LESS = "Ask for less: a shorter part of the recording, or fewer threads.";
const TELL = "Try again. If it stays so, tell who runs this server: its log says more.";

/** By the kind of an error: what happened, and what to do. Other kinds have the server's own words. */
const WORDS: Record<string, [string, string]> = {
  timeout: ["The question took too long, so the server stopped it.", LESS],
  too_large: ["The question takes more than the server gives to one, so it was stopped.", LESS],
  too_many: ["Too many questions at once.", "Wait a moment, then try again."],
  interrupted: ["The server stopped while it worked on the question.", "Try again in a moment."],
  environment: ["The server could not work on the question.", TELL],
  internal: ["perfcase failed on the question: that is a fault of perfcase, not of what you asked.", TELL],
  network: [
    "The server does not answer.",
    "Look whether you are connected and whether perfcase serve still runs, then try again.",
  ],
  cut: ["The answer ended before it was whole, so nothing of it is shown.", TELL],
  page: [
    "This part of the page could not be fetched.",
    "Another version of perfcase may have been installed: load the page again.",
  ],
};

/** Words for programs: a reader of the page has no command line and calls no route. */
const FOR_PROGRAMS = /\/v1\/|openapi|(^|\s)--\w|Authorization/;

function choosePart(): void {
  const field = document.querySelector<HTMLInputElement>(".filters input");
  field?.scrollIntoView({ block: "nearest" });
  field?.focus();
}

export function Problem({ error, again }: { error: ApiError; again?: () => void }) {
  const hint = error.hint && FOR_PROGRAMS.test(error.hint) ? null : error.hint;
  const [what, todo] = WORDS[error.kind] ?? [error.message, hint];
  const isLess = todo === LESS && document.querySelector(".filters") !== null;
  return (
    <div class="problem" role="alert">
      <p class="problem-message">{what}</p>
      {todo && <p class="problem-hint">{todo}</p>}
      {what !== error.message && <p class="problem-detail">In its own words: {error.message}</p>}
      <div class="row">
        {isLess && (
          <button type="button" onClick={choosePart}>
            Choose a part
          </button>
        )}
        {again && (
          <button type="button" onClick={again}>
            {error.kind === "page" ? "Load the page again" : "Try again"}
          </button>
        )}
      </div>
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
