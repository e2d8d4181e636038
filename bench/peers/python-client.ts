/** A client in Python, because that is the language of the products: one of the programs in `python`. */
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import type { Answer, Progress, Work } from "./peer.ts";
import type { Environment, Stage } from "./stage.ts";

export const programs = join(import.meta.dirname, "python");

interface Report extends Answer {
  readonly ready?: boolean;
  readonly finished?: number;
  readonly failed?: string;
}

export async function pythonClient(stage: Stage, python: string, script: string, env: Environment): Promise<Work> {
  const child = stage.client([python, join(programs, script)], env);
  const reports = createInterface({ input: child.stdout as Readable })[Symbol.asyncIterator]();
  const next = async (): Promise<Report> => {
    const { value, done } = await reports.next();
    if (done) throw new Error(`the client ended: ${(await stage.outputOf("client")).slice(-500)}`);
    return JSON.parse(value);
  };
  const order = async (name: string, number: number, progress?: Progress): Promise<Answer> => {
    child.stdin?.write(`${name} ${number}\n`);
    for (;;) {
      const { failed, finished, ...answer } = await next();
      if (failed !== undefined) throw new Error(failed);
      if (finished === undefined) return answer;
      progress?.(finished);
    }
  };
  child.stdin?.on("error", () => {});
  await Promise.race([next(), once(child, "error").then(([error]) => Promise.reject(error))]);
  return {
    one: () => order("one", 1),
    many: (count, progress) => order("many", count, progress),
    chain: (length) => order("chain", length),
    log: (bytes) => order("log", bytes),
  };
}
