/**
 * The files of one attempt that a runner runs. They are in the attempt's folder on the server, beside those of local
 * attempts, so that logs are found, archived and backed up in the same way.
 */
import { randomUUID, timingSafeEqual } from "node:crypto";
import {
  appendFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { access, open, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { runnerLimits } from "@millrace/contract";
import type { Exit } from "../engine.ts";
import type { RemoteLimits } from "../limit-words.ts";

/** Who has claimed an attempt: a runner, by its instance, or the server, which withdrew it. */
export interface Claim {
  readonly instance: string | null;
  readonly host: string;
  readonly at: number;
}

/** A phase that a runner has begun, in milliseconds since the Unix epoch. */
export interface Begun {
  readonly name: string;
  readonly started_at: number;
}

export interface End extends Exit {
  readonly steps: readonly Begun[];
  /** The limit that ended the job, as its runner reported it. */
  readonly overLimit: RunnerLimit | null;
  readonly metrics: string | null;
  /** Set if the server ended the attempt, and its runner may go on on a machine that nobody reaches. */
  readonly mayRunOn?: true;
}

/** Whose jobs may use a packed virtualenv: those of a team, or those with the secrets of one person in it. */
export interface PackOwner {
  readonly team: number;
  readonly person: number | null;
}

export type RunnerLimit = (typeof runnerLimits)[number];

/**
 * Names of files that the cleanup of an ended attempt keeps. With the hashes of its secrets, a runner that comes late or
 * repeats its end is answered correctly.
 */
const kept = new Set(["claim", "code", "token", "log", "usage", "end", "limit", "there", "unbegun"]);

/** The most bytes of a log that the server writes before the runner does: a reason may change back and forth. */
const mostSaid = 8192;

/** Keys become names of folders, so only these are accepted from outside: of runners, and in the lists of clusters. */
export const isKey = (key: string) => /^[\w-]{1,64}\.\d{1,9}$/.test(key);

export class RunnerFolder {
  readonly path: string;
  readonly log: string;
  readonly usage: string;

  constructor(jobsDir: string, key: string) {
    this.path = join(jobsDir, key);
    this.log = join(this.path, "log");
    this.usage = join(this.path, "usage");
  }

  make(): void {
    mkdirSync(this.path, { recursive: true, mode: 0o700 });
  }

  /** Writes a file so that it appears complete or not at all. */
  write(name: string, text: string): void {
    const draft = join(this.path, `${name}.draft`);
    writeFileSync(draft, text, { mode: 0o600 });
    renameSync(draft, join(this.path, name));
  }

  writeJson = (name: string, value: unknown) => this.write(name, JSON.stringify(value));

  text(name: string): string {
    try {
      return readFileSync(join(this.path, name), "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
      throw error;
    }
  }

  #json<T>(name: string): T | undefined {
    const text = this.text(name);
    return text === "" ? undefined : (JSON.parse(text) as T);
  }

  claim = () => this.#json<Claim>("claim");
  end = () => this.#json<End>("end");
  /** Whether no runner may run this attempt any more: it has ended, or it was withdrawn. */
  isOver = () => this.has("end") || this.claim()?.instance === null;
  steps = () => this.#json<readonly Begun[]>("steps") ?? [];
  /** The limits with which the attempt was submitted; undefined if that was before they were noted. */
  limits = () => this.#json<RemoteLimits>("limits");
  /** Whose packs the attempt may use; undefined if its virtualenv is not packed. */
  packs = () => this.#json<PackOwner>("packs");
  /** Whether the attempt is one of a runner and has not been cleaned up, neither here nor on its cluster. */
  isLeft = async () => (await this.hasJob()) || (await this.#reaches("there"));
  hasJob = () => this.#reaches("job");

  #reaches = (name: string) =>
    access(join(this.path, name)).then(
      () => true,
      () => false,
    );

  /** Notes that the cluster may have something of this attempt; `noteGone` notes that it has nothing any more. */
  noteThere = () => this.write("there", "");
  noteGone = () => rm(join(this.path, "there"), { force: true });
  /** Notes that a runner was placed for this attempt, and ended before it could claim it. */
  noteUnbegun = () => this.write("unbegun", "");
  isUnbegun = () => this.has("unbegun");
  has = (name: string) => existsSync(join(this.path, name));

  /** Claims the attempt, unless somebody has claimed it before. Returns whose claim it is. */
  claimFor(claim: Claim): Claim {
    const earlier = this.claim();
    if (earlier) return earlier;
    // The name is not made of anything that the runner sent: jobs can send claims as well.
    const draft = join(this.path, `claim.${randomUUID()}`);
    this.make();
    writeFileSync(draft, JSON.stringify(claim), { mode: 0o600 });
    try {
      // A hard link is atomic: it appears with its full content or not at all, and fails if the name exists.
      linkSync(draft, join(this.path, "claim"));
      return claim;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      return this.claim() ?? claim;
    } finally {
      unlinkSync(draft);
    }
  }

  /** Whether one line of a file is the hash of this secret. */
  holds(name: string, hash: string): boolean {
    const given = Buffer.from(hash);
    const known = this.text(name)
      .split("\n")
      .map((line) => Buffer.from(line));
    return given.length > 0 && known.some((line) => line.length === given.length && timingSafeEqual(line, given));
  }

  /**
   * Adds a line to the log while no runner has claimed the attempt, if it differs from the last one. The runner's own
   * output comes after these lines.
   */
  say(line: string): void {
    if (line === this.text("said") || this.claim() || this.logSize() >= mostSaid) return;
    appendFileSync(this.log, `[millrace] ${line}\n`, { mode: 0o600 });
    this.write("said", line);
  }

  /** Notes where the runner's own output begins. */
  beginLog(): void {
    if (!this.has("before")) this.write("before", String(this.logSize()));
  }

  /** Bytes of the log that are not the runner's. */
  #before = () => Number(this.text("before"));
  /** Bytes of the log that the runner has sent. */
  sentSize = () => this.logSize() - this.#before();

  logSize = () => statSync(this.log, { throwIfNoEntry: false })?.size ?? 0;
  logBytes = () => (statSync(this.log, { throwIfNoEntry: false })?.blocks ?? 0) * 512;

  /**
   * Appends bytes to the log if the runner's output ends at this offset. Returns the size of its output then; a runner
   * whose bytes do not follow goes on from there.
   */
  async append(offset: number, parts: readonly Uint8Array[]): Promise<number> {
    const file = await open(this.log, "a", 0o600);
    try {
      const sent = (await file.stat()).size - this.#before();
      if (sent !== offset) return sent;
      // A full disk may take only the first of them.
      return sent + (await file.writev(parts)).bytesWritten;
    } finally {
      await file.close();
    }
  }

  async clean(): Promise<void> {
    const names = await readdir(this.path).catch(() => []);
    for (const name of names) if (!kept.has(name)) await rm(join(this.path, name), { recursive: true, force: true });
  }

  remove = () => rm(this.path, { recursive: true, force: true });
}
