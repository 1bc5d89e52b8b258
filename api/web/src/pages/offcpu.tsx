/** `#/c/<id>/offcpu`: where threads wait, and who ended it. */

export { OffCpu as default } from "../flame/page";
