/**
 * Copies of a team's warehouse. They are taken every day; an admin can restore one after a script damaged the data. The
 * replaced warehouse is kept for a while.
 */
import type { Static } from "typebox";
import { defineRoute } from "./routes.ts";
import { ActionFeedback, maybe, oneOf, Timestamp } from "./schema.ts";
import { TeamParams, teamAccess } from "./teams.ts";
import { Type } from "./type.ts";

export const DatasetCopy = Type.Object(
  {
    created_at: Timestamp,
    kind: oneOf(["daily", "replaced"], { description: "`replaced` is the warehouse that a restored copy replaced" }),
  },
  { $id: "DatasetCopy" },
);
export type DatasetCopy = Static<typeof DatasetCopy>;

export const listDatasetCopies = defineRoute({
  id: "listDatasetCopies",
  method: "GET",
  path: "/api/teams/{team_name}/dataset-copies",
  tag: "Teams",
  summary: "List the copies of a team's warehouse, newest first: daily copies, and warehouses that a copy replaced",
  access: teamAccess("read", "viewer"),
  params: TeamParams,
  response: Type.Array(DatasetCopy),
  errors: ["not_found"],
});

export const restoreDatasetCopy = defineRoute({
  id: "restoreDatasetCopy",
  method: "POST",
  path: "/api/teams/{team_name}/dataset-copies/restore",
  tag: "Teams",
  summary: "Restore a copy of a team's warehouse, while none of the team's jobs run",
  access: { ...teamAccess("write", "admin"), people: true },
  params: TeamParams,
  body: Type.Object({
    created_at: maybe({ ...Timestamp, description: "which copy; default: the newest daily copy" }),
  }),
  response: ActionFeedback,
  errors: ["not_found", "wrong_state"],
});
