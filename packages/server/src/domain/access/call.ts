/** Who asks for something: every rule that changes anything takes one of these. */
import type { Actor } from "./audit.ts";
import type { Principal, Team } from "./principals.ts";

/** The principal says what the caller may do; the actor is what the audit writes down. */
export interface Caller {
  readonly principal: Principal;
  readonly actor: Actor;
}

/** A caller in one of their teams. */
export interface Call extends Caller {
  readonly team: Team;
}

/** A call whose rights were checked before. */
export type TeamCall = Omit<Call, "principal">;
