/** Writes measurements into a Markdown page, between marks, so that the text around them stays. */
import { appendFile, readFile, writeFile } from "node:fs/promises";
import { pageWith, table } from "../scripts/generated-page.ts";
import type { Section } from "./measure.ts";

/** Replaces each section of the page. Creates a missing page, and adds a missing section at its end. */
export async function writeSections(path: string, sections: readonly Section[]): Promise<void> {
  for (const section of sections) {
    const begin = `<!-- ${section.name}: begin; written by npm run bench -->`;
    const end = `<!-- ${section.name}: end -->`;
    const present = await readFile(path, "utf8").catch(() => "");
    if (!present.includes(begin)) await appendFile(path, `${present && "\n"}${begin}\n${end}\n`);
    const parts = [section.text, ...section.tables.map(table)].filter(Boolean);
    await writeFile(path, pageWith(path, { begin, end }, parts).expected);
  }
}
