/**
 * The folder of a team's virtualenvs and of the package cache that they share. Only uv writes to the cache, under a
 * user id that no job has. This user, the keeper, gets a random id when the cache is created and owns the cache from
 * then on. Only root and members of the folder's group can enter the folder. The group has a random id, and the team's
 * jobs are its members: other jobs see the paths of virtualenvs in the machine's list of processes.
 */
import { chmodSync, lstatSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { giveToNobody, giveToNobodysGroup } from "../../nobodys-user.ts";

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
   * Id of the group that may enter the folder. Undefined if jobs run as the server's user, or if the folder is older
   * than this rule and every user may traverse it.
   */
  get group(): number | undefined {
    return isRoot && this.#keeps ? lstatSync(this.folder).gid || undefined : undefined;
  }

  /**
   * Closes the folders of teams that an earlier version left open to every user. A running job is not a member of the
   * new groups, so this is only possible while no job runs.
   */
  static closeAll(envsDir: string): void {
    for (const team of readdirSync(envsDir).filter((name) => /^\d+$/.test(name))) {
      const folder = join(envsDir, team);
      if (lstatSync(folder).gid === 0) close(folder);
    }
  }

  /**
   * Creates the team's folder and the package cache. Each is created under another name and renamed after its owner was
   * set, so that it never appears with the wrong owner.
   */
  make(): void {
    this.#makeFolder();
    if (!this.#keeps || this.#isMade()) return;
    const draft = join(this.folder, "cache.new");
    rmSync(draft, { recursive: true, force: true });
    mkdirSync(draft, { mode: 0o700 });
    if (isRoot) giveToNobody(draft);
    rmSync(this.cache, { recursive: true, force: true });
    renameSync(draft, this.cache);
  }

  #makeFolder(): void {
    if (lstatSync(this.folder, { throwIfNoEntry: false })) return;
    const draft = `${this.folder}.new`;
    rmSync(draft, { recursive: true, force: true });
    mkdirSync(draft, { mode: 0o711 });
    if (isRoot && this.#keeps) close(draft);
    renameSync(draft, this.folder);
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

/** Lets only root and a new group enter the folder. No other team has this group. */
function close(folder: string): void {
  const envsDir = dirname(folder);
  giveToNobodysGroup(folder, new Set(readdirSync(envsDir).map((name) => lstatSync(join(envsDir, name)).gid)));
  chmodSync(folder, 0o710);
}
