/** Commands in the documentation and in messages exist; e2e/client-docs.test.ts runs those in fenced blocks. */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { parseCommandLine } from "../src/parse.ts";

const repository = join(import.meta.dirname, "../../..");

/** Commands in backquotes, such as `millrace job run FILE`; templates with values, and pipes, are left out. */
const named = (text: string) =>
  [...text.replace(/^```[\s\S]*?^```/gm, "").matchAll(/`(millrace\s[^`|]*?)\\?`/g)]
    .map(([, words = ""]) => words.replace(/\s+/g, " "))
    .filter((words) => !/\$\{|\bCOMMAND\b/.test(words));

/** Returns why the command is invalid; undefined if it is valid, apart from placeholders. */
function wrong(command: string): string | undefined {
  const words = command.match(/'[^']*'|"[^"]*"|\S+/g) ?? [];
  try {
    parseCommandLine(words.slice(1).map((word) => word.replace(/^['"]|['"]$/g, "")));
    return undefined;
  } catch (error) {
    const { message } = error as Error;
    return / is missing$|: invalid value '[A-Z]+'$/.test(message) ? undefined : `${command}: ${message}`;
  }
}

async function filesBelow(folder: string, pattern: RegExp): Promise<string[]> {
  const entries = await readdir(join(repository, folder), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && pattern.test(entry.name))
    .map(({ parentPath, name }) => join(parentPath, name));
}

describe("every command that is mentioned", () => {
  // With a minimum number for each. The server mentions few, because the cli's next-steps.ts has the commands for its
  // errors.
  const places: [place: string, atLeast: number, files: () => Promise<string[]>][] = [
    ["README.md and docs/", 50, async () => [join(repository, "README.md"), ...(await filesBelow("docs", /\.md$/))]],
    ["messages of the server", 5, () => filesBelow("packages/server/src", /\.(ts|py|sh)$/)],
    ["help and messages of the command line", 20, () => filesBelow("packages/cli/src", /\.ts$/)],
  ];
  for (const [place, atLeast, files] of places) {
    it(`in ${place} exists, with its flags`, async () => {
      const texts = await Promise.all((await files()).map((path) => readFile(path, "utf8")));
      const commands = texts.flatMap(named);
      assert.ok(commands.length >= atLeast, `${commands.length} are named`);
      assert.deepEqual(
        commands.flatMap((command) => wrong(command) ?? []),
        [],
      );
    });
  }
});
