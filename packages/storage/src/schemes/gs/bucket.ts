/** Creates the bucket, in the configured project and location. */
import type { CallOptions } from "../../backend.ts";
import { StorageError } from "../../errors.ts";
import { makeBucket } from "../../http/make-bucket.ts";
import type { GsClient } from "./client.ts";
import { projectOf } from "./credentials.ts";

export async function createBucket(client: GsClient, { signal }: CallOptions): Promise<void> {
  const project = await projectOf(client.configuration);
  if (project === undefined) {
    throw new StorageError(
      "config",
      "project is missing: it is required to create a bucket; set project",
      client.place(""),
    );
  }
  const { default_location: location } = client.configuration.values;
  const body = Buffer.from(JSON.stringify({ name: client.bucket, ...(location === null ? {} : { location }) }));
  const headers = { "content-type": "application/json" };
  const query = { project };
  const request = { method: "POST", path: "/storage/v1/b", key: "", query, headers, body, signal } as const;
  await makeBucket(client.place(""), client.send(request));
}
