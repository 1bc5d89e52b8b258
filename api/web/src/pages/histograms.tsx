/** `#/c/<id>/histograms`: how long things took. */

export { default } from "../histogram/histograms";
