/** `#/c/<id>/timeline`: everything over time, on one axis. */

export { default } from "../line/line";
