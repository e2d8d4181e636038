/** The pages of engines list exactly the options that clusters have. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { it } from "node:test";
import { RayOptions } from "@millrace/contract";

interface OptionSchema {
  readonly default: unknown;
  readonly description: string;
}

const shown = (value: unknown) => (value === "" ? "" : `\`${value}\``);

for (const [page, { properties }] of Object.entries({ "ray.md": RayOptions })) {
  it(`docs/${page} lists every option of such a cluster, with its default and description`, async () => {
    const text = await readFile(join(import.meta.dirname, "../../../../docs", page), "utf8");
    const rows = text.split("\n").map((row) => row.split("|").map((cell) => cell.trim()));
    const listed = rows.filter(([, name]) => /^`[a-z_]+`$/.test(name ?? "")).map((cells) => cells.slice(1, 4));
    const options = Object.entries(properties as unknown as Record<string, OptionSchema>);
    const expected = options.map(([name, option]) => [`\`${name}\``, shown(option.default), option.description]);
    assert.deepEqual(listed, expected);
  });
}
