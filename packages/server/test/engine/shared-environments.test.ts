/**
 * Which environments are shared: those whose key covers their whole content. Tests the decision itself, without a
 * build: the plan says whether requirements must be inspected, and stage.py, which runs in the job's folder, whether a
 * key can cover the named files.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { indexIsLocal, namesFiles } from "../../src/engines/phases/requirement-lines.ts";

const run = promisify(execFile);
const script = fileURLToPath(new URL("../../src/engines/phases/stage.py", import.meta.url));

/** Runs many cases in one process; each runs stage.py from the start. */
const runAll = `import contextlib, io, json, os, runpy, sys
answers = []
for case in json.loads(sys.argv[1]):
    os.chdir(case["work"])
    sys.argv = case["words"]
    with contextlib.redirect_stdout(io.StringIO()) as said:
        runpy.run_path(sys.argv[0])
    answers.append(said.getvalue().strip())
print(json.dumps(answers))
`;

describe("environments that are shared", () => {
  let folder: string;
  let outside: string;
  let count = 0;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "millrace-stage-"));
    outside = join(folder, "outside.txt");
    await writeFile(outside, "evil\n");
  });
  after(() => rm(folder, { recursive: true, force: true }));

  interface Case {
    readonly text: string;
    readonly files?: Record<string, string | Buffer>;
    readonly settled?: readonly string[];
  }
  const prepare = async ({ text, files = {}, settled = [] }: Case) => {
    const place = join(folder, String(++count));
    const [work, target] = [join(place, "work"), join(place, "files")];
    await mkdir(work, { recursive: true });
    await mkdir(target);
    for (const [name, content] of Object.entries(files)) {
      await mkdir(dirname(join(work, name)), { recursive: true });
      await writeFile(join(work, name), content);
    }
    await symlink(outside, join(work, "link.txt"));
    const requirements = join(place, "requirements.txt");
    await writeFile(requirements, `${text}\n`);
    return { work, target, words: [script, requirements, target, ...settled] };
  };
  /** What stage.py prints for each case: `own`, or the hashes of the files. Also the folder that it copied to. */
  const stage = async (cases: readonly Case[]) => {
    const prepared = await Promise.all(cases.map(prepare));
    const { stdout } = await run("python3", ["-I", "-c", runAll, JSON.stringify(prepared)]);
    return (JSON.parse(stdout) as string[]).map((says, at) => ({ says, target: prepared[at]?.target ?? "" }));
  };
  /** `plain`: the text alone is the key. `own`: private to the job. Otherwise what the key has beside the text. */
  const decide = async (cases: readonly Case[]) =>
    (await stage(cases)).map(({ says }, at) => (namesFiles(cases[at]?.text ?? "") ? says : "plain"));
  const assertAlone = async (cases: readonly Case[], texts: readonly string[]) =>
    assert.deepEqual(
      (await decide(cases)).map((decision, at) => [texts[at], decision]),
      texts.map((text) => [text, "own"]),
    );

  const plain = [
    "numpy",
    "numpy==2.1.0 # pinned",
    'pandas[excel]>=2,<3; python_version >= "3.9"',
    "# ünïcode – see https://example.org/ and /tmp/x.whl",
    "a\r\nb\r\n\r\n# c\r\n",
    "--index-url https://example.org/simple\n--extra-index-url=http://example.org/x\n-f https://example.org/links",
    "--no-binary :all:\n--only-binary=numpy,pandas\n--pre\n--trusted-host example.org:8080",
    "tool @ https://example.org/tool-1.0.tar.gz\nother[x]@ git+https://example.org/other@v1.0",
  ];
  it("are identified by the text if it names packages and indexes only", async () => {
    const cases = plain.map((text) => ({ text }));
    assert.deepEqual(
      (await decide(cases)).filter((decision) => decision !== "plain"),
      [],
    );
    const nothing = createHash("sha256").digest("hex");
    for (const { says } of await stage(cases)) assert.equal(says, nothing, "a closer look finds no file either");
  });

  const looked = [
    "numpy==2.1.0 \\\n    --hash=sha256:0a1b \\\n    --hash=sha256:2c3d\n    # via something",
    "tool @ git+https://example.org/tool#egg=tool&subdirectory=packages/tool",
    "https://example.org/tool-1.0-py3-none-any.whl#sha256=0a1b",
    "-c https://example.org/constraints.txt",
    "# -*- coding: utf-8 -*-\nnumpy",
  ];
  it("are identified by the text if a closer look finds no file", async () => {
    const nothing = createHash("sha256").digest("hex");
    const decisions = await decide(looked.map((text) => ({ text })));
    assert.deepEqual(
      decisions,
      looked.map(() => nothing),
    );
  });

  const path = "/tmp/evil.txt";
  const variable = "$" + "{HOME}";
  const wheel = "/tmp/evil-1.0-py3-none-any.whl";
  const ends = ["\v", "\f", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029", "\r"];
  const alone: Record<string, string[]> = {
    "a list by a URL of this machine": [
      `-r file://${path}`,
      `-c file://${path}`,
      `--requirement=file://localhost${path}`,
      `-r FILE://${path}`,
      `-rfile:${path}`,
      `-r file:///tmp/%65vil.txt`,
      "-r file:evil.txt",
      `-c ftp://example.org${path}`,
      "-r C:\\evil.txt",
      "-r unheard-of:x",
    ],
    "a list by a path of this machine": [
      `-r ${path}`,
      `-r${path}`,
      `--requirement ${path}`,
      `--req ${path}`,
      "-r ../evil.txt",
      "-r ~/evil.txt",
      `-r "${path}"`,
      "-r link.txt",
      "-r .millrace-requirements.txt",
      "-r pyproject.toml",
      `-r=${path}`,
    ],
    "a file that is not there": ["-r nowhere.txt", "-c nowhere.txt", "./nowhere-1.0-py3-none-any.whl", "nowhere.zip"],
    "an end of a line that is not seen": [
      ...ends.map((end) => `# pinned${end}-r ${path}`),
      ...ends.map((end) => `numpy # see https://example.org/${end}${wheel}`),
    ],
    "an encoding of its own": [
      "# coding: utf-7\nnumpy # +AAo--r /tmp/evil.txt",
      "# numpy\n# vim: set fileencoding=unicode_escape\nnumpy # \\n-r /tmp/evil.txt",
      `\ufeff-r ${path}`,
    ],
    "a comment that ends in a backslash": [`# pinned \\\n-r ${path}`, `numpy # pinned \\\n-r ${path}`],
    "a path that goes on in the next line": [`-r \\\n${path}`, `-r /tm\\\np/evil.txt`, `num\\\n${wheel}`],
    "a second option in a line": [
      `--pre -r ${path}`,
      `--no-index -f /tmp`,
      `--no-index --find-links=/tmp`,
      "-i https://example.org/simple -f /tmp",
      `-r https://example.org/list.txt -c ${path}`,
      `numpy -r ${path}`,
      "numpy -e .",
      `--trusted-host example.org -r ${path}`,
    ],
    "a variable": [
      ...[`-r ${variable}/evil.txt`, `--index-url https://${variable}@example.org/simple`],
      ...[`x @ https://${variable}/x.whl`, `numpy${variable}`],
    ],
    "an index or links of this machine": [
      "-f /tmp",
      "-f .",
      "--find-links file:///tmp",
      "--find-links=FILE:/tmp",
      "--index-url file:///tmp/simple",
      "--extra-index-url=/tmp/simple",
      "-i ./simple",
    ],
    "options for whoever builds a package": [
      'numpy --config-settings="--build-option=--with=/tmp/evil"',
      'numpy --global-option="--with=/tmp/evil"',
      "numpy --hash=sha256:0a1b --config-settings=x=y",
    ],
    "a folder": [
      ".",
      "./package",
      "package/",
      "sub/package",
      "-e .",
      "-e ./package",
      "--editable=package",
      "package[x] @ ./package",
    ],
    "a package by a path or a URL of this machine": [
      wheel,
      `file://${wheel}`,
      `FILE://${wheel}`,
      `evil @ file://${wheel}`,
      `evil[x]@file://localhost${wheel} ; python_version > "3"`,
      "evil @ file:///tmp/%65vil-1.0-py3-none-any.whl",
      `evil @ ${wheel}`,
      "../evil-1.0-py3-none-any.whl",
      "evil @ git+file:///tmp/evil",
      "git+file:///tmp/evil#egg=evil",
      "C:\\evil-1.0-py3-none-any.whl",
    ],
    "a folder of this machine inside what is remote": [
      "tool @ git+https://example.org/tool#subdirectory=/tmp/evil",
      "tool @ https://example.org/tool.zip#subdirectory=../../../tmp/evil",
      "tool @ https://example.org/tool.zip#egg=tool&subdirectory=%2Ftmp%2Fevil",
      "tool @ https://example.org/tool.zip?a&subdirectory=/tmp/evil",
    ],
  };
  for (const [what, texts] of Object.entries(alone)) {
    it(`do not exist with ${what}: the job gets a private one`, () =>
      assertAlone(
        texts.map((text) => ({ text })),
        texts,
      ));
    it(`do not exist if a file of the job contains ${what}`, () => {
      const files = (text: string) => ({ "a/one.txt": "numpy\n-r two.txt\n", "a/two.txt": `${text}\n` });
      return assertAlone(
        texts.map((text) => ({ text: "-c a/one.txt", files: files(text) })),
        texts,
      );
    });
  }

  it("do not exist if a file is not UTF-8", async () => {
    const utf16 = Buffer.from(`\ufeff-r ${path}\n`, "utf16le");
    const cases = [utf16, Buffer.from("# \xc5\n", "latin1")].map((bytes) => ({ "more.txt": bytes }));
    assert.deepEqual(await decide(cases.map((files) => ({ text: "-r more.txt", files }))), ["own", "own"]);
  });

  it("have the contents of all named files in their key, and are built with only these", async () => {
    const name = "named-1.0-py3-none-any.whl";
    const files = {
      "lists/one.txt": `-c ../two.in\n${name}[extra] ; python_version > "3" --hash=sha256:0a1b\n`,
      "two.in": "numpy<3 # no more\n",
      [name]: "wheel",
      other: "not named",
    };
    const text = "--requirement=lists/one.txt";
    const named = ["lists/one.txt", "two.in", name] as const;
    const changed = named.map((one) => ({ text, files: { ...files, [one]: `${files[one]}#` } }));
    const [first, same, ...others] = await stage([
      { text, files },
      { text, files: { ...files, other: "changed" } },
      ...changed,
    ]);
    const target = first?.target ?? "";
    for (const one of named) assert.equal(await readFile(join(target, one), "utf8"), files[one]);
    await assert.rejects(readFile(join(target, "other")), { code: "ENOENT" });
    assert.equal(same?.says, first?.says);
    const all = [first, ...others].map((one) => one?.says ?? "");
    for (const says of all) assert.match(says, /^[0-9a-f]{64}$/);
    assert.equal(new Set(all).size, 4, "each change makes another key");
  });

  it("do not exist if the job chose an index on this machine", async () => {
    const isLocal = (environment: Record<string, string>) => indexIsLocal({ environment });
    for (const value of ["file:///tmp/simple", "/tmp/simple", "FILE:/tmp", "https://example.org/simple /tmp/x", "./x"])
      for (const name of ["PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_INDEX", "UV_DEFAULT_INDEX"])
        assert.equal(isLocal({ [name]: value }), true, `${name}=${value}`);
    const elsewhere = { UV_INDEX: "ours=https://example.org/simple http://example.org/x", PIP_NO_INDEX: "1" };
    assert.equal(isLocal(elsewhere), false);
    assert.equal(isLocal({ PIP_FIND_LINKS: "/tmp" }), false, "which does not reach the build");
    const [settled] = await stage([{ text: "numpy", settled: ["own"] }]);
    assert.equal(settled?.says, "own");
  });
});
