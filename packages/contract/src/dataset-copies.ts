/**
 * Copies of a team's warehouse, where the rows of datasets are stored. A copy is made every day. After a script has
 * damaged the data, an admin can restore a copy. The replaced warehouse is kept for some days.
 */
import type { Static } from "typebox";
import { defineRoute } from "./routes.ts";
import { ActionFeedback, maybe, oneOf, Timestamp } from "./schema.ts";
import { TeamParams, teamAccess } from "./teams.ts";
import { Type } from "./type.ts";

export const DatasetCopy = Type.Object(
  {
    created_at: Timestamp,
    kind: oneOf(["daily", "replaced"], {
      description: "`daily`: a daily copy; `replaced`: a warehouse that was replaced when a copy was restored",
    }),
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
    created_at: maybe({
      ...Timestamp,
      description: "`created_at` of the copy to restore; default: the newest daily copy",
    }),
  }),
  response: ActionFeedback,
  errors: ["not_found", "wrong_state"],
});
