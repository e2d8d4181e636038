/**
 * The style sheet of the pages that the server renders: the sheets of the web UI, so that both look alike, and the little
 * that only these pages need.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";

/** Folders of the sheets: in the packed server beside the program, in the repository in the web package. */
const folders = [join(import.meta.dirname, "web/look"), join(import.meta.dirname, "../../../../web/src/look")];
const sheets = ["tokens.css", "base.css", "button.css", "field.css"];

async function readSheet(name: string): Promise<string> {
  const texts = await Promise.all(folders.map((folder) => readFile(join(folder, name), "utf8").catch(() => undefined)));
  return texts.find((text) => text !== undefined) ?? "";
}

const own = `
.top { min-height: 48px; padding: 0 var(--s4); background: var(--card); border-bottom: 1px solid var(--line); }
.brand { font-weight: 700; color: var(--ink); }
main { max-width: 26rem; margin: 0 auto; padding: var(--s6) var(--s4); overflow-wrap: anywhere; }
main.wide { max-width: 60rem; }
form.card { display: grid; gap: var(--s3); max-width: 26rem; }
form.card label { display: grid; gap: var(--s1); font-weight: 500; }
form.card label .soft { font-weight: 400; }
form.card .button { justify-self: start; }
.said { padding: var(--s2) var(--s3); border-radius: var(--radius); }
.said.good { background: var(--good-soft); }
.said.bad { background: var(--bad-soft); }
.big-code { font: 600 22px var(--mono); letter-spacing: 0.08em; text-align: center; }
.whole { user-select: all; }
.lines { display: grid; gap: var(--s2); margin: 0; padding: 0; list-style: none; }
.lines form { display: flex; max-width: none; flex-wrap: wrap; gap: var(--s2); align-items: center; justify-content: space-between; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
td, th { text-align: left; padding: var(--s1) var(--s3) var(--s1) 0; border-bottom: 1px solid var(--line); vertical-align: top; }
details { border: 1px solid var(--line); border-radius: var(--radius); padding: var(--s2) var(--s3); background: var(--card); }
summary { cursor: pointer; overflow-wrap: anywhere; }
summary code { margin-right: var(--s2); font-weight: 600; }
p.small code { white-space: nowrap; }
`;

export const pageStyle = (await Promise.all(sheets.map(readSheet))).join("") + own;
