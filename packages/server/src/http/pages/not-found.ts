/** The page for unknown paths, for browsers. */
import type { FastifyReply, FastifyRequest } from "fastify";
import { nothingThere, setRefusal } from "../requests/errors.ts";
import type { Site } from "../requests/site.ts";
import { html, sendPage } from "./html.ts";

/**
 * Tells whether the request comes from a browser. Browsers accept text/html explicitly, other programs do not. Paths
 * below /api are for programs.
 */
export const wantsPage = ({ method, url, headers }: FastifyRequest): boolean =>
  (method === "GET" || method === "HEAD") &&
  !/^\/api(\/|\?|$)/.test(url) &&
  /(^|,)\s*text\/html\s*(;|,|$)/i.test(headers.accept ?? "");

export function sendNotFoundPage(request: FastifyRequest, reply: FastifyReply, site: Site): FastifyReply {
  const refusal = nothingThere(request);
  setRefusal(reply, refusal);
  const path = request.url.split("?")[0] ?? "";
  return sendPage(reply, site, {
    title: "Not found",
    status: refusal.status,
    body: html`<h1>There is no such page</h1><p class="said bad">There is no page at <code>${path}</code>. The address may be mistyped or outdated.</p><p><a href="/">Back to the start</a></p>`,
  });
}
