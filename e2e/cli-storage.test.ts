/** `millrace storage`, with local files and a real S3 server. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { after, before, describe, test } from "node:test";
import { openStorage, type Storage } from "@millrace/storage";
import { millrace } from "@millrace/testing/millrace/server.ts";
import { writeArchive } from "@millrace/testing/objects/archives.ts";
import { pythonProgram, whyNoPythonPackages } from "@millrace/testing/programs/python-packages.ts";
import { startAzurite } from "@millrace/testing/servers/azurite.ts";
import { startFakeGcsServer, whyNoFakeGcsServer } from "@millrace/testing/servers/fake-gcs-server.ts";
import { type S3Server, startVersitygw, whyNoVersitygw } from "@millrace/testing/servers/versitygw.ts";
import { until } from "@millrace/testing/until.ts";
import { Millrace } from "./support/millrace.ts";

const noPython = await whyNoPythonPackages();

interface ListedEntry {
  readonly path: string;
  readonly size: number;
  readonly type: string;
}

/** A command line whose working directory has these files, each containing its own name. */
async function withFiles(create: () => Promise<Millrace>, ...names: string[]): Promise<Millrace> {
  const cli = await create();
  for (const name of names) {
    await mkdir(cli.path("work", name, ".."), { recursive: true });
    await cli.write(name, name);
  }
  return cli;
}

/** Signals that stop a command, and its exit code. */
const stops = [
  ["SIGHUP", 129],
  ["SIGINT", 130],
  ["SIGTERM", 143],
] as const;

/** Runs a copy from standard input, which gets these bytes and stays open. */
function pipeInto(cli: Millrace, bytes: Buffer, ...words: string[]) {
  const surroundings = { cwd: cli.path("work"), env: cli.env };
  const child = spawn(millrace, ["storage", "cp", "-", ...words], {
    ...surroundings,
    stdio: ["pipe", "ignore", "pipe"],
  });
  // Bytes that it has not read when it is stopped are lost, as they should be.
  child.stdin.on("error", () => {});
  child.stdin.write(bytes);
  return child;
}

const pathsOf = (entries: readonly ListedEntry[]) => entries.map(({ path }) => path).sort();

describe("millrace storage on local files", { timeout: 120_000 }, () => {
  const commandLine = Millrace.use();

  test("ls lists a folder, everything below it, a file, and the matches of a pattern", async () => {
    const cli = await withFiles(commandLine, "d/a.txt", "d/b/c.txt", "d/b/d.csv");
    const ls = async (...words: string[]) => pathsOf(await cli.json<ListedEntry[]>("storage", "ls", ...words));
    assert.deepEqual(await ls("d"), ["a.txt", "b/"]);
    assert.deepEqual(await ls("d", "-r"), ["a.txt", "b/c.txt", "b/d.csv"]);
    assert.deepEqual(await ls("d/a.txt"), ["a.txt"]);
    assert.deepEqual(await ls("d/**/*.txt"), ["a.txt", "b/c.txt"]);
    const lines = (await cli.print("storage", "ls", "d")).trim().split("\n");
    assert.match(lines[0] ?? "", /^7\t\d{4}-\d\d-\d\dT[\d:.]+Z\ta\.txt$/);
    assert.match(await cli.refused(1, "storage", "ls", "none"), /none/);
  });

  test("ls, cat and cp work on files in an archive, and on schemes that only fsspec has", {
    skip: noPython,
  }, async () => {
    const cli = await withFiles(commandLine);
    await writeArchive("zip", cli.path("work/x.zip"), [
      ["in/a.csv", "one"],
      ["in/deep/b.csv", "two"],
    ]);
    const outer = cli.path("work/x.zip");
    cli.env["MILLRACE_FSSPEC_PYTHON"] = pythonProgram("python");
    for (const scheme of ["zip", "fsspec+zip"]) {
      const ls = async (...words: string[]) => pathsOf(await cli.json<ListedEntry[]>("storage", "ls", ...words));
      assert.deepEqual(await ls(`${scheme}://::${outer}`, "-r"), ["in/a.csv", "in/deep/b.csv"]);
      assert.deepEqual(await ls(`${scheme}://in::${outer}`), ["a.csv", "deep/"]);
      assert.deepEqual(await ls(`${scheme}://**/*.csv::${outer}`), ["in/a.csv", "in/deep/b.csv"]);
      assert.equal(await cli.print("storage", "cat", `${scheme}://in/a.csv::${outer}`), "one");
      await mkdir(cli.path("work", scheme));
      await cli.print("storage", "cp", `${scheme}://in/deep/b.csv::${outer}`, `${scheme}/`);
      assert.equal(await readFile(cli.path("work", scheme, "b.csv"), "utf8"), "two");
    }
    const target = `fsspec+local://${cli.path("work/copied")}`;
    await cli.print("storage", "cp", "-r", `zip://in::${outer}`, target);
    assert.equal(await readFile(cli.path("work/copied/deep/b.csv"), "utf8"), "two");
    cli.env["MILLRACE_FSSPEC_PYTHON"] = "/nowhere/python";
    assert.match(await cli.refused(64, "storage", "ls", "oss://bucket/"), /pip install fsspec/);
  });

  test("ls of an empty folder is an empty array, and a pattern without matches is an error", async () => {
    const cli = await withFiles(commandLine, "d/a");
    await mkdir(cli.path("work/empty"));
    assert.equal(await cli.print("storage", "ls", "empty", "--json"), "[]\n");
    for (const pattern of ["d/*.none", "[none]", "\\[none\\]"]) {
      const said = await cli.refused(1, "storage", "ls", pattern, "--json");
      assert.ok(said.startsWith(`error: ${pattern} matches no file\n next: `), said);
    }
  });

  test("ls prefers an existing name over a pattern", async () => {
    const cli = await withFiles(commandLine, "[x]/in", "x/beside", "x/[y]*");
    const ls = async (uri: string) => pathsOf(await cli.json<ListedEntry[]>("storage", "ls", uri));
    for (const uri of ["[x]", "[x]/", "\\[x\\]", "\\[x]/"]) assert.deepEqual(await ls(uri), ["in"], uri);
    assert.deepEqual(await ls("x/[y]*"), ["[y]*"]);
    assert.deepEqual(await ls("[x]/*"), ["x/[y]*", "x/beside"]);
  });

  test("a missing file is named, with where to look for it", async () => {
    const cli = await withFiles(commandLine, "d/a");
    for (const words of [["ls"], ["stat"], ["du"], ["cat"], ["rm"], ["rm", "-r"]]) {
      const said = await cli.refused(1, "storage", ...words, "d/none");
      assert.equal(said, "error: d/none: no such file or folder\n next: List the folder: millrace storage ls d/\n");
    }
    for (const words of [["cp"], ["cp", "-r"], ["sync"], ["sync", "--delete", "--yes"]]) {
      assert.match(await cli.refused(1, "storage", ...words, "none", "d"), /^error: none: .*\n next: .* ls \.\n$/);
    }
    assert.match(
      await cli.refused(64, "storage", "cat", "d"),
      /^error: d is a folder, not a file\n next: Name a file in this folder/,
    );
  });

  test("all commands but ls refuse patterns", async () => {
    const cli = await withFiles(commandLine, "d/a");
    for (const words of [
      ["du", "d/*"],
      ["cat", "d/*"],
      ["rm", "d/*"],
      ["cp", "d/*", "x"],
      ["sync", "{d,e}", "x"],
    ]) {
      assert.match(
        await cli.refused(64, "storage", ...words),
        /why: Only millrace storage ls takes patterns\n next: .* ls '/,
        words.join(" "),
      );
    }
    assert.deepEqual(await readdir(cli.path("work/d")), ["a"]);
  });

  test("cat prints bytes unchanged, all or a part", async () => {
    const cli = await commandLine();
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, index) => index));
    await cli.write("bytes", bytes);
    assert.ok(bytes.equals(await cli.bytes("storage", "cat", "bytes")));
    assert.ok(bytes.subarray(10, 20).equals(await cli.bytes("storage", "cat", "bytes", "--start", "10", "--end=20")));
    assert.match(await cli.refused(1, "storage", "cat", "none"), /^error: none: no such file/);
  });

  test("cp copies a file to a name or into a folder, and standard input to a name", async () => {
    const cli = await withFiles(commandLine, "a.txt", "folder/other");
    const text = (name: string) => readFile(cli.path("work", name), "utf8");
    await cli.print("storage", "cp", "a.txt", "b.txt");
    await cli.print("storage", "cp", "a.txt", "folder");
    await cli.print("storage", "cp", "a.txt", "new/");
    assert.deepEqual(
      [await text("b.txt"), await text("folder/a.txt"), await text("new/a.txt")],
      Array(3).fill("a.txt"),
    );
    assert.equal((await cli.feed("typed", "storage", "cp", "-", "typed.txt")).code, 0);
    assert.equal(await text("typed.txt"), "typed");
    assert.match(
      await cli.refused(64, "storage", "cp", "folder", "x"),
      /folder is a folder, not a file\n next: Add --recursive/,
    );
  });

  test("cp to - prints the bytes of one file, and nothing else", async () => {
    const cli = await withFiles(commandLine, "d/a.txt");
    const { code, stdout, stderr } = await cli.run("storage", "cp", "d/a.txt", "-");
    assert.deepEqual([code, stdout, stderr], [0, "d/a.txt", ""]);
    for (const words of [
      ["d", "-", "-r"],
      ["d/a.txt", "-", "--json"],
      ["-", "-"],
    ]) {
      assert.match(
        await cli.refused(64, "storage", "cp", ...words),
        /Only a single file can be written to standard output/,
      );
    }
    assert.match(await cli.refused(64, "storage", "cp", "d", "-"), /d is a folder/);
  });

  for (const [signal, code] of stops) {
    test(`${signal} leaves no part of a file that was being written, and ends with ${code}`, async () => {
      const cli = await commandLine();
      const child = pipeInto(cli, Buffer.alloc(12 * 1024 * 1024), "file");
      const names = () => readdir(cli.path("work"));
      await until("a file has begun", async () => (await names()).some((name) => name.endsWith(".part")));
      child.kill(signal);
      assert.deepEqual([(await once(child, "exit"))[0], await names()], [code, []]);
    });

    test(`${signal} ends a copy that waits for its input with ${code}`, async () => {
      const cli = await commandLine();
      const child = pipeInto(cli, Buffer.alloc(1024 * 1024), "file");
      // More than a pipe holds, so the command is reading.
      await once(child.stdin, "drain");
      child.kill(signal);
      assert.equal((await once(child, "exit"))[0], code);
    });

    test(`${signal} ends a copy whose output nobody reads with ${code}`, async () => {
      const cli = await commandLine();
      await cli.write("big", Buffer.alloc(4 * 1024 * 1024));
      const child = spawn(millrace, ["storage", "cp", "big", "-"], { cwd: cli.path("work"), env: cli.env });
      await once(child.stdout, "readable");
      child.kill(signal);
      assert.equal((await once(child, "exit"))[0], code);
    });
  }

  test("cp --recursive copies the content of a folder, including unchanged files, and reports the total", async () => {
    const cli = await withFiles(commandLine, "d/a", "d/b/c");
    for (const _ of [1, 2]) {
      assert.deepEqual(await cli.json("storage", "cp", "-r", "d", "copy"), { files: 2, bytes: 8 });
    }
    assert.equal(await readFile(cli.path("work/copy/b/c"), "utf8"), "d/b/c");
    assert.match(await cli.refused(64, "storage", "cp", "-r", "d/a", "x"), /d\/a is a file/);
  });

  test("sync copies missing files, and removes extra ones only with --delete and --yes", async () => {
    const cli = await withFiles(commandLine, "from/a", "from/b", "to/b", "to/old");
    const there = async () => (await readdir(cli.path("work/to"))).sort();
    const dry = await cli.json<{ dry_run: boolean }>("storage", "sync", "from", "to", "--delete", "--dry-run");
    assert.deepEqual([dry.dry_run, await there()], [true, ["b", "old"]]);
    assert.match(
      await cli.refused(64, "storage", "sync", "from", "to", "--delete"),
      /1 files of to would be removed.*\n {2}why: The command needs a confirmation/,
    );
    assert.deepEqual(await there(), ["b", "old"]);
    await cli.print("storage", "sync", "from", "to");
    assert.deepEqual(await there(), ["a", "b", "old"]);
    assert.equal(await cli.print("storage", "sync", "from", "to", "--delete", "--yes"), "remove\told\n");
    const again = await cli.json<{ kept: number }>("storage", "sync", "from", "to", "--delete");
    assert.equal(again.kept, 2, "with nothing to remove nothing is asked");
  });

  test("sync from a missing folder or from a file changes nothing", async () => {
    const cli = await withFiles(commandLine, "file", "to/a", "to/b");
    for (const flags of [[], ["--delete", "--yes"], ["--delete", "--dry-run"]]) {
      assert.match(
        await cli.refused(1, "storage", "sync", "none", "to", ...flags),
        /^error: none: no such file or folder/,
      );
      assert.match(
        await cli.refused(64, "storage", "sync", "file", "to", ...flags),
        /^error: file is a file, not a folder\n next: Copy a single file with cp: millrace storage cp file to/,
      );
    }
    assert.deepEqual((await readdir(cli.path("work/to"))).sort(), ["a", "b"]);
    await mkdir(cli.path("work/empty"));
    await cli.print("storage", "sync", "empty", "to", "--delete", "--yes");
    assert.deepEqual(await readdir(cli.path("work/to")), []);
  });

  test("rm removes a file at once, and a folder with --recursive and --yes", async () => {
    const cli = await withFiles(commandLine, "a", "d/b", "d/c/e");
    await cli.print("storage", "rm", "a");
    assert.match(await cli.refused(1, "storage", "rm", "a"), /no such file or folder/);
    assert.match(await cli.refused(64, "storage", "rm", "d"), /d is a folder, not a file\n next: Add --recursive/);
    assert.match(await cli.refused(64, "storage", "rm", "-r", "d"), /2 files \(8 B\) of d would be removed/);
    assert.deepEqual(await cli.json("storage", "rm", "-r", "d", "--dry-run"), { dry_run: true, files: 2, bytes: 8 });
    assert.deepEqual(await readdir(cli.path("work")), ["d"]);
    await cli.print("storage", "rm", "-r", "d", "--yes");
    assert.deepEqual(await readdir(cli.path("work")), []);
  });

  test("rm --recursive asks on a terminal, and any answer but yes means no", async () => {
    const cli = await withFiles(commandLine, "d/b");
    const refused = await cli.type([["[y/N]", "n\n"]], "storage", "rm", "-r", "d");
    assert.equal(refused.code, 1);
    assert.match(refused.stdout, /Nothing was changed/);
    assert.equal((await cli.type([["[y/N]", "\u0003"]], "storage", "rm", "-r", "d")).code, 130);
    assert.deepEqual(await readdir(cli.path("work/d")), ["b"]);
    assert.equal((await cli.type([["[y/N]", "y\n"]], "storage", "rm", "-r", "d")).code, 0);
    assert.deepEqual(await readdir(cli.path("work")), []);
  });

  test("du shows files and bytes of each folder, and in total", async () => {
    const cli = await withFiles(commandLine, "d/a", "d/b/c", "d/b/d");
    assert.deepEqual(await cli.json("storage", "du", "d"), [
      { path: ".", files: 1, bytes: 3 },
      { path: "b/", files: 2, bytes: 10 },
      { path: "", files: 3, bytes: 13 },
    ]);
  });

  test("stat shows the metadata of a file", async () => {
    const cli = await withFiles(commandLine, "a.txt");
    const told = await cli.json<{ size: number; type: string; uri: string }>("storage", "stat", "a.txt");
    assert.deepEqual([told.size, told.type, told.uri], [5, "file", "a.txt"]);
    assert.match(await cli.print("storage", "stat", "a.txt"), /^size\t5$/m);
  });

  test("a terminal shows a progress bar", async () => {
    const cli = await withFiles(commandLine, "d/a");
    const { code, stdout } = await cli.type([], "storage", "cp", "-r", "d", "copy");
    assert.equal(code, 0);
    assert.match(stdout, /\[#{24}\]100% {2}3 B of 3 B, \d of 1 files/);
  });
});

describe("millrace storage explain", { timeout: 60_000 }, () => {
  const commandLine = Millrace.use();

  test("shows values and their sources, but no secrets; the config is JSON, a file, or standard input", async () => {
    const cli = await commandLine({ env: { AWS_REGION: "eu-west-1" } });
    const config = JSON.stringify({ key: "k", secret: "hush" });
    await cli.write("s3.json", config);
    const said = await cli.print("storage", "explain", "s3://bucket", "--client-config", "@s3.json");
    assert.match(said, /^key\tk\tclient_config\.key\tnative\t/m);
    assert.match(said, /^client_kwargs\.region_name\teu-west-1\tenvironment AWS_REGION\t/m);
    assert.ok(!said.includes("hush"));
    assert.equal(await cli.print("storage", "explain", "s3://bucket", "--client-config", config), said);
    const fed = await cli.feed(config, "storage", "explain", "s3://bucket", "--client-config", "@-");
    assert.equal(fed.stdout, said);
  });

  test("an invalid config is refused with 64, without repeating it", async () => {
    const cli = await commandLine();
    const explain = (config: string) => cli.refused(64, "storage", "explain", "s3://b", "--client-config", config);
    assert.match(await explain('{"kee": 1}'), /^error: kee is not a parameter of s3:\/\/; did you mean key\?/);
    const broken = await explain('{"secret": "hush');
    assert.match(broken, /Expected a JSON object/);
    assert.ok(!broken.includes("hush"));
    assert.match(await explain("@none.json"), /cannot read none\.json/);
    assert.match(await cli.refused(64, "storage", "ls", "s4://bucket"), /did you mean s3\?/);
    assert.equal(await cli.print("storage", "explain", "memory://x", "--json"), "[]\n");
  });
});

const skip = await whyNoVersitygw();
const skipGs = await whyNoFakeGcsServer();

describe("millrace storage ls without a bucket", { timeout: 120_000 }, () => {
  const commandLine = Millrace.use();

  const kinds: Record<string, [string | false, () => Promise<{ stop(): Promise<void>; config: object }>]> = {
    "s3://": [skip, startVersitygw],
    "gs://": [
      skipGs,
      async () => {
        const { endpoint_url, stop } = await startFakeGcsServer();
        return { stop, config: { endpoint_url, project: "p" } };
      },
    ],
    "az://": [
      false,
      async () => {
        const { connection_string, stop } = await startAzurite();
        return { stop, config: { connection_string } };
      },
    ],
  };
  for (const [uri, [skip, start]] of Object.entries(kinds)) {
    test(`lists the buckets of ${uri}, as folders`, { skip }, async () => {
      const cli = await commandLine();
      const { stop, config } = await start();
      try {
        for (const name of ["second", "first"]) {
          const storage = openStorage(uri + name, { ...config });
          await storage.createBucket();
          await storage.close();
        }
        await cli.write("config.json", JSON.stringify(config));
        const words = ["storage", "ls", uri, "--client-config", "@config.json"];
        const listed = await cli.json<ListedEntry[]>(...words);
        assert.deepEqual(
          listed.map(({ path, type }) => [path, type]),
          [
            ["first/", "directory"],
            ["second/", "directory"],
          ],
        );
        assert.deepEqual((await cli.print(...words)).trim().split(/\s+/), ["first/", "second/"]);
        assert.match(await cli.refused(64, ...words, "-r"), /names no bucket/);
      } finally {
        await stop();
      }
    });
  }

  test("on gs:// reports that project is missing", async () => {
    const cli = await commandLine();
    const said = await cli.refused(64, "storage", "ls", "gs://", "--client-config", '{"token": "t"}');
    assert.match(said, /^error: project is missing/);
  });
});

describe("millrace storage on s3://", { skip, timeout: 120_000 }, () => {
  const commandLine = Millrace.use();
  let server: S3Server;
  let storage: Storage;
  before(async () => {
    server = await startVersitygw();
    await server.makeBucket("bucket");
    storage = openStorage("s3://bucket", server.config);
  });
  after(async () => {
    await storage?.close();
    await server?.stop();
  });

  async function configured(...files: string[]): Promise<Millrace> {
    const cli = await withFiles(commandLine, ...files);
    await writeFile(cli.path("s3.json"), JSON.stringify(server.config));
    return cli;
  }
  const config = ["--client-config", "@../s3.json"];

  test("copies up and down, lists, sums, syncs and removes", async () => {
    const cli = await configured("d/a", "d/b/c");
    await cli.print("storage", "cp", "-r", "d", "s3://bucket/up", ...config);
    await cli.print("storage", "cp", "d/a", "s3://bucket", ...config);
    const listed = await cli.json<ListedEntry[]>("storage", "ls", "s3://bucket", "-r", ...config);
    assert.deepEqual(pathsOf(listed), ["a", "up/a", "up/b/c"]);
    assert.equal(await cli.print("storage", "cat", "s3://bucket/up/b/c", ...config), "d/b/c");
    const used = await cli.json<{ files: number }[]>("storage", "du", "s3://bucket/up", ...config);
    assert.equal(used.at(-1)?.files, 2);
    await cli.print("storage", "sync", "s3://bucket/up", "down", ...config);
    assert.equal(await readFile(cli.path("work/down/b/c"), "utf8"), "d/b/c");
    await cli.print("storage", "rm", "-r", "s3://bucket/up", "-y", ...config);
    assert.deepEqual(await Array.fromAsync(storage.list({ recursive: true }), ({ path }) => path), ["a"]);
  });

  test("lets the store copy within a bucket, so that metadata is kept", async () => {
    const cli = await configured();
    await storage.write("within/a", "a", { contentType: "text/x-kept" });
    await cli.print("storage", "cp", "s3://bucket/within/a", "s3://bucket/within/b", ...config);
    await cli.print("storage", "cp", "-r", "s3://bucket/within", "s3://bucket/within-copied", ...config);
    await cli.print("storage", "sync", "s3://bucket/within", "s3://bucket/within-synced", ...config);
    for (const path of ["within/b", "within-copied/a", "within-synced/b"]) {
      const answer = await fetch(await storage.presign(path));
      assert.deepEqual([answer.headers.get("content-type"), await answer.text()], ["text/x-kept", "a"]);
    }
    for (const path of ["within", "within-copied", "within-synced"]) await storage.remove(path, { recursive: true });
  });

  test("never treats a bucket as a file", async () => {
    const cli = await configured();
    assert.match(await cli.refused(64, "storage", "rm", "s3://bucket", ...config), /s3:\/\/bucket is a folder/);
    await storage.write("left/over", "1");
    await cli.print("storage", "rm", "-r", "s3://bucket", "--yes", ...config);
    assert.equal(await cli.print("storage", "ls", "s3://bucket", "--json", ...config), "[]\n");
  });

  test("says what to do when credentials are refused", async () => {
    const cli = await configured();
    const wrong = JSON.stringify({ ...server.config, secret: "wrong" });
    const said = await cli.refused(1, "storage", "ls", "s3://bucket", "--client-config", wrong);
    assert.match(
      said,
      /^error: s3:\/\/bucket: SignatureDoesNotMatch[\s\S]* next: Pass credentials with --client-config/,
    );
  });

  for (const [signal, code] of stops) {
    test(`${signal} aborts a multipart upload, and ends with ${code}`, async () => {
      const cli = await configured();
      const child = pipeInto(cli, Buffer.alloc(12 * 1024 * 1024), "s3://bucket/endless", ...config);
      // A store may still accept parts in transit when an upload is aborted; here there are none.
      await until("the store has two parts", async () => (await server.unfinishedParts("bucket")) === 2);
      child.kill(signal);
      const [ended] = await once(child, "exit");
      assert.deepEqual(
        [ended, await server.unfinishedUploads("bucket"), await storage.exists("endless")],
        [code, 0, false],
      );
    });
  }

  test("a missing object is named, without request ids", async () => {
    const cli = await configured("d/a");
    for (const words of [["ls"], ["stat"], ["du"], ["cat"]]) {
      const said = await cli.refused(1, "storage", ...words, "s3://bucket/none", ...config);
      assert.match(
        said,
        /^error: s3:\/\/bucket\/none: no such file or folder\n next: List the folder: .* s3:\/\/bucket\/\n$/,
      );
    }
    assert.match(await cli.refused(1, "storage", "ls", "s3://nowhere", ...config), /NoSuchBucket.*\n next: /);
    assert.match(await cli.refused(1, "storage", "cp", "d/a", "s3://nowhere/a", ...config), /NoSuchBucket.*\n next: /);
  });

  test("sync from a missing prefix changes nothing, and an empty bucket is empty", async () => {
    const cli = await configured("to/a");
    await server.makeBucket("empty");
    const sync = ["to", "--delete", "--yes", ...config];
    assert.match(
      await cli.refused(1, "storage", "sync", "s3://bucket/none", ...sync),
      /bucket\/none: no such file or folder/,
    );
    assert.match(await cli.refused(1, "storage", "sync", "s3://nowhere", ...sync), /NoSuchBucket/);
    assert.deepEqual(await readdir(cli.path("work/to")), ["a"]);
    await cli.print("storage", "sync", "s3://empty", ...sync);
    assert.deepEqual(await readdir(cli.path("work/to")), []);
  });

  test("copies from bucket to bucket with a config for each side", async () => {
    const cli = await configured();
    await server.makeBucket("other");
    await storage.write("x", "between");
    const both = [...config, "--to-client-config", JSON.stringify({ ...server.config, max_concurrency: 2 })];
    await cli.print("storage", "cp", "s3://bucket/x", "s3://other/y", ...both);
    assert.equal(await cli.print("storage", "cat", "s3://other/y", ...config), "between");
  });
});
