/** The stores of teams: made for jobs that use the library, read back after each, copied every day, tidied when idle. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Confine, Keeper } from "./keeper.ts";
import type { CollectRequest } from "./programs/collect.ts";
import { TeamFolder } from "./team-folder.ts";

/** Seconds that a program may take. */
const patience = { collect: 60 };

export class TeamStores {
  readonly #storesDir: string;
  readonly #keeper: Keeper;

  constructor(dataDir: string, confine: Confine) {
    this.#storesDir = join(dataDir, "team-stores");
    mkdirSync(this.#storesDir, { recursive: true, mode: 0o711 });
    this.#keeper = new Keeper(confine);
  }

  #folder(teamId: number): TeamFolder {
    return new TeamFolder(this.#storesDir, teamId);
  }

  /** The store as a job of this team finds it; made where there is none. */
  use(teamId: number) {
    const folder = this.#folder(teamId);
    folder.make();
    const { data, metadata, rows } = folder;
    return { folder: data, group: folder.group(), metadata, rows, made: folder.isMade() };
  }

  /** How a job ended goes in, what it did comes out: as the team's store says it, so nothing of it is to be believed. */
  async collect(teamId: number, request: CollectRequest): Promise<unknown> {
    const folder = this.#folder(teamId);
    const found = await this.#keeper.ask(folder, { program: "collect", request, seconds: patience.collect });
    folder.markMade();
    return found;
  }
}
