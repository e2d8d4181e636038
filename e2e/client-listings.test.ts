/** Storage listings in runs of pipelines: with the real library, a local folder and a real S3 server. */
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { stripVTControlCharacters } from "node:util";
import { PutObjectCommand } from "@aws-sdk/client-s3";
import { type Pipeline, routes } from "@millrace/contract";
import { createJob, python, readJob, readLog, waitForEnd } from "@millrace/testing/millrace/jobs.ts";
import { whyNoDatachain, withLibrary } from "@millrace/testing/programs/datachain-install.ts";
import { type S3Server, startVersitygw, whyNoVersitygw } from "@millrace/testing/servers/versitygw.ts";
import { until } from "@millrace/testing/until.ts";
import { ClientSuite } from "./support/client-suite.ts";

const skip = await whyNoDatachain();
const noS3 = skip || (await whyNoVersitygw());

/** A storage in which new objects arrive. */
interface Place {
  readonly uri: string;
  /** Arguments of `read_storage` beside the URI. */
  readonly options: string;
  put(name: string): Promise<unknown>;
}

describe("a run of a pipeline", { skip }, () => {
  const suite = ClientSuite.use({ ...withLibrary, MILLRACE_MAX_WORKERS: "1" });
  let s3: S3Server;
  before(async () => {
    if (!noS3) s3 = await startVersitygw();
  });
  after(() => s3?.stop());

  const openFolder = async (name: string): Promise<Place> => {
    const folder = join(suite.shared, name);
    await mkdir(folder);
    return { uri: `file://${folder}/`, options: "", put: (file) => writeFile(join(folder, file), file) };
  };
  const places: Record<string, (name: string) => Promise<Place>> = {
    "a folder": openFolder,
    "an S3 server": async (name) => {
      await s3.makeBucket(name);
      const { endpoint_url, key, secret } = s3.config;
      const config = { aws_endpoint_url: endpoint_url, aws_key: key, aws_secret: secret };
      return {
        uri: `s3://${name}/`,
        options: `, client_config=${JSON.stringify(config)}`,
        put: (file) => s3.vendor.send(new PutObjectCommand({ Bucket: name, Key: file, Body: file })),
      };
    },
  };

  const script = ({ uri, options }: Place, dataset: string) =>
    `import datachain as dc\nfor _ in range(2):\n    found = dc.read_storage("${uri}"${options}).save("${dataset}").count()\n    print("found", found)\n`;

  const make = async (place: Place, dataset: string) => {
    const { id } = await createJob(suite.api, python(script(place, dataset), { query_name: `${dataset}.py` }));
    const job = await waitForEnd(suite.api, id);
    const log = await readLog(suite.api, id);
    assert.equal(job.status, "COMPLETE", log);
    return log;
  };
  const rebuild = async (dataset: string, settings: { reuse_listings?: boolean } = {}) => {
    const made = await suite.api.call(routes.triggerPipeline, { body: { datasets: [dataset], review: true } });
    const { name } = made.pipeline;
    if (Object.keys(settings).length > 0)
      await suite.api.call(routes.updatePipelineSettings, { body: { pipeline_name: name, ...settings } });
    await suite.api.call(routes.resumePipeline, { body: { name } });
    const read = (): Promise<Pipeline> => suite.api.call(routes.getPipeline, { query: { name } });
    await until("it is over", async () => ["COMPLETED", "FAILED"].includes((await read()).status), 120);
    const [run] = (await read()).job_runs;
    const job = await readJob(suite.api, run?.created_job_id ?? "");
    const log = await readLog(suite.api, job.id);
    assert.equal(job.status, "COMPLETE", log);
    return { log, job, pipeline: await read() };
  };
  // Progress bars end without a newline.
  const linesOf = (log: string) => stripVTControlCharacters(log).split(/[\r\n]/);
  const told = (log: string) => linesOf(log).filter((line) => line.startsWith("Listing of"));
  const found = (log: string) => linesOf(log).flatMap((line) => Number(/^found (\d+)$/.exec(line)?.[1]) || []);

  for (const [kind, open] of Object.entries(places))
    test(`sees new objects in ${kind} since the last listing, and logs which listing it used`, {
      skip: open !== openFolder && noS3,
    }, async () => {
      const dataset = `arrivals_${kind.length}`;
      const place = await open(`arrivals-${kind.length}`);
      await place.put("one.txt");
      const first = await make(place, dataset);
      assert.deepEqual([found(first), told(first)], [[1, 1], []], "a job of its own is as the library has it");
      await place.put("two.txt");
      const { log, job } = await rebuild(dataset);
      assert.deepEqual(found(log), [2, 2]);
      const [line = "", ...others] = told(log);
      assert.deepEqual(others, [], "listed once in a run, and told once");
      const [, uri, when = ""] = /^Listing of (\S+): new, from (\S+)$/.exec(line) ?? assert.fail(line);
      assert.equal(uri, place.uri);
      assert.ok(Date.parse(when) + 1000 > Date.parse(job.started_at ?? ""), `${when} is not since ${job.started_at}`);
    });

  test("with `reuse_listings` uses the library's cached listing, and logs its time", async () => {
    const place = await openFolder("kept");
    await place.put("one.txt");
    await make(place, "kept");
    await place.put("two.txt");
    const { log, pipeline, job } = await rebuild("kept", { reuse_listings: true });
    assert.deepEqual([found(log), pipeline.reuse_listings, job.reuse_listings], [[1, 1], true, true]);
    assert.match(
      told(log).join("\n"),
      /^Listing of file:\/\/\S+\/kept\/: from \S+Z, \d+ minutes old \(reuse_listings is set\)$/,
    );
    const fresh = await rebuild("kept");
    assert.deepEqual([found(fresh.log), fresh.pipeline.reuse_listings], [[2, 2], null], "the next pipeline lists anew");
    const back = await rebuild("kept", { reuse_listings: false });
    assert.deepEqual([told(back.log).length, back.pipeline.reuse_listings], [1, false]);
  });
});
