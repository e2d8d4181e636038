/** HTTP routes for device logins. */
import { routes } from "@millrace/contract";
import type { FastifyInstance } from "fastify";
import {
  approveLogin,
  collectToken,
  denyLogin,
  isDeviceCode,
  loginMinutes,
  startDeviceLogin,
} from "../../domain/people/device-logins.ts";
import { endSession } from "../../domain/people/sessions.ts";
import { endToken } from "../../domain/people/tokens.ts";
import { hashSecret } from "../../domain/secrets/random-secrets.ts";
import { sessionCookie } from "../requests/authenticate.ts";
import type { PeopleContext } from "../requests/context.ts";
import { register } from "../requests/route.ts";

export function deviceLoginRoutes(app: FastifyInstance, context: PeopleContext): void {
  const { store, clock, limits, callers, publicUrl, site } = context;

  register(app, context, routes.startDeviceLogin, async ({ body }) => {
    const asked = {
      clientName: body.client_name || "Client",
      tokenName: body.token_name ?? undefined,
      scopes: body.scopes ?? undefined,
      teamNames: body.team_names ?? undefined,
      expiresInDays: body.expires_in_days ?? 365,
    };
    const login = await startDeviceLogin(store, asked, clock.now());
    return {
      device_code: login.deviceCode,
      user_code: login.userCode,
      verification_uri: `${publicUrl()}/auth/device-login`,
      token_uri: `${publicUrl()}${routes.pollDeviceLogin.path}`,
      token_name: login.tokenName,
      expires_in: loginMinutes * 60,
    };
  });

  register(app, context, routes.pollDeviceLogin, async ({ body, request }) => {
    const collect = () => collectToken(store, body.code, request.ip, clock.now());
    // A code that the server issued has its own budget; an unknown code counts against the caller.
    if (!(await isDeviceCode(store.db, body.code)))
      return limits.secrets.countRefused(await callers.keyOf(request), async () => ({ access_token: await collect() }));
    limits.polls.take(hashSecret(body.code));
    return { access_token: await collect() };
  });

  register(app, context, routes.approveDeviceLogin, async ({ principal, actor, body }) => {
    limits.answers.take(principal.username);
    await approveLogin(store, { principal, actor }, body.user_code, clock.now());
    return { message: `The login is approved as ${principal.username}.` };
  });

  register(app, context, routes.denyDeviceLogin, async ({ principal, actor, body }) => {
    limits.answers.take(principal.username);
    await denyLogin(store, { principal, actor }, body.user_code, clock.now());
    return { message: "The login is denied." };
  });

  register(app, context, routes.deviceLogout, async ({ principal, actor, request, reply }) => {
    if (principal.via.kind === "token") {
      await endToken(store, { principal, actor }, principal.via.id, clock.now());
      return { message: "The token is revoked." };
    }
    await endSession(store, principal, request.ip, clock.now());
    reply.header("set-cookie", sessionCookie("", 0, site));
    return { message: "The session of this browser is ended." };
  });
}
