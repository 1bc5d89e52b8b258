/* Made by scripts/page_types.py: do not edit. */

export const NOT_REDACTED = "{name} is not redacted.";
export const SHOWN_BY = "perfcase info --private {name} shows which private data it holds";
export const REMEDY = "perfcase redact {name} -o OUT replaces them";
