/** Reads what a cluster answers. A cluster may be broken or hostile: an answer may never end, or be of another shape. */
import { EngineUnreachable } from "../engine.ts";

/** The most bytes of one answer. A hundred times as much as a cluster with a thousand jobs answers. */
const mostBytes = 32 * 1024 * 1024;

/** Returns the text of an answer. Throws EngineUnreachable if it is too long, and reads no further then. */
export async function answerText(chunks: AsyncIterable<Uint8Array>, most = mostBytes): Promise<string> {
  const read: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (size > most) throw new EngineUnreachable(`The answer of the cluster is longer than ${most} bytes.`);
    read.push(chunk);
  }
  return Buffer.concat(read).toString("utf8");
}

/** Carries out a call to a cluster. An answer in which something is missing or has another type counts as no answer. */
export async function understood<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new EngineUnreachable(`The answer of the cluster cannot be understood: ${error.message}`, { cause: error });
  }
}
