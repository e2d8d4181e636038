/** HTTP routes for packed virtualenvs: a runner fetches one, or stores the one that it has built. */
import { Readable } from "node:stream";
import { ApiError, mostPackBytes, routes } from "@millrace/contract";
import type { FastifyInstance } from "fastify";
import { BlobTooLong } from "../../blobs/blobs.ts";
import { PacksFull } from "../../blobs/packs.ts";
import { RunnerRefused } from "../../engines/runners/runners.ts";
import type { RunnerContext } from "../requests/context.ts";
import { register } from "../requests/route.ts";
import { answering } from "./refusals.ts";

export function packRoutes(app: FastifyInstance, context: RunnerContext): void {
  const { runners, packs, disk } = context;
  app.removeContentTypeParser("application/octet-stream");
  // A pack has gigabytes, so it goes from the connection to the storage.
  app.addContentTypeParser("application/octet-stream", (_request, body, done) => done(null, body));

  register(app, context, routes.runnerPack, ({ query: { key, virtualenv: environment }, reply }) =>
    answering(async () => {
      const pack = await packs.open({ ...runners.askForPack(key, environment), environment });
      if (!pack) throw new RunnerRefused("missing", "There is no pack of this virtualenv.");
      reply.type("application/octet-stream").header("content-length", pack.size);
      await reply.send(pack.stream());
      return undefined;
    }),
  );
  register(app, context, routes.runnerStorePack, ({ query, request }) =>
    answering(async () => {
      const { key, virtualenv: environment, ticket } = query;
      const check = async () => {
        await disk.requireRoom();
        return runners.checkPackTicket(key, environment, ticket);
      };
      const owner = await check();
      if (Number(request.headers["content-length"]) > mostPackBytes) throw tooLarge(mostPackBytes);
      const { body } = request;
      if (!(body instanceof Readable)) throw new ApiError("bad_request", "The body must be the bytes of the pack.");
      const content = arriving(body, check);
      if (!(await packs.store({ ...owner, environment }, content, mostPackBytes).catch(refused)))
        throw new RunnerRefused("taken", "This virtualenv has a pack.");
      await runners.endPackTicket(key);
      return {};
    }),
  );
}

/** Bytes after which it is checked again whether the pack may be stored. */
const checkEvery = 64 * 1024 ** 2;

/**
 * Yields the bytes of a body. Calls `check` from time to time, and at the end, before the pack is complete: the attempt
 * may have ended meanwhile.
 */
async function* arriving(body: Readable, check: () => Promise<unknown>): AsyncGenerator<Uint8Array> {
  let unchecked = 0;
  for await (const bytes of bytesOf(body)) {
    unchecked += bytes.length;
    if (unchecked >= checkEvery) {
      await check();
      unchecked = 0;
    }
    yield bytes;
  }
  await check();
}

async function* bytesOf(body: Readable): AsyncGenerator<Uint8Array> {
  try {
    // The connection stays open, so that a pack that is refused in its middle is answered.
    yield* body.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>;
  } catch {
    throw new ApiError("bad_request", "The bytes of the pack did not arrive completely.");
  }
}

const tooLarge = (limit: number) => new ApiError("too_large", `A pack may have at most ${limit} bytes.`);

function refused(error: unknown): never {
  if (error instanceof BlobTooLong) throw tooLarge(error.limit);
  if (error instanceof PacksFull)
    throw new ApiError(
      "insufficient_storage",
      "Too many virtualenvs were packed in the last hour (MILLRACE_PACKS_SIZE).",
    );
  throw error;
}
