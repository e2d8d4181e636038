/** The audit: every change leaves a row that says who, what, when and from where, written with the change itself. */
import { insertAudit } from "../store/audit.ts";
import type { Db } from "../store/store.ts";
import { iso } from "./clock.ts";
import { describeVia, type Principal, type Team } from "./principals.ts";

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
    target,
    detail,
  });
