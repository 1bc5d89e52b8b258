/** Pages whose code is fetched when they are first opened. */

import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ApiError, shown } from "../api/fetch";
import { Problem, Waiting } from "../parts/problem";

export type Load<P> = () => Promise<{ default: ComponentType<P> }>;

const loaded = new Map<Load<never>, ComponentType<never>>();

export function Lazy<P extends object>({ load, props }: { load: Load<P>; props: P }) {
  const [, setTurn] = useState(0);
  const [error, setError] = useState<ApiError>();
  const Component = loaded.get(load as unknown as Load<never>) as ComponentType<P> | undefined;
  useEffect(() => {
    if (Component) return;
    load().then(
      (found) => {
        loaded.set(load as unknown as Load<never>, found.default as ComponentType<never>);
        setTurn((turn) => turn + 1);
      },
      (failure) => setError(new ApiError("page", shown(failure).message)),
    );
  }, [load]);
  if (Component) return <Component {...props} />;
  return error ? <Problem error={error} again={() => location.reload()} /> : <Waiting />;
}
