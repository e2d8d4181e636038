/**
 * Shared environments: the key determines the content, whoever built it. In each attack a first job builds an
 * environment, and a second job of a colleague with the same requirements must not find the planted code in it.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { makeWheel } from "@millrace/testing/programs/wheels.ts";
import type { IsolationLevel, JobSpec } from "../../src/engines/engine.ts";
import { AttemptFolder } from "../../src/engines/local/attempt/attempt-folder.ts";
import { DiskWatch } from "../../src/engines/local/attempt/limits.ts";
import type { LocalEngine } from "../../src/engines/local/local-engine.ts";
import { fileAt } from "../../src/execution/job-file.ts";
import { observeOne } from "../support/attempts.ts";
import { jobSpec } from "../support/job-spec.ts";
import { type LocalFixture, localFixture, whyNot } from "../support/local-engine.ts";

const run = promisify(execFile);

// A hard link needs a file system that jobs can write to: the tests' own folders are on it.
process.env["TMPDIR"] = "/tmp";

/** Code that copies itself into the environment under construction, wherever it runs. */
const planted = `import glob, os, sys
print("PLANTED CODE RUNS")
for place in [os.path.join(os.environ.get("VENV", "/nowhere"), "lib/*/site-packages"), *sys.path, sys.prefix + "/lib/*/site-packages"]:
    for folder in glob.glob(place):
        if "site-packages" in folder and "/envs/" in folder:
            open(os.path.join(folder, "planted.pth"), "w").write("import sys; print('PLANTED CODE RUNS')\\n")
`;
/** A source archive that builds itself without any dependency. */
const makeArchive = `import io, sys, tarfile
path, code = sys.argv[1:3]
with tarfile.open(path, "w:gz") as archive:
    for name, text in {
        "pyproject.toml": '[build-system]\\nrequires = []\\nbuild-backend = "backend"\\nbackend-path = ["."]\\n',
        "PKG-INFO": "Metadata-Version: 2.1\\nName: linked\\nVersion: 1.0\\n",
        "backend.py": code,
    }.items():
        info = tarfile.TarInfo("linked-1.0/" + name)
        info.size = len(text.encode())
        archive.addfile(info, io.BytesIO(text.encode()))
`;

const levels = [
  { level: "uid", skip: await whyNot("uid") },
  { level: "bwrap", skip: await whyNot("bwrap") },
] as const;

/**
 * A build takes seconds, and much of the protection is the same at both levels. If both work here, each test runs at
 * one of them; the long form (MILLRACE_LONG_TESTS=1) runs it at both.
 */
const runsAtBoth = process.env["MILLRACE_LONG_TESTS"] === "1" || levels.some(({ skip }) => skip !== false);
for (const { level, skip } of levels) describe(`environments at ${level}`, { skip }, () => environments(level));

describe("an environment that is being built", () => {
  it("counts toward the disk limit of the job that builds it", async () => {
    const dataDir = await mkdtemp(join(tmpdir(), "millrace-building-"));
    const folder = new AttemptFolder(dataDir, "job.1");
    folder.make();
    const limits = { seconds: 0, memory: 0, processes: 0, openFiles: 0, log: 0, disk: 1024 ** 2 };
    const why = () => new DiskWatch().over(folder, limits, 0);
    const built = join(dataDir, "environment");
    await mkdir(built);
    await writeFile(join(built, "large"), Buffer.alloc(2 * 1024 ** 2, 1));
    assert.equal(await why(), undefined);
    folder.write("building", `${built}\n`);
    assert.match((await why()) ?? "", /exceeded its limit of 1 MiB in its folders/);
    // With a cache only its growth counts.
    await rm(join(built, "large"));
    await mkdir(join(dataDir, "cache"));
    await writeFile(join(dataDir, "cache/package"), Buffer.alloc(2 * 1024 ** 2, 1));
    folder.write("building", `${built}\n${2 * 1024 ** 2}\n`);
    assert.equal(await why(), undefined);
    folder.write("building", `${built}\n4096\n`);
    assert.match((await why()) ?? "", /exceeded its limit of 1 MiB in its folders/);
    await rm(dataDir, { recursive: true });
  });
});

function environments(level: IsolationLevel): void {
  let fixture: LocalFixture;
  let engine: LocalEngine;
  let folder: string;
  let count = 0;

  before(async () => {
    fixture = await localFixture(level);
    folder = await mkdtemp(join(tmpdir(), "millrace-planted-"));
    await chmod(folder, 0o755);
    // Nothing listens there, so only packages among the job's own files can be installed.
    const index = {
      PIP_INDEX_URL: "http://127.0.0.1:9/simple",
      PIP_RETRIES: "0",
      UV_INDEX_URL: "http://127.0.0.1:9/simple",
    };
    engine = await fixture.open({ jobEnvironment: { PATH: process.env["PATH"] ?? "", ...index } });
  });
  after(async () => {
    await engine.close();
    await fixture.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const spec = (rest: Partial<JobSpec>) =>
    jobSpec({
      jobId: `environment-${++count}`,
      name: "job.py",
      query: "print('the job runs')",
      queryType: "PYTHON",
      ...rest,
    });
  const start = async (rest: Partial<JobSpec>) => {
    const job = spec(rest);
    await engine.submit(job);
    for (const deadline = Date.now() + 120_000; ; await sleep(20)) {
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
  };
  /** A file that is attached to a job. */
  const file = async (name: string, text: string) => {
    const path = join(folder, `${++count}-${name}`);
    await writeFile(path, text);
    return { path, ...fileAt(path, name) };
  };
  const wheel = async (name: string, text: string) => {
    const place = join(folder, `wheel-${++count}`);
    await mkdir(place);
    const made = await makeWheel(place, name, "1.0", text);
    return { ...made, ...fileAt(made.path, made.name) };
  };

  const repository = async (files: Record<string, string>) => {
    const place = join(folder, `repository-${++count}`);
    await run("git", ["init", "-q", place]);
    for (const [name, text] of Object.entries(files)) {
      await mkdir(join(place, name, ".."), { recursive: true });
      await writeFile(join(place, name), text);
    }
    return place;
  };
  const commit = async (place: string) => {
    await run("git", ["-C", place, "add", "-f", "."]);
    await run("git", ["-C", place, "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "one"]);
    await run("chmod", ["-R", "a+rX", place]);
    return place;
  };

  const absent = "millrace_absent_package";
  const evil = { requirements: absent, query: `import ${absent}` };
  const config = "[global]\nno-index = true\nfind-links = .\n";
  const uvConfig = 'no-index = true\nfind-links = ["."]\n';
  const wheelOfThatName = () => wheel(absent, "PLANTED CODE RUNS");
  const attacks: Record<string, () => Promise<Partial<JobSpec>>> = {
    "a module named like one of Python's": async () => ({
      files: [await file("venv.py", planted), await file("ensurepip.py", planted), await file("pip.py", planted)],
    }),
    PIP_FIND_LINKS: async () => ({
      ...evil,
      environment: { PIP_FIND_LINKS: ".", UV_FIND_LINKS: ".", PIP_NO_INDEX: "1", UV_NO_INDEX: "1" },
      files: [await wheelOfThatName()],
    }),
    PIP_CONFIG_FILE: async () => ({
      ...evil,
      environment: { PIP_CONFIG_FILE: "pip.conf", UV_CONFIG_FILE: "uv.toml" },
      files: [await wheelOfThatName(), await file("pip.conf", config), await file("uv.toml", uvConfig)],
    }),
    "settings in HOME and in the working folder": async () => {
      const place = await repository({
        ".config/pip/pip.conf": config,
        ".pydistutils.cfg": "[easy_install]\nfind_links = .\n",
        ".gitconfig": "[core]\n\tfsmonitor = echo PLANTED CODE RUNS\n",
        "setup.cfg": "[easy_install]\nfind_links = .\n",
        "uv.toml": uvConfig,
      });
      const { path, name } = await wheelOfThatName();
      await run("cp", [path, join(place, name)]);
      return {
        ...evil,
        environment: { HOME: "./", GIT_CONFIG_GLOBAL: ".gitconfig" },
        repository: `file://${await commit(place)}`,
      };
    },
  };

  const at = (where: IsolationLevel, name: string, work: () => Promise<void>) =>
    (runsAtBoth || where === level) && it(name, { timeout: 240_000 }, work);

  for (const [name, attack] of Object.entries(attacks)) {
    at("uid", `are built without ${name}`, async () => {
      const { requirements = `# ${name}`, ...first } = await attack();
      const built = await start({ ...first, requirements });
      assert.match(built, /Building virtualenv/);
      assert.doesNotMatch(built, /PLANTED CODE RUNS/);
    });
  }

  /** A query that tells whether it can read a module of another job's environment. */
  const reader = (path: string) => `try:
    print("READ", open(${JSON.stringify(path)}).read())
except OSError as error:
    print("CLOSED", error.errno)
`;
  const whereIsIt = (module: string) => `import ${module}; print("at", ${module}.__file__)`;
  const pathIn = (log: string) => /^at (.*)$/m.exec(log)?.[1] ?? "";

  at("uid", "are closed to jobs of other teams, which see their paths in the list of processes", async () => {
    const packed = await wheel("millrace_private", "private code");
    const shared = { requirements: `./${packed.name}`, files: [packed] };
    const path = pathIn(await start({ ...shared, query: whereIsIt("millrace_private") }));
    assert.match(path, /\/envs\/1\//);
    assert.match(await start({ query: reader(path) }), /CLOSED/, "a job of the team that needs no environment");
    assert.match(await start({ ...shared, query: reader(path) }), /READ[\s\S]*private code/, "a colleague's job");
    assert.match(await start({ teamId: 2, query: reader(path) }), /CLOSED 13/);
    assert.match(await start({ teamId: 2, requirements: "# none", query: reader(path) }), /CLOSED 13/);
  });

  at("bwrap", "contain no code that was planted with PYTHONPATH and a sitecustomize.py", async () => {
    const requirements = "# with variables of the builder's";
    const files = [await file("sitecustomize.py", planted)];
    const built = await start({ requirements, files, environment: { PYTHONPATH: "." } });
    assert.match(
      built,
      /Building virtualenv[\s\S]*PLANTED CODE RUNS[\s\S]*the job runs/,
      "in the builder's own query it runs",
    );
    assert.doesNotMatch(await start({ requirements }), /PLANTED CODE RUNS/, built);
  });

  at("uid", "contain no code of a process that the clone of a repository left running", async () => {
    const place = await commit(await repository({ file: "" }));
    // The code looks for the builder, which has the same user, and writes into its folder.
    const watcher = `import glob, os, time
end = time.time() + 60
while time.time() < end:
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try: words = open(path).read().split("\\0")
        except OSError: continue
        for word in words:
            at = word.find("/envs/")
            if at < 0: continue
            venv = word[: at + 6 + 40]
            for folder in glob.glob(venv + "/lib/*/site-packages"):
                try: open(folder + "/planted.pth", "w").write("import sys; print('PLANTED CODE RUNS')\\n")
                except OSError: pass
    time.sleep(0.005)
`;
    const script = join(folder, "watcher.py");
    await writeFile(script, watcher);
    const leave = `(setsid python3 -S ${script} >/dev/null 2>&1 &); exec git -c safe.directory='*' upload-pack ${place} #`;
    const shown = level === "bwrap" ? { jobPaths: [{ path: folder, mode: "ro" as const }] } : {};
    await engine.close();
    engine = await fixture.open({ jobEnvironment: { PATH: process.env["PATH"] ?? "" }, ...shown });
    const requirements = "# beside a process that stayed";
    const built = await start({
      requirements,
      repository: "somebody@somewhere:repository",
      environment: { GIT_SSH_COMMAND: `sh -c "${leave.replaceAll('"', '\\"')}"` },
    });
    assert.match(built, /Building virtualenv/);
    assert.doesNotMatch(await start({ requirements }), /PLANTED CODE RUNS/);
  });

  at(
    "uid",
    "have a folder only once no process of an earlier phase is left, which could write to it through a helper",
    async () => {
      const place = await commit(await repository({ file: "" }));
      const [script, marker] = [join(folder, "marker.py"), join(folder, "alive")];
      await writeFile(script, `import os\nwhile True: os.utime(${JSON.stringify(marker)})\n`);
      await writeFile(marker, "");
      await chmod(marker, 0o666);
      await engine.close();
      engine = await fixture.open({ jobEnvironment: { PATH: process.env["PATH"] ?? "" } });
      const known = await readdir(join(fixture.dataDir, "envs/1"));
      const leave = `(setsid python3 -S ${script} >/dev/null 2>&1 &); exec git -c safe.directory='*' upload-pack ${place} #`;
      // A direct reference is built as the job's own user.
      const built = await start({
        requirements: "# a @ b",
        repository: "somebody@somewhere:repository",
        environment: { GIT_SSH_COMMAND: `sh -c "${leave.replaceAll('"', '\\"')}"` },
      });
      assert.match(built, /Building virtualenv/);
      const all = await readdir(join(fixture.dataDir, "envs/1"));
      const [made = ""] = all.filter((name) => /^[0-9a-f]{40}$/.test(name) && !known.includes(name));
      const { birthtimeNs } = await stat(join(fixture.dataDir, "envs/1", made), { bigint: true });
      const { mtimeNs } = await stat(marker, { bigint: true });
      assert.ok(mtimeNs > 0n && mtimeNs <= birthtimeNs, `alive ${(mtimeNs - birthtimeNs) / 1000n} us after`);
    },
  );

  at("bwrap", "are stored with their team's, with their size", async () => {
    await start({ requirements: "# sized", teamId: 5 });
    const names = await readdir(join(fixture.dataDir, "envs/5"));
    const size = names.find((name) => name.endsWith(".size")) ?? "";
    assert.ok(Number(await readFile(join(fixture.dataDir, "envs/5", size), "utf8")) > 1_000_000);
    assert.match(await start({ requirements: "# sized", teamId: 5 }), /Using cached virtualenv/);
  });

  at("uid", "that exceed the job's disk limit are discarded, however quickly they were built", async () => {
    const limits = { seconds: 0, memory: 0, processes: 0, openFiles: 0, log: 0, disk: 1024 ** 2 };
    const small = await fixture.open({ limits, jobEnvironment: { PATH: process.env["PATH"] ?? "" } });
    const job = spec({ requirements: "# too large", teamId: 6 });
    await small.submit(job);
    for (const deadline = Date.now() + 120_000; ; await sleep(20)) {
      const seen = await observeOne(small, job.key);
      assert.ok(Date.now() < deadline, `${job.key} is ${seen.state}`);
      if (seen.state !== "EXITED") continue;
      assert.match(
        seen.overLimit ?? "",
        /exceeded its limit of 1 MiB in its folders \(server setting MILLRACE_JOB_DISK/,
      );
      break;
    }
    await small.sweep([job.key]);
    await small.cleanup(job.key);
    await small.close();
    const left = await readdir(join(fixture.dataDir, "envs/6"));
    assert.deepEqual(
      left.filter((name) => !/\.lock$|^cache$/.test(name)),
      [],
    );
  });

  at("bwrap", "differ if a file that a named file names differs, and are shared otherwise", async () => {
    const named = async (says: string) => ({
      requirements: "-r more.txt",
      query: "import named",
      files: [await file("more.txt", "./named-1.0-py3-none-any.whl\n"), await wheel("named", says)],
    });
    const one = await named("one");
    assert.match(await start(one), /Building virtualenv[\s\S]*one\n/);
    assert.match(await start(await named("two")), /Building virtualenv[\s\S]*two\n/);
    assert.match(await start(one), /Using cached virtualenv\none\n/);
  });

  at("uid", "that install a folder of the job, or a path of the machine, are private to the job", async () => {
    const there = await wheel("elsewhere", "from elsewhere");
    for (const requirements of [there.path, `elsewhere @ file://${there.path}`, there.path]) {
      const job = { requirements, query: "import elsewhere" };
      assert.doesNotMatch(await start(job), /Using cached virtualenv/);
    }
  });

  const listThatIsGone = async () => {
    const place = await mkdtemp(join(folder, "gone-"));
    await chmod(place, 0o755);
    const list = join(place, "list.txt");
    const attacks = [`-r file://${list}`, `# pinned\f-r ${list}`];
    const there = await wheel("planted", "PLANTED CODE RUNS");
    await writeFile(list, `${there.path}\n`);
    const job = (requirements: string) => ({ requirements, query: "import planted" });
    for (const attack of attacks) {
      const built = await start(job(attack));
      assert.match(built, /Building virtualenv[\s\S]*PLANTED CODE RUNS/, "the builder itself asked for it");
    }
    await rm(list);
    for (const attack of attacks) {
      const log = await start(job(attack));
      assert.doesNotMatch(log, /Using cached virtualenv|PLANTED CODE RUNS/, attack);
    }
  };
  // At bwrap a job does not see that directory.
  if (level === "uid")
    at("uid", "contain nothing from a removed package list on this machine, however it is spelled", listThatIsGone);

  at("bwrap", "of a job with a person's secrets are that person's; others share the team's", async () => {
    const requirements = "# whose is it";
    const first = async (rest: Partial<JobSpec>) => /Building/.test(await start({ requirements, ...rest }));
    const built = [];
    for (const rest of [{}, { person: 1 }, { person: 2 }, {}, { person: 1 }, { teamId: 2 }])
      built.push(await first(rest));
    assert.deepEqual(built, [true, true, true, false, false, true]);
  });

  at("uid", "are not used if their builder keeps a hard link to one of their files", async () => {
    // At bwrap a hard link is impossible: for the builder, the folder is a separate file system.
    const code = `import os, sys
def build_wheel(folder, *_):
    for name in (os.environ["TMPDIR"] + "/kept", "/var/tmp/millrace-kept-${process.pid}"):
        try: os.link(sys.prefix + "/pyvenv.cfg", name); print("LINKED")
        except OSError as error: print(error)
    import zipfile
    name = "linked-1.0-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(folder, name), "w") as wheel:
        wheel.writestr("linked.py", "print('installed')")
        wheel.writestr("linked-1.0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: linked\\nVersion: 1.0\\n")
        wheel.writestr("linked-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\\nGenerator: t\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr("linked-1.0.dist-info/RECORD", "")
    return name
`;
    const path = join(folder, "linked-1.0.tar.gz");
    await run("python3", ["-c", makeArchive, path, code]);
    const job = {
      requirements: "./linked-1.0.tar.gz",
      query: "import linked",
      files: [fileAt(path, "linked-1.0.tar.gz")],
    };
    const log = await start(job);
    if (level === "bwrap") assert.match(log, /installed\n$/);
    else assert.match(log, /contains a file that has another hard link/);
    await rm(`/var/tmp/millrace-kept-${process.pid}`, { force: true });
  });
}
