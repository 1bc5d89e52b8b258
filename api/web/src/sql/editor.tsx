/** A field for SQL. It lives in a shadow root, whose style sheets the page's content policy lets scripts make. */

import {
  acceptCompletion,
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  closeCompletion,
  completionKeymap,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { keywordCompletionSource, sql, SQLDialect } from "@codemirror/lang-sql";
import { bracketMatching, HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { Annotation, Compartment, EditorState, Prec } from "@codemirror/state";
import { EditorView, keymap, placeholder } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "preact/hooks";
import type { Schema } from "../api/types.gen";
import { completing, words } from "./complete";

const LOOK = EditorView.theme({
  "&": { fontSize: "13px", color: "var(--ink)", backgroundColor: "var(--raised)" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "1px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.5", maxHeight: "40vh" },
  ".cm-content": { caretColor: "var(--ink)", padding: "8px 4px", minHeight: "110px" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-placeholder": { color: "var(--ink-3)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground, ::selection": {
    backgroundColor: "var(--accent-wash) !important",
  },
  ".cm-tooltip": { backgroundColor: "var(--raised)", border: "1px solid var(--line-strong)", color: "var(--ink)" },
  ".cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", maxHeight: "16em" },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--accent-wash)", color: "var(--ink)" },
  ".cm-completionDetail": { color: "var(--ink-3)" },
  ".cm-completionInfo": { fontFamily: "var(--sans)", maxWidth: "340px" },
  ".cm-matchingBracket": { backgroundColor: "var(--accent-wash) !important" },
});
/** DuckDB's words of a SELECT: nothing else may be asked, so nothing else is offered. */
const DUCKDB = SQLDialect.define({
  doubleDollarQuotedStrings: true,
  operatorChars: "+-*/<>=~!@#%^&|`?",
  keywords:
    "all and anti any as asc asof between by case cast collate cross current desc describe distinct else end except exclude exists " +
    "false filter first following from full group having ilike in inner intersect interval is join last lateral left like limit " +
    "materialized natural not null nulls offset on or order outer over partition pivot positional preceding qualify range recursive " +
    "replace right row rows sample select semi show similar summarize then to true try_cast unbounded union unnest unpivot using " +
    "values when where window with within",
  types:
    "bigint blob boolean date decimal double float hugeint integer json list map real smallint struct text time timestamp tinyint " +
    "ubigint uinteger usmallint utinyint uuid varchar",
});

const COLOURS = syntaxHighlighting(
  HighlightStyle.define([
    { tag: tags.keyword, color: "var(--accent)" },
    { tag: [tags.string, tags.special(tags.string)], color: "var(--good)" },
    { tag: [tags.number, tags.bool, tags.null], color: "var(--note)" },
    { tag: tags.comment, color: "var(--ink-3)", fontStyle: "italic" },
  ]),
);

/** Chromium keeps the colour of text that is typed over by an inline style, which the content policy refuses: typed here instead. */
const TYPED_OVER = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const isPlain = event.inputType === "insertText" && event.data && !/^[()[\]{}'"]$/.test(event.data);
    if (!isPlain || view.state.selection.main.empty || view.composing) return false;
    view.dispatch(view.state.replaceSelection(event.data!), { userEvent: "input.type", scrollIntoView: true });
    return true;
  },
});

/** A change that did not come from the reader. */
const isGiven = Annotation.define<boolean>();

interface EditorProps {
  /** What it begins with, and again with each other object. What is typed does not come back here: it would come late, over newer text. */
  given: { readonly sql: string };
  schema: Schema | undefined;
  onChange: (text: string) => void;
  onRun: () => void;
}

export function Editor({ given, schema, onChange, onRun }: EditorProps) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const completion = useRef(new Compartment());
  const callbacks = useRef({ onChange, onRun });
  callbacks.current = { onChange, onRun };
  useEffect(() => {
    const root = host.current!.shadowRoot ?? host.current!.attachShadow({ mode: "open" });
    const run = (running: EditorView) => {
      // A list that opens now would lie over the rows, and take the next click.
      closeCompletion(running);
      callbacks.current.onRun();
      return true;
    };
    view.current = new EditorView({
      parent: root,
      root,
      state: EditorState.create({
        doc: given.sql,
        extensions: [
          Prec.highest(keymap.of([{ key: "Mod-Enter", run }])),
          history(),
          closeBrackets(),
          bracketMatching(),
          completion.current.of([]),
          keymap.of([
            { key: "Tab", run: acceptCompletion },
            ...closeBracketsKeymap,
            ...completionKeymap,
            ...historyKeymap,
            ...defaultKeymap,
          ]),
          sql({ dialect: DUCKDB }),
          EditorView.lineWrapping,
          TYPED_OVER,
          EditorView.contentAttributes.of({ "aria-label": "SQL" }),
          placeholder("SELECT comm, on_cpu_ns FROM thread_time ORDER BY on_cpu_ns DESC"),
          EditorView.updateListener.of((update) => {
            const isOurs = update.transactions.some((one) => one.annotation(isGiven));
            if (update.docChanged && !isOurs) callbacks.current.onChange(update.state.doc.toString());
          }),
          LOOK,
          COLOURS,
        ],
      }),
    });
    return () => view.current?.destroy();
  }, []);
  useEffect(() => {
    const now = view.current!;
    if (now.state.doc.toString() !== given.sql)
      now.dispatch({
        changes: { from: 0, to: now.state.doc.length, insert: given.sql },
        annotations: isGiven.of(true),
      });
  }, [given]);
  useEffect(() => {
    if (!schema) return;
    const sources = [completing(words(schema)), keywordCompletionSource(DUCKDB, true)];
    view.current!.dispatch({
      effects: completion.current.reconfigure(autocompletion({ override: sources, icons: false })),
    });
  }, [schema]);
  return <div class="editor" ref={host} data-completes={schema ? "" : undefined} />;
}
