/**
 * Messages of the server are for every client, so they name no command of the command line. Each client adds its own
 * next step.
 */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { it } from "node:test";
import { commands } from "../../../cli/src/arguments.ts";

const packages = join(import.meta.dirname, "../../..");

/** Parts whose messages appear on the command line or in a browser, each with the reason. */
const exceptions: Readonly<Record<string, string>> = {
  "server/src/admin/": "what an operator runs on the machine of the server",
  "server/src/main.ts": "what the command line calls",
  "server/src/app/": "the log that the operator reads when the server starts",
  "server/src/configuration/": "what an operator sets, with the commands that they run",
  "server/src/datachain/client-commands.ts": "commands of the library's client, which main.ts and the pages print",
  "server/src/http/pages/": "a client itself: it tells the first user how the operator makes a sign-in link",
};

async function sources(): Promise<string[]> {
  const folders = ["server/src", "contract/src"];
  const found = await Promise.all(
    folders.map(async (folder) =>
      (await readdir(join(packages, folder), { recursive: true })).map((n) => join(folder, n)),
    ),
  );
  return found.flat().filter((name) => /\.(ts|py|sh)$/.test(name));
}

/** Matches `millrace job ls`, `job ls`, and commands of the client with the same names. */
const aCommand = new RegExp(`(millrace|datachain|\`) ?(${Object.keys(commands).join("|")})\\b`);
const isComment = (line: string) => /^\s*(\/\/|\/?\*)/.test(line);

it("no message of the server or the contract names a command", async () => {
  const told: string[] = [];
  for (const name of await sources()) {
    if (Object.keys(exceptions).some((part) => name.startsWith(part))) continue;
    const lines = (await readFile(join(packages, name), "utf8")).split("\n");
    for (const line of lines) if (!isComment(line) && aCommand.test(line)) told.push(`${name}: ${line.trim()}`);
  }
  assert.deepEqual(told, []);
});
