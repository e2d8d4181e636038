/** Facts about external software are in one folder: elsewhere in the server their words do not appear. */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { describe, it } from "node:test";

const src = join(import.meta.dirname, "../../src");

interface Home {
  /** A folder of the server's source. */
  readonly folder: string;
  /** Words that may occur only there. */
  readonly words: RegExp;
  /** Other places, by the beginning of their path, and why the word occurs there. */
  readonly exceptions: Readonly<Record<string, string>>;
}

const homes: Readonly<Record<string, Home>> = {
  "the dataset library": {
    folder: "datachain",
    words: /datachain/i,
    exceptions: {
      "configuration/": "a setting is described to operators by the name that they know",
      "domain/datasets/exports.ts": "a path of our own API",
      "senders/webhook.ts": "headers of our own API",
    },
  },
  "one query type": {
    folder: "runtimes",
    words: /\b(?:PYTHON|SHELL|TYPESCRIPT)\b/,
    exceptions: { "admin/doctor/doctor.ts": "a sentence for operators: which jobs fail without Python" },
  },
};

async function sources(): Promise<string[]> {
  const entries = await readdir(src, { recursive: true, withFileTypes: true });
  return entries.filter((e) => e.isFile()).map((e) => relative(src, join(e.parentPath, e.name)));
}

/** An import from that folder is the intended use. */
const withoutImports = (text: string) => text.replaceAll(/from "[^"]*"/g, "");

async function linesWith({ folder, words }: Home): Promise<Map<string, string[]>> {
  const found = new Map<string, string[]>();
  for (const file of (await sources()).filter((path) => !path.startsWith(`${folder}/`))) {
    const lines = withoutImports(await readFile(join(src, file), "utf8")).split("\n");
    const hits = lines.filter((line) => words.test(line)).map((line) => `${file}: ${line.trim()}`);
    if (hits.length > 0) found.set(file, hits);
  }
  return found;
}

for (const [what, home] of Object.entries(homes)) {
  describe(`a fact about ${what}`, () => {
    const places = Object.keys(home.exceptions);

    it(`is in ${home.folder}/ only`, async () => {
      const strays = [...(await linesWith(home))].filter(([file]) => !places.some((place) => file.startsWith(place)));
      assert.deepEqual(
        strays.flatMap(([, lines]) => lines),
        [],
      );
    });

    it("is elsewhere only if an exception says why", async () => {
      const files = [...(await linesWith(home)).keys()];
      for (const place of places)
        assert.ok(
          files.some((file) => file.startsWith(place)),
          `${place} needs no exception any more`,
        );
    });
  });
}
