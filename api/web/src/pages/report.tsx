/** The first five minutes of an investigation, as the command line writes them. */

import { useEffect, useState } from "preact/hooks";
import { address, type ApiError, ask, shown } from "../api/fetch";
import type { CaptureProps } from "../app/pages";
import { filterParams } from "../app/route";
import { Problem, Waiting } from "../parts/problem";

export default function Report({ captureId, filters }: CaptureProps) {
  const path = `captures/${captureId}/report`;
  const query = filterParams(filters);
  const [text, setText] = useState<string>();
  const [error, setError] = useState<ApiError>();
  useEffect(() => {
    const abort = new AbortController();
    setText(undefined);
    setError(undefined);
    ask(path, { query, signal: abort.signal })
      .then((answer) => answer.text())
      .then(setText, (failure) => {
        if (!abort.signal.aborted) setError(shown(failure));
      });
    return () => abort.abort();
  }, [path, JSON.stringify(query)]);
  if (error) return <Problem error={error} />;
  if (text === undefined) return <Waiting what="Writing the report" />;
  return (
    <>
      <p class="row">
        <span class="quiet">As perfcase report writes it.</span>
        <a href={address(path, query)} download="report.txt">
          Download
        </a>
      </p>
      <pre class="report" tabIndex={0}>
        {text}
      </pre>
    </>
  );
}
