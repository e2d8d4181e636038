/** The audit: every change leaves a row that says who, what, when and from where, written with the change itself. */
import { ApiError, type AuditEntry, type RouteInput, type routes } from "@millrace/contract";
import type { Db } from "../../store/drivers/store.ts";
import { insertAudit, listAudit } from "../../store/queries/people/audit.ts";
import { findTeam } from "../../store/queries/people/teams.ts";
import { beginningOf } from "../../store/queries/short-texts.ts";
import { nextLook } from "../../turns/large-answers.ts";
import { iso } from "../time/clock.ts";
import { authorize, describeVia, type Principal, type Team } from "./principals.ts";

/** Who changes something, and from where. */
export interface Actor {
  /** Null: somebody on the machine itself, who may open the store. */
  readonly userId: number | null;
  readonly username: string;
  readonly via: string;
  readonly address: string;
}

export const actorOf = ({ userId, username, via }: Principal, address: string): Actor => ({
  userId,
  username,
  via: via.kind === "token" ? `token ${via.name}` : describeVia(via),
  address,
});

/** For commands that work on the store itself. */
export const operator: Actor = { userId: null, username: "", via: "command line", address: "" };

export interface Change {
  /** Noun and verb, such as `user.create`. */
  readonly action: string;
  readonly team?: Pick<Team, "id"> | undefined;
  /** What was changed, by the name that people know. */
  readonly target: string;
  /** Never a secret. */
  readonly detail?: string;
}

/** Characters: a change of very many things names the first ones. */
const most = { target: 2048, detail: 4096 } as const;

/** Call it inside the write that makes the change. */
export const audit = (db: Db, actor: Actor, { action, team, target, detail = "" }: Change, now: number) =>
  insertAudit(db, {
    at: iso(now),
    user_id: actor.userId,
    username: actor.username,
    via: actor.via,
    address: actor.address,
    action,
    team_id: team?.id ?? null,
    target: beginningOf(target, most.target),
    detail: beginningOf(detail, most.detail),
  });

type AuditQuery = RouteInput<typeof routes.listAudit>["query"];

/** Everything for administrators of the server; for others what happened in a team of which they are admin. */
export async function readAudit(db: Db, principal: Principal, query: AuditQuery): Promise<AuditEntry[]> {
  const { username, action, cursor, limit = 50 } = query;
  const teamId = principal.isAdmin
    ? await idOfTeam(db, query.team_name)
    : authorize(principal, { kind: "token", scope: "ADMIN:read", role: "admin" }, query.team_name).id;
  return listAudit(db, { teamId, username, action, before: cursor, limit }, nextLook);
}

async function idOfTeam(db: Db, name: string | undefined): Promise<number | undefined> {
  if (name === undefined) return undefined;
  const team = await findTeam(db, name);
  if (!team) throw new ApiError("not_found", `There is no team ${name}.`, { hint: "list_teams" });
  return team.id;
}
