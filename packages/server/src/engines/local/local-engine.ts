/** The local engine: runs jobs on the server's own machine. */
import { chmodSync, existsSync, readdirSync } from "node:fs";
import { mkdir, readdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { UsageSample } from "@millrace/contract";
import { jobRecord } from "../../datachain/job-record.ts";
import { PlugIns, pathWithPlugIns, plugInFolder } from "../../datachain/plug-ins/plug-ins.ts";
import { isOnlyLibrary } from "../../datachain/requirements.ts";
import { jobVariables, noAnalytics, requestVariables, warehouseVariables } from "../../datachain/variables.ts";
import { runtimeOf } from "../../runtimes/runtimes.ts";
import {
  type Attempt,
  CannotStart,
  type Engine,
  type Exit,
  type JobSpec,
  type LogSource,
  type Observation,
} from "../engine.ts";
import { type JobLimits, overMemory } from "../limit-words.ts";
import { LogFile } from "../log-file.ts";
import { type InsideScript, insideScripts, readInsideScripts } from "../phases/inside-scripts.ts";
import { scriptFilename } from "../phases/job-script.ts";
import { appendSample, isDue, readSamples } from "../usage-file.ts";
import type { LocalDatasets, StrangersPlace, WarehousePlaces, WarehouseView } from "../warehouse-view.ts";
import { Ages } from "./attempt/ages.ts";
import { AttemptFolder, metricsFile } from "./attempt/attempt-folder.ts";
import { AttemptProcesses } from "./attempt/attempt-processes.ts";
import { DiskWatch, overLimit, overLog } from "./attempt/limits.ts";
import { type LocalSpec, onThisMachine } from "./attempt/local-spec.ts";
import { LogMarks } from "./attempt/log-marks.ts";
import type { EngineFolders } from "./engine-folders.ts";
import { CompileEnvironments, compileMark } from "./environments/compile-environments.ts";
import { buildSettings } from "./environments/environments.ts";
import { type Interpreter, Interpreters } from "./environments/interpreters.ts";
import { KeptEnvironments } from "./environments/kept-environments.ts";
import type { Toolbox } from "./environments/plan-input.ts";
import { TeamEnvironments } from "./environments/team-environments.ts";
import type { Isolation } from "./isolation/isolation.ts";
import { type IsolationOptions, type OpenedIsolation, openIsolation } from "./isolation/open-isolation.ts";
import { findProgram, findPrograms } from "./isolation/programs.ts";
import { confine, queryFile, scriptComesLast, writeEnv, writePlan } from "./plan.ts";
import { Cgroups, type Group, type Usage } from "./processes/cgroups.ts";
import { variablesRoom, whyNotGiven } from "./processes/process-room.ts";
import { ageOf, bytesInMemory, isAlive, keyVariable, signalAll, usageOf } from "./processes/processes.ts";
import { Starter } from "./processes/starter.ts";

/**
 * Which uv builds virtualenvs. `auto`: the machine's uv or, if the machine has none, a uv that the server installs.
 * `machine`: only the machine's uv. `never`: no uv. If there is no uv, pip builds the virtualenvs.
 */
const uvChoices = ["auto", "machine", "never"] as const;

export interface LocalEngineOptions extends Omit<IsolationOptions, "wanted" | "countsMemory"> {
  readonly uv: (typeof uvChoices)[number];
  readonly isolation: IsolationOptions["wanted"];
  readonly limits: JobLimits;
  readonly bootId: string;
  readonly claimDelay: string;
  /** Locates the teams' warehouses. */
  readonly warehouses: WarehousePlaces;
  /** Called when an attempt changes. `what` is the phase that has started, or `end` if the attempt has ended. */
  readonly onChange: (key: string, what: string) => void;
  /** Called after the removal of a virtualenv. `error` is set if the removal failed. */
  readonly onEnvironmentRemoved: (environment: string, error?: unknown) => void;
}

/** If no supervisor claims an attempt within this many milliseconds, the start of the attempt has failed. */
const claimPatienceMs = 30_000;

/** Age in milliseconds from which the resource usage of an attempt is sampled. */
const youngMs = 500;
/**
 * Time limit for killing processes, in milliseconds. Some processes cannot be killed, for example one that waits for a
 * dead disk.
 */
const sweepMs = 2000;

/** An attempt that is about to start. */
interface NewAttempt {
  readonly spec: LocalSpec;
  readonly folder: AttemptFolder;
  /** User id of the attempt; undefined if it runs as the server's user. */
  readonly uid: number | undefined;
  /** The job's environment variables. */
  readonly environment: Readonly<Record<string, string>>;
  /** The machine's Python interpreter for the job; undefined if the job needs no Python. */
  readonly interpreter: Interpreter | undefined;
  /** Packages to install, one per line; undefined if the attempt needs no virtualenv. */
  readonly requirements: string | undefined;
}

const groupsInUse = (jobsDir: string): ReadonlySet<string> =>
  new Set(readdirSync(jobsDir).flatMap((key) => new AttemptFolder(jobsDir, key).group()?.name ?? []));

/** Whether jobs with their own users may be running. */
const ownedAttempts = (jobsDir: string): boolean =>
  readdirSync(jobsDir).some((key) => new AttemptFolder(jobsDir, key).owner() > 0);

export class LocalEngine implements Engine {
  readonly capabilities: Engine["capabilities"];
  /** Boot id of the machine. An attempt with another boot id cannot be running any more. */
  readonly epoch: string;
  readonly environments: KeptEnvironments;
  readonly interpreters: Interpreters;
  /** For each isolation level that is stronger than the chosen one, the reason why it does not work on this machine. */
  readonly missing: readonly string[];
  readonly warnings: readonly string[];
  readonly #options: LocalEngineOptions;
  readonly #jobsDir: string;
  readonly #tools: Toolbox;
  readonly #isolation: Isolation;
  readonly #cgroups: Cgroups | undefined;
  readonly #starter: Starter;
  readonly #compiling: CompileEnvironments;
  readonly #processes: AttemptProcesses;
  readonly #disk = new DiskWatch();
  readonly #room = variablesRoom();
  /** Keys of attempts whose processes have been sent SIGTERM. */
  readonly #asked = new Set<string>();
  /** Time of the last usage sample in milliseconds since the Unix epoch, by attempt key. */
  readonly #sampled = new Map<string, number>();
  readonly #ages = new Ages();
  readonly #logs = new LogMarks();
  readonly #uncleaned = new Set<string>();
  /** Keys of attempts of which a supervisor has said that it runs them. */
  readonly #begun = new Set<string>();
  readonly #submitting = new Map<string, Promise<null>>();
  /** When this process submitted each attempt, in milliseconds of the monotonic clock, by attempt key. */
  readonly #started = new Map<string, number>();
  readonly #scripts: ReadonlyMap<InsideScript, string>;

  static async open(options: LocalEngineOptions): Promise<LocalEngine> {
    const { folders } = options;
    for (const folder of [folders.jobs, folders.environments]) await mkdir(folder, { recursive: true, mode: 0o700 });
    const programs = await findPrograms(options.jobEnvironment);
    const cgroups = Cgroups.open(folders, options.limits, groupsInUse(folders.jobs));
    const countsMemory = cgroups !== undefined || options.limits.memory === 0;
    const opened = await openIsolation({ ...options, wanted: options.isolation, countsMemory }, programs).catch(
      (error: unknown) => {
        cgroups?.close();
        throw error;
      },
    );
    if (opened.isolation.level === "uid") openFolders(folders);
    const isRoot = process.getuid?.() === 0;
    if (isRoot && !ownedAttempts(folders.jobs)) TeamEnvironments.closeAll(folders.environments);
    const engine = new LocalEngine(options, await findTools(options), await readInsideScripts(), opened, cgroups);
    engine.#compiling.addAll();
    return engine;
  }

  private constructor(
    options: LocalEngineOptions,
    tools: Toolbox,
    scripts: ReadonlyMap<InsideScript, string>,
    { isolation, missing }: OpenedIsolation,
    cgroups: Cgroups | undefined,
  ) {
    this.#options = options;
    this.#jobsDir = options.folders.jobs;
    this.#tools = tools;
    this.#scripts = scripts;
    this.#isolation = isolation;
    this.#processes = new AttemptProcesses((folder) => isolation.holdsUser(folder));
    this.missing = missing;
    this.warnings = isolation.warnings;
    this.capabilities = { isolation: isolation.level };
    this.epoch = options.bootId;
    this.environments = new KeptEnvironments({
      envsDir: tools.envsDir,
      environmentOf: (key) => this.#folder(key).venv(),
      onRemoved: options.onEnvironmentRemoved,
    });
    this.#cgroups = cgroups;
    this.interpreters = new Interpreters(options.jobEnvironment["PATH"] ?? "", isolation.asJob);
    this.#compiling = new CompileEnvironments({
      envsDir: tools.envsDir,
      confine: (view) => isolation.confine(view),
    });
    this.#starter = new Starter({
      script: join(import.meta.dirname, "starter.sh"),
      args: [options.bootId, options.claimDelay],
      startWith: isolation.startWith,
      onChange: (folder, what) => {
        this.#begun.add(basename(folder));
        if (what === "query") this.#compile(folder);
        options.onChange(basename(folder), what);
      },
    });
  }

  /** Queues the attempt's virtualenv for compilation to bytecode, if it is not compiled yet. */
  #compile(path: string): void {
    const environment = this.#folder(basename(path)).venv();
    if (environment !== "" && existsSync(environment + compileMark)) this.#compiling.add(environment);
  }

  #folder(key: string): AttemptFolder {
    return new AttemptFolder(this.#jobsDir, key);
  }

  /**
   * Submits an attempt. Concurrent calls with the same key share one submission, because the attempt's folder belongs
   * to a single user id.
   */
  async submit(spec: JobSpec): Promise<null> {
    const underWay = this.#submitting.get(spec.key);
    if (underWay) return underWay;
    const submitting = this.#submit(onThisMachine(spec, this.#options.warehouses)).finally(() =>
      this.#submitting.delete(spec.key),
    );
    this.#submitting.set(spec.key, submitting);
    return submitting;
  }

  async #submit(spec: LocalSpec): Promise<null> {
    const folder = this.#folder(spec.key);
    const wanted = spec.requirements?.trim() || undefined;
    const interpreter = await this.#interpreter(spec, folder, wanted !== undefined);
    const environment = this.#environment(spec, folder, interpreter);
    const why = whyNotGiven(environment, this.#room);
    if (why !== undefined) this.#refuse(folder, why);
    // If the interpreter already has the only required package, no virtualenv is needed.
    const requirements = wanted && isOnlyLibrary(wanted, interpreter?.library ?? "") ? undefined : wanted;
    folder.make();
    const isNew = folder.owner() === -1;
    // Fetch files before taking a user id, because a download can take long.
    if (isNew) for (const [index, file] of spec.files.entries()) await file.placeAt(folder.staged(index));
    const uid = isNew ? await this.#isolation.takeUser(folder) : undefined;
    // The attempt may have been withdrawn during the calls above.
    if (folder.claim() !== "none") {
      if (uid !== undefined) this.#isolation.freeUser(uid, folder);
      return null;
    }
    if (isNew) this.#prepare({ spec, folder, uid, environment, interpreter, requirements });
    this.#started.set(spec.key, performance.now());
    this.#starter.start(folder.path);
    return null;
  }

  /** Writes all files that the supervisor and the job need. */
  #prepare(attempt: NewAttempt): void {
    const { spec, folder, uid, environment, interpreter, requirements } = attempt;
    this.#makeInside(folder, uid);
    if (spec.store && interpreter) folder.writePython(interpreter, spec.teamId);
    this.#writeInput(attempt);
    folder.writeInput("env", writeEnv(environment), uid);
    const settings = buildSettings(this.#options.jobEnvironment, spec);
    if (requirements !== undefined) {
      new TeamEnvironments(this.#tools.envsDir, spec.teamId, this.#isolation.level !== "none").make();
      folder.write("tool-env", writeEnv(this.#options.jobEnvironment));
      folder.writeInput("build-env", writeEnv(this.#buildEnvironment(spec, folder, settings)), uid);
    }
    const { limits } = this.#options;
    const groups = this.#joinGroup(folder);
    const plan = writePlan({
      spec,
      folder,
      isolation: this.#isolation,
      tools: this.#tools,
      scriptName: scriptFilename(spec),
      interpreter,
      requirements,
      buildSettings: settings,
      groups,
      openFiles: limits.openFiles,
      fileBytes: limits.log > 0 && limits.disk > 0 ? Math.max(limits.log, limits.disk) : 0,
      disk: limits.disk,
      processes: groups.length === 0 && uid !== undefined ? limits.processes : 0,
    });
    folder.write("plan", plan);
  }

  /**
   * Takes a control group for the attempt. Returns the files to which a process writes to join the group; an empty list
   * if control groups are not used.
   */
  #joinGroup(folder: AttemptFolder): string[] {
    const group = this.#cgroups?.take();
    if (!group) return [];
    folder.write("group", `${group.name} ${group.oomKills} ${group.cpuSeconds}`);
    return this.#cgroups?.entries(group) ?? [];
  }

  /** Creates the job's folders. From then on, the owner of the working folder shows which user id the attempt has. */
  #makeInside(folder: AttemptFolder, uid: number | undefined): void {
    try {
      folder.makeInside(uid, this.#isolation.temporary(folder) !== undefined);
    } catch (error) {
      if (uid !== undefined) this.#isolation.freeUser(uid, folder);
      throw error;
    }
  }

  #writeInput({ spec, folder, uid, requirements }: NewAttempt): void {
    const scriptName = scriptFilename(spec);
    const comesLast = scriptComesLast(spec, scriptName);
    if (comesLast) folder.writeInput(queryFile, spec.query, uid);
    else if (spec.script === undefined) folder.writeScript(scriptName, spec.query, uid);
    for (const index of spec.files.keys()) folder.takeStaged(index);
    if (requirements !== undefined) folder.writeInput("requirements.txt", `${requirements}\n`, uid);
    const needed = {
      "repository.sh": spec.repository !== null,
      "repository-script.sh": spec.script !== undefined,
      "files.sh": comesLast || spec.files.length > 0,
      "stage.py": requirements !== undefined,
      "build.sh": requirements !== undefined,
      "pip-settings.py": requirements !== undefined,
    };
    if (spec.store) {
      const kind = runtimeOf(spec.queryType).libraryKind;
      const record = jobRecord({ ...spec, kind }, spec.store);
      folder.writeInputFiles(this.#tools.plugIns.files(record, spec.store.listingsSince !== undefined), uid);
    }
    for (const name of insideScripts) if (needed[name]) folder.writeInput(name, this.#scripts.get(name) ?? "", uid);
  }

  /**
   * Refuses to start a job. Also writes the reason to the job's log, because clients that follow the log see nothing
   * else.
   */
  #refuse(folder: AttemptFolder, why: string): never {
    folder.make();
    folder.write("log", `${why}\n`);
    throw new CannotStart(why);
  }

  async #interpreter(
    { pythonVersion, queryType }: LocalSpec,
    folder: AttemptFolder,
    builds: boolean,
  ): Promise<Interpreter | undefined> {
    const needed = runtimeOf(queryType).needsPython || builds || pythonVersion !== null;
    // In a sandbox, a shell script can use the machine's Python only if it is mounted, so it is looked up for that too.
    if (!needed && this.#isolation.level !== "bwrap") return undefined;
    try {
      return await this.interpreters.resolve(pythonVersion);
    } catch (error) {
      if (!needed) return undefined;
      if (error instanceof CannotStart) this.#refuse(folder, error.message);
      throw error;
    }
  }

  /**
   * Returns the job's environment variables. Variables that Millrace sets come last, so that the job cannot override
   * them.
   */
  #environment(spec: LocalSpec, folder: AttemptFolder, interpreter: Interpreter | undefined): Record<string, string> {
    const { jobEnvironment, folders } = this.#options;
    const temporary = this.#isolation.temporary(folder);
    // An isolated job gets its own package cache: another job could put manipulated packages into a shared one.
    const cache = temporary === undefined ? folders.cache : join(temporary, "cache");
    const bin = this.#isolation.level === "bwrap" && interpreter ? `${join(interpreter.path, "..")}:` : "";
    return {
      LANG: "C.UTF-8",
      ...jobEnvironment,
      PATH: `${bin}${jobEnvironment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin"}`,
      PIP_CACHE_DIR: join(cache, "pip"),
      UV_CACHE_DIR: join(cache, "uv"),
      PIP_DISABLE_PIP_VERSION_CHECK: "1",
      PYTHONUNBUFFERED: "1",
      ...noAnalytics,
      HOME: folder.work,
      ...(temporary === undefined ? {} : { TMPDIR: temporary }),
      ...spec.environment,
      ...requestVariables(spec),
      ...(spec.store ? this.#libraryEnvironment(spec, spec.store, folder, temporary ?? folder.work) : {}),
      MILLRACE_JOB_ID: spec.jobId,
      MILLRACE_METRICS_FILE: join(folder.work, metricsFile),
      [keyVariable]: spec.key,
    };
  }

  /**
   * Returns the variables by which the dataset library finds the team's warehouse, the job's record and the plug-ins.
   */
  #libraryEnvironment({ jobId, environment }: LocalSpec, access: LocalDatasets, folder: AttemptFolder, root: string) {
    const path = environment["PYTHONPATH"] ?? this.#options.jobEnvironment["PYTHONPATH"];
    return {
      ...warehouseVariables(access, root),
      ...jobVariables({ ...access, jobId }),
      ...pathWithPlugIns(folder.file(`input/${plugInFolder}`), path),
    };
  }

  /**
   * Returns the variables for building a virtualenv. Of the job's own variables, only those for the package index are
   * used, because other jobs may share the virtualenv.
   */
  #buildEnvironment(spec: LocalSpec, folder: AttemptFolder, settings: Record<string, string>): Record<string, string> {
    const temporary = this.#isolation.buildTemporary(folder);
    // An isolated build gets its own package cache: another job could put manipulated packages into a shared one.
    const cache = this.#isolation.level === "none" ? this.#options.folders.cache : join(temporary, "cache");
    return {
      LANG: "C.UTF-8",
      ...settings,
      PATH: settings["PATH"] ?? "/usr/local/bin:/usr/bin:/bin",
      PIP_CACHE_DIR: join(cache, "pip"),
      UV_CACHE_DIR: join(cache, "uv"),
      PIP_DISABLE_PIP_VERSION_CHECK: "1",
      PYTHONUNBUFFERED: "1",
      HOME: folder.file("build/home"),
      TMPDIR: temporary,
      [keyVariable]: spec.key,
    };
  }

  async observe(attempts: readonly Attempt[]): Promise<Map<string, Observation>> {
    return new Map(attempts.map((attempt) => [attempt.key, this.#look(attempt)]));
  }

  /**
   * Returns the state of one attempt. If the attempt's folder cannot be read, the state is UNKNOWN. Such an error does
   * not stop the observation of other attempts.
   */
  #look(attempt: Attempt): Observation {
    try {
      return this.#observe(attempt);
    } catch (error) {
      return { state: "UNKNOWN", error };
    }
  }

  #observe({ key, epoch }: Attempt): Observation {
    const folder = this.#folder(key);
    const sameBoot = epoch === this.epoch;
    // After a reboot it is unknown whether an attempt of the earlier boot had started, so it must never be started again.
    const claim = folder.claim();
    if (sameBoot && claim === "none" && this.#begun.has(key))
      return { state: "LOST", steps: [], why: "its folder was deleted while it ran" };
    if (sameBoot && claim !== "supervisor") return { state: this.#mayBegin(folder) ? "SUBMITTED" : "ABSENT" };
    const supervisor = folder.supervisor();
    // Check the process before reading the exit record: a supervisor that ends in between has written the record.
    const alive = sameBoot && supervisor !== undefined && isAlive(supervisor);
    const exit = folder.exit();
    if (exit) return this.#exited(folder, exit);
    const steps = folder.steps(exit);
    if (alive) return { state: "RUNNING", steps, querying: steps.at(-1)?.name === "query" };
    return { state: "LOST", steps, why: "the machine restarted, or the process that supervises the job was killed" };
  }

  /**
   * Whether an attempt that no supervisor has claimed may still start. Returns false if a server has withdrawn the
   * attempt. Also returns false if this process did not submit the attempt, or submitted it too long ago, because no
   * starter will start it then.
   */
  #mayBegin(folder: AttemptFolder): boolean {
    if (folder.claim() === "server") return false;
    const started = this.#started.get(folder.key);
    const isStarting = started !== undefined && performance.now() - started < claimPatienceMs;
    return isStarting || this.#submitting.has(folder.key);
  }

  #exited(folder: AttemptFolder, exit: Exit): Observation {
    const steps = folder.steps(exit);
    // A job that ended in the `datasets` phase has not used the warehouse: its library version was refused.
    const hasWorked = exit.phase !== "datasets" && steps.some(({ name }) => name === "datasets");
    const worked = hasWorked ? folder.python() : null;
    if (worked) this.#options.warehouses.remember(worked.teamId, worked.python);
    const overLimit = this.#whyEnded(folder, exit.code);
    return { state: "EXITED", steps, exit, metrics: folder.metrics(), overLimit };
  }

  #whyEnded(folder: AttemptFolder, code: number): string | null {
    const limit = folder.limit();
    this.#logs.check(folder);
    if (limit !== "") return limit;
    const tooLong = overLog(folder, this.#options.limits);
    if (tooLong !== undefined) {
      // The log may have grown far beyond its limit just before the end, so it is truncated.
      this.#logs.forget(folder.key);
      folder.cutLog(this.#options.limits.log);
      folder.write("limit", tooLong);
      return tooLong;
    }
    const group = code === 0 ? undefined : folder.group();
    return group && this.#cgroups?.ranOutOfMemory(group) ? overMemory(this.#options.limits) : null;
  }

  /** Returns the command prefix that sandboxes a maintenance command for a team's warehouse. */
  confine(view: WarehouseView): string[] {
    return this.#isolation.confine(view);
  }

  /** Returns a sandbox with the same limits as a job, for maintenance commands that may run code of the team. */
  confineStrangers(view: WarehouseView): StrangersPlace {
    const { limits } = this.#options;
    const group = this.#cgroups?.take();
    const lines = [
      confine({
        groups: group ? (this.#cgroups?.entries(group) ?? []) : [],
        openFiles: limits.openFiles,
        fileBytes: 0,
        processes: group ? 0 : limits.processes,
      }),
      ...(group || limits.memory === 0 ? [] : [`ulimit -d ${Math.ceil(limits.memory / 1024)}`]),
      'exec "$@"',
    ];
    return {
      words: ["/bin/sh", "-c", lines.join("\n"), "sh", ...this.confine(view)],
      leave: async () => {
        await this.#isolation.endConfined(view);
        if (group) await this.#empty(group);
      },
    };
  }

  async #empty(group: Group): Promise<void> {
    for (const deadline = performance.now() + sweepMs; performance.now() < deadline; await sleep(5)) {
      const pids = this.#cgroups?.pids(group) ?? [];
      if (pids.length === 0) break;
      signalAll(pids, "SIGKILL");
    }
    this.#cgroups?.give(group);
  }

  async withdraw({ key }: Attempt): Promise<boolean> {
    return this.#folder(key).claimForServer();
  }

  async cancel({ key }: Attempt, force: boolean): Promise<void> {
    this.#cancel(key, force);
  }

  #cancel(key: string, force: boolean): void {
    const folder = this.#folder(key);
    // Between two phases there is no process to signal. The supervisor checks this marker before it starts a phase.
    folder.mark("cancel");
    if (force) {
      signalAll(this.#processes.left([folder], false).pids, "SIGKILL");
      return;
    }
    // SIGTERM is sent once, so that cleanup processes started by the script live until the grace period ends. A script
    // that is just starting may have no process yet; then a later call sends the signal.
    if (this.#asked.has(key)) return;
    const pids = this.#processes.of(folder);
    if (pids.length === 0) return;
    this.#asked.add(key);
    signalAll(pids, "SIGTERM");
  }

  #left(folders: readonly AttemptFolder[], ended: boolean) {
    const { pids, unclear } = this.#processes.left(ended ? this.#notEmptied(folders) : folders, ended);
    // After the kill of a supervisor, a shell may still start a phase. A sandbox that failed to start may wait forever.
    const unsure = ended ? folders.filter((folder) => folder.hasHalfSandbox()) : folders;
    return { pids: unsure.length === 0 ? pids : [...pids, ...this.#processes.starting(unsure)], unclear };
  }

  /**
   * Leaves out attempts that run as the server's user and whose control group has no process: every process that they
   * started is in it. To look at all processes of the machine costs more than the rest of the end of a short job.
   */
  #notEmptied(folders: readonly AttemptFolder[]): readonly AttemptFolder[] {
    if (this.capabilities.isolation !== "none" || !this.#cgroups) return folders;
    return folders.filter((folder) => {
      const group = this.#processes.isMarked(folder) ? folder.group() : undefined;
      return !group || this.#cgroups?.isEmpty(group) !== true;
    });
  }

  async sweep(keys: readonly string[]): Promise<string[]> {
    const folders = keys.map((key) => this.#folder(key));
    const ended = folders.every((folder) => folder.exit() !== undefined);
    for (const deadline = performance.now() + sweepMs; ; ) {
      const alive = await this.#endUsers(folders);
      const { pids, unclear } = this.#left(folders, ended);
      if (pids.length === 0 && alive.length === 0 && !unclear) return [];
      if (performance.now() > deadline) {
        const left = folders.filter((folder) => this.#left([folder], ended).pids.length > 0);
        return [...new Set([...alive, ...left])].map(({ key }) => key);
      }
      signalAll(pids, "SIGKILL");
      // A killed process disappears once its memory is freed. The next round finds processes that were forked meanwhile.
      await sleep(pids.length === 0 ? 1 : 5);
    }
  }

  /**
   * Kills all processes of the attempts' user ids at once. A list of processes would miss processes that fork and exit
   * while the list is read. Returns the attempts whose control group still has processes.
   */
  async #endUsers(folders: readonly AttemptFolder[]): Promise<AttemptFolder[]> {
    const isEmpty = (folder: AttemptFolder) => {
      const group = folder.group();
      return group && this.#cgroups?.isEmpty(group);
    };
    // No process of an earlier boot can be left.
    const unsure = this.#processes
      .ofUsers(folders)
      .filter((folder) => folder.supervisor()?.bootId === this.#options.bootId && isEmpty(folder) !== true);
    for (const folder of unsure) {
      await this.#isolation.endUser(folder);
      const group = folder.group();
      // Also kill processes in the control group that have not switched to the user id yet.
      if (group) signalAll(this.#cgroups?.pids(group) ?? [], "SIGKILL");
    }
    return unsure.filter((folder) => isEmpty(folder) === false);
  }

  async watch(key: string, elsewhere: number): Promise<void> {
    const folder = this.#folder(key);
    const begun = folder.begunAt();
    if (begun === undefined) return;
    const now = begun + this.#ageOf(folder, begun);
    // Skip young attempts: most jobs end before a sample is worth its cost.
    if (now - begun < youngMs || folder.exit()) return;
    this.#logs.check(folder);
    const { limits } = this.#options;
    const used = isDue(this.#sampled.get(key), begun, now) ? this.#sample(folder, now) : undefined;
    const tooMuch = !this.#cgroups && limits.memory > 0 && (used?.memory_bytes ?? 0) > limits.memory;
    const why =
      overLimit(folder, limits, now) ??
      (tooMuch ? overMemory(limits) : undefined) ??
      (await this.#disk.over(folder, limits, elsewhere));
    if (why !== undefined) this.#end(key, why);
  }

  async age(key: string): Promise<number | undefined> {
    const folder = this.#folder(key);
    const begun = folder.begunAt();
    // No attempt of an earlier boot is still running.
    const isOver = folder.exit() !== undefined || folder.supervisor()?.bootId !== this.#options.bootId;
    return begun === undefined || isOver ? undefined : this.#ageOf(folder, begun);
  }

  #ageOf(folder: AttemptFolder, begun: number): number {
    return this.#ages.of(folder.key, () => this.#age(folder, begun));
  }

  /**
   * Returns the milliseconds since the attempt's supervisor started. If the machine was rebooted since then, uses the
   * wall clock.
   */
  #age(folder: AttemptFolder, begun: number): number {
    const supervisor = folder.supervisor();
    return supervisor?.bootId === this.#options.bootId ? ageOf(supervisor) : Date.now() - begun;
  }

  async end({ key }: Attempt, why: string): Promise<void> {
    this.#end(key, why);
  }

  #end(key: string, why: string): void {
    const folder = this.#folder(key);
    if (folder.exit()) return;
    if (folder.limit() === "") folder.write("limit", why);
    this.#cancel(key, true);
  }

  #sample(folder: AttemptFolder, now: number): Usage {
    const group = folder.group();
    const counted = group && this.#cgroups?.usage(group);
    const used = { ...(counted?.memory_bytes === undefined ? this.#processUsage(folder) : {}), ...counted } as Usage;
    appendSample(folder.file("usage"), { at: new Date(now).toISOString(), ...used });
    this.#sampled.set(folder.key, now);
    return used;
  }

  #processUsage(folder: AttemptFolder): Usage {
    const pids = this.#processes.of(folder);
    const used = usageOf(pids);
    const files = this.capabilities.isolation === "bwrap" ? bytesInMemory(pids) : 0;
    return { ...used, memory_bytes: used.memory_bytes + files };
  }

  async usage(key: string): Promise<UsageSample[]> {
    return readSamples(this.#folder(key).file("usage"));
  }

  async openLog(key: string): Promise<LogSource> {
    const file = new LogFile(this.#folder(key).log);
    return {
      size: () => file.size(),
      read: async (offset, length) => {
        const bytes = await file.read(offset, length);
        this.#logs.saw(key, offset, bytes);
        return bytes;
      },
      close: () => file.close(),
    };
  }

  async logBytes(key: string): Promise<number> {
    return this.#folder(key).logBytes();
  }

  forget(key: string): Promise<void> {
    return this.#folder(key).remove();
  }

  find(): Promise<string[]> {
    return readdir(this.#jobsDir);
  }

  /** Cleans up an attempt, then retries earlier cleanups that failed. */
  async cleanup(key: string): Promise<void> {
    await this.#cleanOrKeep(key);
    const again = [...this.#uncleaned];
    this.#uncleaned.clear();
    // The first failure was already reported to the caller.
    for (const other of again) this.#cleanOrKeep(other).catch(() => {});
  }

  async #cleanOrKeep(key: string): Promise<void> {
    try {
      await this.#clean(key);
    } catch (error) {
      this.#uncleaned.add(key);
      throw error;
    }
  }

  /**
   * Deletes an attempt's files, then releases its user id, so that the next attempt with that id cannot find these
   * files.
   */
  async #clean(key: string): Promise<void> {
    const folder = this.#folder(key);
    const uid = folder.owner();
    const group = folder.group();
    this.#asked.delete(key);
    this.#sampled.delete(key);
    this.#started.delete(key);
    this.#begun.delete(key);
    this.#ages.forget(key);
    this.#disk.forget(key);
    this.#logs.forget(key);
    // Clear the user's files before the folder: the folder's owner tells a restarted server which user is left to clear.
    await this.#isolation.clearUser(folder);
    await folder.clean();
    if (group && this.#cgroups) this.#cgroups.give(group);
    else if (group) Cgroups.removeLeft(this.#options.folders, groupsInUse(this.#jobsDir));
    if (uid > 0) this.#isolation.freeUser(uid, folder);
  }

  async close(): Promise<void> {
    this.#starter.close();
    this.#compiling.close();
    this.#cgroups?.close();
    this.#isolation.close();
  }
}

/**
 * Lets the users of jobs traverse these folders. They still cannot read the files inside, because of the permissions of
 * each file.
 */
function openFolders({ root, jobs, environments }: EngineFolders): void {
  for (const folder of [root, jobs, environments]) chmodSync(folder, 0o711);
}

async function findTools({ folders, jobEnvironment, uv }: LocalEngineOptions): Promise<Toolbox> {
  const list = join(import.meta.dirname, "uv.txt");
  const version = /^uv==(\S+)/m.exec(await readFile(list, "utf8"))?.[1] ?? "";
  if (uv === "auto") await mkdir(folders.tools, { recursive: true, mode: 0o755 });
  return {
    uv: uv === "never" ? undefined : await findProgram("uv", jobEnvironment["PATH"] ?? ""),
    ownUv:
      uv === "auto" ? { version, list, folder: folders.tools, script: join(import.meta.dirname, "uv.sh") } : undefined,
    environmentScript: join(import.meta.dirname, "environment.sh"),
    envsDir: folders.environments,
    plugIns: await PlugIns.read(),
  };
}
