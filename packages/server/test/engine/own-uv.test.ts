/** Environments built by the uv that the server installs: from the real index, once per data folder. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { serveWheel } from "@millrace/testing/programs/wheels.ts";
import type { IsolationLevel } from "../../src/engines/engine.ts";
import type { LocalEngine } from "../../src/engines/local/local-engine.ts";
import { observeOne } from "../support/attempts.ts";
import { jobSpec } from "../support/job-spec.ts";
import { type LocalFixture, localFixture, whyNot } from "../support/local-engine.ts";

/** Settings with which an operator lets jobs reach an index. */
const settings = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => /^(PATH|PIP_.*|UV_.*|SSL_CERT_.*|https?_proxy|no_proxy)$/i.test(name)),
) as Record<string, string>;

/** Lines of twenty bytes that each compile to a constant of 4 KiB. */
const bloat = (first: number, lines: number) =>
  Array.from(
    { length: lines },
    (_, index) => `a = "${(first * 10_000 + index).toString(16).padStart(8, "0")}" * 512\n`,
  ).join("");

/** Returns why the index cannot be reached; these tests need it. */
async function whyNoIndex(): Promise<false | string> {
  const folder = await mkdtemp(join(tmpdir(), "millrace-index-"));
  const words = ["-m", "pip", "download", "-q", "--no-deps", "--retries", "1", "-d", folder, "six==1.17.0"];
  return promisify(execFile)("python3", words)
    .then(
      () => false as const,
      () => "there is no way to the package index",
    )
    .finally(() => rm(folder, { recursive: true }));
}

const noIndex = await whyNoIndex();
for (const level of ["uid", "bwrap"] as const) {
  const skip = noIndex || (await whyNot(level));
  describe(`environments that uv builds at ${level}`, { skip }, () => ownUv(level));
}

function ownUv(level: IsolationLevel): void {
  let fixture: LocalFixture;
  let engine: LocalEngine;
  let count = 0;
  before(async () => {
    fixture = await localFixture(level);
    engine = await fixture.open({ uv: "auto", jobEnvironment: settings });
  });
  after(async () => {
    await engine.close();
    await fixture.stop();
  });

  async function run(requirements: string, query: string): Promise<string> {
    const job = jobSpec({ jobId: `own-uv-${++count}`, name: "job.py", query, queryType: "PYTHON", requirements });
    await engine.submit(job);
    for (const deadline = Date.now() + 180_000; ; await sleep(50)) {
      const seen = await observeOne(engine, job.key);
      if (seen.state === "EXITED") break;
      assert.ok(Date.now() < deadline, `${job.key} is ${seen.state}`);
    }
    const source = await engine.openLog(job.key);
    const log = (await source.read(0, await source.size())).toString();
    await source.close();
    await engine.sweep([job.key]);
    await engine.cleanup(job.key);
    return log;
  }
  const team = () => join(fixture.dataDir, "envs/1");
  const packages = (environment: string) => {
    const lib = join(team(), environment, "lib");
    return join(lib, readdirSync(lib)[0] ?? "", "site-packages");
  };
  const environments = async () => (await readdir(team())).filter((name) => /^[0-9a-f]{40}$/.test(name));

  async function compiled(name: string): Promise<void> {
    for (const deadline = Date.now() + 60_000; (await readdir(team())).includes(`${name}.compile`); await sleep(50))
      assert.ok(Date.now() < deadline, "it is still to be compiled");
  }

  it("install uv once, and later ones reuse it; installed packages can be imported", async () => {
    const first = await run("six==1.17.0", "import six; print('six', six.__version__)");
    assert.match(first, /^Installing uv [\d.]+, .*\nBuilding virtualenv with Python 3[\s\S]*six 1\.17\.0\n$/);
    const second = await run("six==1.17.0\nidna==3.10", "import idna, six; print('idna', idna.__version__)");
    assert.match(second, /^Building virtualenv with Python 3[\s\S]*idna 3\.10\n$/);
    assert.match(await run("six==1.17.0", "import six; print('again')"), /^Using cached virtualenv\nagain\n$/);
  });

  it("share the files of common packages, which no job can change", async () => {
    const [one = "", other = ""] = await environments();
    const inodes = [one, other].map((name) => statSync(join(packages(name), "six.py")));
    assert.equal(inodes[0]?.ino, inodes[1]?.ino);
    const spoil = `import six\ntry:\n    open(six.__file__, "a").write("x = 1")\nexcept OSError as error:\n    print(type(error).__name__)`;
    assert.match(await run("six==1.17.0", spoil), /^Using cached virtualenv\n(PermissionError|OSError)\n$/);
  });

  it("have locks that no job can open", async () => {
    const locks = (await readdir(team())).filter((name) => name.endsWith(".lock")).map((name) => join(team(), name));
    assert.equal(locks.length, 3);
    for (const path of [...locks, join(fixture.dataDir, "tools/uv.lock")])
      assert.equal(statSync(path).mode & 0o777, 0o600, path);
  });

  it("are compiled to bytecode after the job that needed them has started", async () => {
    for (const name of await environments()) {
      await compiled(name);
      assert.match(readdirSync(join(packages(name), "__pycache__")).join(), /six\.cpython-\d+\.pyc/);
    }
  });

  it("that a server did not compile are compiled by the next one, even if their cache is gone", async () => {
    const [name = ""] = await environments();
    const python = realpathSync(join(team(), name, "bin/python"));
    await engine.close();
    await rm(join(team(), "cache"), { recursive: true });
    await rm(join(packages(name), "__pycache__"), { recursive: true });
    await writeFile(join(team(), `${name}.compile`), `${python}\n${dirname(dirname(python))}\n`);
    engine = await fixture.open({ uv: "auto", jobEnvironment: settings });
    await compiled(name);
    assert.match(readdirSync(join(packages(name), "__pycache__")).join(), /six\.cpython-\d+\.pyc/);
  });

  it("are compiled without running code of their packages, and without files that would compile to gigabytes", async () => {
    const index = await serveWheel("startled", {
      "startled.pth": "import os, sys; open(os.path.join(sys.prefix, 'lib', 'ran'), 'w')\n",
      "startled.py": "print('imported')\n",
      "endless.py": "a = [b, c]\n".repeat(150_000),
      ...Object.fromEntries(Array.from({ length: 400 }, (_, index) => [`bloat${index}.py`, bloat(index, 15)])),
      "bloat.py": bloat(400, 2000),
    });
    const before = await environments();
    const log = await run(`--extra-index-url ${index.url}\nstartled==1.0`, "import startled").finally(index.close);
    assert.match(log, /imported\n$/);
    const [name = ""] = (await environments()).filter((one) => !before.includes(one));
    await compiled(name);
    const modules = readdirSync(join(packages(name), "__pycache__")).join();
    assert.match(modules, /startled\.cpython/);
    assert.doesNotMatch(modules, /endless|bloat\./);
    const small = readdirSync(join(packages(name), "__pycache__")).filter((one) => one.startsWith("bloat"));
    assert.ok(small.length > 100 && small.length < 350, `${small.length} of 400 that are 60 KiB each`);
    assert.ok(!readdirSync(join(team(), name, "lib")).includes("ran"));
  });

  it("with packages that must be built are built and sealed", async () => {
    const log = await run("docopt==0.6.2", "import docopt; print('docopt', docopt.__version__)");
    assert.match(log, /^Building virtualenv[\s\S]*docopt 0\.6\.2\n$/);
  });

  it("that cannot be built report the reason once", async () => {
    const log = await run("there-is-no-such-package-of-ours==1.0", "print('never')");
    assert.match(log, /there-is-no-such-package-of-ours[\s\S]*The virtualenv could not be built\n$/);
    assert.equal(log.match(/Building virtualenv/g)?.length, 1);
  });

  it("that exceed the disk limit leave nothing in the team's cache", async () => {
    const index = await serveWheel("fat", { "fat.txt": "x".repeat(30 * 1024 * 1024) });
    const limits = { seconds: 0, memory: 0, processes: 0, openFiles: 0, log: 0, disk: 20 * 1024 * 1024 };
    await engine.close();
    engine = await fixture.open({ uv: "auto", jobEnvironment: settings, limits });
    const before = await environments();
    await run(`--extra-index-url ${index.url}\nfat==1.0`, "print('never')").finally(index.close);
    assert.deepEqual(await environments(), before);
    assert.deepEqual(
      (await readdir(team())).filter((name) => /^cache/.test(name) && name !== "cache.lock"),
      [],
    );
  });

  // Slow, and independent of the isolation level.
  if (level !== "uid") return;
  const tools = () => readdir(join(fixture.dataDir, "tools"));
  const nowhere = { ...settings, PIP_INDEX_URL: "http://127.0.0.1:9/simple", PIP_FIND_LINKS: "" };

  async function until(happened: () => Promise<boolean>): Promise<void> {
    for (const deadline = Date.now() + 120_000; !(await happened()); await sleep(10)) assert.ok(Date.now() < deadline);
  }

  /** Opens the engine without uv, and begins to install it before any job needs it. */
  async function prepareWith(jobEnvironment: Record<string, string>): Promise<void> {
    await engine.close();
    await rm(join(fixture.dataDir, "tools"), { recursive: true });
    engine = await fixture.open({ uv: "auto", jobEnvironment });
    await engine.prepare();
    await until(async () => (await tools()).includes("uv.log"));
  }

  /** Waits until no installation is under way. */
  const settled = () =>
    promisify(execFile)("flock", ["-w", "120", join(fixture.dataDir, "tools/uv.lock"), "true"]).then(() => {});

  it("need not wait for uv if the server has installed it before", async () => {
    await prepareWith(settings);
    await settled();
    assert.match(await run("# early", "print('it runs')"), /^Building virtualenv[\s\S]*it runs\n$/);
  });

  it("wait for uv while the server installs it", async () => {
    await prepareWith(settings);
    const log = await run("# at the same time", "print('it runs')");
    assert.match(log, /^Waiting for uv, which is being installed\nBuilding virtualenv[\s\S]*it runs\n$/);
  });

  it("install uv if the server was stopped while it installed it", async () => {
    await prepareWith(settings);
    await engine.close();
    await settled();
    engine = await fixture.open({ uv: "auto", jobEnvironment: settings });
    const log = await run("# after a stop", "print('it runs')");
    assert.match(log, /^Installing uv [\s\S]*it runs\n$/);
    assert.ok(!(await tools()).includes("uv.new"), "what was left of the first try is gone");
  });

  it("install uv if the server could not, as without a network when the machine started", async () => {
    await prepareWith(nowhere);
    await until(async () => !(await tools()).some((name) => name === "uv.new" || name === "uv.failed"));
    await settled();
    await engine.close();
    engine = await fixture.open({ uv: "auto", jobEnvironment: settings });
    assert.match(await run("# with a network", "print('it runs')"), /^Installing uv [\s\S]*it runs\n$/);
  });

  it("are built by pip if uv is not available, and the log says why", async () => {
    await engine.close();
    await rm(join(fixture.dataDir, "tools"), { recursive: true });
    engine = await fixture.open({ uv: "auto", jobEnvironment: nowhere });
    const log = await run("# nothing but comments", "print('it runs')");
    assert.match(log, /uv could not be installed, so pip builds this virtualenv, .*ERROR.*\n[\s\S]*it runs\n$/);
    assert.ok(readFileSync(join(fixture.dataDir, "tools/uv.failed"), "utf8") !== "");
    const again = await run("# and once more", "print('it runs')");
    assert.doesNotMatch(again, /^Installing uv/, "one try in a while is enough");
  });
}
