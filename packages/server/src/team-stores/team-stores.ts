/**
 * The stores of rows that teams' jobs write with the library. The server never opens their files itself: it asks for
 * what it needs, and something that has no rights of its own opens them.
 */
import type { EditRequest } from "./programs/edit-dataset.ts";
import type { RowsRequest } from "./programs/export-rows.ts";
import type { RemoveRequest } from "./programs/remove-versions.ts";

export interface TeamStores {
  /** One file of a version's rows, written to `path` (made anew). */
  exportRows(teamId: number, request: RowsRequest, path: string): Promise<void>;
  /** A team without a store has nothing to change. */
  editDataset(teamId: number, request: EditRequest): Promise<void>;
  /** The same. */
  removeVersions(teamId: number, request: RemoveRequest): Promise<void>;
}

/** Thrown where the team's store cannot be read or changed: its message is for people of the team. */
export class StoreUnusable extends Error {}
