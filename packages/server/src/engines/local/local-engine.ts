/** The local engine: runs jobs on the server's own machine. */
import { chmodSync, existsSync, readdirSync } from "node:fs";
import { mkdir, readdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import type { UsageSample } from "@millrace/contract";
import { PlugIns } from "../../datachain/plug-ins/plug-ins.ts";
import type { Attempt, Engine, Exit, JobSpec, LogSource, Observation } from "../engine.ts";
import type { JobLimits } from "../limit-words.ts";
import { LogFile } from "../log-file.ts";
import { type InsideScript, readInsideScripts } from "../phases/inside-scripts.ts";
import { readSamples } from "../usage-file.ts";
import type { StrangersPlace, WarehousePlaces, WarehouseView } from "../warehouse-view.ts";
import { AttemptFolder } from "./attempt/attempt-folder.ts";
import { AttemptProcesses } from "./attempt/attempt-processes.ts";
import { AttemptWatch } from "./attempt/attempt-watch.ts";
import { type LocalSpec, onThisMachine } from "./attempt/local-spec.ts";
import { LogMarks } from "./attempt/log-marks.ts";
import { Sweeper } from "./attempt/sweeper.ts";
import type { EngineFolders } from "./engine-folders.ts";
import { CompileEnvironments, compileMark } from "./environments/compile-environments.ts";
import { EarlyUv } from "./environments/early-uv.ts";
import { Interpreters } from "./environments/interpreters.ts";
import { KeptEnvironments } from "./environments/kept-environments.ts";
import type { Toolbox } from "./environments/plan-input.ts";
import { TeamEnvironments } from "./environments/team-environments.ts";
import type { Isolation } from "./isolation/isolation.ts";
import { type IsolationOptions, type OpenedIsolation, openIsolation } from "./isolation/open-isolation.ts";
import { findProgram, findPrograms } from "./isolation/programs.ts";
import { NoFreeUser } from "./isolation/users.ts";
import { AttemptFiles } from "./preparation/attempt-files.ts";
import { confine } from "./preparation/plan.ts";
import { Planner } from "./preparation/planner.ts";
import { Variables } from "./preparation/variables.ts";
import { Cgroups } from "./processes/cgroups.ts";
import { isAlive, signalAll } from "./processes/processes.ts";
import { Starter } from "./processes/starter.ts";
import { WarmStarts, type WarmStartsOptions } from "./waiting/warm-starts.ts";

/**
 * Which uv builds virtualenvs. `auto`: the machine's uv or, if the machine has none, a uv that the server installs.
 * `machine`: only the machine's uv. `never`: no uv. If there is no uv, pip builds the virtualenvs.
 */
const uvChoices = ["auto", "machine", "never"] as const;

export interface LocalEngineOptions
  extends Omit<IsolationOptions, "wanted" | "countsMemory">,
    Pick<WarmStartsOptions, "onWarmStart"> {
  readonly uv: (typeof uvChoices)[number];
  readonly isolation: IsolationOptions["wanted"];
  readonly limits: JobLimits;
  readonly bootId: string;
  readonly claimDelay: string;
  /** Maximum memory of interpreters that wait for jobs, in bytes; 0 for none. */
  readonly warmMemory: number;
  /** Locates the teams' warehouses. */
  readonly warehouses: WarehousePlaces;
  /** Called when an attempt changes. `what` is the phase that has started, or `end` if the attempt has ended. */
  readonly onChange: (key: string, what: string) => void;
  /** Called after the removal of a virtualenv. `error` is set if the removal failed. */
  readonly onEnvironmentRemoved: (environment: string, error?: unknown) => void;
}

/** If no supervisor claims an attempt within this many milliseconds, the start of the attempt has failed. */
const claimPatienceMs = 30_000;

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
  readonly #isolation: Isolation;
  readonly #cgroups: Cgroups | undefined;
  readonly #starter: Starter;
  readonly #compiling: CompileEnvironments;
  readonly #earlyUv: EarlyUv;
  readonly #planner: Planner;
  readonly #files: AttemptFiles;
  readonly #warm: WarmStarts;
  readonly #processes: AttemptProcesses;
  readonly #watch: AttemptWatch;
  readonly #sweeper: Sweeper;
  /** Keys of attempts whose processes have been sent SIGTERM. */
  readonly #asked = new Set<string>();
  readonly #logs = new LogMarks();
  readonly #uncleaned = new Set<string>();
  /** Keys of attempts of which a supervisor has said that it runs them. */
  readonly #begun = new Set<string>();
  readonly #submitting = new Map<string, Promise<null>>();
  /** When this process submitted each attempt, in milliseconds of the monotonic clock, by attempt key. */
  readonly #started = new Map<string, number>();

  static async open(options: LocalEngineOptions): Promise<LocalEngine> {
    const { folders } = options;
    for (const folder of [folders.jobs, folders.environments, folders.waiting])
      await mkdir(folder, { recursive: true, mode: 0o700 });
    await WarmStarts.removeLeft(folders.waiting, options.bootId);
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
    const { folders, limits, bootId } = options;
    const { envsDir } = tools;
    this.#options = options;
    this.#jobsDir = folders.jobs;
    this.#isolation = isolation;
    this.#processes = new AttemptProcesses((folder) => isolation.holdsUser(folder));
    this.missing = missing;
    this.warnings = isolation.warnings;
    this.capabilities = { isolation: isolation.level };
    this.epoch = bootId;
    this.environments = new KeptEnvironments({
      envsDir,
      environmentOf: (key) => this.#folder(key).venv(),
      onRemoved: options.onEnvironmentRemoved,
    });
    this.#cgroups = cgroups;
    this.interpreters = new Interpreters(options.jobEnvironment["PATH"] ?? "", isolation.asJob);
    this.#compiling = new CompileEnvironments({ envsDir, confine: (view) => isolation.confine(view) });
    this.#starter = new Starter({
      script: join(import.meta.dirname, "starter.sh"),
      args: [bootId, options.claimDelay],
      startWith: isolation.startWith,
      onChange: (folder, what) => this.#onWord(folder, what),
    });
    const variables = new Variables(options.jobEnvironment, isolation, folders.cache);
    this.#earlyUv = new EarlyUv(tools, this.interpreters, variables.ofOperator);
    this.#planner = new Planner({ isolation, interpreters: this.interpreters, tools, variables });
    this.#files = new AttemptFiles({ isolation, cgroups, limits, variables, scripts });
    this.#warm = new WarmStarts({
      ...{ isolation, cgroups, starter: this.#starter, files: this.#files, onWarmStart: options.onWarmStart },
      memory: isolation.level === "bwrap" ? options.warmMemory : 0,
      waitingDir: folders.waiting,
    });
    const shared = { bootId, level: isolation.level, cgroups, processes: this.#processes };
    this.#watch = new AttemptWatch({ ...shared, limits, logs: this.#logs });
    this.#sweeper = new Sweeper({ ...shared, endUser: (folder) => isolation.endUser(folder) });
  }

  /** Begins to install in the background what the first jobs will need. */
  async prepare(): Promise<void> {
    await this.#earlyUv.install();
  }

  /** Number of interpreters that wait for a job. */
  get waitingInterpreters(): number {
    return this.#warm.count;
  }

  /** Handles a line of the starter: about a waiting interpreter, or about an attempt. */
  #onWord(path: string, what: string): void {
    const key = basename(path);
    if (this.#warm.onWord(key, what)) return;
    this.#begun.add(key);
    if (what === "query") {
      const folder = this.#folder(key);
      this.#compile(folder);
      this.#warm.use(folder);
    }
    if (what === "end") this.#warm.leave(key);
    this.#options.onChange(key, what);
  }

  /** Queues the attempt's virtualenv for compilation to bytecode, if it is not compiled yet. */
  #compile(folder: AttemptFolder): void {
    const environment = folder.venv();
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
    const planned = await this.#planner.plan(spec, folder);
    folder.make();
    const isNew = folder.owner() === -1;
    // Fetch files before taking a user id, because a download can take long.
    if (isNew) for (const [index, file] of spec.files.entries()) await file.placeAt(folder.staged(index));
    // Whether an interpreter can wait for such a job depends on the folder.
    if (isNew) this.#files.makeEnvironments(planned.job);
    const waiting = isNew && folder.claim() === "none" ? this.#warm.take(folder, planned.job) : undefined;
    const uid = waiting ? waiting.uid : isNew ? await this.#takeUser(folder) : undefined;
    // The attempt may have been withdrawn during the calls above.
    if (!waiting && folder.claim() !== "none") {
      if (uid !== undefined) this.#isolation.freeUser(uid, folder);
      return null;
    }
    if (isNew) this.#files.write(folder, uid, planned);
    this.#started.set(spec.key, performance.now());
    if (waiting) this.#warm.start(folder, waiting);
    else this.#starter.start(folder.path);
    return null;
  }

  /** Takes a user id for an attempt. If all are in use, the interpreters that wait for jobs give theirs back. */
  async #takeUser(folder: AttemptFolder): Promise<number | undefined> {
    try {
      return await this.#isolation.takeUser(folder);
    } catch (error) {
      if (!(error instanceof NoFreeUser) || !(await this.#warm.giveUp())) throw error;
      return this.#isolation.takeUser(folder);
    }
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
    const overLimit = this.#watch.whyEnded(folder, exit.code);
    return { state: "EXITED", steps, exit, metrics: folder.metrics(), overLimit };
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
        if (group) await this.#sweeper.empty(group);
      },
    };
  }

  async withdraw({ key }: Attempt): Promise<boolean> {
    return this.#folder(key).claimForServer();
  }

  async cancel({ key }: Attempt, force: boolean): Promise<void> {
    await this.#cancel(key, force);
  }

  async #cancel(key: string, force: boolean): Promise<void> {
    const folder = this.#folder(key);
    // Between two phases there is no process to signal. The supervisor checks this marker before it starts a phase.
    folder.mark("cancel");
    if (force) {
      signalAll((await this.#processes.left([folder], false)).pids, "SIGKILL");
      return;
    }
    // SIGTERM is sent once, so that cleanup processes started by the script live until the grace period ends. A script
    // that is just starting may have no process yet; then a later call sends the signal.
    if (this.#asked.has(key)) return;
    this.#asked.add(key);
    const pids = await this.#processes.of(folder);
    if (pids.length === 0) this.#asked.delete(key);
    signalAll(pids, "SIGTERM");
  }

  async sweep(keys: readonly string[]): Promise<string[]> {
    const left = await this.#sweeper.sweep(keys.map((key) => this.#folder(key)));
    return left.map(({ key }) => key);
  }

  async watch(key: string, elsewhere: number): Promise<void> {
    const why = await this.#watch.look(this.#folder(key), elsewhere);
    if (why !== undefined) await this.#end(key, why);
  }

  async age(key: string): Promise<number | undefined> {
    return this.#watch.age(this.#folder(key));
  }

  async end({ key }: Attempt, why: string): Promise<void> {
    await this.#end(key, why);
  }

  async #end(key: string, why: string): Promise<void> {
    const folder = this.#folder(key);
    if (folder.exit()) return;
    if (folder.limit() === "") folder.write("limit", why);
    await this.#cancel(key, true);
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
    this.#started.delete(key);
    this.#begun.delete(key);
    this.#warm.leave(key);
    this.#watch.forget(key);
    this.#logs.forget(key);
    // Clear the user's files before the folder: the folder's owner tells a restarted server which user is left to clear.
    await this.#isolation.clearUser(folder);
    await folder.clean();
    if (group && this.#cgroups) this.#cgroups.give(group);
    else if (group) Cgroups.removeLeft(this.#options.folders, groupsInUse(this.#jobsDir));
    if (uid > 0) this.#isolation.freeUser(uid, folder);
  }

  async close(): Promise<void> {
    await this.#warm.close();
    this.#starter.close();
    this.#compiling.close();
    this.#earlyUv.close();
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
