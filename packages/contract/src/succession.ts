/** Succession: the work that runs with a user's rights, and the user who takes it over when that user leaves. */
import type { Static } from "typebox";
import { access, defineRoute } from "./routes.ts";
import { ActionFeedback, maybe, Name, nullable, oneOf, TeamName, Timestamp, Uuid } from "./schema.ts";
import { TeamParams, teamAccess } from "./teams.ts";
import { Type } from "./type.ts";

const toWhom = {
  ...Name,
  description:
    "new owner of the user's schedules, tasks and pipelines, who must be an editor or admin of each team concerned: you or the team's service account; administrators of the server may name any user",
} as typeof Name;
const force = Type.Boolean({ description: "hand over even if the new owner lacks credentials that the runs name" });

/** Fields of a request body that name the new owner of a user's work. */
export const successor = { transfer_to: maybe(toWhom), force: maybe(force) };
/** Fields of a query string that name the new owner of a user's work. */
export const SuccessorQuery = Type.Object({ transfer_to: Type.Optional(toWhom), force: Type.Optional(force) });

/**
 * If a run names credentials of its previous owner, which set replaces them. `own`: the new owner's set with the same
 * name. `team`: the team's set. `missing`: neither exists.
 */
const replacements = ["own", "team", "missing"] as const;

const team = Type.String({ description: "name of the team" });

export const Work = Type.Object(
  {
    jobs: Type.Array(Type.Object({ team, id: Uuid, name: nullable(Type.String()), status: Type.String() }), {
      description: "running and waiting jobs; they continue and are not handed over",
    }),
    tasks: Type.Array(
      Type.Object({
        team,
        id: Uuid,
        name: nullable(Type.String()),
        cron_expression: nullable(Type.String()),
        next_run: nullable(Timestamp),
      }),
    ),
    schedules: Type.Array(
      Type.Object({
        team,
        id: Type.Integer(),
        name: Type.String(),
        next_run: nullable(Timestamp),
        is_owner: Type.Boolean(),
        runs: Type.Integer({
          description:
            "number of runs in the schedule's template that have the rights of this user; 0 means that the schedule can continue without this user",
        }),
      }),
    ),
    pipelines: Type.Array(
      Type.Object({ team, id: Uuid, name: Type.String(), status: Type.String(), runs: Type.Integer() }),
      { description: "unfinished pipelines with runs of this user that have not started" },
    ),
    credentials: Type.Array(
      Type.Object({
        team,
        name: Type.String(),
        replaced_by: nullable(
          oneOf(replacements, {
            description:
              "which credentials with this name the runs would use under the new owner: the new owner's `own`, those of the `team`, or none (`missing`); null if the request names no new owner",
          }),
        ),
      }),
      { description: "the user's own credentials that these tasks, schedules and pipelines use" },
    ),
    tokens: Type.Array(Type.Object({ id: Type.Integer(), name: Type.String(), last_used_at: nullable(Timestamp) }), {
      description: "valid tokens, shown to administrators of the server; they are not handed over",
    }),
    transfer_refused: nullable(
      Type.String({ description: "why the named new owner cannot take over; null if nothing prevents it" }),
    ),
  },
  {
    $id: "Work",
    description:
      "Work that runs with a user's rights: the first hundred jobs, pipelines and tokens, and the first thousand tasks and schedules.",
  },
);
export type Work = Static<typeof Work>;

const WorkQuery = Type.Object({
  transfer_to: Type.Optional({
    ...toWhom,
    description: "a possible new owner; the response then tells which credentials this user lacks",
  } as typeof toWhom),
});

export const getUserWork = defineRoute({
  id: "getUserWork",
  method: "GET",
  path: "/api/users/{username}/work",
  tag: "Users",
  summary: "List the work that runs with a user's rights in all teams, for example before disabling the user",
  access: { kind: "admin", scope: "ADMIN:read", why: "the work of other teams is confidential" },
  params: Type.Object({ username: Name }),
  query: WorkQuery,
  response: Work,
  errors: ["not_found"],
});

export const getMemberWork = defineRoute({
  id: "getMemberWork",
  method: "GET",
  path: "/api/teams/{team_name}/members/{username}/work",
  tag: "Teams",
  summary: "List the work that runs with a member's rights in the team, for example before removing the member",
  access: { ...teamAccess("read", "admin"), people: true },
  params: Type.Object({ ...TeamParams.properties, username: Name }),
  query: WorkQuery,
  response: Work,
  errors: ["not_found"],
});

/** Access rule: a job's token is not accepted, because tasks and pipelines continue after the job has ended. */
const people = true;
const newOwner = {
  owner: {
    ...toWhom,
    description: "you or the team's service account; administrators of the server may name any user",
  } as typeof toWhom,
  force: successor.force,
};

export const handOverTask = defineRoute({
  id: "handOverTask",
  method: "POST",
  path: "/api/datachain/jobs/{job_id}/hand-over",
  tag: "Jobs",
  summary: "Hand over a task: the jobs that it creates from now on get another user's rights and credentials",
  access: { ...access("JOB", "write", "editor"), people },
  params: Type.Object({ job_id: Uuid }),
  body: Type.Object({ team_name: maybe(TeamName), ...newOwner }),
  response: ActionFeedback,
  errors: ["not_found", "wrong_state"],
});

export const handOverPipeline = defineRoute({
  id: "handOverPipeline",
  method: "POST",
  path: "/api/datachain/pipeline/hand-over",
  tag: "Pipelines",
  summary: "Hand over a pipeline: runs that have not started get another user's rights and credentials",
  access: { ...access("PIPELINES", "write", "editor"), people },
  body: Type.Object({
    team_name: maybe(TeamName),
    pipeline_id: maybe(Uuid),
    name: maybe(Type.String({ minLength: 1, maxLength: 255 })),
    ...newOwner,
  }),
  response: ActionFeedback,
  errors: ["not_found", "wrong_state"],
});
