/** The user: a token is exchanged once for a session that scripts cannot read. */

import { useState } from "preact/hooks";
import { ApiError, ask, get, shown, whenSignedOut } from "../api/fetch";
import type { Account, Ways } from "../api/types.gen";
import { useGet } from "../api/hooks";
import { Problem } from "../parts/problem";
import { store } from "./store";

export interface Session {
  state: "asking" | "out" | "in" | "failed";
  account?: Account;
  error?: ApiError;
}

export const session = store<Session>({ state: "asking" });

/** Finds out whether there is a session, or whether the server wants none. */
export async function startSession(): Promise<void> {
  whenSignedOut(() => session.set({ state: "out" }));
  try {
    session.set({ state: "in", account: await get<Account>("me") });
  } catch (error) {
    const failure = shown(error);
    session.set(failure.kind === "unauthorized" ? { state: "out" } : { state: "failed", error: failure });
  }
}

export async function signOut(): Promise<void> {
  await ask("session", { method: "DELETE" });
  session.set({ state: "out" });
}

/** Whether the signed-in account may do what a role may. */
export function may(role: "uploader" | "admin"): boolean {
  const has = session.get().account?.role;
  return has === "admin" || has === role;
}

const REFUSED = /(?:^|; )perfcase_refused=([^;]*)/;

/** Why the identity provider's answer let nobody in; said once. The server writes it (routes/oidc.py). */
function refusal(): ApiError | undefined {
  const found = REFUSED.exec(document.cookie)?.[1];
  if (!found) return undefined;
  document.cookie = `perfcase_refused=; Max-Age=0; Path=${new URL(".", location.href).pathname}; SameSite=Strict`;
  const { kind, message, hint } = JSON.parse(decodeURIComponent(found)).error;
  return new ApiError(kind, message, hint);
}

export function SignIn() {
  const [token, setToken] = useState("");
  const { data: ways } = useGet<Ways>("sign-in");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState(refusal);
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    try {
      const answer = await ask("session", { method: "POST", json: { token: token.trim() } });
      session.set({ state: "in", account: await answer.json() });
    } catch (failure) {
      setError(shown(failure));
    } finally {
      setBusy(false);
    }
  };
  return (
    <main class="sign-in">
      <form onSubmit={submit}>
        <h1>perfcase</h1>
        {/* For managers of passwords, which keep pairs. */}
        <input type="text" autocomplete="username" value="perfcase" hidden readOnly />
        <label for="token">Token</label>
        <input
          id="token"
          type="password"
          autocomplete="current-password"
          spellcheck={false}
          placeholder="pc_…"
          autofocus
          value={token}
          onInput={(event) => setToken(event.currentTarget.value)}
        />
        <button type="submit" class="primary" disabled={busy || !token.trim()}>
          Sign in
        </button>
        <p class="quiet">
          The first start of perfcase serve prints an administrator’s token; an administrator makes others.
        </p>
        {error && <Problem error={error} />}
        {ways?.oidc && (
          <a class="button" href={ways.oidc.url}>
            Sign in with {ways.oidc.name}
          </a>
        )}
      </form>
    </main>
  );
}
