/** Addresses that do not exist, asked for by somebody who looks at pages. */
import type { FastifyReply, FastifyRequest } from "fastify";
import { nothingThere, setRefusal } from "../requests/errors.ts";
import { html, sendPage } from "./html.ts";

/** Browsers ask for text/html by name; programs that take anything do not. What is below /api is for programs. */
export const wantsPage = ({ method, url, headers }: FastifyRequest): boolean =>
  (method === "GET" || method === "HEAD") &&
  !/^\/api(\/|\?|$)/.test(url) &&
  /(^|,)\s*text\/html\s*(;|,|$)/i.test(headers.accept ?? "");

export function sendNotFoundPage(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const refusal = nothingThere(request);
  setRefusal(reply, refusal);
  const path = request.url.split("?")[0] ?? "";
  return sendPage(reply, {
    title: "Not found",
    status: refusal.status,
    body: html`<h1>There is no such page</h1><p class="bad">Nothing is at <code>${path}</code>. The address may be mistyped, or older than this server.</p><p><a href="/">Back to the start</a></p>`,
  });
}
