/** Succession: what runs in somebody's name, and who takes it over. */
import type { Static } from "typebox";
import { access, defineRoute } from "./routes.ts";
import { ActionFeedback, maybe, Name, nullable, oneOf, TeamName, Timestamp, Uuid } from "./schema.ts";
import { TeamParams, teamAccess } from "./teams.ts";
import { Type } from "./type.ts";

const toWhom = {
  ...Name,
  description:
    "who takes over what runs in their name, as an editor or admin of each team where something does: you, the team's service account, or anybody where an administrator of the server says so",
} as typeof Name;
const force = Type.Boolean({ description: "also where the new owner lacks credentials that the runs name" });

/** Of a body. */
export const successor = { transfer_to: maybe(toWhom), force: maybe(force) };
/** Of a query. */
export const SuccessorQuery = Type.Object({ transfer_to: Type.Optional(toWhom), force: Type.Optional(force) });

/** What a new owner has instead of credentials that somebody's runs name. */
const replacements = ["own", "team", "missing"] as const;

const team = Type.String({ description: "name of the team" });

export const Work = Type.Object(
  {
    jobs: Type.Array(Type.Object({ team, id: Uuid, name: nullable(Type.String()), status: Type.String() }), {
      description: "that run or wait for slots: they go on, and are not handed over",
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
        runs: Type.Integer({ description: "how many of its runs have the rights of this person; 0: it goes on" }),
      }),
    ),
    pipelines: Type.Array(
      Type.Object({ team, id: Uuid, name: Type.String(), status: Type.String(), runs: Type.Integer() }),
      { description: "not finished, with runs of this person that have not begun" },
    ),
    credentials: Type.Array(
      Type.Object({
        team,
        name: Type.String(),
        replaced_by: nullable(
          oneOf(replacements, {
            description:
              "what the new owner has by this name: a set of their `own`, the `team`'s, or none (`missing`); null where no new owner is named",
          }),
        ),
      }),
      { description: "of the person's own, that tasks, schedules or pipelines above name" },
    ),
    tokens: Type.Array(Type.Object({ id: Type.Integer(), name: Type.String(), last_used_at: nullable(Timestamp) }), {
      description: "that work, for administrators of the server; they are not handed over",
    }),
    transfer_refused: nullable(
      Type.String({ description: "why the new owner that was named cannot take it over; null: nothing is in the way" }),
    ),
  },
  {
    $id: "Work",
    description:
      "What runs in somebody's name; of jobs, pipelines and tokens the first hundred, of tasks and schedules the first thousand.",
  },
);
export type Work = Static<typeof Work>;

const WorkQuery = Type.Object({
  transfer_to: Type.Optional({
    ...toWhom,
    description: "look also at what this user would have and lack",
  } as typeof toWhom),
});

export const getUserWork = defineRoute({
  id: "getUserWork",
  method: "GET",
  path: "/api/users/{username}/work",
  tag: "Users",
  summary: "What runs in the name of a user, in all teams: look before disabling one",
  access: { kind: "admin", scope: "ADMIN:read", why: "work in other teams is nobody else's business" },
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
  summary: "What runs in the name of a member in the team: look before removing one",
  access: { ...teamAccess("read", "admin"), people: true },
  params: Type.Object({ ...TeamParams.properties, username: Name }),
  query: WorkQuery,
  response: Work,
  errors: ["not_found"],
});

/** A task and a pipeline outlive whoever hands them over: that is not a job's to do. */
const people = true;
const newOwner = {
  owner: {
    ...toWhom,
    description: "you, the team's service account, or anybody where an administrator says so",
  } as typeof toWhom,
  force: successor.force,
};

export const handOverTask = defineRoute({
  id: "handOverTask",
  method: "POST",
  path: "/api/datachain/jobs/{job_id}/hand-over",
  tag: "Jobs",
  summary: "Jobs that a task fires from now on are another user's, with that user's rights and credentials",
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
  summary: "Runs of a pipeline that have not begun are another user's, with that user's rights and credentials",
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
