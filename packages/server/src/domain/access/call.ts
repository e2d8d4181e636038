/** Types for the caller of a request. Every domain function that changes something takes one of them. */
import type { Actor } from "./audit.ts";
import type { Principal, Team } from "./principals.ts";

/** The caller of a request: `principal` has the rights, `actor` is what the audit log records. */
export interface Caller {
  readonly principal: Principal;
  readonly actor: Actor;
}

/** A caller, and the team that the request is about. */
export interface Call extends Caller {
  readonly team: Team;
}

/** A call whose rights were already checked. The principal is left out, because only that check needs it. */
export type TeamCall = Omit<Call, "principal">;
