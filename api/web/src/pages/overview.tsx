/** What a capture is, and what is wrong in it. */

import type { CaptureProps } from "../app/pages";

export default function Overview({ capture }: CaptureProps) {
  return <p class="quiet">{capture.kernel}</p>;
}
