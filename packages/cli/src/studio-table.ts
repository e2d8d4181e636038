/**
 * Changes keys of the `[studio]` table in a settings file. The rest of the file, including comments, stays unchanged.
 */
import { isDeepStrictEqual } from "node:util";
import { parse, stringify, type TomlTable } from "smol-toml";

/** New values by key; null removes the key. */
export type StudioChanges = Readonly<Record<string, string | null>>;

export function editStudioTable(text: string, changes: StudioChanges): string {
  const rewritten = stringify(changedDocument(parse(text), changes));
  const edited = editLines(text.split("\n"), changes).join("\n");
  // Editing lines works for nearly every file. If it fails, the file is rewritten and loses its comments, but no keys.
  return meanTheSame(edited, rewritten) ? edited : rewritten;
}

function changedDocument(document: TomlTable, changes: StudioChanges): TomlTable {
  const studio = { ...(document["studio"] as TomlTable | undefined) };
  for (const [key, value] of Object.entries(changes)) {
    if (value === null) delete studio[key];
    else studio[key] = value;
  }
  return { ...document, studio };
}

function meanTheSame(edited: string, rewritten: string): boolean {
  try {
    return isDeepStrictEqual(parse(edited), parse(rewritten));
  } catch {
    return false;
  }
}

function editLines(lines: readonly string[], changes: StudioChanges): string[] {
  const header = lines.findIndex((line) => /^\s*\[\s*studio\s*\]\s*(#.*)?$/.test(line));
  if (header < 0) {
    const before = lines.join("\n").trimEnd();
    return [...(before ? [before, ""] : []), "[studio]", ...assignments(changes), ""];
  }
  const length = lines.slice(header + 1).findIndex((line) => /^\s*\[/.test(line));
  const end = length < 0 ? lines.length : header + 1 + length;
  const kept = lines.slice(header + 1, end).filter((line) => !(keyOf(line) in changes));
  return [...lines.slice(0, header + 1), ...assignments(changes), ...kept, ...lines.slice(end)];
}

const keyOf = (line: string) => /^\s*"?([\w-]+)"?\s*=/.exec(line)?.[1] ?? "";

const assignments = (changes: StudioChanges) =>
  Object.entries(changes).flatMap(([key, value]) => (value === null ? [] : [`${key} = ${JSON.stringify(value)}`]));
