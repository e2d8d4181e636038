/** Partly generated pages of the documentation: a program writes the text between two marks. */
import { readFileSync } from "node:fs";

export interface Page {
  readonly path: string;
  readonly present: string;
  readonly expected: string;
}

/** The first mark names the script that writes the text. */
export interface Marks {
  readonly begin: string;
  readonly end: string;
}

/** Returns the page with these sections between its marks; everything else stays unchanged. */
export function pageWith(path: string, { begin, end }: Marks, sections: readonly string[]): Page {
  const present = readFileSync(path, "utf8");
  const [before, rest = ""] = present.split(begin);
  const [, after = ""] = rest.split(end);
  return { path, present, expected: `${before}${begin}\n\n${sections.join("\n\n")}\n\n${end}${after}` };
}

/** Formats a Markdown table with aligned columns, as the formatter would. The first row is the header. */
export function table(rows: readonly (readonly string[])[]): string {
  const escaped = rows.map((cells) => cells.map((cell) => cell.replaceAll("|", "\\|")));
  const widths = (escaped[0] ?? []).map((_, column) => Math.max(...escaped.map((cells) => cells[column]?.length ?? 0)));
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`;
  const [head, ...body] = escaped.map(line);
  return [head, line(widths.map((width) => "-".repeat(width))), ...body].join("\n");
}

export const code = (text: string) => `\`${text}\``;
