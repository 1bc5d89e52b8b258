/** Whether a file is redacted, as the manifest at its begin says. Nothing is sent for that. */

/** `unknown`: what only the server can read. */
export type Redaction = "redacted" | "not_redacted" | "unknown";

/** A tar pads each member to blocks. */
const BLOCK = 512;
const [MANIFEST, MANIFEST_BYTES_MAX, MEMBERS_MAX] = ["manifest.json", 16 << 20, 100];
/** What a file that is compressed as a whole begins with: gzip and zstd. */
const COMPRESSED = [
  [0x1f, 0x8b],
  [0x28, 0xb5, 0x2f, 0xfd],
];

export async function redactionOf(file: Blob): Promise<Redaction> {
  try {
    let isTar = false;
    for (let at = 0, count = 0; count < MEMBERS_MAX && at + BLOCK <= file.size; count += 1) {
      const head = await bytes(file, at, BLOCK);
      if (text(head, 257, 5) !== "ustar") break;
      isTar = true;
      const size = parseInt(text(head, 124, 12).trim(), 8);
      if (!(size >= 0)) return "unknown";
      if (text(head, 0, 100).replace(/^\.\//, "") === MANIFEST)
        return size > MANIFEST_BYTES_MAX ? "unknown" : said(await file.slice(at + BLOCK, at + BLOCK + size).text());
      at += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
    }
    if (isTar) return "unknown";
    const head = await bytes(file, 0, 4);
    const isCompressed = COMPRESSED.some((magic) => magic.every((byte, at) => head[at] === byte));
    return isCompressed ? "unknown" : "not_redacted";
  } catch {
    // A file that cannot be read is not sent, either: that says why.
    return "unknown";
  }
}

function said(manifest: string): Redaction {
  const { redacted } = JSON.parse(manifest);
  return redacted && typeof redacted === "object" && !Array.isArray(redacted) ? "redacted" : "not_redacted";
}

async function bytes(file: Blob, at: number, length: number): Promise<Uint8Array> {
  return new Uint8Array(await file.slice(at, at + length).arrayBuffer());
}

/** Text of a field, up to its NUL. */
function text(head: Uint8Array, at: number, length: number): string {
  return String.fromCharCode(...head.subarray(at, at + length)).replace(/\0.*/s, "");
}
