/** Text from a capture is hostile: it reaches the page as text nodes only, and what would reorder or hide text is spelled out. */

const UNSAFE =
  /[\x00-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff\ud800-\udfff]/g;
const PAIRS = /[\ud800-\udbff][\udc00-\udfff]/;
const SHORT: Record<string, string> = { "\n": "\\n", "\t": "\\t", "\r": "\\r", "\x1b": "\\e" };

function spelled(char: string): string {
  const code = char.charCodeAt(0);
  return (
    SHORT[char] ??
    (code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`)
  );
}

/** `text` on one line, as the command line writes it (perfcase/text.py). */
export function safe(text: string): string {
  // Characters beyond 16 bits are pairs of surrogates here, and only a lone one is damage.
  if (PAIRS.test(text))
    return [...text].map((char) => (char.length > 1 ? char : char.replace(UNSAFE, spelled))).join("");
  return text.replace(UNSAFE, spelled);
}
