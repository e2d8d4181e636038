/** Datasets: for now only what the client asks after every job. */

import { access, defineRoute } from "./routes.ts";
import { TeamName, Uuid } from "./schema.ts";
import { Type } from "./type.ts";

export const datasetJobVersions = defineRoute({
  id: "datasetJobVersions",
  method: "GET",
  path: "/api/datachain/datasets/dataset_job_versions",
  tag: "Datasets",
  summary: "Dataset versions that a job made; empty until the dataset registry comes",
  access: access("JOB", "read", "viewer"),
  query: Type.Object({ job_id: Uuid, team_name: Type.Optional(TeamName) }),
  response: Type.Object({
    dataset_versions: Type.Array(Type.Object({ dataset_name: Type.String(), version: Type.String() })),
  }),
  errors: ["not_found"],
});
