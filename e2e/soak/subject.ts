/** The server under test with everything that faults affect: its database, its disk, its clock, its network. */
import { execFileSync } from "node:child_process";
import { chmod, mkdtemp, readdir, readFile, rm, rmdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Client, createClient } from "@millrace/contract";
import { TestServer } from "@millrace/testing/millrace/server.ts";
import type { PostgresCluster } from "@millrace/testing/servers/postgres-cluster.ts";
import { CuttingProxy } from "../support/cutting-proxy.ts";

/** Library that changes the clock of the process that loads it. */
export const fakeClock = `/usr/lib/${process.arch === "arm64" ? "aarch64" : "x86_64"}-linux-gnu/faketime/libfaketimeMT.so.1`;

export interface SubjectOptions {
  readonly databaseUrl?: string;
  readonly cluster?: PostgresCluster;
}

export class Subject {
  readonly server: TestServer;
  /** Through the proxy, whose connections are cut. */
  readonly client: Client;
  readonly token: string;
  readonly cluster: PostgresCluster | undefined;
  readonly databaseUrl: string;
  readonly proxy: CuttingProxy;
  /** On another disk than the data folder; jobs leave traces here. */
  readonly witness: string;
  readonly #disk: string;

  static async start({ databaseUrl = "", cluster }: SubjectOptions): Promise<Subject> {
    // Not in a temporary folder: there another server removes files of its jobs' user ids, which are reused.
    const witness = await mkdtemp("/run/millrace-witness-");
    await chmod(witness, 0o777);
    const disk = await mkdtemp(join(tmpdir(), "millrace-soak-"));
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=1500m,mode=755", "tmpfs", disk]);
    await removeStaleClocks();
    const clock = join(witness, "clock");
    await writeFile(clock, "+0\n");
    const server = await TestServer.start({
      dataDir: disk,
      logFile: join(disk, "server.log"),
      ...(databaseUrl ? { databaseUrl } : {}),
      env: {
        MILLRACE_MAX_WORKERS: "4",
        MILLRACE_DISK_FLOOR: "0",
        MILLRACE_JOB_PATHS: `${witness}:rw`,
        LD_PRELOAD: fakeClock,
        FAKETIME_TIMESTAMP_FILE: clock,
        FAKETIME_CACHE_DURATION: "1",
        FAKETIME_DONT_FAKE_MONOTONIC: "1",
      },
    });
    const proxy = await CuttingProxy.start(server.port);
    return new Subject({ server, proxy, witness, disk, databaseUrl, cluster, token: await server.token() });
  }

  private constructor(parts: {
    server: TestServer;
    proxy: CuttingProxy;
    witness: string;
    disk: string;
    token: string;
    databaseUrl: string;
    cluster: PostgresCluster | undefined;
  }) {
    this.server = parts.server;
    this.proxy = parts.proxy;
    this.witness = parts.witness;
    this.#disk = parts.disk;
    this.token = parts.token;
    this.databaseUrl = parts.databaseUrl;
    this.cluster = parts.cluster;
    this.client = createClient({ url: this.proxy.url, token: this.token, team: "main" });
  }

  /** An offset in the format of libfaketime: +400d, -3600, +0. */
  setClock(offset: string): Promise<void> {
    return writeFile(join(this.witness, "clock"), `${offset}\n`);
  }

  /** Starts the server again after it was stopped or killed. */
  async startServer(): Promise<void> {
    await removeStaleClocks();
    await this.server.start();
  }

  get #ballast(): string {
    return join(this.#disk, "ballast");
  }

  /** Fills the disk completely. */
  fillDisk(): void {
    execFileSync("sh", [
      "-c",
      'dd if=/dev/zero of="$1" bs=1M 2>/dev/null; dd if=/dev/zero of="$1" bs=4k oflag=append conv=notrunc 2>/dev/null; true',
      "sh",
      this.#ballast,
    ]);
  }

  freeDisk(): Promise<void> {
    return rm(this.#ballast, { force: true });
  }

  /** Resident memory of the server's process, in megabytes. */
  async memory(): Promise<number> {
    const text = await readFile(`/proc/${this.server.pid}/status`, "utf8");
    return Number(/VmRSS:\s+(\d+)/.exec(text)?.[1]) / 1024;
  }

  log(): Promise<string> {
    return readFile(join(this.#disk, "server.log"), "utf8");
  }

  /** Path of the SQLite database. */
  get storeFile(): string {
    return join(this.#disk, "millrace.db");
  }

  async dispose(): Promise<void> {
    await this.proxy.stop();
    await this.server.stop("SIGKILL");
    execFileSync("umount", ["--lazy", this.#disk]);
    await rmdir(this.#disk);
    await rm(this.witness, { recursive: true, force: true });
  }
}

const sharedMemory = "/dev/shm";

/**
 * Removes what killed processes left of libfaketime. It names its files by process id, and a later process with that id
 * but another user cannot open them, and ends.
 */
async function removeStaleClocks(): Promise<void> {
  for (const name of await readdir(sharedMemory)) {
    const [, pid] = /faketime_(?:sem|shm)_(\d+)$/.exec(name) ?? [];
    if (pid === undefined) continue;
    const environment = await readFile(`/proc/${pid}/environ`, "utf8").catch(() => "");
    if (!environment.includes("FAKETIME")) await rm(join(sharedMemory, name), { force: true });
  }
}
