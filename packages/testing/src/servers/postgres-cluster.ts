/**
 * The processes and files of a PostgreSQL server, which a test can stop, kill, suspend, restart and copy to a standby.
 */
import { execFile, spawn } from "node:child_process";
import { chmod, chown, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import pg from "pg";
import { openPrograms, type PostgresPrograms } from "./postgres-programs.ts";
import { steadyPort } from "./steady-ports.ts";

/**
 * `fast` ends the sessions and shuts down; `immediate` stops without a checkpoint, as in a crash; `kill` is SIGKILL.
 */
export type Ending = "fast" | "immediate" | "kill";
const signals = { fast: "SIGINT", immediate: "SIGQUIT", kill: "SIGKILL" } as const;

export class PostgresCluster {
  readonly #folder: string;
  readonly #programs: PostgresPrograms;
  #port: number;
  readonly #flags: readonly string[];

  /** Creates and starts a new server. */
  static async create(): Promise<PostgresCluster> {
    const folder = await makeFolder();
    const programs = await openPrograms(folder);
    await giveTo(programs.user, folder);
    const cluster = new PostgresCluster(folder, programs, await steadyPort(), []);
    await cluster.#initialise();
    await cluster.#firstStart();
    return cluster;
  }

  private constructor(folder: string, programs: PostgresPrograms, port: number, flags: readonly string[]) {
    this.#folder = folder;
    this.#programs = programs;
    this.#port = port;
    this.#flags = flags;
  }

  get port(): number {
    return this.#port;
  }

  get url(): string {
    return `postgres://postgres:postgres@127.0.0.1:${this.#port}/postgres`;
  }

  get #data(): string {
    return join(this.#folder, "data");
  }

  /** Nobody knows the port yet, so the server gets another one if somebody took it in the meantime. */
  async #firstStart(): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#start();
      } catch (error) {
        if (tries === 20) throw error;
        this.#port = await steadyPort();
      }
    }
  }

  /**
   * Starts the server and waits until it accepts connections. Retries for 5 s: after a kill, old processes may remain.
   */
  async up(): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#start();
      } catch (error) {
        if (tries === 20) throw error;
        await sleep(250);
      }
    }
  }

  async #initialise(): Promise<void> {
    const secret = join(this.#folder, "password");
    await writeFile(secret, "postgres\n", { mode: 0o644 });
    const flags = ["--username=postgres", "--auth=password", "--no-sync", "--no-instructions", `--pwfile=${secret}`];
    await promisify(execFile)(this.#programs.initdb, [...flags, `--pgdata=${this.#data}`], this.#programs.user);
  }

  /** Starts the server. Reads all its output, because the server would block otherwise. It ends with the tests. */
  async #start(): Promise<void> {
    const flags = ["-D", this.#data, "-p", String(this.#port), "-k", this.#folder, "-c", "max_connections=100"];
    const child = spawn(this.#programs.postgres, [...flags, ...this.#flags], {
      ...this.#programs.user,
      stdio: ["ignore", "ignore", "pipe"],
    });
    const endIt = () => void child.kill("SIGQUIT");
    process.once("exit", endIt);
    child.once("exit", () => process.off("exit", endIt));
    let output = "";
    await new Promise<void>((resolve, reject) => {
      child.once("error", reject);
      child.once("exit", () => reject(new Error(`PostgreSQL did not start:\n${output}`)));
      child.stderr.on("data", (bytes: Buffer) => {
        output = (output + bytes.toString()).slice(-100_000);
        if (/ready to accept (read-only )?connections/.test(output)) resolve();
      });
    });
  }

  /** Stops the server and waits until it has ended. Does nothing if it has already ended. */
  async down(ending: Ending = "fast"): Promise<void> {
    const pid = await this.#postmaster();
    if (pid === undefined) return;
    process.kill(pid, signals[ending]);
    while (isRunning(pid)) await sleep(10);
  }

  async restart(ending: Ending = "fast"): Promise<void> {
    await this.down(ending);
    await this.up();
  }

  /** Suspends all processes of the server: connections stay open, but get no answer. */
  async pause(): Promise<void> {
    for (const pid of await this.#processes()) signal(pid, "SIGSTOP");
  }

  async resume(): Promise<void> {
    for (const pid of await this.#processes()) signal(pid, "SIGCONT");
  }

  /**
   * Creates a standby. From then on, a commit is acknowledged only when both servers have it. Restarts the primary,
   * which must be idle. `promote` makes the standby a primary.
   */
  async createStandby(): Promise<PostgresCluster> {
    await this.down();
    const folder = await makeFolder();
    await giveTo(this.#programs.user, folder);
    await promisify(execFile)("cp", ["-a", this.#data, folder]);
    await this.up();
    const source = `host=127.0.0.1 port=${this.#port} user=postgres password=postgres application_name=standby`;
    const standby = new PostgresCluster(folder, this.#programs, await steadyPort(), [
      "-c",
      `primary_conninfo=${source}`,
    ]);
    await writeFile(join(standby.#data, "standby.signal"), "");
    await giveTo(this.#programs.user, join(standby.#data, "standby.signal"));
    await standby.up();
    await this.query("alter system set synchronous_standby_names = 'standby'");
    await this.query("select pg_reload_conf()");
    return standby;
  }

  async promote(): Promise<void> {
    await this.query("alter system reset synchronous_standby_names");
    await this.query("select pg_promote()");
  }

  async query(text: string): Promise<Record<string, unknown>[]> {
    const client = new pg.Client({ connectionString: this.url });
    await client.connect();
    try {
      return (await client.query<Record<string, unknown>>(text)).rows;
    } finally {
      await client.end();
    }
  }

  async remove(): Promise<void> {
    await this.resume();
    await this.down("immediate");
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }

  async #postmaster(): Promise<number | undefined> {
    const file = await readFile(join(this.#data, "postmaster.pid"), "utf8").catch(() => "");
    const pid = Number(file.split("\n")[0]);
    return pid > 0 && isRunning(pid) ? pid : undefined;
  }

  /** Returns the ids of the server's first process and its children. */
  async #processes(): Promise<number[]> {
    const first = await this.#postmaster();
    if (first === undefined) return [];
    const all = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
    const parents = await Promise.all(all.map(parentOf));
    return [first, ...all.filter((_, index) => parents[index] === first)];
  }
}

async function parentOf(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  return Number(text.slice(text.lastIndexOf(")") + 2).split(" ")[1]);
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

const giveTo = ({ uid = -1, gid = -1 }: PostgresPrograms["user"], path: string) => chown(path, uid, gid);

async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "millrace-postgres-"));
  // If the tests run as root, the server runs as another user and must reach its folder.
  await chmod(folder, 0o755);
  return folder;
}

/** Sends a signal to a process. Ignores a process that has just ended. */
function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
