/** The code editor itself. This module is large, so it is loaded only when an editor is shown. */
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import {
  bracketMatching,
  HighlightStyle,
  indentOnInput,
  indentUnit,
  StreamLanguage,
  syntaxHighlighting,
} from "@codemirror/language";
import { python } from "@codemirror/legacy-modes/mode/python";
import { shell } from "@codemirror/legacy-modes/mode/shell";
import { Compartment, EditorState, type Extension } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { QueryType } from "@millrace/contract";

/**
 * The modes that read a text line by line. The parsers of whole trees colour a little better, but weigh 19 to 33 kB more
 * for each language.
 */
const languages: Readonly<Record<QueryType, () => Extension | Promise<Extension>>> = {
  PYTHON: () => [StreamLanguage.define(python), indentUnit.of("    ")],
  SHELL: () => [StreamLanguage.define(shell), indentUnit.of("  ")],
  TYPESCRIPT: async () => (await import("./language-typescript.ts")).default,
};

/** Colours are those of the theme, so that light and dark need no code. */
const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], color: "var(--accent)", fontWeight: "600" },
  { tag: [tags.string, tags.special(tags.string), tags.regexp], color: "var(--good)" },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: "var(--warn)" },
  { tag: [tags.comment, tags.meta], color: "var(--soft)", fontStyle: "italic" },
  { tag: [tags.function(tags.definition(tags.variableName)), tags.className], fontWeight: "600" },
]);

const look = EditorView.theme({
  "&": { height: "100%", color: "var(--ink)", backgroundColor: "var(--card)", fontSize: "13px" },
  // The frame around the editor has the outline: here the line numbers would cover it.
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.5" },
  ".cm-gutters": { backgroundColor: "var(--sunken)", color: "var(--soft)", borderRight: "1px solid var(--line)" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--hover)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "var(--accent-soft)",
  },
  ".cm-matchingBracket": { backgroundColor: "var(--accent-soft)", outline: "1px solid var(--edge)" },
});

export interface CodeEditor {
  setText(text: string): void;
  /** Colours the text as this language, once that is loaded. */
  setType(type: QueryType): Promise<void>;
  focus(): void;
  destroy(): void;
}

interface CodeEditorOptions {
  readonly parent: HTMLElement;
  readonly text: string;
  readonly label: string;
  readonly onText: (text: string) => void;
  readonly onRun: () => void;
}

export function openCodeEditor({ parent, text, label, onText, onRun }: CodeEditorOptions): CodeEditor {
  const language = new Compartment();
  const nonce = document.querySelector<HTMLMetaElement>('meta[name="style-nonce"]')?.content ?? "";
  const run = () => {
    onRun();
    return true;
  };
  const extensions = [
    EditorView.cspNonce.of(nonce),
    keymap.of([{ key: "Mod-Enter", run, preventDefault: true }, ...defaultKeymap, ...historyKeymap, indentWithTab]),
    ...[lineNumbers(), history(), drawSelection(), indentOnInput(), bracketMatching(), highlightActiveLine()],
    syntaxHighlighting(colours),
    look,
    EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false", autocapitalize: "off" }),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) onText(update.state.doc.toString());
    }),
    language.of([]),
  ];
  const view = new EditorView({ parent, state: EditorState.create({ doc: text, extensions }) });
  let wanted: QueryType;
  return {
    setText(next) {
      const now = view.state.doc.toString();
      if (now !== next) view.dispatch({ changes: { from: 0, to: now.length, insert: next } });
    },
    async setType(next) {
      wanted = next;
      const extension = await languages[next]();
      if (wanted === next) view.dispatch({ effects: language.reconfigure(extension) });
    },
    focus: () => view.focus(),
    destroy: () => view.destroy(),
  };
}
