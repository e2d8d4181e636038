/** The README matches the code: its tables are generated from the code, and its examples run. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { access, readdir, readFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { type S3Server, startVersitygw, whyNoVersitygw } from "@millrace/testing/servers/versitygw.ts";
import { expectedOptions, expectedReadme } from "../../../../scripts/storage-readme.ts";

const run = promisify(execFile);
const home = join(import.meta.dirname, "../..");

describe("the README", () => {
  it("says how the library is installed, from a registry and from a clone", async () => {
    const text = await readFile(join(home, "README.md"), "utf8");
    const { name, version } = JSON.parse(await readFile(join(home, "package.json"), "utf8")) as Record<string, string>;
    assert.ok(text.includes(`npm install ${name} `), "from a registry");
    assert.ok(text.includes(`npm install ./${name?.slice(1).replace("/", "-")}-${version}.tgz`), "what npm pack makes");
  });
  it("has the tables of parameters as the code has them", async () => {
    const { present, expected } = await expectedReadme();
    assert.ok(present === expected, "the tables have changed: run scripts/storage-readme.ts");
  });

  it("has a page with every option of the Python libraries, as the code has them", async () => {
    const { present, expected } = await expectedOptions();
    assert.ok(present === expected, "the tables have changed: run scripts/storage-readme.ts");
  });

  it("links only to pages that the package contains", async () => {
    const { files } = JSON.parse(await readFile(join(home, "package.json"), "utf8"));
    const pages = ["README.md", ...(await readdir(join(home, "docs"))).map((name) => `docs/${name}`)];
    for (const page of pages) {
      const text = await readFile(join(home, page), "utf8");
      for (const [, link = ""] of text.matchAll(/\]\((?![a-z]+:|#)([^)#]+)/g)) {
        const path = relative(home, join(home, dirname(page), link));
        await access(join(home, path));
        assert.ok(path === "README.md" || files.includes(path.split("/")[0]), `${path} is not packed`);
      }
    }
  });
});

const skip = await whyNoVersitygw();
const documents = ["README.md", "docs/coming-from-fsspec.md"];

for (const document of documents) {
  const text = await readFile(join(home, document), "utf8");
  const examples = [...text.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, code]) => code as string);

  describe(`the examples of ${document}`, { skip, timeout: 120_000 }, () => {
    let server: S3Server;
    before(async () => {
      server = await startVersitygw();
    });
    after(() => server?.stop());

    for (const [index, code] of examples.entries()) {
      it(`number ${index + 1} prints what it says`, async () => {
        const bucket = await server.makeBucket(`bucket-${index}`);
        const given = `const { endpoint_url, key, secret } = ${JSON.stringify(server.config)};\n`;
        const program = given + code.replaceAll("s3://bucket", `s3://${bucket}`);
        const words = ["--conditions=millrace-source", "--disable-warning=ExperimentalWarning"];
        const { stdout } = await run(process.execPath, [...words, "--input-type=module-typescript", "-e", program], {
          cwd: import.meta.dirname,
          // Remains of an example are removed with the server.
          env: { ...process.env, TMPDIR: server.folder },
        });
        const promised = [...code.matchAll(/\/\/=> (.*)$/gm)].map(([, line]) => line);
        assert.deepEqual(stdout.replaceAll(bucket, "bucket").trim().split("\n"), promised);
      });
    }
  });
}
