/**
 * Where the environments of a team lie, beside one cache of packages that they share. Only uv fills the cache, as a user
 * that is nobody's: the keeper, chosen by chance when the cache is made, and told by it ever after.
 */
import { lstatSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { giveToNobody } from "../../nobodys-user.ts";

const isRoot = process.getuid?.() === 0;

export class TeamEnvironments {
  readonly folder: string;
  readonly cache: string;
  readonly #keeps: boolean;

  /** `keeps`: jobs have other users than the server, or do not see what is not theirs. */
  constructor(envsDir: string, teamId: number, keeps: boolean) {
    this.folder = join(envsDir, String(teamId));
    this.cache = join(this.folder, "cache");
    this.#keeps = keeps;
  }

  /** Undefined: the server's own user. */
  get keeper(): number | undefined {
    return isRoot && this.#keeps ? lstatSync(this.cache).uid : undefined;
  }

  /** Everybody may pass: what lies there is closed, or to be read. Nobody sees a cache before its rights are right. */
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

  /** One of a server that was not root has no keeper. */
  #isMade(): boolean {
    const found = lstatSync(this.cache, { throwIfNoEntry: false });
    return found !== undefined && (!isRoot || found.uid !== 0);
  }
}
