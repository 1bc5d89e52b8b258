/** `#/c/<id>/flame`: where CPU time goes. */

export { OnCpu as default } from "../flame/page";
