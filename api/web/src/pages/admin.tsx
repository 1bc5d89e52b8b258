/** Who may do what, and who did what. */

import { useEffect, useState } from "preact/hooks";
import { type ApiError, ask, shown } from "../api/fetch";
import { useGet } from "../api/hooks";
import type { CreatedToken, Entry, Token } from "../api/types.gen";
import { moment } from "../app/clock";
import { Confirm, Dialog } from "../parts/dialog";
import { Fresh } from "../parts/fresh";
import { Problem, Waiting } from "../parts/problem";
import { safe } from "../parts/safe";

const DAY_NS = 86_400e9;
const TERMS: [string, number | null][] = [
  ["never ends", null],
  ["ends in a week", 7],
  ["ends in a month", 30],
  ["ends in a year", 365],
];

export default function Admin() {
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    document.title = "Admin – perfcase";
  }, []);
  return (
    <main class="admin">
      <Tokens onChange={() => setTurn((before) => before + 1)} />
      <Audit key={turn} />
    </main>
  );
}

function Tokens({ onChange }: { onChange: () => void }) {
  const { data, error, again } = useGet<Token[]>("tokens");
  const [created, setCreated] = useState<CreatedToken>();
  const [revoking, setRevoking] = useState<Token>();
  const [failure, setFailure] = useState<ApiError>();
  const revoke = async ({ token_id }: Token) => {
    setRevoking(undefined);
    try {
      await ask(`tokens/${token_id}`, { method: "DELETE" });
      again();
      onChange();
    } catch (refused) {
      setFailure(shown(refused));
    }
  };
  return (
    <section>
      <h2>Tokens</h2>
      {error && <Problem error={error} again={again} />}
      {failure && <Problem error={failure} />}
      {!data && !error && <Waiting />}
      <NewToken
        onCreated={(token) => {
          setCreated(token);
          again();
          onChange();
        }}
      />
      {data && (
        <table class="list">
          <thead>
            <tr>
              <th>Name</th>
              <th>Role</th>
              <th>Tickets</th>
              <th>Made</th>
              <th>Ends</th>
              <th>
                <span class="visually-hidden">Revoke</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {data.map((token) => (
              <tr key={token.token_id} class={token.revoked_ns ? "quiet" : ""}>
                <td class="list-name">{safe(token.name)}</td>
                <td>{token.role}</td>
                <td>{token.ticket_prefix ? `${safe(token.ticket_prefix)}…` : "all"}</td>
                <td>{moment(token.created_ns)}</td>
                <td>{token.revoked_ns ? `revoked ${moment(token.revoked_ns)}` : moment(token.expires_ns)}</td>
                <td>
                  {!token.revoked_ns && (
                    <button type="button" class="danger" onClick={() => setRevoking(token)}>
                      Revoke
                    </button>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {created && (
        <Dialog label="The new token" class="wide" onClose={() => setCreated(undefined)}>
          <h2>The token of {safe(created.name)}</h2>
          <p class="quiet">It is shown this once. Anyone who has it is a {created.role}.</p>
          <p class="mono secret">{created.secret}</p>
        </Dialog>
      )}
      {revoking && (
        <Confirm
          question={`Revoke ${safe(revoking.name)}?`}
          consequence="Anyone who uses it is signed out, at once and for good."
          act="Revoke"
          onYes={() => void revoke(revoking)}
          onNo={() => setRevoking(undefined)}
        />
      )}
    </section>
  );
}

function NewToken({ onCreated }: { onCreated: (token: CreatedToken) => void }) {
  const [error, setError] = useState<ApiError>();
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const given = new FormData(form);
    const days = TERMS[Number(given.get("term"))]?.[1] ?? null;
    setError(undefined);
    try {
      const json = {
        name: given.get("name"),
        role: given.get("role"),
        ticket_prefix: given.get("prefix"),
        expires_ns: days === null ? null : Math.round(Date.now() * 1e6 + days * DAY_NS),
      };
      onCreated(await (await ask("tokens", { method: "POST", json })).json());
      form.reset();
    } catch (refused) {
      setError(shown(refused));
    }
  };
  return (
    <form class="row new-token" onSubmit={submit}>
      <input name="name" aria-label="Name" placeholder="Whose: on call" required maxLength={100} />
      <select name="role" aria-label="Role">
        <option value="viewer">viewer: reads</option>
        <option value="uploader">uploader: adds captures</option>
        <option value="admin">admin: everything</option>
      </select>
      <input name="prefix" aria-label="Tickets" placeholder="Tickets: OPS- (else all)" />
      <select name="term" aria-label="Term">
        {TERMS.map(([words], at) => (
          <option key={words} value={at}>
            {words}
          </option>
        ))}
      </select>
      <button type="submit" class="primary">
        Make a token
      </button>
      {error && <Problem error={error} />}
    </form>
  );
}

const AUDIT_ROWS = 100;

function Audit() {
  const [offset, setOffset] = useState(0);
  const { data, error, loading, again } = useGet<Entry[]>("audit", { limit: AUDIT_ROWS, offset: offset || null });
  return (
    <section>
      <h2>Who did what</h2>
      {error && <Problem error={error} again={again} />}
      <Fresh isOld={loading && data !== undefined}>
        <div class="audit-box" tabIndex={0} role="region" aria-label="Who did what, as a table">
          <table class="list audit">
            <thead>
              <tr>
                <th>When</th>
                <th>Who</th>
                <th>From</th>
                <th>What</th>
                <th>Of</th>
                <th class="number">Answer</th>
              </tr>
            </thead>
            <tbody>
              {data?.map((entry, at) => (
                <tr key={at}>
                  <td class="list-time">{moment(entry.at_ns)}</td>
                  <td>{safe(entry.who)}</td>
                  <td>{safe(entry.address)}</td>
                  <td class="mono">{safe(entry.action)}</td>
                  <td class="mono">{safe(entry.subject.slice(0, 16))}</td>
                  <td class="number">{entry.status}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </Fresh>
      <div class="table-foot">
        {offset > 0 && (
          <button type="button" onClick={() => setOffset(Math.max(0, offset - AUDIT_ROWS))}>
            Later
          </button>
        )}
        {data?.length === AUDIT_ROWS && (
          <button type="button" onClick={() => setOffset(offset + AUDIT_ROWS)}>
            Earlier
          </button>
        )}
      </div>
    </section>
  );
}
