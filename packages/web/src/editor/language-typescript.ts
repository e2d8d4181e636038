/** TypeScript in the code editor. It is loaded when it is chosen. */
import { indentUnit, StreamLanguage } from "@codemirror/language";
import { typescript } from "@codemirror/legacy-modes/mode/javascript";

export default [StreamLanguage.define(typescript), indentUnit.of("  ")];
