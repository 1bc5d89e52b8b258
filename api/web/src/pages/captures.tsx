/** All captures in scope. */

import { href } from "../app/route";
import { useGet } from "../api/hooks";
import type { CapturePage } from "../api/types";
import { Problem, Waiting } from "../parts/problem";

export function Captures() {
  const { data, error, again } = useGet<CapturePage>("captures");
  if (error) return <Problem error={error} again={again} />;
  if (!data) return <Waiting />;
  return (
    <main>
      {data.captures.map((capture) => (
        <p key={capture.capture_id}>
          <a href={href(["c", capture.capture_id, "overview"])}>{capture.name}</a>
        </p>
      ))}
    </main>
  );
}
