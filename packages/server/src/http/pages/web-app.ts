/** Serves the web UI: its page at every path that the app shows, and its assets. */
import { randomBytes } from "node:crypto";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { RequestContext } from "../requests/context.ts";
import { nothingThere } from "../requests/errors.ts";
import type { Site } from "../requests/site.ts";
import { html, type Page } from "./html.ts";
import { privatePage } from "./page-routes.ts";
import { findWebFiles, type WebFile } from "./web-files.ts";

/** Paths of the app. The app itself says which of them exist. */
const appPaths = ["/", "/team/*", "/administration", "/administration/*"];

export async function webApp(app: FastifyInstance, context: RequestContext): Promise<void> {
  const { page, assets } = await findWebFiles();
  for (const url of appPaths)
    privatePage(app, context, { method: "GET", url }, async ({ reply }) => {
      if (page === undefined) return notBuilt;
      sendApp(reply, page, context.site);
      return undefined;
    });
  app.route({
    method: "GET",
    url: "/assets/:name",
    config: { access: { kind: "public", why: "the program of the web UI, the same for everybody" } },
    handler: async (request, reply) => {
      const asset = assets.get((request.params as { name: string }).name);
      if (!asset) throw nothingThere(request);
      return sendAsset(request, reply, asset);
    },
  });
}

/**
 * The page allows only its own assets and this server. Styles that the editor adds at run time carry the nonce. The base
 * is the path prefix of the public URL, so the app works behind a proxy that removes it.
 */
function sendApp(reply: FastifyReply, page: string, { prefix }: Site): void {
  const nonce = randomBytes(16).toString("base64");
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join("; ");
  reply
    .headers({
      "content-security-policy": policy,
      "referrer-policy": "same-origin",
      "cache-control": "no-store",
    })
    .type("text/html; charset=utf-8")
    .send(
      page
        .replace('<base href="/">', () => html`<base href="${prefix}/">`.text)
        .replace('name="style-nonce" content=""', () => `name="style-nonce" content="${nonce}"`),
    );
}

/** Names of assets contain a hash of their content, so browsers keep them for ever. */
function sendAsset(request: FastifyRequest, reply: FastifyReply, { type, encodings }: WebFile) {
  const accepted = (request.headers["accept-encoding"] ?? "").split(",").map((word) => word.split(";")[0]?.trim());
  const encoding = ["br", "gzip"].find((name) => accepted.includes(name) && encodings.has(name)) ?? "identity";
  if (encoding !== "identity") reply.header("content-encoding", encoding);
  return reply
    .headers({
      "cache-control": "public, max-age=31536000, immutable",
      vary: "accept-encoding",
    })
    .type(type)
    .send(encodings.get(encoding));
}

const notBuilt: Page = {
  title: "Millrace",
  status: 503,
  body: html`<h1>The web UI is not built</h1>
<p>Start the server with <code>npm start</code>, which builds it, or run <code>sh scripts/web.sh</code> in the repository and restart the server. The API and the command line work without it.</p>`,
};
