/** HTTP routes for the caller's own profile. */
import { routes } from "@millrace/contract";
import type { FastifyInstance } from "fastify";
import { changePassword, changeProfile, describePrincipal } from "../../domain/people/profile.ts";
import type { RequestContext } from "../requests/context.ts";
import { register } from "../requests/route.ts";

export function profileRoutes(app: FastifyInstance, context: RequestContext): void {
  const { store, clock, limits } = context;

  register(app, context, routes.whoAmI, ({ principal }) => describePrincipal(store.db, principal));

  register(app, context, routes.updateProfile, ({ principal, actor, body }) =>
    changeProfile(store, { principal, actor }, body, clock.now()),
  );

  register(app, context, routes.changePassword, async ({ principal, actor, body }) => {
    limits.passwords.take(principal.username);
    await changePassword(store, { principal, actor }, body, clock.now());
    return { message: `The password of ${principal.username} was changed, and all browser sessions were signed out.` };
  });
}
