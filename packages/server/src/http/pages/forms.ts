/** Parses the forms that browsers send. */
import { invalid } from "@millrace/contract";
import type { FastifyInstance } from "fastify";

export function readForms(app: FastifyInstance): void {
  app.addContentTypeParser("application/x-www-form-urlencoded", { parseAs: "string" }, (_request, body, done) => {
    const fields = Object.fromEntries(new URLSearchParams(body as string));
    // PostgreSQL cannot store NUL characters.
    if (
      Object.entries(fields)
        .flat()
        .some((text) => text.includes("\0"))
    )
      return done(invalid("form", "text without NUL characters"));
    done(null, fields);
  });
}
