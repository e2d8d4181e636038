/** A stand-in that opens the files in this process, until the one that opens them in a sandboxed child is there. */
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type EditRequest, editDataset } from "./programs/edit-dataset.ts";
import { exportRows, type RowsRequest } from "./programs/export-rows.ts";
import { type RemoveRequest, removeVersions } from "./programs/remove-versions.ts";
import { StoreUnusable, type TeamStores } from "./team-stores.ts";

export const teamStoreFiles = (dataDir: string, teamId: number) => {
  const folder = join(dataDir, "team-stores", String(teamId));
  return { folder, metadata: join(folder, "metadata.db"), rows: join(folder, "rows.db") };
};

export class DirectTeamStores implements TeamStores {
  readonly #dataDir: string;

  constructor(dataDir: string) {
    this.#dataDir = dataDir;
  }

  async exportRows(teamId: number, request: RowsRequest, path: string): Promise<void> {
    await writeFile(
      path,
      this.#with(teamId, (_metadata, rows) => exportRows(rows, request)),
    );
  }

  async editDataset(teamId: number, request: EditRequest): Promise<void> {
    if (this.#has(teamId)) this.#with(teamId, (metadata, rows) => editDataset(metadata, rows, request));
  }

  async removeVersions(teamId: number, request: RemoveRequest): Promise<void> {
    if (this.#has(teamId)) this.#with(teamId, (metadata, rows) => removeVersions(metadata, rows, request));
  }

  #has(teamId: number): boolean {
    const { metadata, rows } = teamStoreFiles(this.#dataDir, teamId);
    return existsSync(metadata) && existsSync(rows);
  }

  #with<T>(teamId: number, work: (metadata: DatabaseSync, rows: DatabaseSync) => T): T {
    const files = teamStoreFiles(this.#dataDir, teamId);
    if (!this.#has(teamId)) throw new StoreUnusable("The team has no store of rows");
    const opened = [files.metadata, files.rows].map((path) => new DatabaseSync(path, { timeout: 5000 }));
    try {
      for (const database of opened) database.exec("pragma trusted_schema = off");
      return work(...(opened as [DatabaseSync, DatabaseSync]));
    } catch (error) {
      throw new StoreUnusable((error as Error).message, { cause: error });
    } finally {
      for (const database of opened) database.close();
    }
  }
}
