/**
 * The folder of a team's virtualenvs and of the package cache that they share. Only uv writes to the cache. It runs
 * under a user id that no job has (the keeper), which is chosen at random when the cache is created and owns the cache
 * from then on.
 */
import { lstatSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { giveToNobody } from "../../nobodys-user.ts";

const isRoot = process.getuid?.() === 0;

export class TeamEnvironments {
  readonly folder: string;
  readonly cache: string;
  readonly #keeps: boolean;

  /** `keeps` says whether the team has a package cache. A cache requires isolation, so that jobs cannot write to it. */
  constructor(envsDir: string, teamId: number, keeps: boolean) {
    this.folder = join(envsDir, String(teamId));
    this.cache = join(this.folder, "cache");
    this.#keeps = keeps;
  }

  /** User id that owns the package cache; undefined for the server's own user. */
  get keeper(): number | undefined {
    return isRoot && this.#keeps ? lstatSync(this.cache).uid : undefined;
  }

  /**
   * Creates the folder, which every user may traverse, and the cache. The cache gets its owner before a rename makes it
   * visible.
   */
  make(): void {
    mkdirSync(this.folder, { recursive: true, mode: 0o711 });
    if (!this.#keeps || this.#isMade()) return;
    const draft = join(this.folder, "cache.new");
    rmSync(draft, { recursive: true, force: true });
    mkdirSync(draft, { mode: 0o700 });
    if (isRoot) giveToNobody(draft);
    rmSync(this.cache, { recursive: true, force: true });
    renameSync(draft, this.cache);
  }

  /**
   * Whether the cache exists and belongs to a user id without privileges. A cache that belongs to root does not count
   * and is replaced.
   */
  #isMade(): boolean {
    const found = lstatSync(this.cache, { throwIfNoEntry: false });
    return found !== undefined && (!isRoot || found.uid !== 0);
  }
}
