/** `#/c/<id>/lanes`: what each thread did, over time. */

export { default } from "../lanes/lanes";
