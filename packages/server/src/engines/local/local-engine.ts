/** Runs jobs on the machine of the server. */
import { access, type FileHandle, mkdir, open, readdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { CannotStart, type Engine, type JobSpec, type LogSource, type Observation } from "../engine.ts";
import { AttemptFolder, metricsFile } from "./attempt-folder.ts";
import { type Interpreter, Interpreters } from "./interpreters.ts";
import { scriptComesLast, type Toolbox, writeEnv, writePlan } from "./plan.ts";
import { isAlive, keyVariable, Processes, signalAll } from "./processes.ts";
import { Starter } from "./starter.ts";

export interface LocalEngineOptions {
  readonly dataDir: string;
  readonly bootId: string;
  readonly claimDelay: string;
  /** What of the server's environment jobs see: PATH, certificates, proxies, package indexes. */
  readonly jobEnvironment: Readonly<Record<string, string>>;
  /** A phase of this attempt began, or with `end` the attempt ended. */
  readonly onChange: (key: string, what: string) => void;
}

/** A process that cannot be killed, as one that waits for a dead disk, must not hold up everything else. */
const sweepMs = 2000;

export class LocalEngine implements Engine {
  readonly capabilities = { isolation: "none" } as const;
  readonly interpreters: Interpreters;
  readonly #options: LocalEngineOptions;
  readonly #jobsDir: string;
  readonly #tools: Toolbox;
  readonly #starter: Starter;
  readonly #processes = new Processes();
  /** Attempts whose processes have been asked to end. */
  readonly #asked = new Set<string>();

  static async open(options: LocalEngineOptions): Promise<LocalEngine> {
    await mkdir(join(options.dataDir, "jobs"), { recursive: true, mode: 0o700 });
    await mkdir(join(options.dataDir, "envs"), { recursive: true, mode: 0o700 });
    return new LocalEngine(options, await findTools(options));
  }

  private constructor(options: LocalEngineOptions, tools: Toolbox) {
    this.#options = options;
    this.#jobsDir = join(options.dataDir, "jobs");
    this.#tools = tools;
    this.interpreters = new Interpreters(options.jobEnvironment["PATH"] ?? "");
    const script = join(import.meta.dirname, "starter.sh");
    this.#starter = new Starter(script, [options.bootId, options.claimDelay], (folder, what) =>
      options.onChange(basename(folder), what),
    );
  }

  #folder(key: string): AttemptFolder {
    return new AttemptFolder(this.#jobsDir, key);
  }

  async submit(spec: JobSpec): Promise<void> {
    const folder = this.#folder(spec.key);
    const requirements = spec.queryType === "PYTHON" ? withLibrary(spec) : spec.requirements?.trim() || undefined;
    const needsPython = spec.queryType === "PYTHON" || requirements !== undefined || spec.pythonVersion !== null;
    const interpreter = needsPython ? await this.#interpreter(spec, folder) : undefined;
    const scriptName = scriptFilename(spec);
    folder.make();
    // Finding the interpreter took a moment: the attempt may have been withdrawn meanwhile.
    if (folder.claim() !== "none") return;
    const input = { spec, folder, tools: this.#tools, scriptName, interpreter, requirements };
    folder.write(scriptComesLast(spec, scriptName) ? "query" : join("work", scriptName), spec.query, 0o755);
    folder.write("plan", writePlan(input));
    folder.write("env", writeEnv(this.#environment(spec, folder)));
    if (requirements !== undefined) folder.write("requirements.txt", `${requirements}\n`);
    this.#starter.start(folder.path);
  }

  /** Why a job cannot start is also in its log: whoever follows it sees no other message. */
  async #interpreter({ pythonVersion }: JobSpec, folder: AttemptFolder): Promise<Interpreter> {
    try {
      return await this.interpreters.resolve(pythonVersion);
    } catch (error) {
      folder.make();
      folder.write("log", `${(error as Error).message}\n`);
      throw error;
    }
  }

  /** Ours last: they hold whatever the job's own settings say. */
  #environment(spec: JobSpec, folder: AttemptFolder): Record<string, string> {
    return {
      LANG: "C.UTF-8",
      ...this.#options.jobEnvironment,
      PIP_CACHE_DIR: join(this.#options.dataDir, "cache/pip"),
      UV_CACHE_DIR: join(this.#options.dataDir, "cache/uv"),
      PIP_DISABLE_PIP_VERSION_CHECK: "1",
      PYTHONUNBUFFERED: "1",
      DATACHAIN_NO_ANALYTICS: "1",
      HOME: folder.work,
      ...spec.environment,
      ...(Object.keys(spec.params).length > 0 ? { DATACHAIN_QUERY_PARAMS: JSON.stringify(spec.params) } : {}),
      ...(spec.reset ? { DATACHAIN_IGNORE_CHECKPOINTS: "1" } : {}),
      MILLRACE_JOB_ID: spec.jobId,
      MILLRACE_METRICS_FILE: join(folder.work, metricsFile),
      [keyVariable]: spec.key,
    };
  }

  async observe(key: string, bootId: string): Promise<Observation> {
    const folder = this.#folder(key);
    const sameBoot = bootId === this.#options.bootId;
    // Claimed by a server: withdrawn, and never to begin. A server that died right then has not yet said so. After a
    // restart of the machine nobody can tell any more whether it began, so it never begins again.
    if (sameBoot && folder.claim() !== "supervisor") return { state: "PENDING" };
    const supervisor = folder.supervisor();
    // Asked before the exit record is read: one who ends in between has written it.
    const alive = sameBoot && supervisor !== undefined && isAlive(supervisor);
    const exit = folder.exit();
    const steps = folder.steps(exit);
    if (exit) return { state: "EXITED", steps, exit, metrics: folder.metrics() };
    if (alive) return { state: "RUNNING", steps, querying: steps.at(-1)?.name === "query" };
    return { state: "LOST", steps, why: "the machine restarted or the supervisor was killed" };
  }

  async withdraw(key: string): Promise<boolean> {
    return this.#folder(key).claimForServer();
  }

  async cancel(key: string, force: boolean): Promise<void> {
    // Between two phases there is no process to signal: the supervisor looks for this before it begins one.
    this.#folder(key).write("cancel", "");
    const { pids } = this.#processes.of([key]);
    if (force) return signalAll(pids, "SIGKILL");
    // Those who are there at the first asking, and nobody later: what a script starts to tidy up is left alone until
    // the grace is over. A script that is only just beginning shows no process yet, and is asked when it does.
    if (this.#asked.has(key) || pids.length === 0) return;
    this.#asked.add(key);
    signalAll(pids, "SIGTERM");
  }

  async sweep(keys: readonly string[]): Promise<string[]> {
    // Where a supervisor was killed, the script's first process may still be there.
    const ended = keys.every((key) => this.#folder(key).exit() !== undefined);
    for (const deadline = performance.now() + sweepMs; ; ) {
      const { pids, unclear } = ended ? this.#processes.left(keys) : this.#processes.of(keys);
      if (pids.length === 0 && !unclear) return [];
      if (performance.now() > deadline) return keys.filter((key) => this.#processes.of([key]).pids.length > 0);
      signalAll(pids, "SIGKILL");
      // A killed process is gone when its memory is freed; one that forks meanwhile is found next time round.
      await sleep(pids.length === 0 ? 1 : 5);
    }
  }

  async openLog(key: string): Promise<LogSource> {
    const path = this.#folder(key).log;
    let file: FileHandle | undefined;
    // A job that waits has no log yet; one that is followed gets it later.
    const opened = async () => (file ??= await open(path, "r").catch(() => undefined));
    return {
      size: async () => (await (await opened())?.stat())?.size ?? 0,
      async read(offset, length) {
        const source = await opened();
        if (!source) return Buffer.alloc(0);
        const { buffer, bytesRead } = await source.read(Buffer.allocUnsafe(length), 0, length, offset);
        return buffer.subarray(0, bytesRead);
      },
      close: async () => file?.close(),
    };
  }

  find(): Promise<string[]> {
    return readdir(this.#jobsDir);
  }

  cleanup(key: string): Promise<void> {
    this.#asked.delete(key);
    return this.#folder(key).clean();
  }

  async close(): Promise<void> {
    this.#starter.close();
  }
}

/** The script lies in the working directory under its own name, so that tracebacks and `__file__` say what people know. */
function scriptFilename({ name, queryType }: JobSpec): string {
  const safe =
    (name ?? "")
      .split("/")
      .at(-1)
      ?.replace(/[^\w.-]/g, "_")
      .replace(/^[.-]+/, "")
      .slice(-100) ?? "";
  return safe || (queryType === "PYTHON" ? "query.py" : "query.sh");
}

/** A query that imports the library gets it, listed or not. */
function withLibrary({ query, requirements }: JobSpec): string | undefined {
  const listed = requirements?.trim() ?? "";
  const imports = /^[ \t]*(import|from)[ \t]+datachain\b/m.test(query);
  const has = listed.split("\n").some((line) => /^datachain\b/i.test(line.trim()));
  const needed = imports && !has ? `${listed}\ndatachain`.trim() : listed;
  return needed === "" ? undefined : needed;
}

async function findTools({ dataDir, jobEnvironment }: LocalEngineOptions): Promise<Toolbox> {
  const path = jobEnvironment["PATH"] ?? "";
  const system = `/usr/bin:/bin:${path}`;
  const setsid = await findProgram("setsid", system);
  const env = await findProgram("env", system);
  if (!setsid || !env)
    throw new CannotStart("The programs setsid (util-linux) and env (coreutils) are needed to run jobs.");
  return {
    setsid,
    env,
    uv: await findProgram("uv", path),
    environmentScript: join(import.meta.dirname, "environment.sh"),
    repositoryScript: join(import.meta.dirname, "repository.sh"),
    envsDir: join(dataDir, "envs"),
  };
}

async function findProgram(name: string, path: string): Promise<string | undefined> {
  for (const folder of path.split(":").filter(Boolean)) {
    const candidate = join(folder, name);
    if (
      await access(candidate).then(
        () => true,
        () => false,
      )
    )
      return candidate;
  }
  return undefined;
}
