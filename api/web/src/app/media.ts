/** Whether the window is narrow, where a style sheet alone does not help. */

import { store } from "./store";

const query = matchMedia("(width < 600px)");

export const narrow = store(query.matches);
query.addEventListener("change", () => narrow.set(query.matches));
