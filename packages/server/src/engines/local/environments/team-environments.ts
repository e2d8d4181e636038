/**
 * The folder of a team's virtualenvs and of the package cache that they share. Only uv writes to the cache, under a
 * user id that no job has. This user, the keeper, gets a random id when the cache is created and owns the cache from
 * then on.
 */
import { lstatSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { giveToNobody } from "../../nobodys-user.ts";

const isRoot = process.getuid?.() === 0;

export class TeamEnvironments {
  readonly folder: string;
  readonly cache: string;
  readonly #keeps: boolean;

  /**
   * `keeps` says whether the team has a package cache. Without isolation there is none, because jobs could write to it.
   */
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
   * Creates the team's folder, which every user may traverse, and the package cache. The cache is created under another
   * name and renamed after its owner was set, so that it never appears with the wrong owner.
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
   * Whether the cache exists and belongs to a user id without privileges. Returns false for a cache that belongs to
   * root, so that it is replaced.
   */
  #isMade(): boolean {
    const found = lstatSync(this.cache, { throwIfNoEntry: false });
    return found !== undefined && (!isRoot || found.uid !== 0);
  }
}
