/** Helpers that trigger pipelines and wait for them. */
import { type Client, isUnfinished, type Pipeline, routes } from "@millrace/contract";

export async function trigger(client: Client, datasets: string[], review = false): Promise<Pipeline> {
  return (await client.call(routes.triggerPipeline, { body: { datasets, review } })).pipeline;
}

const readPipeline = (client: Client, name: string): Promise<Pipeline> =>
  client.call(routes.getPipeline, { query: { name } });

/** Polls until the pipeline is in the wanted state; the limit ends a test that would hang. */
export async function waitForPipeline(
  client: Client,
  name: string,
  wanted: (pipeline: Pipeline) => boolean,
): Promise<Pipeline> {
  for (const deadline = Date.now() + 60_000; ; ) {
    const pipeline = await readPipeline(client, name);
    if (wanted(pipeline)) return pipeline;
    if (Date.now() > deadline) throw new Error(`${name} is not as wanted: ${JSON.stringify(pipeline)}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

export const waitForPipelineEnd = (client: Client, name: string) =>
  waitForPipeline(client, name, ({ status }) => !isUnfinished(status));

/** The state of each run, by name. */
export const statesOf = ({ job_runs }: Pipeline): Record<string, string> =>
  Object.fromEntries(job_runs.map(({ name, status }) => [name.replace(/\.sh$/, ""), status]));
