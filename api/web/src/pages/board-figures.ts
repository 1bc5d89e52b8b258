/** A figure of a board: what the address of a history says, and nothing else of it. */

export const FIGURE_NAMES = ["view", "measure", "where", "agg", "by", "ticket"] as const;
export type BoardFigure = Record<(typeof FIGURE_NAMES)[number], string>;

export function figureOf(params: URLSearchParams): BoardFigure {
  return Object.fromEntries(FIGURE_NAMES.map((name) => [name, params.get(name) ?? ""])) as BoardFigure;
}

export function figureText(figure: BoardFigure): string {
  return new URLSearchParams(FIGURE_NAMES.flatMap((name) => (figure[name] ? [[name, figure[name]]] : []))).toString();
}
