/**
 * The audit log. Every change adds a row that says who changed what, when and from where. The row is written in the
 * transaction that makes the change.
 */
import { ApiError, type AuditEntry, type RouteInput, type routes } from "@millrace/contract";
import type { Db } from "../../store/drivers/store.ts";
import { insertAudit, listAudit } from "../../store/queries/people/audit.ts";
import { findTeam } from "../../store/queries/people/teams.ts";
import { beginningOf } from "../../store/queries/short-texts.ts";
import { nextLook } from "../../turns/large-answers.ts";
import { iso } from "../time/clock.ts";
import { authorize, describeVia, type Principal, type Team } from "./principals.ts";

/** The user who makes a change, and the address the request came from. */
export interface Actor {
  /**
   * User id; null if an operator opens the store directly on the server's machine, or if the user is unknown, as after
   * a refused sign-in.
   */
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

/** The actor of admin commands that open the store directly instead of calling the API. */
export const operator: Actor = { userId: null, username: "", via: "command line", address: "" };

export interface Change {
  /** Noun and verb, for example `user.create`. */
  readonly action: string;
  readonly team?: Pick<Team, "id"> | undefined;
  /** Name of the changed object as users know it. */
  readonly target: string;
  /** Further text, for example the new values. It must never contain a secret. */
  readonly detail?: string;
}

/** Maximum length of the target and of the detail, in characters. Longer texts are cut off at the end. */
const most = { target: 2048, detail: 4096 } as const;

/** Writes a row to the audit log. Call it inside the transaction that makes the change. */
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

/**
 * Returns audit entries. Server administrators can read all entries. Other users can read the entries of a team in
 * which they are admin.
 */
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
