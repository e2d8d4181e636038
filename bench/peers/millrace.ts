/** Millrace at its default settings, started with `millrace serve`. */
import { setTimeout as sleep } from "node:timers/promises";
import { type Client, type JobInput, routes } from "@millrace/contract";
import { createJob, python, readJob, readLogBytes, shell } from "@millrace/testing/millrace/jobs.ts";
import { TestServer } from "@millrace/testing/millrace/server.ts";
import { version } from "../../packages/server/src/version.ts";
import { runMany } from "../jobs.ts";
import { timed } from "../measure.ts";
import { makeChain, rebuild } from "../pipelines.ts";
import type { Answer, Peer, Work } from "./peer.ts";

interface Form {
  readonly name: string;
  readonly nothing: JobInput;
  readonly writes: (bytes: number) => JobInput;
}

const line = "a line of a log that is about as long as most lines of logs are, give or take a word, or even two..";

const pythonForm: Form = {
  name: "Python script",
  nothing: python("pass"),
  writes: (bytes) => python(`for _ in range(${bytes / 100}): print("${line}")`),
};
const shellForm: Form = {
  name: "shell script",
  nothing: shell("true"),
  writes: (bytes) => shell(`yes '${line}' | head -c ${bytes}`),
};

export const millracePython = millrace("Millrace", pythonForm);
export const millraceShell = millrace("Millrace, shell jobs", shellForm);

function millrace(name: string, form: Form): Peer {
  let server: TestServer | undefined;
  return {
    name,
    version,
    setting: "SQLite; each job is a process of its own in a sandbox, with limits",
    work: `${form.name}; jobs; pipeline; the log of the job`,
    install: async () => {},
    async prepare(stage) {
      const env = { MILLRACE_UV: "auto" };
      server = await TestServer.prepare({ dataDir: stage.path("data"), logFile: stage.path("server.log"), env });
    },
    start: async () => server?.start(),
    stop: async () => server?.stop(),
    connect: async () => clientOf(server as TestServer, form),
  };
}

async function clientOf(server: TestServer, { nothing, writes }: Form): Promise<Work> {
  const client = await server.client();
  const chains = new Map<number, string>();
  return {
    one: () => answered(() => runToEnd(client, nothing)),
    many: (count) => answered(() => runMany(client, count, nothing).then(() => expectNoFailure(client))),
    async chain(length) {
      const dataset = chains.get(length) ?? (await makeChain(server, client, length, nothing));
      chains.set(length, dataset);
      return answered(() => rebuild(client, dataset));
    },
    async log(bytes) {
      let id = "";
      const answer = await answered(async () => (id = await runToEnd(client, writes(bytes))));
      return { ...answer, kept: (await readLogBytes(client, id)).length };
    },
  };
}

const answered = async (work: () => Promise<unknown>): Promise<Answer> => ({ seconds: (await timed(work)) / 1000 });

/** Polls often, because one job takes only some milliseconds. Returns the id of the job. */
async function runToEnd(client: Client, input: JobInput): Promise<string> {
  const { id } = await createJob(client, input);
  for (;;) {
    const { status, error_message } = await readJob(client, id);
    if (status === "COMPLETE") return id;
    if (status === "FAILED") throw new Error(error_message ?? "the job failed");
    await sleep(5);
  }
}

async function expectNoFailure(client: Client): Promise<void> {
  const failed = await client.call(routes.listJobs, { query: { status: ["FAILED"], limit: 1 } });
  if (failed.length > 0) throw new Error(failed[0]?.error_message ?? "a job failed");
}
